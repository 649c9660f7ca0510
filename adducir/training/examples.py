"""Training examples: what every ranker is trained on, from judged topics or from documents only.

For judged topics, documents judged relevant are positives, and documents from runs (or judged
lower) are hard negatives. For documents only, one field is the query and the others answer it, as
an argument's premise supports its conclusion: a document's own text is its query's positive; texts
of random other documents are the negatives. Negatives never equal a positive of their query. Split
and leak control are applied here, once for all kinds of models.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from adducir.core.errors import InputError, gathering
from adducir.core.fingerprint import fingerprint, source_digest
from adducir.core.many_texts import TextFile
from adducir.core.progress import progress
from adducir.core.recipe import Several, as_tuple
from adducir.core.texts import same_text
from adducir.corpora.documents import Corpus, refuse_absent, text_of
from adducir.corpora.reading import QrelsReading, TopicReading
from adducir.corpora.sources import file_path, source_path
from adducir.corpora.topics import Topics
from adducir.models.machine import seed_of
from adducir.runs.docnos import absent
from adducir.runs.read import read_run
from adducir.training.data import CorpusPart, HeldOut, Seed, same_number
from adducir.training.leaks import WithoutPart, documents_left
from adducir.training.losses import LOSSES, Loss

Length = Annotated[int, Field(ge=1)]

_COUNTED = [
    *("queries", "left_out_queries", "left_out_documents", "without_positive", "missing"),
    *("positives", "negatives", "unjudged_negatives", "false_negatives", "without_score"),
]
_TRIES = 50
"""Documents tried for a negative before giving up."""
_LATER = ("skip", "margin")
"""Keys that are in fingerprints only where they have an effect."""


@dataclass(frozen=True)
class Example:
    """A query and what to learn of it.

    Attributes:
        query: Its text.
        positives: Texts of relevant documents; a step of training draws one.
        negatives: Texts of hard negatives.
        scores: A teacher's scores of positives, then negatives, NaN where it has none; or empty.
        group: What must not be split between training and validation: the query, by default.
    """

    query: str
    positives: tuple[str, ...]
    negatives: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    group: str = ""


class LeaksPart(WithoutPart):
    """Leak control: what to exclude from training."""

    topics: Several = ()  # whose queries are left out, whatever their qids


class ExamplesPart(TopicReading, QrelsReading):
    """Judged topics with runs, or documents only; see docs/training.md for its keys."""

    corpus: CorpusPart
    query_field: str | None = None  # the documents' field used as query; the rest answers
    most: Length | None = None  # documents, with query_field
    topics: str | None = None
    topic_field: str | None = None  # the topics' field with the query
    qrels: Several = ()
    runs: Several = ()  # a further source of negatives
    grade: int = 1  # the lowest grade of a positive
    skip: Annotated[int, Field(ge=0)] = 0  # the runs' best documents, which may be relevant
    depth: Length = 100  # of runs
    negatives: Length = 4  # maximum per positive
    teacher: Several = ()  # runs with a teacher's scores, as of `adducir rerank`
    margin: float | None = None  # how far the teacher scores a negative below the best positive
    seed: Seed = 0
    without: LeaksPart = LeaksPart()

    @model_validator(mode="after")
    def _one_source(self) -> "ExamplesPart":
        if self.query_field is not None and (self.topics or self.qrels or self.runs):
            raise ValueError("with `query_field`, documents are trained on without judgements")
        if self.query_field is not None and self.teacher:
            raise ValueError("`teacher` has no effect with `query_field`")
        if self.query_field is None and self.most is not None:
            raise ValueError("`most` has no effect without `query_field`")
        if self.query_field is None and not (self.topics and self.qrels):
            raise ValueError("give `topics` and `qrels`, or `query_field`, beside `corpus`")
        if self.skip and not self.runs:
            raise ValueError("`skip` has no effect without `runs`")
        if self.skip >= self.depth:
            raise ValueError("`skip` leaves nothing of the runs' `depth`")
        if self.margin is not None and not self.teacher:
            raise ValueError("`margin` has no effect without `teacher`")
        return self


class Examples:
    """The opened sources of a recipe's examples; nothing is read before :meth:`divided`.

    Args:
        part: The recipe's part.
        fields: The documents' fields to read; empty for the corpus's.
        folder: The study's, where relative paths start.
        loss: What will be minimised: some losses need negatives, or a teacher's scores.

    Raises:
        InputError: A source cannot be opened, or lacks what the loss needs.
    """

    def __init__(self, part: ExamplesPart, fields: Sequence[str], folder: Path, loss: Loss) -> None:
        self.part, self.fields, self._loss = part, tuple(fields), loss
        self.counts: Counter[str] = Counter()
        self._runs, self._teachers = (
            [file_path(name, folder) for name in as_tuple(names)]
            for names in (part.runs, part.teacher)
        )

        if loss.needs_teacher and not part.teacher:
            name = LOSSES.name_of(type(loss))
            raise InputError(
                f"the loss {name} needs a teacher's scores (`examples.teacher`).",
                hint="Name a run with them, such as the output of `adducir rerank`.",
            )

        def topics(source: str, field: str | None = None) -> Topics:
            return part.read_topics(source_path(source, folder), field)

        with gathering() as each:
            left_out = [each(partial(topics, source)) for source in as_tuple(part.without.topics)]
            self._documents = each(partial(part.without.excluded, folder))
            self._corpus: Corpus = each(partial(part.corpus.open, folder))
            if part.query_field is None:
                named = [source_path(name, folder) for name in as_tuple(part.qrels)]
                self._digests, self._teacher_digests = (
                    [each(partial(source_digest, path)) for path in paths]
                    for paths in (self._runs, self._teachers)
                )
                self._topics = each(partial(topics, str(part.topics), part.topic_field))
                self._qrels = each(partial(part.read_qrels, named))
        self._queries = frozenset(same_text(query) for some in left_out for query in some.queries)

    @property
    def settings(self) -> dict[str, Any]:
        """The part's keys that determine the examples, without sources' names."""
        reading = {*TopicReading.model_fields, *QrelsReading.model_fields}
        named = {"topics", "topic_field", "qrels", "corpus", "runs", "teacher", "without"}
        unset = {key for key in _LATER if not getattr(self.part, key)}
        exclude = named | reading | unset
        return self.part.model_dump(mode="json", exclude=exclude, exclude_none=True)

    def identity(self) -> dict[str, str]:
        """The fingerprints of the sources, by name."""
        opened: dict[str, Any] = {"corpus": self._corpus.identity()}
        if self.part.query_field is None:
            opened |= {"topics": self._topics.identity(), "qrels": self._qrels.identity()}
            opened["runs"] = self._digests
            if self._teachers:
                opened["teacher"] = self._teacher_digests
        opened["without"] = [sorted(self._queries), self._documents.identity()]
        return {name: fingerprint(identity) for name, identity in opened.items()}

    def divided(self, held_out: HeldOut) -> Iterator[tuple[Example, str]]:
        """The examples with their parts; then ``counts`` holds what became of the sources."""
        for example in self:
            yield example, held_out.part_of(example.group)

    def __iter__(self) -> Iterator[Example]:
        self.counts = Counter(dict.fromkeys(_COUNTED, 0))
        for example in self._judged() if self.part.query_field is None else self._own():
            positives, negatives = len(example.positives), len(example.negatives)
            if not positives or (self._loss.needs_negatives and not negatives):
                self.counts["without_positive"] += 1
                continue
            self.counts.update(queries=1, positives=positives, negatives=negatives)
            yield example
        if not self.counts["queries"]:
            lacking = (
                "both a positive and a negative" if self._loss.needs_negatives else "a positive"
            )
            raise InputError(
                f"none of the queries has {lacking} to train on.",
                path=self._corpus.source,
                hint="Do all sources belong to one collection, and is the query's field text? "
                f"Counts: {dict(self.counts)}.",
            )

    def _judged(self) -> Iterator[Example]:
        grades = self._grades()
        topics = self._candidates(grades)
        wanted = {docno for _, _, *both in topics for docnos in both for docno in docnos}
        wanted |= self._documents.docnos
        text = _texts(self._corpus, wanted, self.fields)
        relevant = {docno for _, _, best, _ in topics for docno in best}
        if unknown := {docno for docno in relevant if text(docno) is None}:
            progress().note(absent(unknown, len(relevant), "relevant", "the corpus"))
        left_out = (text(docno) or "" for docno in self._documents.docnos)
        barred = {same_text(copy) for copy in left_out if copy.strip()}
        teacher = _scores(self._teachers)

        def usable(docnos: Iterable[str]) -> Iterator[tuple[str, str]]:
            for docno in docnos:
                if not (found := text(docno) or "").strip():
                    self.counts["missing"] += 1
                elif same_text(found) in barred:
                    self.counts["left_out_documents"] += 1
                else:
                    yield docno, found

        part = self.part
        for qid, query, positives, others in topics:
            scores = teacher.get(qid, {})
            if self._loss.needs_teacher:
                both = positives, others
                positives, others = ([docno for docno in some if docno in scores] for some in both)
                self.counts["without_score"] += sum(map(len, both)) - len(positives) - len(others)
            best, worse = list(usable(positives)), list[tuple[str, str]]()
            taken = {same_text(text) for _, text in best}
            highest = max((scores[docno] for docno, _ in best if docno in scores), default=np.inf)
            limit = np.inf if part.margin is None else highest - part.margin
            draw = np.random.default_rng(seed_of(part.seed, "negatives", query))
            shuffled = (others[number] for number in draw.permutation(len(others)))
            for docno, found in usable(shuffled):
                if len(worse) == part.negatives * len(best):
                    break
                if same_text(found) in taken or scores.get(docno, -np.inf) > limit:
                    self.counts["false_negatives"] += 1
                else:
                    worse.append((docno, found))
                    self.counts["unjudged_negatives"] += docno not in grades.get(qid, {})
            taught = [scores.get(docno, np.nan) for docno, _ in (*best, *worse)]
            yield Example(
                query,
                positives=tuple(found for _, found in best),
                negatives=tuple(found for _, found in worse),
                scores=tuple(taught) if scores else (),
                group=same_text(query),
            )

    def _grades(self) -> dict[str, dict[str, int]]:
        grades: dict[str, dict[str, int]] = {}
        for qid, docno, grade in self._qrels.frame.iter_rows():
            grades.setdefault(qid, {})[docno] = grade
        return grades

    def _candidates(
        self, grades: Mapping[str, Mapping[str, int]]
    ) -> list[tuple[str, str, list[str], list[str]]]:
        """Each qid and query with the docnos of its positives and of its pool of negatives."""
        part = self.part
        ranked: dict[str, dict[str, None]] = {}
        for path in self._runs:
            seen = Counter[str]()
            for qid, docno, _ in read_run(path).top(part.depth).frame.iter_rows():
                seen[qid] += 1
                if seen[qid] > part.skip:
                    ranked.setdefault(qid, {})[docno] = None
        found = []
        for qid, query in zip(self._topics.qids, self._topics.queries, strict=True):
            if same_text(query) in self._queries:
                self.counts["left_out_queries"] += 1
                continue
            judged = grades.get(qid, {})
            pool = ranked.get(qid, {}) if part.runs else judged
            best = [docno for docno, grade in judged.items() if grade >= part.grade]
            worse = [docno for docno in pool if judged.get(docno, -1) < part.grade]
            out = self._documents
            self.counts["left_out_documents"] += sum(docno in out for docno in (*best, *worse))
            allowed = [docno for docno in best if docno not in out]
            found.append((qid, query, allowed, [docno for docno in worse if docno not in out]))
        return found

    def _own(self) -> Iterator[Example]:
        """Examples from documents only; memory holds docnos and 8-byte digests."""
        part, field = self.part, str(self.part.query_field)
        every = self.fields or self._corpus.default_fields
        fields = [name for name in every if name != field]
        if not fields:
            raise InputError(f"the text's only field is {field!r}, which is the query.")
        docnos, queries, texts = list[str](), list[int](), list[int]()
        same, excluded, known = dict[int, set[int]](), dict[str, Any](), set[str]()
        for document in documents_left(
            self._corpus, self._documents, lambda document: text_of(document, fields), excluded
        ):
            known |= document.fields.keys()
            query, text = document.fields.get(field, ""), text_of(document, fields)
            if not query.strip() or not text.strip():
                self.counts["without_positive"] += 1
            elif same_text(query) in self._queries:
                self.counts["left_out_queries"] += 1
            else:
                docnos.append(document.docno)
                queries.append(same_number(query))
                texts.append(same_number(text))
                same.setdefault(queries[-1], set()).add(texts[-1])
        refuse_absent([field, *self.fields], [known], self._corpus.source)
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
        query_of, text_of_docno = (_texts(self._corpus, wanted, some) for some in ([field], fields))
        for number, others in drawn.items():
            own, *rest = (text_of_docno(docnos[n]) or "" for n in (number, *others))
            query = query_of(docnos[number]) or ""
            yield Example(query, (own,), tuple(rest), group=same_text(query))


def drawn(positives: int, total: int, most: int, key: tuple[Any, ...] | None) -> NDArray[np.int64]:
    """A row's candidates in a step: a positive, then at most ``most`` negatives.

    They are drawn by ``key`` (seed, epoch, row); without one, for validation, they are the first.
    """
    if key is None or (positives == 1 and total - 1 <= most):
        first, others = 0, np.arange(positives, min(positives + most, total))
    else:
        draw = np.random.default_rng(seed_of(*key))
        first = int(draw.integers(positives))
        others = positives + draw.permutation(total - positives)[:most]
    return np.concatenate(([first], others)).astype(np.int64)


def examples_line(counts: Mapping[str, int]) -> str:
    """What became of the sources, in words."""
    return (
        f"{counts['queries']:,} queries, {counts['left_out_queries']:,} queries and "
        f"{counts['left_out_documents']:,} documents left out by leak control"
    )


def _texts(
    corpus: Corpus, docnos: Iterable[str], fields: Sequence[str]
) -> Callable[[str], str | None]:
    """The texts of documents by docno, read in one pass into an unnamed file; None if absent."""
    chosen, missing = tuple(fields) or corpus.default_fields, set(docnos)
    texts, numbers, fields_seen = TextFile(), dict[str, int](), set[str]()
    with progress().doing("reading texts", corpus.size_hint(), "documents"):
        for document in corpus:
            progress().advance(1)
            if document.docno in missing:  # the first of duplicates
                missing.remove(document.docno)
                fields_seen |= document.fields.keys()
                numbers[document.docno] = len(texts)
                texts.append(text_of(document, chosen))
            if not missing:
                break
    refuse_absent(fields, [fields_seen], corpus.source)
    return lambda docno: texts[numbers[docno]] if docno in numbers else None


def _scores(paths: Iterable[Path]) -> Mapping[str, Mapping[str, float]]:
    """A teacher's scores by qid and docno; the first run that has a document counts."""
    scores: dict[str, dict[str, float]] = {}
    for path in paths:
        for qid, docno, score in read_run(path).frame.iter_rows():
            scores.setdefault(qid, {}).setdefault(docno, score)
    return scores
