"""Corpora in local files: one file, or the files of one format in a folder and its subfolders.

A file's format is shown by the ending of its name; one without any, such as ``wiki_00.bz2``, is
``jsonl`` if it begins like a JSON object, and ``trec`` if it has ``<DOC>`` (TREC's disks). Hidden
files are ignored; texts (a README) are read only where most files are texts. Files of two formats
are refused, unless the format is given: then those of this format are read, or where none has such
a name, all that the format accepts.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

from adducir.core.errors import InputError, UsageError, reading_error, worded
from adducir.core.files import BrokenStream, blocks, suffix_of
from adducir.core.fingerprint import source_digests
from adducir.core.json_lines import is_json
from adducir.core.manifests import MANIFEST
from adducir.core.packages import installing
from adducir.core.planning import NotRead, reads
from adducir.core.progress import progress
from adducir.core.registry import refuse
from adducir.corpora.documents import FORMATS, Document
from adducir.corpora.field_choice import SAMPLE
from adducir.corpora.formats import CorpusFormat, docno_of
from adducir.corpora.pages import PACKAGES
from adducir.corpora.tables import Quotes


@dataclass(frozen=True)
class LocalCorpus:
    """Documents in files of one format, a kind in :data:`adducir.corpora.documents.FORMATS`."""

    source: str
    paths: tuple[Path, ...]
    format: str
    docno_field: str | None
    folder: Path
    quotes: Quotes | None = None

    def __iter__(self) -> Iterator[Document]:
        if not reads(*self.paths):
            raise NotRead(*self.paths)
        document = None
        for _, _, document in self._placed():
            yield document
        if document is None:
            raise InputError("it contains no documents.", path=self.source)

    @cached_property
    def default_fields(self) -> tuple[str, ...]:
        first: Iterable[Document] = islice(self, SAMPLE)
        if self._reader.is_whole_file:  # pages have other fields than plain texts
            kinds = {suffix_of(path): path for path in reversed(self.paths)}
            first = replace(self, paths=tuple(kinds.values()))
        return self._reader.usual_fields([document.fields for document in first])

    def identity(self) -> dict[str, Any]:
        names = [docno_of(path, self.folder) for path in self.paths]
        return {
            "source": "files",
            "format": self.format,
            **FORMATS.origin(self.format),
            "docno_field": self.docno_field,
            **({"quotes": self.quotes} if self.quotes else {}),
            "sha256": source_digests(self.paths),
            **({"docnos": names} if self._reader.is_whole_file else {}),
            **({"version": self._reader.version} if self._reader.version > 1 else {}),
        }

    def size_hint(self) -> int | None:
        return len(self.paths) if self._reader.is_whole_file else None

    def places(self, docno: str) -> list[tuple[Path, int]]:
        return [(path, line) for path, line, document in self._placed() if document.docno == docno]

    def _placed(self) -> Iterator[tuple[Path, int, Document]]:
        for path in self.paths:
            for placed in self._reader.read(path, self.docno_field, self.folder):
                is_pair = isinstance(placed, tuple) and len(placed) == 2
                if not is_pair or not isinstance(placed[1], Document):
                    refuse(self._reader, "read", placed, "a line and a Document")
                yield path, *placed

    @cached_property
    def _reader(self) -> CorpusFormat:
        settings = {"quotes": self.quotes} if self.quotes else {}
        return FORMATS.make(self.format, settings)


def open_local(
    path: Path,
    source: str,
    *,
    docno_field: str | None = None,
    format: str | None = None,  # noqa: A002
    quotes: Quotes | None = None,
    is_cut: bool = False,
) -> LocalCorpus:
    """The corpus in an existing file or folder; skipped files of a folder are reported.

    ``is_cut``: its documents become passages, so that it may be a single text.
    """
    format = FORMATS.synonyms.get(format or "", format)  # noqa: A001
    if format is not None and FORMATS.kind(format).is_whole_file and docno_field is not None:
        message = (
            f"{worded('docno_field')} has no effect on the format {format}, whose docnos are paths."
        )
        raise UsageError(message)
    if path.is_dir():
        kind, chosen, skipped = choose_files(path, format)
        if skipped:
            progress().note(skipped_note(path, skipped, f"not in the format {kind}"))
        missing = {end for end, package in PACKAGES.items() if find_spec(package) is None}
        readable = [file for file in chosen if suffix_of(file) not in missing]
        if 0 < len(readable) < len(chosen):
            lacking = [file for file in chosen if suffix_of(file) in missing]
            progress().note(skipped_note(path, lacking, f"they need {installing('files')}"))
            chosen = readable
        files, folder, named = tuple(chosen), path, kind
    elif not path.is_file():
        message = "this is a pipe or a device and cannot be read twice."
        raise InputError(message, path=path, hint="Write the documents to a file first.")
    else:
        files, folder, named = (path,), path.parent, format or _format_of(path) or ""
        is_vague = named == "text" and suffix_of(path) not in PACKAGES and not is_cut
        if is_vague and format is None:
            message = "a text file is a single document."
            hint = f"Cut it ({worded('passages', '150')}), give its folder, or "
            hint += f"{worded('format', 'text')}."
            raise InputError(message, path=path, hint=hint)
        if not named:
            raise InputError("its name does not show the format.", path=path, hint=_formats())
    if quotes and "quotes" not in FORMATS.kind(named).model_fields:
        raise UsageError(f"{worded('quotes')} has no effect on files of the format {named}.")
    return LocalCorpus(source, files, named, docno_field, folder, quotes)


def choose_files(folder: Path, format_named: str | None) -> tuple[str, list[Path], list[Path]]:
    """A folder's format, its files in that format, and those that are ignored."""
    files = sorted(files_below(folder))
    beir = {path.name.partition(".")[0]: path for path in files if path.parent == folder}
    if format_named in (None, "jsonl") and {"corpus", "queries"} <= beir.keys():
        message = "this folder has BEIR's layout, whose queries are not documents."
        raise InputError(message, path=folder, hint=f"Name the corpus: {beir['corpus']}")
    by_format: dict[str, list[Path]] = {}
    for file in files:
        if kind := _format_of(file):
            by_format.setdefault(kind, []).append(file)
    usual = [kind for kind in by_format if not FORMATS.kind(kind).is_last_resort]
    texts = sum(len(by_format[kind]) for kind in by_format if kind not in usual)
    if 2 * texts > sum(map(len, by_format.values())):  # more than a README beside the others
        usual = list(by_format)
    if format_named is None and len(usual) > 1:
        examples = ", ".join(f"{kind} ({by_format[kind][0].name})" for kind in usual)
        message = f"the folder holds files of several formats: {examples}."
        hint = f"Read one, such as {worded('format', usual[-1])}, or name a file."
        raise InputError(message, path=folder, hint=hint)
    kind = format_named or next(iter(usual or by_format), "")
    chosen = by_format.get(kind, [])
    if format_named and not chosen:
        chosen = [file for file in files if FORMATS.make(format_named).accepts(file)]
    if not chosen:
        message = f"none of the {len(files)} files in this folder can be read."
        raise InputError(message, path=folder, hint=_formats())
    return kind, chosen, sorted({*files} - {*chosen})


