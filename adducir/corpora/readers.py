"""What a format of corpora is, and the family that knows formats by name.

A format says which file names are its own and reads the documents of a file. Packages add formats
of their own by the entry-point group ``adducir.formats``.
"""

from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from adducir.core.recipe import Recipe
from adducir.core.registry import Family

if TYPE_CHECKING:
    from adducir.corpora.documents import Document


class CorpusFormat(Recipe):
    """How documents stand in a file."""

    suffixes: ClassVar[tuple[str, ...]] = ()
    """Of the names of its files, without that of their compression; none: it has to be named."""
    is_whole_file: ClassVar[bool] = False
    """Whether each file is one document."""
    default_fields: ClassVar[tuple[str, ...] | None] = None
    """The fields to index where the user names none; None: those of the first documents."""
    is_last_resort: ClassVar[bool] = False
    """Whether its files are read only where a folder has no others."""

    @abstractmethod
    def read(
        self, path: Path, docno_field: str | None, folder: Path
    ) -> "Iterator[tuple[int, Document]]":
        """Yield each document of a file with its 1-based line.

        ``docno_field`` is the field of the docno, where the user named it; ``folder`` what the user
        named, or the file's own. Files are read by :func:`adducir.core.files.read_lines`, docnos
        checked by :func:`adducir.corpora.documents.check_docno`.
        """

    def accepts(self, path: Path) -> bool:
        """Whether a file of a folder may be one of the format, by what stands in it."""
        del path
        return True


FORMATS = Family(
    "formats",
    CorpusFormat,  # type: ignore[type-abstract]  # what its kinds extend, never made itself
    {
        "jsonl": "adducir.corpora.formats:JSONL",
        "trec": "adducir.corpora.trec:TREC",
        "tsv": "adducir.corpora.formats:TSV",
        "text": "adducir.corpora.formats:PlainText",
        "cacm": "adducir.corpora.formats:CACM",
    },
    what="corpus format",
)
