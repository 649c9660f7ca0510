"""What a source names: a part of the bundle, a file or folder, or an ir_datasets id.

A corpus is named by a source, in this order:

1. ``bundled:arguments``, the small collection that comes with Adducir;
2. an existing file or folder (:mod:`adducir.corpora.local`): JSONL, TREC SGML, TSV, plain text or
   another of :data:`adducir.corpora.readers.FORMATS`, compressed or not;
3. an ``ir_datasets`` id (:mod:`adducir.corpora.irds`), such as ``argsme/2020-04-01``.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from adducir.core.errors import InputError
from adducir.corpora.bundled import PREFIX, bundled

if TYPE_CHECKING:
    from adducir.corpora.documents import Corpus

_DATA_SUFFIXES = frozenset(
    {".jsonl", ".json", ".ndjson", ".tsv", ".txt", ".md", ".trec", ".sgml", ".sgm", ".xml"}
    | {".gz", ".bz2", ".qrels", ".topics", ".csv", ".zip"}
)


def resolve(source: str | Path) -> Path | str:
    """The path of a local source, or the id of what should be an ir_datasets data set.

    An existing file or folder is preferred to a data set of the same name.

    Returns:
        A path that exists, or the unchanged id (not yet looked up).

    Raises:
        InputError: The source is empty, unknown to the bundle, or reads like a path and is not
            there.
    """
    text = str(source)
    if not text.strip() or "\0" in text:
        raise InputError(
            f"{text!r} names no source.", hint="Name a file, a folder or an ir_datasets id."
        )
    if text.startswith(PREFIX):
        return bundled(text)
    path = Path(source).expanduser() if text.startswith("~") else Path(source)
    try:
        there = path.exists()
    except OSError as error:
        raise InputError(f"cannot be looked up: {error.strerror}.", path=path) from error
    if there:
        return path
    if isinstance(source, Path) or _reads_like_a_path(text) or path.is_symlink():
        raise InputError(
            "there is no such file or folder.",
            path=path,
            hint=f"The name was looked up from {Path.cwd()}.",
            absent=True,
        )
    return text


def _reads_like_a_path(text: str) -> bool:
    """Whether nobody would write an ir_datasets id like this."""
    suffix = Path(text).suffix.lower()
    return text.startswith(("/", ".", "~")) or text.endswith("/") or suffix in _DATA_SUFFIXES


def open_corpus(
    source: str | Path,
    *,
    docno_field: str | None = None,
    format: str | None = None,  # noqa: A002  (the word users know)
) -> "Corpus":
    """Find the corpus that a source names; its documents are not read yet.

    Args:
        source: See the module's text.
        docno_field: The field that holds the docno, where it has none of the usual names
            (local files only).
        format: A kind of :data:`adducir.corpora.readers.FORMATS`, if the name does not show it.

    Raises:
        InputError: The source is nothing that can be read.
        UsageError: ``format`` is not a format.
    """
    found = resolve(source)
    if isinstance(found, Path):
        from adducir.corpora.local import open_local

        return open_local(found, str(source), docno_field=docno_field, format=format)
    from adducir.corpora.irds_corpus import IrdsCorpus

    return IrdsCorpus.open(found)
