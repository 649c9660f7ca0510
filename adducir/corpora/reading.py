"""The recipe of reading a corpus, which commands, experiments and trainings share."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from adducir.core.recipe import Recipe
from adducir.corpora.documents import Corpus
from adducir.corpora.kinds import FORMATS
from adducir.corpora.passages import cut_by
from adducir.corpora.sources import open_corpus


class Reading(Recipe):
    """How the documents of a source are read; see :func:`open_corpus`."""

    docno_field: str | None = Field(
        None, description="The field with the docno, if its name is unusual."
    )
    format: Annotated[str | None, FORMATS] = Field(
        None, description="The format of the files, if their names do not show it."
    )
    passages: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Split documents into passages DOCNO#1, ... of at most this many words."
    )

    def opened(self, source: str, fields: Sequence[str] = ()) -> Corpus:
        """The corpus; ``fields``, by default its usual ones, determine the passages."""
        return cut_by(
            open_corpus(source, **self.model_dump(include={*Reading.model_fields})), fields
        )
