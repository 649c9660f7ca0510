"""What an artifact says of itself: ``manifest.json``, the last file that is written into it.

The file is JSON with these keys: ``format`` (``adducir-artifact/2``), ``kind``,
``fingerprint``, ``builder_version``, ``recipe``, ``inputs`` (name -> fingerprint),
``counts`` (what the builder counted), ``files`` (relative path -> ``bytes`` and
``sha256``), ``versions`` (name -> version), ``started`` (UTC, ISO 8601),
``seconds`` (how long the making took), ``sources`` (role -> names of what it is
made from: ids, and paths from the folder that holds the artifact) and ``digest``
(the SHA-256 of the canonical form of all that). Format 1, which is read as well,
has no ``digest``.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from adducir.core.errors import ArtifactError, InputError
from adducir.core.files import writing_text
from adducir.core.fingerprint import fingerprint as fingerprint_of
from adducir.core.json_lines import json_document

MANIFEST = "manifest.json"
_FORMAT_NAMES = ("adducir-artifact/", "adducir-product/")
"""Of this version and of earlier ones."""
FORMAT = "adducir-artifact/2"
_WITHOUT_DIGEST = "adducir-artifact/1"
_DIGEST = "digest"
_LONGEST_NAME = 255  # bytes, of a file on nearly every system


@dataclass(frozen=True)
class FileEntry:
    """Size in bytes and SHA-256 (hexadecimal) of one file of an artifact."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What an artifact is and what it was made from; see the module for the fields."""

    kind: str
    fingerprint: str
    builder_version: int
    recipe: Mapping[str, Any]
    inputs: Mapping[str, str]
    counts: Mapping[str, Any]
    files: Mapping[str, FileEntry]
    versions: Mapping[str, str]
    started: str
    seconds: float
    sources: Mapping[str, Sequence[str]] = field(default_factory=dict)


def artifact_fingerprint(
    kind: str, recipe: Mapping[str, Any], inputs: Mapping[str, str], builder_version: int
) -> str:
    """The fingerprint of an artifact.

    Raises:
        ValueError, TypeError: As :func:`adducir.core.fingerprint.canonical`.
    """
    return fingerprint_of(
        {"kind": kind, "recipe": recipe, "inputs": inputs, "builder_version": builder_version}
    )


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write ``manifest`` into ``folder``, whole or not at all.

    Raises:
        MachineError: No space left, or the folder cannot be written.
    """
    document = {"format": FORMAT, **asdict(manifest)}
    with writing_text(folder / MANIFEST) as handle:
        json.dump({**document, _DIGEST: fingerprint_of(document)}, handle, indent=2, sort_keys=True)
        handle.write("\n")


def read_manifest(path: Path) -> Manifest:
    """Read the manifest of the artifact in the folder ``path``.

    Raises:
        ArtifactError: There is no artifact of Adducir, or one whose manifest is
            damaged or of a format that this version does not know.
    """
    if not path.exists():
        raise ArtifactError("there is no such artifact.", path=path, hint=_mend_missing(path))
    if not (path / MANIFEST).is_file():
        raise ArtifactError(
            f"this was not created by Adducir: it holds no {MANIFEST}.",
            path=path,
            hint="Name the folder that was given as --output when it was built.",
        )
    try:
        plain = json_document(path / MANIFEST)
    except InputError as error:
        raise _damaged(path, error.what) from error
    return _checked(plain, path)


def _checked(plain: Any, path: Path) -> Manifest:
    """The manifest in a JSON value, if it is one."""
    form = plain.get("format") if isinstance(plain, dict) else None
    if not isinstance(form, str) or not form.startswith(_FORMAT_NAMES):
        raise ArtifactError(
            f"its {MANIFEST} was not written by Adducir, or is damaged.",
            path=path,
            hint="Build it again; if Adducir did not make this folder, move that file away.",
        )
    if form not in (FORMAT, _WITHOUT_DIGEST):
        raise ArtifactError(
            f"its manifest is in the format {form[:40]}; this version of Adducir knows {FORMAT}.",
            path=path,
            hint="Use the Adducir that made it, or delete the folder and build it again.",
        )
    try:
        document = {key: value for key, value in plain.items() if key != _DIGEST}
        if form == FORMAT and plain.get(_DIGEST) != fingerprint_of(document):
            raise _damaged(path, "its content has changed since it was written")
        del document["format"]
        document["files"] = {name: FileEntry(**entry) for name, entry in document["files"].items()}
        manifest = Manifest(**document)
        wrong = _wrong_type(manifest)
        fingerprint_inputs = (
            manifest.kind,
            manifest.recipe,
            manifest.inputs,
            manifest.builder_version,
        )
        if wrong is None and manifest.fingerprint != artifact_fingerprint(*fingerprint_inputs):
            wrong = "its fingerprint is not that of its recipe"
    except (TypeError, KeyError, AttributeError, ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from error
    if wrong is not None:
        raise _damaged(path, wrong)
    return manifest


def _wrong_type(manifest: Manifest) -> str | None:
    """What is of another type than it must be, in words."""
    texts: tuple[Any, ...] = (manifest.kind, manifest.fingerprint, manifest.started)
    mappings: tuple[Any, ...] = (
        *(manifest.recipe, manifest.counts, manifest.inputs, manifest.versions),
    )
    version: Any = manifest.builder_version
    if not all(isinstance(text, str) for text in texts):
        return "kind, fingerprint or started is no text"
    if not all(isinstance(mapping, dict) for mapping in mappings):
        return "recipe, counts, inputs or versions is no object"
    if not isinstance(version, int):
        return "builder_version is no number"
    for name, entry in manifest.files.items():
        size: Any = entry.bytes
        digest: Any = entry.sha256
        if not isinstance(size, int) or not isinstance(digest, str):
            return f"the entry of {name[:80]!r} is none of a file"
        if not _is_inside(name):
            return f"{name[:80]!r} is no name of a file in a folder"
    return None


def _is_inside(name: str) -> bool:
    """Whether a name can be that of a file below the artifact's folder."""
    parts = PurePosixPath(name).parts
    return bool(parts) and all(
        part not in ("/", "..")
        and re.search(r"[\0\\]", part) is None
        and len(part.encode("utf-8", "surrogatepass")) <= _LONGEST_NAME
        and part.encode("utf-8", "replace").decode() == part
        for part in parts
    )


def _damaged(path: Path, why: str) -> ArtifactError:
    return ArtifactError(
        f"its {MANIFEST} is damaged: {why.rstrip('.')}.",
        path=path,
        hint="Delete the folder and build it again.",
    )


def _mend_missing(path: Path) -> str:
    begun = f".{path.name}.building-"
    if path.parent.is_dir() and any(p.name.startswith(begun) for p in path.parent.iterdir()):
        return "A build of it is under way, or was cut short: if none is, build it again."
    return "Build it first, or check the name."
