"""A recipe's part ``examples``, the same for all rankers, and what became of its sources."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from adducir.core.recipe import Several, needs, without
from adducir.core.texts import counted
from adducir.corpora.reading import ColumnNames, QrelsReading, TopicReading
from adducir.training.data import CorpusPart, HeldOut, Seed
from adducir.training.leaks import WithoutPart
from adducir.training.losses import LossKey
from adducir.training.recipe import ModelRecipe

Length = Annotated[int, Field(ge=1)]
FileFormat = Literal["columns", "lists", "pairs", "triples", "scored-pairs", "scored-triples"]
Role = Literal["query", "positives", "negatives", "documents", "labels", "scores"]


class LeaksPart(WithoutPart):
    """Leak control: what to exclude from training."""

    topics: Several = ()
    """Topics whose queries are left out, whatever their qids."""


class ExamplesPart(TopicReading, QrelsReading):
    """Judged topics with runs, documents only, or files; see docs/training.md for its keys."""

    conditions: ClassVar = {
        **dict.fromkeys(("format", "columns", "ids"), needs("files")),
        **dict.fromkeys(("runs", "teacher"), needs("qrels")),
        **{"files": without("query_field"), "qrels": without("files"), "skip": needs("runs")},
        **{"margin": needs("teacher", "files"), "most": needs("query_field", "files")},
    }

    files: Several = ()
    """Files of examples, as others publish them."""
    format: FileFormat | None = None
    """The format of files that do not show it."""
    columns: dict[Role, ColumnNames] = Field(default_factory=dict)
    """The files' columns by role, if their names are unusual."""
    ids: Literal["none", "queries", "documents", "all"] | None = None
    """What files name instead of having its text."""
    corpus: CorpusPart | None = None
    """The documents, if examples name them."""
    query_field: Annotated[str | None, without("topics"), without("qrels")] = None
    """The documents' field used as query; the rest answers."""
    most: Length | None = None
    """Maximum documents with `query_field`, or examples of files; by default all."""
    topics: str | None = None
    """The queries: an ir_datasets id or a file."""
    topic_field: str | None = None
    """The topics' field with the query."""
    qrels: Several = ()
    """Their judgements, one source or several."""
    runs: Several = ()
    """The runs that are a further source of negatives."""
    grade: int | float = 1
    """The lowest grade or label of a positive."""
    skip: Annotated[int, Field(ge=0)] = 0
    """How many of the runs' best documents are no negatives, as they may be relevant."""
    depth: Length = 100
    """How far down the runs' documents are negatives."""
    negatives: Annotated[int, Field(ge=0)] = 4
    """Maximum negatives per positive and step."""
    teacher: Several = ()
    """Runs with a teacher's scores, as of `adducir rerank`."""
    margin: float | None = None
    """How far the teacher scores a negative below the best positive, at least."""
    seed: Seed = 0
    """The seed of the negatives."""
    without: LeaksPart = LeaksPart()
    """What to leave out of training (leak control)."""

    @model_validator(mode="after")
    def _has_texts(self) -> "ExamplesPart":
        if self.query_field is None and not self.files and not (self.topics and self.qrels):
            raise ValueError("give `files`, `topics` and `qrels`, or `query_field`")
        if self.ids in ("queries", "all") and self.topics is None:
            raise ValueError(f"`ids: {self.ids}` needs `topics`")
        if self.corpus is None:
            if not self.files:
                raise ValueError("give the `corpus` with the documents' texts")
            if self.ids in ("documents", "all"):
                raise ValueError(f"`ids: {self.ids}` needs the `corpus`")
            if self.without.of_documents:
                raise ValueError("`without` names documents, whose texts need a `corpus`")
        if self.skip >= self.depth:
            raise ValueError("`skip` leaves nothing of the runs' `depth`")
        return self


class ExampleRecipe(ModelRecipe):
    """The keys of models that learn from examples."""

    fields: Several = ()
    """The documents' fields to read."""
    examples: ExamplesPart | None = None
    """Training data; see docs/training.md."""
    held_out: HeldOut = HeldOut()
    """The validation data: a share of the queries, with all their pairs."""
    loss: LossKey = None
    """What is minimised, if not the kind's usual loss."""


_LOST = (
    ("without_positive", "example", " without the texts that the loss needs"),
    ("missing", "document", " without a text"),
    ("without_score", "document", " without a teacher's score"),
    ("false_negatives", "false negative", ""),
    ("repeated", "repeated text", ""),
)


def examples_line(counts: Mapping[str, int]) -> str:
    """What became of the sources, in words."""
    lost = [f"{counted(counts[name], noun)}{rest}" for name, noun, rest in _LOST if counts[name]]
    return (
        f"{counts['queries']:,} queries with {counts['positives']:,} positives and "
        f"{counts['negatives']:,} negatives, {counts['left_out_queries']:,} queries and "
        f"{counts['left_out_documents']:,} documents left out by leak control"
        f"{'; not used: ' if lost else ''}{', '.join(lost)}"
    )
