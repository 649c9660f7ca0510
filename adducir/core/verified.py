"""The one door to artifacts: what is opened is what was built, or it is refused.

Sizes are compared with the manifest's at every open. A file is read, and its digest compared, once
per machine: its inode, size and times are kept in the user's cache folder, so that later opens read
nothing. To lose what is kept costs time only.
"""

import json
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from adducir.core.contents import CHANGED, digests, missized
from adducir.core.errors import AdducirError, ArtifactError
from adducir.core.files import read_settings_text, writing_text
from adducir.core.folders import cache_folder
from adducir.core.manifest import MANIFEST, Manifest, read_manifest

VERIFY_VARIABLE = "ADDUCIR_VERIFY"
"""Set to 1, it makes every process read every file of what it opens; ``--verify`` sets it."""

# A model's card is for its owner to edit; no figure depends on it.
_FREE = frozenset({"README.md"})
_SECOND = 1_000_000_000
_MOST_KEPT = 1000
_AGAIN = 3

Stamp = list[int | str]
"""Inode, size, times of change in nanoseconds, and the SHA-256 that was found."""

_known: dict[Path, dict[str, Stamp]] = {}


def open_artifact(path: Path, *kinds: str) -> Manifest:
    """The manifest of the artifact at ``path``, whose files are the ones that were written.

    Args:
        path: The artifact's folder.
        kinds: What it may be; any where none is named.

    Raises:
        ArtifactError: There is none, one of another kind, or a damaged one.
    """
    manifest = read_manifest(path)
    if kinds and manifest.kind not in kinds:
        raise ArtifactError(
            f"this is an artifact of the kind {manifest.kind!r}, where one of the kind "
            f"{' or '.join(map(repr, kinds))} is needed.",
            path=path,
        )
    for _ in range(_AGAIN):
        found = changes(path, manifest)
        if not found:
            return manifest
        # Another process may have replaced the artifact in between.
        before, manifest = manifest, read_manifest(path)
        if manifest == before:
            break
    name, what = next(iter(found.items()))
    more = f", and {len(found) - 1} more files are" if len(found) > 1 else ""
    raise ArtifactError(
        f"this file is damaged ({what}){more}; nothing is computed from it.",
        path=path / name,
        hint="Build it again with --rebuild, or restore it from a copy.",
    )


def refuse_damaged(folder: Path) -> None:
    """Refuse a folder that is a damaged artifact; what is no artifact has nothing to be held to.

    Raises:
        ArtifactError: A file or the manifest is damaged.
    """
    if (folder / MANIFEST).is_file():
        open_artifact(folder)


def changes(path: Path, manifest: Manifest) -> dict[str, str]:
    """What has changed in the files of an artifact, by name; each is read once per machine."""
    folder = Path(os.path.realpath(path))
    files = {name: entry for name, entry in manifest.files.items() if name not in _FREE}
    found = {name: what for name, entry in files.items() if (what := missized(folder, name, entry))}
    if found:
        return found
    known, begun = _remembered(folder), time.time_ns()
    try:
        stamps = {name: _stamp(folder / name, entry.sha256) for name, entry in files.items()}
    except OSError:  # another process replaces the artifact just now
        return {MANIFEST: "the folder changes while it is read"}
    unread = [name for name, stamp in stamps.items() if known.get(name) != stamp]
    if not unread:
        return {}
    try:
        read = digests([folder / name for name in unread])
    except AdducirError as error:
        return {unread[0]: error.what.rstrip(".")}
    found = {
        name: CHANGED
        for name, digest in zip(unread, read, strict=True)
        if digest != files[name].sha256
    }
    _keep(
        folder,
        {
            name: stamp
            for name, stamp in stamps.items()
            if name not in found and _is_settled(stamp, begun)
        },
    )
    return found


def _stamp(path: Path, digest: str) -> Stamp:
    status = path.stat()
    return [status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, digest]


def _is_settled(stamp: Stamp, read: int) -> bool:
    """Whether a later change would show: it would not within the grain of the file's times.

    Kernels count in ticks of some milliseconds; some file systems keep whole seconds only.
    """
    times = int(stamp[2]), int(stamp[3])
    grain = 2 * _SECOND if any(one % _SECOND == 0 for one in times) else _SECOND // 20
    return max(times) < read - grain


def _remembered(folder: Path) -> dict[str, Stamp]:
    """What this process has read, or else any process before it."""
    if folder in _known or os.environ.get(VERIFY_VARIABLE) == "1":
        return _known.get(folder, {})
    place = _place(folder)
    if place is None or not place.is_file():
        return {}
    try:
        kept = json.loads(read_settings_text(place))
    except (AdducirError, ValueError, RecursionError):
        return {}
    files = kept.get("files") if isinstance(kept, dict) else None
    return files if isinstance(files, dict) else {}


def _keep(folder: Path, stamps: dict[str, Stamp]) -> None:
    _known[folder] = stamps
    place = _place(folder)
    if place is None or not stamps:
        return
    with suppress(AdducirError, OSError):
        place.parent.mkdir(exist_ok=True)
        _forget_oldest(place.parent.glob("*.json"))
        with writing_text(place) as handle:
            json.dump({"artifact": str(folder), "files": stamps}, handle)


def _forget_oldest(kept: Iterable[Path]) -> None:
    paths = sorted(kept, key=lambda path: path.stat().st_mtime_ns)
    for path in paths[:-_MOST_KEPT]:
        path.unlink(missing_ok=True)


def _place(folder: Path) -> Path | None:
    cache = cache_folder()
    name = sha256(os.fsencode(folder)).hexdigest()[:32]
    return None if cache is None else cache / "verified" / f"{name}.json"
