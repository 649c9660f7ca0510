"""The sources that recipes of several kinds name: documents, and what must not be learnt from."""

from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import Field

from adducir.core.recipe import Recipe
from adducir.corpora.documents import Corpus
from adducir.corpora.references import source_path
from adducir.corpora.sources import open_corpus
from adducir.training.leaks import DEFAULT_DEPTH, Excluded, Without, excluded
from adducir.training.recipe import Several, listed


class CorpusPart(Recipe):
    """The documents to learn from: an ir_datasets id, a file or a folder."""

    source: str
    format: str | None = None
    docno_field: str | None = None

    def open(self, folder: Path) -> Corpus:
        """Open the corpus.

        Args:
            folder: The study's, where a relative path starts.

        Raises:
            InputError, MachineError: As :func:`adducir.corpora.sources.open_corpus`.
        """
        return open_corpus(
            source_path(self.source, folder), docno_field=self.docno_field, format=self.format
        )


class WithoutPart(Recipe):
    """Leak control: see :mod:`adducir.training.leaks`.

    Attributes:
        qrels: Judgements whose documents are left out.
        pools: Lists of documents that are left out.
        runs: Runs whose best documents are left out.
        depth: How far down a run's documents are left out.
    """

    qrels: Several = ()
    pools: Several = ()
    runs: Several = ()
    depth: Annotated[int, Field(ge=1)] = DEFAULT_DEPTH

    def excluded(self, folder: Path) -> Excluded:
        """The documents that are left out.

        Args:
            folder: The study's, where relative paths start.

        Raises:
            InputError: A source cannot be read.
        """
        without = Without(listed(self.qrels), listed(self.pools), listed(self.runs), self.depth)
        return excluded(without, locate=partial(source_path, folder=folder))

    def card(self) -> dict[str, object]:
        """What a model card shows of it."""
        return {
            "left out: judged in": list(listed(self.qrels)),
            "left out: pooled in": list(listed(self.pools)),
            f"left out: in the top {self.depth} of": list(listed(self.runs)),
        }