def skipped_note(folder: Path, paths: Sequence[Path], reason: str) -> str:
    """A note on files of a folder that are skipped: how many, why, and some names."""
    shown = ", ".join(path.relative_to(folder).as_posix() for path in paths[:3])
    are = "file is" if len(paths) == 1 else "files are"
    dots = ", …" if len(paths) > 3 else ""
    return f"{folder}: {len(paths):,} {are} not read ({reason}): {shown}{dots}"


def files_below(folder: Path) -> Iterable[Path]:
    """The non-hidden files below a folder; linked folders are followed once each.

    Adducir's own artifacts (such as an index) are skipped.
    """

    def forbidden(error: OSError) -> NoReturn:
        raise reading_error(error, Path(error.filename)) from error

    seen: set[Path] = set()
    for where, folders, names in os.walk(folder, onerror=forbidden, followlinks=True):
        place = Path(where).resolve()
        if place in seen:
            folders.clear()
            continue
        seen.add(place)
        if MANIFEST in names and Path(where) != folder:  # an index or a model, not texts
            folders.clear()
            continue
        folders[:] = [name for name in folders if not name.startswith(".")]
        for path in (Path(where, name) for name in names if not name.startswith(".")):
            if path.name == MANIFEST:
                continue
            if path.is_file() or not path.exists():  # its reader reports a broken link
                yield path


def _format_of(path: Path) -> str | None:
    suffix = suffix_of(path)
    if not path.is_file() or (suffix and not suffix[1:].isdigit()):  # fr940104.0 of TREC's disks
        alike = (name for name, format_ in FORMATS.each() if suffix in format_.suffixes)
        return next((name for name in alike if FORMATS.make(name).accepts(path)), None)
    try:
        head = next(blocks(path), b"").decode("utf-8", "ignore")
    except BrokenStream:
        return None
    if head.lstrip("\ufeff \t\r\n")[:1] == "{" and is_json(head):
        return "jsonl"
    return "trec" if FORMATS.make("trec").accepts(path) else None


def _formats() -> str:
    endings = dict.fromkeys(end for format_ in FORMATS.kinds().values() for end in format_.suffixes)
    return (
        f"Names may end in {', '.join(endings)}, also with .gz or .bz2; for other names give "
        f"{worded('format')}: {', '.join(FORMATS)}."
    )
