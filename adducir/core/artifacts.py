"""Artifacts: folders that are built once, published atomically and never stale.

An artifact is built in the hidden sibling ``.NAME.building-PID-…`` under the lock ``.NAME.lock``;
its manifest is written last, an older artifact is moved to ``.NAME.old-…``, and one rename
publishes the new one. Whenever a build is killed, ``NAME`` is the old artifact, the new one, or
missing: the next build finishes or cleans up. Chunked work keeps finished chunks in
``.NAME.parts-DIGEST``. An artifact is opened only if its files match its manifest.
"""

import json
import os
import platform
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from adducir.core import setting
from adducir.core.errors import AdducirError, ArtifactError, InputError, explaining_writes, worded
from adducir.core.files import (
    cache_folder,
    file_digest,
    give_default_rights,
    link_or_copy,
    refuse_unwritable,
    sync,
)
from adducir.core.fingerprint import READERS, canonical, fingerprint, is_known
from adducir.core.manifests import (
    FORMAT,
    MANIFEST,
    FileEntry,
    Manifest,
    artifact_fingerprint,
    changes,
    is_absent,
    read_manifest,
    siblings,
)
from adducir.core.processes import locked
from adducir.core.progress import progress
from adducir.version import __version__

RESULTS = "results"
"""The kind of a folder of results: tables and related files."""

MISSING = "it is missing"
UNKNOWN = "whether it is up to date is unknown"
OUT_OF_DATE = "out of date: different"
DAMAGED = "it is damaged"
Make = Callable[[Path], Mapping[str, Any]]
"""Fills an empty folder; returns counts that can be written as JSON."""


_anything: ContextVar[bool] = ContextVar("replacing anything", default=False)


def replacing_anything(anything: bool = True) -> AbstractContextManager[bool]:
    """Inside the block, overwrite any existing file or folder: ``--force``."""
    return setting(_anything, anything)


def refuse_other(path: Path, message: str) -> None:
    """Raise ArtifactError unless overwriting is allowed; ``message`` says what is there."""
    if not _anything.get():
        hint = f"Choose another path, or overwrite it: {worded('force', 'true')}."
        raise ArtifactError(f"{message}; it is not overwritten.", path=path, hint=hint)


def build(
    path: Path,
    *,
    kind: str,
    recipe: Mapping[str, Any],
    inputs: Mapping[str, str],
    builder_version: int,
    make: Make,
    rebuild: bool = False,
    versions: Mapping[str, str] | None = None,
    source: str = "",
) -> Manifest:
    """Build the artifact at ``path`` unless an up-to-date one is already there.

    ``recipe`` holds every setting that determines its content, as plain values; ``inputs`` the
    fingerprints of what it is built from; ``builder_version`` rises when the builder's output
    changes. If ``make`` raises, nothing is left behind. An artifact of another ``source``, by its
    name, is not replaced without ``--force``.
    """
    target = Path(os.path.realpath(path))
    identity = artifact_fingerprint(kind, recipe, inputs, builder_version)
    if not rebuild and is_current(target, identity):
        clear_up_if_free(target)
        return read_manifest(target)
    refuse_unwritable(target)
    with explaining_writes(target), locked(target):
        _clear_up(target)
        # Another process may have built it meanwhile.
        why = out_of_date(target, kind, lambda: recipe, identity)
        if why is not None and why.startswith(DAMAGED):
            progress().note(f"{target}: {why}; rebuilding.")
        if why is not None or rebuild:
            _refuse_other_source(target, source)
            with _hidden(target) as hidden:
                started, clock = datetime.now(UTC), time.monotonic()
                counts = make(hidden)
                facts = canonical({"recipe": recipe, "inputs": inputs, "counts": counts})
                manifest = _finished(
                    hidden,
                    versions,
                    **{"kind": kind, "fingerprint": identity, "builder_version": builder_version},
                    **json.loads(facts),
                    started=started.isoformat(timespec="seconds"),
                    seconds=round(time.monotonic() - clock, 3),
                    source=_full_name(source),
                    source_from_here=_name_from(target, source),
                )
                _replace(target, hidden)
        else:
            manifest = read_manifest(target)
        # Under the lock: other processes' parts here are obsolete.
        remove_parts(target)
        return manifest


