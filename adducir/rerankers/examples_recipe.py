"""The part of a recipe that says what a reranker learns from."""

from typing import Annotated

from pydantic import Field, model_validator

from adducir.core.recipe import Recipe
from adducir.training.recipe import Several
from adducir.training.sources import CorpusPart, WithoutPart


class LeaksPart(WithoutPart):
    """Leak control: what must not be learnt from.

    Attributes:
        topics: Topics whose queries are left out, whatever their qids.
    """

    topics: Several = ()


class ExamplesPart(Recipe):
    """Judged topics with runs, documents alone, or a file of pairs.

    Attributes:
        pairs: JSON lines with ``query``, ``text`` and ``label`` (0 to 1).
        query_field: The documents' field that is the query; the rest is a positive of it.
        most: Documents that are learnt from so, at most.
        topic_field: The topics' field that is the query.
        runs: Where negatives come from.
        grade: The least grade of a positive.
        depth: How far down a run's documents are negatives.
        negatives: Negatives for each positive, at most.
        unjudged: Whether documents that nobody judged are negatives too.
    """

    pairs: str | None = None
    query_field: str | None = None
    most: Annotated[int, Field(ge=1)] | None = None
    topics: str | None = None
    topic_field: str | None = None
    qrels: Several = ()
    corpus: CorpusPart | None = None
    runs: Several = ()
    grade: int = 1
    depth: Annotated[int, Field(ge=1)] = 100
    negatives: Annotated[int, Field(ge=1)] = 4
    unjudged: bool = True
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0
    without: LeaksPart = LeaksPart()

    @model_validator(mode="after")
    def _one_source(self) -> "ExamplesPart":
        judged = (self.topics, self.qrels, self.runs)
        if self.pairs is not None and any((*judged, self.corpus, self.query_field)):
            raise ValueError("`pairs` stands alone: its file holds queries, texts and labels")
        if self.query_field is not None and any(judged):
            raise ValueError("with `query_field`, documents are learnt from without judgements")
        if self.query_field is None and self.most is not None:
            raise ValueError("`most` means nothing without `query_field`")
        is_judged = self.corpus and (self.query_field or (self.topics and self.qrels))
        if self.pairs is None and not is_judged:
            raise ValueError(
                "give `pairs`, or `topics`, `qrels` and `corpus`, or `query_field` and `corpus`"
            )
        return self


class HeldOutPart(Recipe):
    """What is kept for validation.

    Attributes:
        share: Of the queries; all examples of a query stay together.
    """

    share: Annotated[float, Field(ge=0, lt=1)] = 0.1
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0
