"""Training examples: what every ranker is trained on, from topics, documents only, or files.

For judged topics, documents judged relevant are positives, and documents from runs (or judged
lower) are hard negatives. For documents only, one field is the query and the others answer it, as
an argument's premise supports its conclusion: a document's own text is its query's positive; texts
of random other documents are the negatives. :mod:`Files <adducir.training.example_files>` are those
that others publish. Negatives never equal a positive of their query. Split and leak control are
applied here, once for all kinds of models.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from math import isnan, nan
from pathlib import Path
from typing import Any, cast

import numpy as np

from adducir.core.errors import InputError, gathering
from adducir.core.fingerprint import fingerprint, source_digest
from adducir.core.many_texts import TextFile
from adducir.core.planning import may_download, reads
from adducir.core.progress import progress
from adducir.core.recipe import as_tuple
from adducir.core.texts import listed, same_text
from adducir.corpora.documents import Corpus, refuse_absent, text_of
from adducir.corpora.reading import QrelsReading, TopicReading
from adducir.corpora.sources import file_path, source_path
from adducir.corpora.topics import Topics
from adducir.models.machine import seed_of
from adducir.runs.docnos import absent
from adducir.runs.read import read_run
from adducir.runs.run import Run
from adducir.runs.write import facts_at, part_of
from adducir.training.data import HeldOut, same_number
from adducir.training.example_files import IDS_HINT, ExampleDocument, FileExample, read_examples
from adducir.training.example_recipe import ExamplesPart
from adducir.training.leaks import TrainedOn, documents_left
from adducir.training.losses import LOSSES, Loss

_COUNTED = [
    *("queries", "left_out_queries", "left_out_documents", "without_positive", "missing"),
    *("positives", "negatives", "unjudged_negatives", "false_negatives", "without_score"),
    "repeated",
]
_TRIES = 50
"""Documents tried for a negative before giving up."""
_LATER = ("skip", "margin", "columns", "ids")
"""Keys that are in fingerprints only where they have an effect."""
TextOf = Callable[[str], str | None]
"""A document's text by docno; None if the corpus lacks it."""


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


