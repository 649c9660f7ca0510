"""The one door to artifacts: what is opened is what was built, or it is refused.

Sizes are compared with the manifest's at every open. A file is read, and its digest compared, once
per machine: its inode, size and times are kept in the user's cache folder, so that later opens read
nothing. A dry run compares the sizes of large files only.
"""

import os
from pathlib import Path

from adducir.core.contents import CHANGED, digests, missized
from adducir.core.errors import AdducirError, ArtifactError
from adducir.core.manifest import MANIFEST, Manifest, read_manifest
from adducir.core.stamps import Stamp, is_settled, keep_stamps, kept_stamps, now, stamp
from adducir.core.unread import is_small, reads_all

VERIFY_VARIABLE = "ADDUCIR_VERIFY"
"""Set to 1, it makes every process read every file of what it opens; ``--verify`` sets it."""

# A model's card is for its owner to edit; no figure depends on it.
_FREE = frozenset({"README.md"})
_AGAIN = 3
_KIND = "verified"

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
    known, begun = _remembered(folder), now()
    try:
        stamps = {name: stamp(folder / name, entry.sha256) for name, entry in files.items()}
    except OSError:  # another process replaces the artifact just now
        return {MANIFEST: "the folder changes while it is read"}
    unread = [name for name, one in stamps.items() if known.get(name) != one]
    if not unread or not (reads_all() or is_small(*(folder / name for name in unread))):
        return {}  # a dry run trusts the sizes
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
        {name: one for name, one in stamps.items() if name not in found and is_settled(one, begun)},
    )
    return found


def _remembered(folder: Path) -> dict[str, Stamp]:
    """What this process has read, or else any process before it."""
    if folder in _known or os.environ.get(VERIFY_VARIABLE) == "1":
        return _known.get(folder, {})
    return kept_stamps(_KIND, folder)


def _keep(folder: Path, stamps: dict[str, Stamp]) -> None:
    _known[folder] = stamps
    keep_stamps(_KIND, folder, stamps)
