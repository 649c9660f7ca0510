"""A source is a part of the bundle, a file or folder, or an ir_datasets id, tried in this order.

1. ``bundled:arguments``, ``bundled:topics``, ``bundled:qrels``: the collection that comes with
   Adducir, short arguments with topics and graded judgements;
2. an existing file or folder, compressed or not (:mod:`adducir.corpora.local`);
3. an ``ir_datasets`` id (:mod:`adducir.corpora.irds`), such as ``argsme/2020-04-01``.

Recipes may write variables, ``${NAME}``, and paths relative to their study's folder.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from adducir.core.errors import InputError, UsageError, worded
from adducir.core.packages import imported
from adducir.core.recipe import refusing
from adducir.core.texts import refuse_unless, typed

if TYPE_CHECKING:
    from adducir.corpora.documents import Corpus
    from adducir.corpora.frames import Frame

PREFIX = "bundled:"
_FOLDER = Path(__file__).parent / "bundled"
BUNDLED = {
    "bundled:arguments": _FOLDER / "arguments.jsonl",
    "bundled:topics": _FOLDER / "topics.xml",
    "bundled:qrels": _FOLDER / "qrels.txt",
}
_DATA_SUFFIXES = frozenset(
    {".jsonl", ".json", ".ndjson", ".tsv", ".txt", ".md", ".trec", ".sgml", ".sgm", ".xml"}
    | {".gz", ".bz2", ".qrels", ".topics", ".csv", ".parquet", ".zip", ".html", ".htm", ".pdf"}
)


def resolve(source: str | os.PathLike[str]) -> Path | str:
    """The existing path of a source, or the unchanged id, not looked up yet."""
    text = os.fspath(source)
    refuse_unless(text, "a source", str)
    if not text.strip() or "\0" in text:
        hint = "Name a file, a folder or an ir_datasets id."
        raise InputError(f"{text!r} does not name a source.", hint=hint)
    if text.startswith(PREFIX):
        if text not in BUNDLED:
            hint = f"Choose one of {', '.join(BUNDLED)}."
            raise InputError(f"{text!r} is not part of Adducir.", hint=hint)
        return BUNDLED[text]
    path = Path(source).expanduser() if text.startswith("~") else Path(source)
    try:
        if path.exists():
            return path
    except OSError as error:
        raise InputError(f"cannot be looked up: {error.strerror}.", path=path) from error
    # Clearly not an ir_datasets id:
    reads_like_a_path = text.startswith(("/", ".", "~")) or text.endswith("/")
    if not isinstance(source, str) or reads_like_a_path or path.suffix.lower() in _DATA_SUFFIXES:
        hint = f"It was looked up in {Path.cwd()}."
        raise InputError("no such file or folder.", path=path, hint=hint, absent=True)
    return text


@typed
def open_corpus(
    source: "str | os.PathLike[str] | Frame | Iterable[Mapping[str, Any]]",
    *,
    docno_field: str | None = None,
    format: str | None = None,  # noqa: A002  (the word users know)
    passages: int | None = None,
    quotes: Literal["csv", "literal"] | None = None,
) -> "Corpus":
    """Find a source's corpus without reading its documents yet.

    Args:
        source: A file, a folder or an ir_datasets id; or the documents themselves: a data frame
            (docno, text, ...) or dicts, which a generator may yield.
        docno_field: In files, the field with the docno, if its name is unusual.
        format: The files' format, a kind in :data:`adducir.corpora.documents.FORMATS`.
        passages: Cut documents into passages of at most this many words
            (:mod:`adducir.corpora.passages`).
        quotes: What quotes are in CSV and TSV, instead of what the file shows.

    Raises:
        AdducirError: The source does not exist or is malformed, or an argument has no effect.

    Example:
        >>> corpus = ad.open_corpus([{"docno": "x", "title": "Cats", "text": "They sleep."}])
        >>> corpus.default_fields, next(iter(corpus)).docno
        (('title', 'text'), 'x')
    """
    reading: Any = imported("adducir.corpora.reading:CorpusReading")
    with refusing():
        reading(docno_field=docno_field, format=format, passages=passages, quotes=quotes)
    of_files: Any = {"docno_field": docno_field, "format": format, "quotes": quotes}
    stated = [key for key, value in of_files.items() if value is not None]
    place = resolve(source) if isinstance(source, str | os.PathLike) else None
    if stated and not isinstance(place, Path):
        where = "of ir_datasets" if place else "that are not in files"
        raise UsageError(f"{worded(stated[0])} has no effect on documents {where}.")
    corpus: Corpus
    if isinstance(place, Path):
        from adducir.corpora.local import open_local

        name = os.fspath(cast("str", source))
        corpus = open_local(place, name, **of_files, is_cut=passages is not None)
    elif place:
        from adducir.corpora.irds import IrdsCorpus

        corpus = IrdsCorpus.open(place)
    else:
        from adducir.corpora.frames import FrameCorpus

        corpus = FrameCorpus.of(cast("Frame", source))
    if passages is None:
        return corpus
    from adducir.corpora.passages import Passages

    return Passages(corpus, passages)


def expanded(source: str) -> str:
    """The source with each ``${NAME}`` replaced by the environment variable's value."""

    def value(match: re.Match[str]) -> str:
        if setting := os.environ.get(match[1]):
            return setting
        raise InputError(
            f"the environment variable {match[1]} is not set.",
            path=source,
            hint=f"Set it to the folder: export {match[1]}=/path/to/folder",
            absent=True,
        )

    return re.sub(r"\$\{(\w+)\}", value, source)


def source_path(source: str, folder: Path) -> str:
    """The source with variables replaced; relative paths start at ``folder``, ids stay."""
    full = expanded(source)
    if not full.strip() or full.startswith((PREFIX, "~")) or Path(full).is_absolute():
        return full
    path = folder / full
    if path.exists():
        return str(path)
    hint = f"Relative paths start at the study's folder, {folder}."
    try:
        is_elsewhere = isinstance(resolve(full), Path)
    except InputError as error:
        raise InputError(error.what, path=path, hint=hint, absent=error.absent) from error
    if is_elsewhere:
        message = "no such file or folder; the current folder contains one with that name."
        raise InputError(message, path=path, hint=hint)
    return full


def file_path(source: str, folder: Path) -> Path:
    return folder / Path(expanded(source)).expanduser()
