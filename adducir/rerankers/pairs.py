"""What a cross-encoder is trained on: pairs of query and text, relevant or not.

Of judged topics, the documents judged relevant are positives, and documents of runs (or judged
lower) negatives. Of documents alone, one field asks and the others answer, as an argument's premise
its conclusion: a document's own text is the positive of its query; texts of other documents, drawn
at random, are the negatives. No negative counts as the same as a positive of its query.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from adducir.core.errors import InputError, gathering
from adducir.core.fingerprint import fingerprint, source_digest
from adducir.core.recipe import Recipe
from adducir.core.texts import same_text
from adducir.corpora.documents import text_of
from adducir.corpora.qrels import load_qrels
from adducir.corpora.sources import file_path, source_path
from adducir.corpora.topics import Topics, load_topics
from adducir.models.machine import seed_of
from adducir.rerankers.texts import texts_of
from adducir.runs.read import read_run
from adducir.training.data import CorpusPart, same_number
from adducir.training.leaks import WithoutPart, documents_left
from adducir.training.recipe import Several, listed

_TRIES = 50
"""Documents looked at for a negative before it is given up."""


class LeaksPart(WithoutPart):
    """Leak control: what must not be trained on.

    Attributes:
        topics: Topics whose queries are left out, whatever their qids.
    """

    topics: Several = ()


class ExamplesPart(Recipe):
    """Judged topics with runs, or documents alone.

    Attributes:
        query_field: The documents' field that is the query; the rest is a positive of it.
        most: Documents that are trained on so, at most.
        topic_field: The topics' field that is the query.
        runs: Where negatives come from, beside what is judged.
        grade: The least grade of a positive.
        depth: How far down a run's documents are negatives.
        negatives: Negatives for each positive, at most.
    """

    corpus: CorpusPart
    query_field: str | None = None
    most: Annotated[int, Field(ge=1)] | None = None
    topics: str | None = None
    topic_field: str | None = None
    qrels: Several = ()
    runs: Several = ()
    grade: int = 1
    depth: Annotated[int, Field(ge=1)] = 100
    negatives: Annotated[int, Field(ge=1)] = 4
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0
    without: LeaksPart = LeaksPart()

    @model_validator(mode="after")
    def _one_source(self) -> "ExamplesPart":
        if self.query_field is not None and (self.topics or self.qrels or self.runs):
            raise ValueError("with `query_field`, documents are trained on without judgements")
        if self.query_field is None and self.most is not None:
            raise ValueError("`most` has no effect without `query_field`")
        if self.query_field is None and not (self.topics and self.qrels):
            raise ValueError("give `topics` and `qrels`, or `query_field`, beside `corpus`")
        return self


class Example(NamedTuple):
    query: str
    text: str
    label: float


class PairSource:
    """The examples of a recipe; ``counts`` says what became of the sources."""

    def __init__(self, part: ExamplesPart, fields: Sequence[str], folder: Path) -> None:
        self.part, self.fields = part, fields
        self.counts: Counter[str] = Counter()
        self._runs = [file_path(one, folder) for one in listed(part.runs)]

        def topics(source: str, field: str | None = None) -> Topics:
            return load_topics(source_path(source, folder), field=field)

        with gathering() as each:
            left_out = [each(partial(topics, source)) for source in listed(part.without.topics)]
            self.documents = each(partial(part.without.excluded, folder))
            self.corpus = each(partial(part.corpus.open, folder))
            if part.query_field is None:
                named = [source_path(one, folder) for one in listed(part.qrels)]
                self.digests = [each(partial(source_digest, path)) for path in self._runs]
                self.topics = each(partial(topics, str(part.topics), part.topic_field))
                self.qrels = each(partial(load_qrels, named))
        self.queries = frozenset(same_text(query) for one in left_out for query in one.queries)

    @cached_property
    def inputs(self) -> dict[str, str]:
        opened: dict[str, Any] = {"corpus": self.corpus.identity()}
        if self.part.query_field is None:
            opened |= {"topics": self.topics.identity(), "qrels": self.qrels.identity()}
            opened["runs"] = self.digests
        opened["without"] = [sorted(self.queries), self.documents.identity()]
        return {name: fingerprint(identity) for name, identity in opened.items()}

    @property
    def settings(self) -> dict[str, Any]:
        named = {"topics", "topic_field", "qrels", "corpus", "runs", "without"}
        return self.part.model_dump(mode="json", exclude=named, exclude_none=True)

    def examples(self, folder: Path) -> Iterator[Example]:
        """The examples; texts are kept meanwhile in an empty folder."""
        self.counts.clear()
        for example in (self._judged if self.part.query_field is None else self._own)(folder):
            self.counts["positives" if example.label else "negatives"] += 1
            yield example
        if not self.counts["queries"]:
            raise InputError(
                "no query has both a positive and a negative to train on.",
                path=self.corpus.source,
                hint="Are all sources of one collection, and has the query's field a text? "
                f"Counts: {dict(self.counts)}.",
            )

    def _of_query(
        self, query: str, positives: Sequence[str], negatives: Sequence[str]
    ) -> Iterator[Example]:
        if not positives or not negatives:
            self.counts["without_positive"] += 1
            return
        self.counts["queries"] += 1
        yield from (Example(query, text, 1.0) for text in positives)
        yield from (Example(query, text, 0.0) for text in negatives)

    def _judged(self, folder: Path) -> Iterator[Example]:
        topics = self._candidates()
        wanted = {docno for _, *both in topics for docnos in both for docno in docnos}
        wanted |= self.documents.docnos
        texts = texts_of(self.corpus, wanted, self.fields, folder=folder / "texts")
        left_out = (texts.find(docno) or "" for docno in self.documents.docnos)
        barred = {same_text(text) for text in left_out if text.strip()}

        def usable(docnos: Iterable[str]) -> Iterator[str]:
            for text in (texts.find(docno) or "" for docno in docnos):
                if not text.strip():
                    self.counts["missing"] += 1
                elif same_text(text) in barred:
                    self.counts["left_out_documents"] += 1
                else:
                    yield text

        for query, positives, others in topics:
            best = list(usable(positives))
            taken, worse = {same_text(text) for text in best}, list[str]()
            draw = np.random.default_rng(seed_of(self.part.seed, "negatives", query))
            shuffled = (others[number] for number in draw.permutation(len(others)))
            for text in usable(shuffled):
                if len(worse) == self.part.negatives * len(best):
                    break
                if same_text(text) not in taken:
                    worse.append(text)
            yield from self._of_query(query, best, worse)

    def _candidates(self) -> list[tuple[str, list[str], list[str]]]:
        """Each query with the docnos of its positives and of what its negatives are drawn from."""
        grades: dict[str, dict[str, int]] = {}
        for qid, docno, grade in self.qrels.frame.iter_rows():
            grades.setdefault(qid, {})[docno] = grade
        ranked: dict[str, dict[str, None]] = {}
        for path in self._runs:
            for qid, docno, _ in read_run(path).top(self.part.depth).frame.iter_rows():
                ranked.setdefault(qid, {})[docno] = None
        found = []
        for qid, query in zip(self.topics.qids, self.topics.queries, strict=True):
            if same_text(query) in self.queries:
                self.counts["left_out_queries"] += 1
                continue
            judged = grades.get(qid, {})
            pool = ranked.get(qid, {}) if self.part.runs else judged
            best = [docno for docno, grade in judged.items() if grade >= self.part.grade]
            worse = [docno for docno in pool if judged.get(docno, -1) < self.part.grade]
            out = self.documents
            self.counts["left_out_documents"] += sum(docno in out for docno in (*best, *worse))
            allowed = [docno for docno in best if docno not in out]
            found.append((query, allowed, [docno for docno in worse if docno not in out]))
        return found

    def _own(self, folder: Path) -> Iterator[Example]:
        """Examples of documents alone; held in memory are docnos and digests of 8 bytes."""
        part, field = self.part, str(self.part.query_field)
        fields = [name for name in self.fields or self.corpus.default_fields if name != field]
        if not fields:
            raise InputError(f"the text has no field but {field!r}, which is the query.")
        docnos, queries, texts = list[str](), list[int](), list[int]()
        same, excluded = dict[int, set[int]](), dict[str, Any]()
        for document in documents_left(
            self.corpus, self.documents, lambda document: text_of(document, fields), excluded
        ):
            query, text = document.fields.get(field, ""), text_of(document, fields)
            if not query.strip() or not text.strip():
                self.counts["without_positive"] += 1
            elif same_text(query) in self.queries:
                self.counts["left_out_queries"] += 1
            else:
                docnos.append(document.docno)
                queries.append(same_number(query))
                texts.append(same_number(text))
                same.setdefault(queries[-1], set()).add(texts[-1])
        self.counts["left_out_documents"] += excluded["excluded"] + excluded["copies"]
        order = sorted(range(len(docnos)), key=lambda n: seed_of(part.seed, "document", docnos[n]))
        drawn = dict[int, list[int]]()
        for number in sorted(order[: part.most]):
            draw = np.random.default_rng(seed_of(part.seed, "negatives", docnos[number]))
            taken, others = set(same[queries[number]]), list[int]()
            for other in draw.integers(0, len(docnos), _TRIES * part.negatives).tolist():
                if len(others) < part.negatives and texts[other] not in taken:
                    taken.add(texts[other])
                    others.append(other)
            drawn[number] = others
        wanted = {docnos[n] for number, others in drawn.items() for n in (number, *others)}
        text_by = texts_of(self.corpus, wanted, fields, folder / "texts")
        query_by = texts_of(self.corpus, wanted, [field], folder / "queries")
        for number, others in drawn.items():
            own, *rest = text_by.get(docnos[n] for n in (number, *others))
            yield from self._of_query(query_by.get([docnos[number]])[0], [own], rest)