def _named(path: Path | str) -> str:
    """A path in UTF-8, whatever the locale."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _full_name(source: str) -> str:
    """A source's name from everywhere: a file's or folder's whole path, or the id."""
    if not source or not Path(source).exists():
        return source
    path = Path(os.path.realpath(source))
    with suppress(RuntimeError, ValueError):  # no home, or elsewhere
        return _named(Path("~") / path.relative_to(Path.home()))
    return _named(path)


def _name_from(target: Path, source: str) -> str:
    """A file's name as an artifact sees it, which stays when a study is moved or copied."""
    if not source or not Path(source).exists():
        return ""
    return _named(os.path.relpath(os.path.realpath(source), target))


def _refuse_other_source(target: Path, source: str) -> None:
    if not source or not (target / MANIFEST).is_file():
        return
    before, name = read_manifest(target), _full_name(source)
    if before.source in ("", name):
        return
    if before.source_from_here and before.source_from_here == _name_from(target, source):
        return
    # A source that moved alone.
    old = Path(before.source)
    if old.name != Path(name).name or old.expanduser().exists():
        refuse_other(target, f"this was built from {before.source}, not from {name}")


def is_current(path: Path, fingerprint: str) -> bool:
    try:
        manifest = read_manifest(path)
    except ArtifactError:
        return False
    return manifest.fingerprint == fingerprint and not changes(path, manifest)


def out_of_date(
    path: Path, kind: str, recipe: Callable[[], Mapping[str, Any]], fingerprint: str
) -> str | None:
    """Why an artifact has to be built; None if one with this fingerprint exists undamaged."""
    if is_absent(path):
        return MISSING
    if not is_known(fingerprint):
        return UNKNOWN
    if not (path / MANIFEST).is_file():
        if is_absent(path):  # another process is replacing it
            return MISSING
        hint = "Choose another path, or move the existing folder away."
        message = "an artifact would be built here, but this was not created by Adducir."
        raise ArtifactError(message, path=path, hint=hint)
    manifest = read_manifest(path)
    if manifest.fingerprint == fingerprint:
        damaged = next(iter(changes(path, manifest).items()), None)
        return damaged and f"{DAMAGED} ({': '.join(damaged)})"
    if manifest.kind != kind:
        refuse_other(path, f"this is an artifact of another kind ({manifest.kind}, not {kind})")
    planned = json.loads(canonical(recipe()))
    changed = [key for key in planned if manifest.recipe.get(key) != planned[key]]
    settings = ", ".join(changed).replace("_", " ") or "inputs, or another version of Adducir"
    return f"{OUT_OF_DATE} {settings}"


@contextmanager
def publishing_results(path: Path) -> Iterator[Path]:
    """Write all results (tables, a tuning's files) into a folder at once, or leave it as it was.

    The block writes into the empty folder it is given; if it fails, nothing is left. Other files in
    the folder (notes, results in subfolders) stay; files of older results are removed.
    """
    refuse_other_results(path)
    target = Path(os.path.realpath(path))
    with explaining_writes(target), locked(target):
        _clear_up(target)
        with _hidden(target) as hidden:
            yield hidden
            _finished(hidden, kind=RESULTS, fingerprint="", builder_version=1)
            is_there = (target / MANIFEST).is_file()
            ours = {MANIFEST, *(read_manifest(target).files if is_there else ())}
            for item in sorted(target.rglob("*")):
                place = hidden / item.relative_to(target)
                if item.is_dir() and not item.is_symlink():
                    place.mkdir(exist_ok=True)
                elif item.relative_to(target).as_posix() not in ours and not os.path.lexists(place):
                    link_or_copy(item, place)
            _replace(target, hidden)


def refuse_other_results(path: Path) -> None:
    """Refuse a folder that results must not overwrite, such as an index or a user's own."""
    target = Path(os.path.realpath(path))
    if os.path.lexists(target) and not target.is_dir():
        raise InputError("this is a file, but a folder is needed.", path=path)
    if Path.cwd().is_relative_to(target):
        hint = "Give them a separate folder."
        raise InputError("results cannot replace the current folder.", path=path, hint=hint)
    refuse_unwritable(target)
    if (target / MANIFEST).is_file():
        if (kind := read_manifest(target).kind) != RESULTS:
            message = f"this is an artifact of kind {kind!r}; it is not overwritten."
            raise ArtifactError(message, path=path, hint="Choose another path.")
        return
    for file in filter(Path.is_file, target.rglob("*")):
        # Leftovers of killed processes, and artifacts such as a tuning's, are ours.
        below = file.relative_to(target)
        is_hidden = any(part.startswith(".") for part in below.parts)
        if not is_hidden and not any((target / up / MANIFEST).is_file() for up in below.parents):
            refuse_other(path, "this folder holds files that Adducir did not create")


