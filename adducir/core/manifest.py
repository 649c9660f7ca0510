"""What an artifact says of itself: ``manifest.json``, the last file that is written into it.

The file is JSON with these keys: ``format`` (``adducir-artifact/3``), ``kind``, ``fingerprint``,
``builder_version``, ``recipe``, ``inputs`` (name -> fingerprint), ``counts`` (what the builder
counted), ``files`` (relative path -> ``bytes`` and ``sha256``), ``versions`` (name -> version),
``started`` (UTC, ISO 8601), ``seconds`` (how long the making took) and ``digest`` (the SHA-256 of
the canonical form of all that).
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from adducir.core.errors import ArtifactError, InputError
from adducir.core.files import writing_text
from adducir.core.fingerprint import fingerprint as fingerprint_of
from adducir.core.json_lines import json_document

MANIFEST = "manifest.json"
FORMAT = "adducir-artifact/3"
_DIGEST = "digest"


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
    form = plain.get("format") if isinstance(plain, dict) else None
    if not isinstance(form, str) or not form.startswith("adducir-artifact/"):
        raise ArtifactError(
            f"its {MANIFEST} was not written by Adducir, or is damaged.",
            path=path,
            hint="Build it again; if Adducir did not make this folder, move that file away.",
        )
    if form != FORMAT:
        raise ArtifactError(
            f"its manifest is in the format {form[:40]}; this version of Adducir knows {FORMAT}.",
            path=path,
            hint="Use the Adducir that made it, or delete the folder and build it again.",
        )
    try:
        if plain.pop(_DIGEST, None) != fingerprint_of(plain):
            raise _damaged(path, "its content has changed since it was written")
        del plain["format"]
        files = {name: FileEntry(**entry) for name, entry in plain.pop("files").items()}
        return Manifest(**plain, files=files)
    except (TypeError, KeyError, AttributeError, ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from error


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
