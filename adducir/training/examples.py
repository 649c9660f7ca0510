"""Training examples: what every ranker is trained on, from topics, documents only, or files.

For judged topics, documents judged relevant are positives, and documents from runs (or judged
lower) are hard negatives. For documents only, one field is the query and the others answer it, as
an argument's premise supports its conclusion: a document's own text is its query's positive; texts
of random other documents are the negatives. :mod:`Files <adducir.training.example_files>` are those
that others publish. Negatives never equal a positive of their query. Split and leak control are
applied here, once for all kinds of models.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple, cast

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
from adducir.training.data import HeldOut, same_number
from adducir.training.example_files import IDS_HINT, ExampleFile, FileExample
from adducir.training.example_recipe import ExamplesPart
from adducir.training.example_runs import run_of, teacher_scores
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


class _Candidate(NamedTuple):
    text: str
    score: float  # the teacher's, or NaN
    docno: str = ""
    is_judged: bool = True


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
        self._paths = {
            key: [file_path(name, folder) for name in as_tuple(getattr(part, key))]
            for key in ("runs", "teacher", "files")
        }

        name = LOSSES.name_of(type(loss))
        if loss.needs_negatives and not part.negatives:
            message = f"the loss {name} needs negatives, but `examples.negatives` is 0."
            raise InputError(message, hint="Raise it, or choose another `loss`.")
        if loss.needs_teacher and not (part.teacher or part.files):
            raise InputError(
                f"the loss {name} needs a teacher's scores (`examples.teacher`).",
                hint="Name a run with them, such as the output of `adducir rerank`.",
            )

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
            self._digests = {
                name: [each(partial(source_digest, path)) for path in paths]
                for name, paths in self._paths.items()
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
        judged = self._judged if self.part.query_field is None else self._own
        for example in self._of_files() if self.part.files else judged():
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
            name, needed = LOSSES.name_of(type(self._loss)), "a positive"
            if self._loss.needs_negatives:
                needed = f"a positive and a negative, which the loss {name} needs"
            if self._loss.needs_teacher:
                needed = f"a teacher's scores of {needed}"
            hint = "Do all sources belong to one collection, and is the query's field text?"
            if self.part.files:
                hint = (
                    f"Positives have a label of {self.part.grade} (`examples.grade`) or more, or "
                    "the best score of a query's documents, if two or more have one."
                )
                hint += f" {IDS_HINT}" * (self._corpus is not None)
            counts = [f"{name.replace('_', ' ')} {n:,}" for name, n in self.counts.items() if n]
            raise InputError(
                f"none of the queries has {needed}.",
                path=self._paths["files"][0]
                if self.part.files
                else cast("Corpus", self._corpus).source,
                hint=f"{hint} Counts: {listed(counts, 9)}.",
            )

    def _judged(self) -> Iterator[Example]:
        part, corpus = self.part, cast("Corpus", self._corpus)
        grades: dict[str, dict[str, int]] = {}
        for qid, docno, grade in self._qrels.frame.iter_rows():
            grades.setdefault(qid, {})[docno] = grade
        topics = self._candidates(grades)
        wanted = {docno for _, _, *both in topics for docnos in both for docno in docnos}
        text = _texts(corpus, wanted | self._documents.docnos, self.fields)
        relevant = {docno for _, _, best, _ in topics for docno in best}
        if unknown := {docno for docno in relevant if text(docno) is None}:
            progress().note(absent(unknown, len(relevant), "relevant", "the corpus"))
        barred = self._barred(text)
        teacher = teacher_scores(self._paths["teacher"], cast("Topics", self._topics))
        for qid, query, positives, others in topics:
            scores, judged = teacher.get(qid, {}), grades.get(qid, {})

            def candidates(docnos: Iterable[str]) -> Iterator[_Candidate]:
                for docno in docnos:
                    score = scores.get(docno, np.nan)  # noqa: B023
                    yield _Candidate(text(docno) or "", score, docno, docno in judged)  # noqa: B023

            draw = np.random.default_rng(seed_of(part.seed, "negatives", query))
            shuffled = (others[number] for number in draw.permutation(len(others)))
            both = candidates(positives), candidates(shuffled)
            yield self._example(query, *both, barred, per_positive=part.negatives)

    def _barred(self, text: Callable[[str], str | None]) -> frozenset[str]:
        """The texts of documents that leak control leaves out, whose copies are left out, too."""
        left_out = (text(docno) or "" for docno in self._documents.docnos)
        return frozenset(same_text(copy) for copy in left_out if copy.strip())

    def _example(
        self,
        query: str,
        positives: Iterable[_Candidate],
        negatives: Iterable[_Candidate],
        barred: Collection[str],
        per_positive: int | None = None,
    ) -> Example:
        """An example of usable candidates: with a text, not left out, scored where that matters."""

        def usable(candidates: Iterable[_Candidate]) -> Iterator[_Candidate]:
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

        best, worse = list(usable(positives)), list[_Candidate]()
        taken = {same_text(candidate.text) for candidate in best}
        highest = max((c.score for c in best if not isnan(c.score)), default=np.inf)
        limit = np.inf if self.part.margin is None else highest - self.part.margin
        for candidate in usable(negatives):
            if per_positive is not None and len(worse) == per_positive * len(best):
                break
            if same_text(candidate.text) in taken or candidate.score > limit:
                self.counts["false_negatives"] += 1
            else:
                worse.append(candidate)
                self.counts["unjudged_negatives"] += not candidate.is_judged
        scores = [candidate.score for candidate in (*best, *worse)]
        return Example(
            query,
            positives=tuple(candidate.text for candidate in best),
            negatives=tuple(candidate.text for candidate in worse),
            scores=() if all(map(isnan, scores)) else tuple(scores),
            group=same_text(query),
        )

    def _of_files(self) -> Iterator[Example]:
        part, corpus, topics = self.part, self._corpus, self._topics
        query_of = dict(zip(topics.qids, topics.queries, strict=True)) if topics else {}
        files = [
            ExampleFile(
                path=path,
                format=part.format,
                columns=part.columns,
                fields=self.fields,
                quotes=part.quotes,
                qids=query_of if topics else None,
                has_corpus=corpus is not None,
                grade=part.grade,
                ids=part.ids,
            )
            for path in self._paths["files"]
        ]

        def found() -> Iterator[tuple[Path, FileExample]]:
            every = ((file.path, example) for file in files for example in file)
            return islice(every, part.most)

        text: Callable[[str], str | None] = lambda docno: None  # noqa: E731
        if corpus is not None:
            named = {
                document.docno
                for _, example in found()
                for document in (*example.positives, *example.negatives)
                if not document.fields
            }
            text = _texts(corpus, named | self._documents.docnos, self.fields)
            if unknown := {docno for docno in named if text(docno) is None}:
                progress().note_once(absent(unknown, len(named), "named", "the corpus"))
        barred = self._barred(text)
        for path, example in found():
            query = query_of.get(example.query) if example.is_qid else example.query
            if query is None:
                message = f"the query {example.query!r} is not in the topics."
                hint = f"`examples.topics` should have all qids of the file. {IDS_HINT}"
                raise InputError(message, path=path, line=example.line, hint=hint)
            if same_text(query) in self._queries:
                self.counts["left_out_queries"] += 1
                continue
            documents = (*example.positives, *example.negatives)
            scores = example.scores or (np.nan,) * len(documents)
            candidates = [
                _Candidate(document.fields.get("text") or text(docno) or "", score, docno)
                for document, docno, score in zip(
                    documents, (document.docno for document in documents), scores, strict=True
                )
            ]
            count = len(example.positives)
            best, worse = map(self._distinct, (candidates[:count], candidates[count:]))
            yield self._example(query, best, worse, barred)

    def _distinct(self, candidates: Sequence[_Candidate]) -> Sequence[_Candidate]:
        """The first of those with the same text: another would only weigh more."""
        first = dict[str, _Candidate]()
        for candidate in candidates:
            first.setdefault(same_text(candidate.text) or candidate.docno, candidate)
        self.counts["repeated"] += len(candidates) - len(first)
        return [*first.values()]

    def _candidates(
        self, grades: Mapping[str, Mapping[str, int]]
    ) -> list[tuple[str, str, list[str], list[str]]]:
        """Each qid and query with the docnos of its positives and of its pool of negatives."""
        part, topics = self.part, cast("Topics", self._topics)
        ranked: dict[str, dict[str, None]] = {}
        for path in self._paths["runs"]:
            seen = Counter[str]()
            for qid, docno, _ in run_of(path, topics).top(part.depth).frame.iter_rows():
                seen[qid] += 1
                if seen[qid] > part.skip:
                    ranked.setdefault(qid, {})[docno] = None
        found = []
        for qid, query in zip(topics.qids, topics.queries, strict=True):
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
            elif same_text(query) in self._queries:
                self.counts["left_out_queries"] += 1
            else:
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
