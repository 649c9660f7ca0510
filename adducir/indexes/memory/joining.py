"""From the parts of a memory index to the index.

It has the fingerprint of the index that is built at once, and gives the same rankings and scores.
Its parts stay parts, each searched for itself (:mod:`.opened`), so that no more than one of them is
ever needed in memory; beside them lies what scores need of the whole (:mod:`.numbering`). Or they
are merged into one piece (:mod:`.merging`), which has the very files of that index and is searched
faster; that takes the time to write them, and the disk for both.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import polars as pl

from adducir.core.artifacts import MANIFEST, Manifest, build, read_manifest
from adducir.core.checking import checked
from adducir.core.errors import ArtifactError, IncompleteError, InputError
from adducir.core.files import link_or_copy
from adducir.core.progress import SILENT, Progress
from adducir.core.scratch import parts_of
from adducir.core.sharding.executors.part import Part
from adducir.core.verified import open_artifact
from adducir.corpora.documents import Document
from adducir.indexes.documents import FILES, DocumentStore, DocumentWriter
from adducir.indexes.memory.builder import KIND
from adducir.indexes.memory.fields import FIELDS
from adducir.indexes.memory.files import PARTS, Arrays
from adducir.indexes.memory.numbering import write_whole
from adducir.indexes.memory.part import PART_KIND

_NOT_LINKED = frozenset({MANIFEST, *FILES})
_BLOCK = 1 << 18


@dataclass(frozen=True)
class _Built:
    """A part that is there."""

    folder: Path
    manifest: Manifest

    @property
    def part(self) -> Part:
        return Part(self.manifest.recipe["part"], self.manifest.recipe["of"])

    @property
    def settings(self) -> Mapping[str, Any]:
        """The recipe of the index."""
        found: Mapping[str, Any] = self.manifest.recipe["index"]
        return found

    def sources(self) -> list[str]:
        """What it was built of: paths in full, or ids."""
        named = self.manifest.sources.get("corpus", ())
        paths = [(self.folder.parent / name, name) for name in named]
        return [str(path.resolve()) if path.exists() else name for path, name in paths]


def has_memory_parts(path: Path) -> bool:
    """Whether parts of a memory index at ``path`` are there."""
    return path.parent.is_dir() and next(_folders(path), None) is not None


@checked
def join_memory_parts(path: Path, *, merge: bool = False, progress: Progress = SILENT) -> Manifest:
    """Make the index at ``path`` of the parts that :func:`.part.build_memory_part` built for it.

    Every file of every part is compared with its digest. The parts' files become the index's, by
    links where the file system has them.

    Args:
        merge: Merge the parts into one piece.

    Returns:
        The manifest. Its counts are those of the index that is built at once, and ``parts`` where
        it has any.

    Raises:
        ArtifactError: There is no part, one is damaged, or they are of different settings,
            corpora or divisions; or ``path`` holds something that is not ours.
        IncompleteError: A part is missing.
        InputError: A docno is in two parts.
        MachineError: No disk space.
    """
    built = _found(path)
    one = built[0]
    return build(
        path,
        kind=KIND,
        recipe=one.settings,
        inputs=one.manifest.inputs,
        builder_version=one.manifest.builder_version,
        make=lambda folder: _make(folder, built, merge, progress),
        versions=_engines(one.manifest),
        sources={"corpus": one.sources()},
        progress=progress,
    )


def is_joined(path: Path) -> bool:
    """Whether a finished memory index in parts is at ``path``."""
    if not (path / MANIFEST).is_file():
        return False
    manifest = read_manifest(path)
    return manifest.kind == KIND and "parts" in manifest.counts


@checked
def merge_joined(path: Path, *, progress: Progress = SILENT) -> Manifest:
    """Merge a finished index in parts into one piece, in its place.

    Every file is compared with its digest first. The index stays as it is until the merged one is
    complete.

    Raises:
        ArtifactError: There is no such index, or it is damaged.
        MachineError: No disk space.
    """
    manifest = open_artifact(path, KIND)
    joined = _Built(path, manifest)
    count = int(manifest.counts["parts"])
    parts = [path / PARTS / str(number) for number in range(1, count + 1)]

    def make(folder: Path) -> dict[str, Any]:
        for name in FILES:
            if (path / name).is_file():  # earlier versions wrote no table of docnos
                _link(path / name, folder / name)
        counts = {name: manifest.counts[name] for name in ("documents", "indexed", "empty")}
        return counts | _write_all(folder, parts, merge=True)

    return build(
        path,
        kind=KIND,
        recipe=manifest.recipe,
        inputs=manifest.inputs,
        builder_version=manifest.builder_version,
        make=make,
        rebuild=True,
        versions=_engines(manifest),
        sources={"corpus": joined.sources()},
        progress=progress,
    )


def _engines(manifest: Manifest) -> dict[str, str]:
    """The versions of what took part, without those that are noted anyway."""
    return {
        name: version
        for name, version in manifest.versions.items()
        if name not in ("python", "adducir")
    }


def _folders(path: Path) -> Iterator[Path]:
    """The folders of finished parts."""
    for folder in sorted(parts_of(path)):
        for one in sorted(folder.glob("*-of-*")):
            if not one.name.startswith(".") and (one / MANIFEST).is_file():
                yield one


def _found(path: Path) -> list[_Built]:
    """The parts of the index at ``path``, in order, all of them.

    Raises:
        ArtifactError, IncompleteError: See :func:`join_memory_parts`.
    """
    folders = list(_folders(path)) if path.parent.is_dir() else []
    if not folders:
        raise ArtifactError(
            "there are no parts of this index.",
            path=path,
            hint="Build each with 'adducir index ... --engine memory --part I/N'.",
        )
    built = [_Built(folder, open_artifact(folder, PART_KIND)) for folder in folders]
    for other in built[1:]:
        _refuse_unlike(path, built[0], other)
    built.sort(key=lambda one: one.part.number)
    count = built[0].part.count
    missing = sorted(set(range(1, count + 1)) - {one.part.number for one in built})
    if missing:
        lacking = ", ".join(str(Part(number, count)) for number in missing)
        parts = "parts" if len(missing) > 1 else "part"
        raise IncompleteError(
            f"of this index the {parts} {lacking} {'are' if len(missing) > 1 else 'is'} missing.",
            path=path,
            hint=f"Build what is missing with --part {missing[0]}/{count}, then finish again.",
        )
    return built


def _refuse_unlike(path: Path, one: _Built, other: _Built) -> None:
    """Refuse parts that are not of one index.

    Raises:
        ArtifactError: They are not.
    """
    where, there = _place(one), _place(other)
    settings, others = _spread_out(one.settings), _spread_out(other.settings)
    keys = [
        key
        for key in sorted(settings.keys() | others.keys())
        if settings.get(key) != others.get(key)
    ]
    hint = "Delete the one that is not wanted, build its part as the others, and finish again."
    if keys:
        ours, theirs = (
            ", ".join(_in_words(key, found.get(key)) for key in keys)
            for found in (settings, others)
        )
        what = f"parts of different settings are here: {where} has {ours}, {there} {theirs}."
    elif one.manifest.inputs != other.manifest.inputs:
        corpora, change = (", ".join(found.sources()) for found in (one, other))
        if corpora == change:
            what = (
                f"the corpus {corpora} was changed between part {one.part} and part {other.part}: "
                f"they are {where} and {there}."
            )
            hint = "Delete the one that is of the old corpus, build its part again, and finish."
        else:
            what = (
                f"parts of different corpora are here: {where} of {corpora}, {there} of {change}."
            )
    elif one.manifest.builder_version != other.manifest.builder_version:
        what = f"different versions of Adducir built {where} and {there}."
    elif one.part.count != other.part.count:
        what = (
            f"parts of two divisions are here: {where} is one of {one.part.count}, {there} of "
            f"{other.part.count}."
        )
    else:
        return
    raise ArtifactError(what, path=path, hint=hint)


def _place(built: _Built) -> str:
    """Where a part lies, beside the index: ``.NAME.parts-DIGEST/1-of-3``."""
    return f"{built.folder.parent.name}/{built.folder.name}"


def _spread_out(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings, those of the analysis each by itself."""
    return {key: value for key, value in settings.items() if key != "analysis"} | dict(
        settings.get("analysis", {})
    )


