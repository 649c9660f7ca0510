"""What a cross-encoder learns from, opened: pairs of a file, judged topics, or documents alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from adducir.core.absent import gathering
from adducir.core.errors import InputError
from adducir.core.fingerprint import fingerprint, source_digest
from adducir.corpora.qrels import load_qrels
from adducir.corpora.references import file_path, source_path
from adducir.corpora.topics import load_topics
from adducir.rerankers.document_examples import document_examples
from adducir.rerankers.examples import (
    Counts,
    Example,
    Leaks,
    candidates,
    examples,
    normal,
    read_pairs,
)
from adducir.rerankers.examples_recipe import ExamplesPart
from adducir.rerankers.texts import texts_of
from adducir.runs.read import read_run
from adducir.training.recipe import Several, listed


@dataclass(frozen=True)
class PairSource:
    """What the examples of a recipe are made from, each opened when it is first needed.

    Attributes:
        fields: The fields that make a document's text; by default the corpus' own.
        folder: The study's, where relative paths start.
    """

    part: ExamplesPart
    fields: Several
    folder: Path

    def __reduce__(self) -> tuple[Any, ...]:
        """Whoever gets it opens all anew."""
        return PairSource, (self.part, self.fields, self.folder)

    @cached_property
    def leaks(self) -> Leaks:
        """What must not be learnt from."""
        part, folder = self.part.without, self.folder

        def queries_of(source: str) -> list[str]:
            return load_topics(source_path(source, folder)).queries

        with gathering() as each:
            queries = [each(partial(queries_of, source)) or [] for source in listed(part.topics)]
            documents = each(partial(part.excluded, folder))
        excluded = frozenset(normal(query) for some in queries for query in some)
        return Leaks(excluded, documents, part.copies)

    @property
    def settings(self) -> dict[str, Any]:
        """What determines the examples beside the sources."""
        named = {"pairs", "topics", "topic_field", "qrels", "corpus", "runs", "without"}
        return self.part.model_dump(mode="json", exclude=named, exclude_none=True)

    @cached_property
    def inputs(self) -> dict[str, str]:
        """The fingerprints of what the examples are made from, and of what is left out."""
        leaks = [sorted(self.leaks.queries), self.leaks.documents.identity()]
        return self.data_inputs | {"without": fingerprint(leaks)}

    @cached_property
    def data_inputs(self) -> dict[str, str]:
        """The fingerprints of what the examples are made from."""
        part = self.part
        if part.pairs is not None:
            return {"pairs": source_digest(file_path(part.pairs, self.folder))}
        if part.query_field is not None:
            return {"corpus": fingerprint(self.corpus.identity())}
        with gathering() as each:
            corpus = each(lambda: fingerprint(self.corpus.identity()))
            topics = each(lambda: fingerprint(self.topics.identity()))
            qrels = each(lambda: fingerprint(self.qrels.identity()))
            runs = [each(partial(source_digest, path)) for path in each(lambda: self.runs) or ()]
        return {"topics": topics, "qrels": qrels, "corpus": corpus, "runs": fingerprint(runs)}

    @cached_property
    def topics(self) -> Any:
        """The topics."""
        source = source_path(str(self.part.topics), self.folder)
        return load_topics(source, field=self.part.topic_field)

    @cached_property
    def qrels(self) -> Any:
        """The judgements."""
        sources = [source_path(one, self.folder) for one in listed(self.part.qrels)]
        return load_qrels(sources)

    @cached_property
    def corpus(self) -> Any:
        """The documents."""
        if self.part.corpus is None:
            raise InputError("the examples name no corpus.")
        return self.part.corpus.open(self.folder)

    @cached_property
    def runs(self) -> list[Path]:
        """The runs' files."""
        return [file_path(one, self.folder) for one in listed(self.part.runs)]

    def examples(self, counts: Counts, folder: Path) -> Iterator[Example]:
        """Make the examples, one after the other.

        Args:
            folder: An empty folder, where texts are kept meanwhile.

        Raises:
            InputError: A source cannot be read, or there is no example.
        """
        part = self.part
        if part.pairs is not None:
            return read_pairs(file_path(part.pairs, self.folder), self.leaks, counts)
        if part.query_field is not None:
            return document_examples(
                self.corpus,
                part.query_field,
                listed(self.fields),
                self.leaks,
                counts,
                folder,
                negatives=part.negatives,
                most=part.most,
                seed=part.seed,
            )
        return self._judged(counts, folder)

    def _judged(self, counts: Counts, folder: Path) -> Iterator[Example]:
        """Examples of judged topics."""
        part = self.part
        found = candidates(
            self.topics,
            self.qrels,
            [read_run(path) for path in self.runs],
            self.leaks,
            counts,
            grade=part.grade,
            depth=part.depth,
            unjudged=part.unjudged,
        )
        wanted = {docno for topic in found for docno in (*topic.positives, *topic.negatives)}
        if self.leaks.copies:
            wanted |= self.leaks.documents.docnos
        fields = listed(self.fields)
        texts = texts_of(self.corpus, wanted, fields, folder=folder / "texts")
        made = examples(
            found, texts.find, self.leaks, counts, negatives=part.negatives, seed=part.seed
        )
        first = next(made, None)
        if first is None:
            raise InputError(
                "no topic has both a positive and a negative to learn from.",
                hint="Are topics, qrels, runs and corpus of one collection? "
                f"Counts: {counts.record()}.",
            )
        yield first
        yield from made
