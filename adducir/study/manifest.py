"""What a product says of itself: ``manifest.json``, the last file that is written into it.

The file is JSON with these keys: ``format`` (``adducir-product/1``), ``kind``,
``fingerprint``, ``maker_version``, ``recipe``, ``inputs`` (name -> fingerprint),
``counts`` (what the maker counted), ``files`` (relative path -> ``bytes`` and
``sha256``), ``versions`` (name -> version), ``started`` (UTC, ISO 8601) and
``seconds`` (how long the making took).
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from adducir.study.errors import InputError, ProductError
from adducir.study.files import read_text, writing_text

MANIFEST = "manifest.json"
_FORMAT_NAME = "adducir-product/"
FORMAT = f"{_FORMAT_NAME}1"


@dataclass(frozen=True)
class FileEntry:
    """Size in bytes and SHA-256 (hexadecimal) of one file of a product."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What a product is and what it was made from; see the module for the fields."""

    kind: str
    fingerprint: str
    maker_version: int
    recipe: Mapping[str, Any]
    inputs: Mapping[str, str]
    counts: Mapping[str, Any]
    files: Mapping[str, FileEntry]
    versions: Mapping[str, str]
    started: str
    seconds: float


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write ``manifest`` into ``folder``, whole or not at all.

    Raises:
        MachineError: No space left, or the folder cannot be written.
    """
    with writing_text(folder / MANIFEST) as handle:
        json.dump({"format": FORMAT, **asdict(manifest)}, handle, indent=2, sort_keys=True)
        handle.write("\n")


def read_manifest(path: Path) -> Manifest:
    """Read the manifest of the product in the folder ``path``.

    Raises:
        ProductError: There is no product of Adducir, or one whose manifest is
            damaged or of a format that this version does not know.
    """
    if not path.exists():
        raise ProductError("there is no such product.", path=path, mend=_mend_missing(path))
    if not (path / MANIFEST).is_file():
        raise ProductError(
            f"this is no product of Adducir: it holds no {MANIFEST}.",
            path=path,
            mend="Name the folder that was given as --output when it was built.",
        )
    try:
        text = read_text(path / MANIFEST)
    except InputError as error:
        raise _damaged(path, error.what) from error
    try:
        plain = json.loads(text)
    except ValueError as error:
        raise _damaged(path, str(error)) from error
    return _checked(plain, path)


def _checked(plain: Any, path: Path) -> Manifest:
    """The manifest in a JSON value, if it is one."""
    form = plain.get("format") if isinstance(plain, dict) else None
    if not isinstance(form, str) or not form.startswith(_FORMAT_NAME):
        raise ProductError(f"its {MANIFEST} was not written by Adducir.", path=path)
    if form != FORMAT:
        raise ProductError(
            f"its manifest is in the format {form}; this version of Adducir knows {FORMAT}.",
            path=path,
            mend="Use the Adducir that made it, or delete the folder and build it again.",
        )
    try:
        fields = {key: value for key, value in plain.items() if key != "format"}
        fields["files"] = {name: FileEntry(**entry) for name, entry in fields["files"].items()}
        return Manifest(**fields)
    except (TypeError, KeyError, AttributeError) as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: Path, why: str) -> ProductError:
    return ProductError(
        f"its {MANIFEST} is damaged: {why.rstrip('.')}.",
        path=path,
        mend="Delete the folder and build it again.",
    )


def _mend_missing(path: Path) -> str:
    begun = f".{path.name}.building-"
    if path.parent.is_dir() and any(p.name.startswith(begun) for p in path.parent.iterdir()):
        return "A build of it is under way, or was cut short: if none is, build it again."
    return "Build it first, or check the name."