class ExampleSource:
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
        name = LOSSES.name_of(type(loss))
        if loss.needs_negatives and not part.negatives:
            message = f"the loss {name} needs negatives, but `examples.negatives` is 0."
            raise InputError(message, hint="Raise it, or choose another `loss`.")
        if loss.needs_teacher and not (part.teacher or part.files):
            message = f"the loss {name} needs a teacher's scores (`examples.teacher`)."
            hint = "Name a run with them, such as the output of `adducir rerank`."
            raise InputError(message, hint=hint)

        def topics(source: str, field: str | None = None) -> Topics:
            return part.read_topics(source_path(source, folder), field)

        self._topics: Topics | None = None
        self._corpus: Corpus | None = None
        with gathering() as each:
            left_out = [each(partial(topics, source)) for source in as_tuple(part.without.topics)]
            self._documents = each(partial(part.without.excluded, folder))
            if part.corpus is not None:
                self._corpus = each(partial(part.corpus.open, folder))
            if part.topics is not None:
                self._topics = each(partial(topics, part.topics, part.topic_field))
            if part.qrels:
                named = [source_path(name, folder) for name in as_tuple(part.qrels)]
                self._qrels = each(partial(part.read_qrels, named))
            self._paths = {
                key: [file_path(name, folder) for name in as_tuple(getattr(part, key))]
                for key in ("runs", "teacher", "files")
            }
            self._digests = {
                key: [each(partial(source_digest, path)) for path in paths]
                for key, paths in self._paths.items()
            }
        self._queries = frozenset(same_text(query) for some in left_out for query in some.queries)

    @property
    def settings(self) -> dict[str, Any]:
        """The part's keys that determine the examples, without sources' names."""
        reading = {*TopicReading.model_fields, *QrelsReading.model_fields}
        named = {"topics", "topic_field", "qrels", "corpus", "runs", "teacher", "without", "files"}
        unset = {key for key in _LATER if not getattr(self.part, key)}
        exclude = named | reading | unset
        values = self.part.model_dump(mode="json", exclude=exclude, exclude_none=True)
        return values | ({"repeated texts": "once"} if self.part.files else {})

    def identity(self) -> dict[str, str]:
        """The fingerprints of the sources, by name."""
        opened: dict[str, Any] = {
            name: source.identity()
            for name, source in (("corpus", self._corpus), ("topics", self._topics))
            if source is not None
        }
        if self.part.qrels:
            opened |= {"qrels": self._qrels.identity(), "runs": self._digests["runs"]}
        opened |= {key: self._digests[key] for key in ("teacher", "files") if self._digests[key]}
        opened["without"] = [sorted(self._queries), self._documents.identity()]
        return {name: fingerprint(identity) for name, identity in opened.items()}

    def trained_on(self, held_out: HeldOut, kept: frozenset[int] = frozenset()) -> TrainedOn:
        """What the examples are of; files, and documents with queries, are read unless ``kept``."""
        part, topics = self.part, cast("Topics", self._topics)
        if part.query_field is not None:
            corpus = "" if part.most else fingerprint(cast("Corpus", self._corpus).identity())
            numbers = kept or self._read_queries(held_out)
            return TrainedOn(numbers, corpus, self._documents.docnos)
        if part.files:
            return TrainedOn(kept or self._read_queries(held_out))
        relevant = {
            qid
            for qid, docno, grade in self._qrels.frame.iter_rows()
            if grade >= part.grade and docno not in self._documents
        }
        asked = (q for qid, q in zip(topics.qids, topics.queries, strict=True) if qid in relevant)
        left = (query for query in asked if same_text(query) not in self._queries)
        used = (query for query in left if held_out.part_of(same_text(query)) != "test")
        return TrainedOn(frozenset(map(same_number, used)))

    def _read_queries(self, held_out: HeldOut) -> frozenset[int]:
        """The numbers of the queries to train on; none if a dry run does not read the sources."""
        paths = (*self._paths["files"], *getattr(self._corpus, "paths", ()))
        is_local = self._corpus is None or hasattr(self._corpus, "paths")
        if not (may_download() or (is_local and reads(*paths))):
            return frozenset()
        examples = (example for example, part in self.divided(held_out) if part != "test")
        return frozenset(same_number(example.query) for example in examples)

    def divided(self, held_out: HeldOut) -> Iterator[tuple[Example, str]]:
        """The examples with their parts."""
        return ((example, held_out.part_of(example.group)) for example in self)

    def __iter__(self) -> Iterator[Example]:
        """The examples; then ``counts`` holds what became of the sources."""
        self.counts, is_taught = Counter(dict.fromkeys(_COUNTED, 0)), False
        if self.part.files:
            examples = self._of_files()
        else:
            examples = self._judged() if self.part.query_field is None else self._own()
        for example in examples:
            positives, negatives = len(example.positives), len(example.negatives)
            is_taught = is_taught or bool(example.scores)
            if not positives or (self._loss.needs_negatives and not negatives):
                self.counts["without_positive"] += 1
                continue
            self.counts.update(queries=1, positives=positives, negatives=negatives)
            yield example
        if self.part.margin is not None and not is_taught:
            raise InputError(
                "`examples.margin` has no effect: no document has a teacher's score.",
                path=(self._paths["files"] + self._paths["teacher"])[0],
            )
        if not self.counts["queries"]:
            self._refuse_nothing()

    def _refuse_nothing(self) -> None:
        needed = "a positive and a negative" if self._loss.needs_negatives else "a positive"
        if self._loss.needs_teacher:
            needed += " with a teacher's scores"
        path: Any = getattr(self._corpus, "source", None)
        hint = "Do all sources belong to one collection, and is the query's field text?"
        if self.part.files:
            path = self._paths["files"][0]
            hint = (
                f"Positives have a label of {self.part.grade} (`examples.grade`) or more, or the "
                f"best score of a query's documents, if two or more have one. {IDS_HINT}"
            )
        counts = [f"{name.replace('_', ' ')} {n:,}" for name, n in self.counts.items() if n]
        name = LOSSES.name_of(type(self._loss))
        message = f"none of the queries has {needed}, as the loss {name} needs."
        raise InputError(message, path=path, hint=f"{hint} Counts: {listed(counts, 9)}.")

    def _is_left_out(self, query: str) -> bool:
        is_left_out = same_text(query) in self._queries
        self.counts["left_out_queries"] += is_left_out
        return is_left_out

    def _judged(self) -> Iterator[Example]:
        part, out, topics = self.part, self._documents, cast("Topics", self._topics)
        grades: dict[str, dict[str, int]] = {}
        for qid, docno, grade in self._qrels.frame.iter_rows():
            grades.setdefault(qid, {})[docno] = grade
        pools: Mapping[str, Iterable[str]] = self._ranked(topics) if part.runs else grades
        lists = list[tuple[str, str, list[str], list[str]]]()
        for qid, query in zip(topics.qids, topics.queries, strict=True):
            if self._is_left_out(query):
                continue
            judged = grades.get(qid, {})
            best = [docno for docno, grade in judged.items() if grade >= part.grade]
            worse = [docno for docno in pools.get(qid, ()) if judged.get(docno, -1) < part.grade]
            self.counts["left_out_documents"] += sum(docno in out for docno in (*best, *worse))
            best, worse = ([docno for docno in some if docno not in out] for some in (best, worse))
            lists.append((qid, query, best, worse))
        relevant = {docno for _, _, best, _ in lists for docno in best}
        text, barred = self._texts(relevant.union(*(worse for *_, worse in lists)), relevant)
        teacher = teacher_scores(self._paths["teacher"], topics)
        for qid, query, best, worse in lists:
            draw = np.random.default_rng(seed_of(part.seed, "negatives", query))
            shuffled = [worse[number] for number in draw.permutation(len(worse))]
            facts = text, teacher.get(qid, {}), grades.get(qid, {})
            positives, negatives = (_named(docnos, *facts) for docnos in (best, shuffled))
            yield self._example(query, positives, negatives, barred, part.negatives)

    def _ranked(self, topics: Topics) -> Mapping[str, Iterable[str]]:
        """The docnos of each topic that the runs rank below the best ``skip``."""
        ranked: dict[str, dict[str, None]] = {}
        for path in self._paths["runs"]:
            seen = Counter[str]()
            for qid, docno, _ in run_of(path, topics).top(self.part.depth).frame.iter_rows():
                seen[qid] += 1
                if seen[qid] > self.part.skip:
                    ranked.setdefault(qid, {})[docno] = None
        return ranked

    def _texts(self, docnos: set[str], needed: set[str]) -> tuple[TextOf, frozenset[str]]:
        """The texts of documents, and those that leak control leaves out, with their copies."""
        text = _texts(cast("Corpus", self._corpus), docnos | self._documents.docnos, self.fields)
        if unknown := {docno for docno in needed if text(docno) is None}:
            kind = "named" if self.part.files else "relevant"
            progress().note_once(absent(unknown, len(needed), kind, "the corpus"))
        left_out = (text(docno) or "" for docno in self._documents.docnos)
        return text, frozenset(same_text(copy) for copy in left_out if copy.strip())

    def _of_files(self) -> Iterator[Example]:
        query_of = dict[str, str]()
        if self._topics is not None:
            query_of |= zip(self._topics.qids, self._topics.queries, strict=True)

        def records() -> Iterator[tuple[Path, FileExample]]:
            how = self.part, self.fields, None if self._topics is None else query_of
            files = ((path, read_examples(path, *how)) for path in self._paths["files"])
            return islice(((path, e) for path, some in files for e in some), self.part.most)

        text: TextOf = lambda docno: None  # noqa: E731
        barred = frozenset[str]()
        if self._corpus is not None:
            sides = chain.from_iterable((e.positives, e.negatives) for _, e in records())
            named = {c.docno for side in sides for c in side if c.docno and not c.text}
            text, barred = self._texts(named, named)
        for path, example in records():
            query = query_of.get(example.query) if example.is_qid else example.query
            if query is None:
                message = f"the query {example.query!r} is not in the topics."
                hint = f"`examples.topics` should have all qids of the file. {IDS_HINT}"
                raise InputError(message, path=path, line=example.line, hint=hint)
            if not self._is_left_out(query):
                best, worse = (
                    self._distinct([c._replace(text=c.text or text(c.docno) or "") for c in side])
                    for side in (example.positives, example.negatives)
                )
                yield self._example(query, best, worse, barred)

    def _distinct(self, candidates: Sequence[ExampleDocument]) -> Sequence[ExampleDocument]:
        """The first of those with the same text: another would only weigh more."""
        first = dict[str, ExampleDocument]()
        for candidate in candidates:
            first.setdefault(same_text(candidate.text) or candidate.docno, candidate)
        self.counts["repeated"] += len(candidates) - len(first)
        return [*first.values()]

    def _example(
        self,
        query: str,
        positives: Iterable[ExampleDocument],
        negatives: Iterable[ExampleDocument],
        barred: frozenset[str],
        per_positive: int | None = None,
    ) -> Example:
        best, worse = [*self._usable(positives, barred)], list[ExampleDocument]()
        taken = {same_text(candidate.text) for candidate in best}
        limit = np.inf
        if self.part.margin is not None:
            scores = (candidate.score for candidate in best if not isnan(candidate.score))
            limit = max(scores, default=np.inf) - self.part.margin
        for candidate in self._usable(negatives, barred):
            if per_positive is not None and len(worse) == per_positive * len(best):
                break
            if same_text(candidate.text) in taken or candidate.score > limit:
                self.counts["false_negatives"] += 1
            else:
                worse.append(candidate)
                self.counts["unjudged_negatives"] += not candidate.is_judged
        scored = tuple(candidate.score for candidate in (*best, *worse))
        return Example(
            query,
            positives=tuple(candidate.text for candidate in best),
            negatives=tuple(candidate.text for candidate in worse),
            scores=() if all(map(isnan, scored)) else scored,
            group=same_text(query),
        )

    def _usable(
        self, candidates: Iterable[ExampleDocument], barred: frozenset[str]
    ) -> Iterator[ExampleDocument]:
        """Candidates with a text that is not left out, scored where that matters."""
        for candidate in candidates:
            if self._loss.needs_teacher and isnan(candidate.score):
                self.counts["without_score"] += 1
            elif not candidate.text.strip():
                self.counts["missing"] += 1
            elif candidate.docno in self._documents or (
                barred and same_text(candidate.text) in barred
            ):
                self.counts["left_out_documents"] += 1
            else:
                yield candidate

    def _own(self) -> Iterator[Example]:
        """Examples from documents only; memory holds docnos and 8-byte digests."""
        part, corpus, field = self.part, cast("Corpus", self._corpus), str(self.part.query_field)
        every = self.fields or corpus.default_fields
        fields = [name for name in every if name != field]
        if not fields:
            raise InputError(f"the text's only field is {field!r}, which is the query.")
        docnos, queries, texts = list[str](), list[int](), list[int]()
        same, excluded, known = dict[int, set[int]](), dict[str, Any](), set[str]()
        for document in documents_left(
            corpus, self._documents, lambda document: text_of(document, fields), excluded
        ):
            known |= document.fields.keys()
            query, text = document.fields.get(field, ""), text_of(document, fields)
            if not query.strip() or not text.strip():
                self.counts["without_positive"] += 1
            elif not self._is_left_out(query):
                docnos.append(document.docno)
                queries.append(same_number(query))
                texts.append(same_number(text))
                same.setdefault(queries[-1], set()).add(texts[-1])
        refuse_absent([field, *self.fields], [known], corpus.source)
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
        query_of, text_of_docno = (_texts(corpus, wanted, some) for some in ([field], fields))
        for number, others in drawn.items():
            own, *rest = (text_of_docno(docnos[n]) or "" for n in (number, *others))
            query = query_of(docnos[number]) or ""
            yield Example(query, (own,), tuple(rest), group=same_text(query))


