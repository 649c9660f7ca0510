"""The recipes of reading corpora, topics and qrels, which commands and experiments share."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AliasChoices, BeforeValidator, Field

from adducir.core.errors import AdducirError
from adducir.core.recipe import Needs, Recipe
from adducir.corpora.documents import FORMATS, Corpus
from adducir.corpora.sources import open_corpus

if TYPE_CHECKING:
    from adducir.corpora.qrels import Qrels
    from adducir.corpora.topics import Topics

RARE: Any = {"rare": True, "flag": True}
"""Of a setting that has a flag, but no line of its own in a command's help."""


def split_names(value: Any) -> Any:
    """Names of columns in texts, separated by commas."""
    texts = [value] if isinstance(value, str) else value
    are_texts = isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts)
    return [name.strip() for text in texts for name in text.split(",")] if are_texts else value


ColumnNames = Annotated[tuple[str, ...], BeforeValidator(split_names)]


def _read_if(key: str, *fields: str) -> Mapping[str, Needs]:
    """Fields have an effect if sources are stated; a recipe without the key has them elsewhere."""
    stated = Needs("without {}", lambda recipe: bool(getattr(recipe, key, True)), (key,))
    return dict.fromkeys(fields, stated)


class TableReading(Recipe):
    quotes: Literal["csv", "literal"] | None = Field(None, json_schema_extra=RARE)
    """Whether quotes in CSV and TSV enclose cells (csv) or are text (literal)."""


class DocnoReading(TableReading):
    """How documents are read where only their ids may be unusual; see :func:`open_corpus`."""

    conditions = _read_if("corpus", "docno_field")
    reads: ClassVar[tuple[str, ...]] = ("docno_field", "quotes")
    docno_field: str | None = Field(None, json_schema_extra=RARE)
    """The documents' field with the docno, if its name is unusual."""

    def opened(self, source: str) -> Corpus:
        return open_corpus(source, **self.model_dump(include={*self.reads}))


class CorpusReading(DocnoReading):
    """How the documents of a source are read; see :func:`open_corpus`."""

    conditions = _read_if("corpus", "format", "passages")
    reads: ClassVar[tuple[str, ...]] = ("docno_field", "quotes", "format", "passages")
    docno_field: str | None = None
    format: Annotated[str | None, FORMATS] = None
    """The format of the files, if their names do not show it."""
    passages: Annotated[int, Field(ge=1)] | None = None
    """Split documents into passages DOCNO#1, ... of at most this many words."""


class TopicReading(TableReading):
    """How topics are read; see :func:`adducir.corpora.topics.load_topics`."""

    qid_field: str | None = Field(None, json_schema_extra=RARE)
    """The topics' field with the qid, if its name is unusual."""

    word_weights: bool = Field(default=False, json_schema_extra=RARE)
    """Read queries as words with weights: school^2 uniform, or JSON's objects."""

    def read_topics(self, source: str | Path, field: str | None = None) -> "Topics":
        from adducir.corpora.topics import load_topics

        reading = self.model_dump(include={*TopicReading.model_fields})
        return load_topics(source, field=field, **reading)


QUERY_FIELD = AliasChoices("query_field", "topic_field")
"""The name of the setting, and former ones, which are still read."""


class QueryReading(TopicReading):
    """How topics are read by commands that do not explain the choice of the query."""

    conditions = _read_if("topics", "qid_field", "query_field", "word_weights")
    query_field: str | None = Field(None, validation_alias=QUERY_FIELD, json_schema_extra=RARE)
    """The topics' field or fields with the query, such as title+description."""

    def read_topics(self, source: str | Path, field: str | None = None) -> "Topics":
        return super().read_topics(source, field or self.query_field)

    def read_about(self, source: str | Path) -> dict[str, dict[str, str]]:
        """The query of each topic, its description and its narrative, as far as it has them."""
        topics = self.read_topics(source)
        texts = {
            qid: {"query": query} for qid, query in zip(topics.qids, topics.queries, strict=True)
        }
        for name in ("description", "narrative"):
            with suppress(AdducirError):
                more = self.read_topics(source, name)
                for qid, text in zip(more.qids, more.queries, strict=True):
                    texts[qid][name] = text
        return texts


class QrelsReading(TableReading):
    """How judgements are read; see :func:`adducir.corpora.qrels.load_qrels`."""

    conditions = _read_if("qrels", "qrels_columns", "duplicates")
    qrels_columns: ColumnNames = Field((), json_schema_extra=RARE)
    """The columns of the qrels, such as qid,docno,grade; - for one not used."""
    duplicates: Literal["refuse", "first", "max"] = Field("refuse", json_schema_extra=RARE)
    """What counts of a document judged twice: its first or largest grade."""

    def read_qrels(
        self, source: str | Path | Sequence[str | Path], *, subtopics: bool = False
    ) -> "Qrels":
        from adducir.corpora.qrels import load_qrels

        return load_qrels(
            source,
            columns=self.qrels_columns,
            duplicates=self.duplicates,
            quotes=self.quotes,
            subtopics=subtopics,
        )
