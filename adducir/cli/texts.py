"""Options of commands that read documents' texts, from an index or a corpus."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from adducir.cli import common
from adducir.cli.command import optional, repeatable
from adducir.core.errors import UsageError
from adducir.core.files import scratch_folder
from adducir.corpora.reading import DocnoReading

if TYPE_CHECKING:
    import polars as pl

    from adducir.rerankers.rerank import Texts


class TextSources(DocnoReading):
    """Where the texts of documents come from."""

    reads: ClassVar[tuple[str, ...]] = ("docno_field", "quotes", "passages")
    index: Path | None = optional("The index with the texts.")
    corpus: str | None = optional(
        "The corpus with the texts, instead of an index.", "-c", metavar="SOURCE", reads=True
    )
    passages: int | None = optional(
        "Split documents into passages DOCNO#1, ... of at most this many words.", ge=1
    )
    fields: common.Names = repeatable(
        "The documents' fields to read, comma-separated or repeated.",
        shown="those indexed, or the corpus's texts",
    )

    def check_source(self) -> None:
        if (self.index is None) == (self.corpus is None):
            raise UsageError("give either --index or --corpus for the texts.")

    def texts(
        self, docnos: Iterable[str], folder: Path, usual_fields: Sequence[str] = ()
    ) -> "Texts":
        """The documents' texts; those of a corpus are copied to a folder."""
        from adducir.indexes.engines import open_index
        from adducir.rerankers.rerank import texts_for

        source = self.opened(self.corpus) if self.corpus else open_index(self.index or "")
        return texts_for(source, docnos, self.fields, usual_fields, folder)

    def by_docno(self, docnos: "pl.Series") -> dict[str, str]:
        """The documents' texts in memory."""
        names = docnos.unique(maintain_order=True).to_list()
        with scratch_folder() as scratch:
            return dict(zip(names, self.texts(names, scratch).get(names), strict=True))