def _named(
    docnos: Iterable[str], text: TextOf, scores: Mapping[str, float], judged: Mapping[str, int]
) -> Iterator[ExampleDocument]:
    for docno in docnos:
        yield ExampleDocument(text(docno) or "", docno, scores.get(docno, nan), docno in judged)


def run_of(path: Path, topics: Topics) -> Run:
    """A run of some of the topics."""
    run = read_run(path)
    if {*topics.qids}.isdisjoint(run.frame["qid"].unique()):
        message = "this run has none of the qids of `examples.topics`."
        raise InputError(message, path=path, hint="Name a run of the same topics.")
    return run


def teacher_scores(paths: Iterable[Path], topics: Topics) -> Mapping[str, Mapping[str, float]]:
    """A teacher's scores by qid and docno; the first run that has a document counts.

    What a reranked run has below the depth of reranking is not the reranker's.
    """
    scores: dict[str, dict[str, float]] = {}
    for path in paths:
        run = run_of(path, topics)
        facts = facts_at(path)
        stages = part_of(facts, "method").get("reranking")
        depth = part_of(stages, len(stages) - 1).get("depth") if isinstance(stages, list) else None
        if isinstance(depth, int) and 0 < depth < run.depth:
            run = run.top(depth)
            progress().note(f"{path}: a teacher's scores are of the {depth:,} reranked documents")
        for qid, docno, score in run.frame.iter_rows():
            scores.setdefault(qid, {}).setdefault(docno, score)
    return scores


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