def _in_words(key: str, value: Any) -> str:
    """A setting as a message names it."""
    name = key.replace("_", " ")
    if key == "fields":
        return f"the fields {', '.join(value)}" if value else "all fields"
    if value is None or isinstance(value, bool):
        return f"{name if value else f'no {name}'}"
    shown = f"{len(value)} words" if isinstance(value, list) else value
    return f"{name} {shown}"


def _make(folder: Path, built: Sequence[_Built], merge: bool, progress: Progress) -> dict[str, Any]:
    """Fill the folder of the index."""
    _join_texts(folder, built, progress)
    sources = [one.folder for one in built]
    if not merge:
        sources = [folder / PARTS / str(one.part.number) for one in built]
        for one, target in zip(built, sources, strict=True):
            for name in one.manifest.files.keys() - _NOT_LINKED:
                _link(one.folder / name, target / name)
    counts = {
        name: sum(int(one.manifest.counts[name]) for one in built)
        for name in ("documents", "indexed", "empty")
    }
    counts |= _write_all(folder, sources, merge)
    return counts if merge else {**counts, "parts": len(built)}


def _fields(part: Path) -> list[Path]:
    """Where in a part the fields lie that it keeps by themselves."""
    return [path.relative_to(part) for path in sorted((part / FIELDS).glob("*"))]