def parts_folder(artifact: Path, fingerprint: str) -> Path:
    """Where an artifact's finished chunks are kept; several processes may use it at once."""
    target = Path(os.path.realpath(artifact))
    folder = target.with_name(f".{target.name}.parts-{fingerprint[:16]}")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def remove_parts(artifact: Path) -> None:
    for folder in siblings(Path(os.path.realpath(artifact)), "parts"):
        shutil.rmtree(folder, ignore_errors=True)


def clear_up_if_free(path: Path) -> None:
    """Remove what killed processes left beside an output that is up to date."""
    target = Path(os.path.realpath(path))
    if any(siblings(target, purpose) for purpose in ("building", "old", "parts")):
        with suppress(OSError, AdducirError), locked(target, wait=False):
            _clear_up(target)
            remove_parts(target)


@contextmanager
def _hidden(target: Path) -> Iterator[Path]:
    hidden = target.with_name(f".{target.name}.building-{os.getpid()}-{secrets.token_hex(4)}")
    try:
        hidden.mkdir()
        yield hidden
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def _replace(target: Path, hidden: Path) -> None:
    old = target.with_name(hidden.name.replace(".building-", ".old-"))
    if target.is_dir():
        shutil.copymode(target, hidden)
        target.rename(old)
    try:
        hidden.rename(target)
    except BaseException:
        if old.is_dir():
            old.rename(target)
        raise
    sync(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def _clear_up(target: Path) -> None:
    """Finish or remove what killed builds left; call it under the lock."""
    begun, old = siblings(target, "building"), siblings(target, "old")
    if not os.path.lexists(target):
        # Killed between two renames: the new artifact is complete, or else the old one.
        for folder in [path for path in begun if (path / MANIFEST).is_file()] + old:
            folder.rename(target)
            break
    for folder in (*begun, *old):
        if folder.exists():
            shutil.rmtree(folder)


def _finished(folder: Path, versions: Mapping[str, str] | None = None, **facts: Any) -> Manifest:
    give_default_rights(folder)
    paths = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    with ThreadPoolExecutor(READERS) as readers:
        files = {
            path.relative_to(folder).as_posix(): FileEntry(bytes=path.stat().st_size, sha256=digest)
            for path, digest in zip(paths, readers.map(file_digest, paths), strict=True)
        }
    stated = {"python": platform.python_version(), "adducir": __version__, **(versions or {})}
    manifest = Manifest(files=files, versions=stated, **facts)
    document = {"format": FORMAT, **asdict(manifest)}
    begun = folder / f".{MANIFEST}"
    with begun.open("w", encoding="utf-8") as handle:
        json.dump({**document, "digest": fingerprint(document)}, handle, indent=2, sort_keys=True)
        handle.write("\n")
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file() or path.is_dir():
            sync(path)
    begun.replace(folder / MANIFEST)  # at once: a folder with it is complete
    sync(folder)
    return manifest


def remember(outputs: Sequence[Path]) -> None:
    """Note the files that were written, by digest, so that the same command may replace them."""
    written = {file_digest(path) for path in outputs if path.is_file()}
    news = written - _remembered() if written else written
    folder = cache_folder() if news else None
    if folder is not None:
        with suppress(OSError), (folder / "written").open("a", encoding="ascii") as handle:
            handle.writelines(f"\n{digest}\n" for digest in news)


def is_remembered(path: Path) -> bool:
    return file_digest(path) in _remembered()


def _remembered() -> set[str]:
    """The digests of what Adducir wrote on this machine; a cache that cannot be read is empty."""
    with suppress(OSError):
        if folder := cache_folder():
            return {*(folder / "written").read_text(encoding="ascii", errors="replace").split()}
    return set()