def _write_all(folder: Path, sources: Sequence[Path], merge: bool) -> dict[str, int]:
    """Write what the whole has, and each of its fields."""
    for place in _fields(sources[0]):
        (folder / place).mkdir(parents=True)
        _write(folder / place, [source / place for source in sources], merge)
    return _write(folder, sources, merge)


def _write(folder: Path, sources: Sequence[Path], merge: bool) -> dict[str, int]:
    arrays = [Arrays.open(source) for source in sources]
    return write_whole(folder, arrays, None if merge else sources)


def _join_texts(folder: Path, built: Sequence[_Built], progress: Progress) -> None:
    """Write the documents' texts in the order of the corpus.

    Raises:
        InputError: A docno is in two parts.
    """
    stores = [DocumentStore(one.folder) for one in built]
    blocks: list[pl.Series] = [pl.Series(dtype=pl.String)]
    docnos: list[str] = []
    progress.start("joining", sum(map(len, stores)), "documents")
    with ExitStack() as stack:
        stack.callback(progress.finish)
        writer = stack.enter_context(DocumentWriter(folder))
        for document in _in_turn(stores):
            writer.add(document)
            docnos.append(document.docno)
            if len(docnos) == _BLOCK:
                blocks.append(pl.Series(docnos))
                progress.advance(len(docnos))
                docnos = []
        progress.advance(len(docnos))
    every = pl.concat([*blocks, pl.Series(docnos, dtype=pl.String)])
    twice = every.filter(every.is_duplicated())
    if len(twice):
        docno = twice[0]
        places = [str(one.part) for one, store in zip(built, stores, strict=True) if docno in store]
        raise InputError(
            f"the docno {docno!r} is in the parts {' and '.join(places)}.",
            path=Path(built[0].sources()[0]) if built[0].sources() else None,
            hint="Keep one of the two documents, and build the parts again.",
        )


def _in_turn(stores: Sequence[DocumentStore]) -> Iterator[Document]:
    """One document of each part, the next one of each, and so on: as they were divided."""
    each = chain.from_iterable(zip_longest(*stores))
    return (document for document in each if document is not None)


def _link(source: Path, target: Path) -> None:
    """Give a file a second name."""
    target.parent.mkdir(parents=True, exist_ok=True)
    link_or_copy(source, target)
