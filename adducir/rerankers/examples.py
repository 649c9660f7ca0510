"""Examples for cross-encoders: from judged topics and runs, or from a file of pairs.

Those from documents alone are in :mod:`adducir.rerankers.document_examples`.

Positives of a topic are the documents judged ``grade`` or better. Negatives are drawn from the best
documents of the runs: those judged lower and, by default, those that nobody judged.

Leak control leaves out queries (the texts of the topics named, whatever their qids) and documents
(those judged, pooled or highly ranked in the sources named, with their copies), so that a model
can be tested on them.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import InputError
from adducir.core.files import read_lines
from adducir.core.json_lines import json_value
from adducir.core.names import Seen
from adducir.corpora.qrels import Qrels
from adducir.corpora.topics import Topics
from adducir.models.machine import seed_of
from adducir.runs.run import Run
from adducir.training.leaks import NOBODY, Excluded
from adducir.training.store import Numbers


class Example(NamedTuple):
    """A pair with its label: 1 for relevant, 0 for not, or between."""

    query: str
    text: str
    label: float


@dataclass
class Counts:
    """What became of the judgements or pairs.

    Attributes:
        queries: Queries with an example.
        positives: Examples with a label of one half or more.
        left_out_queries: Queries, or pairs of them, that leak control left out.
        left_out_documents: Documents of topics, or texts, that it left out; copies included.
        without_positive: Topics without a positive, or without a negative, which give no training
            pair.
        missing: Documents that the corpus lacks.
    """

    queries: int = 0
    positives: int = 0
    negatives: int = 0
    left_out_queries: int = 0
    left_out_documents: int = 0
    without_positive: int = 0
    missing: int = 0

    def record(self) -> dict[str, int]:
        """As plain values."""
        return asdict(self)

    def counted(self, examples: Iterable[Example]) -> Iterator[Example]:
        """The same examples, counted as they pass."""
        queries = Seen()
        for one in examples:
            self.queries += not queries.add(one.query)
            self.positives += one.label >= 0.5
            self.negatives += one.label < 0.5
            yield one


@dataclass(frozen=True)
class Leaks:
    """What must not be learnt from.

    Attributes:
        queries: Queries, as :func:`normal` has them.
        copies: Whether documents with the text of one left out are left out too.
    """

    queries: frozenset[str] = frozenset()
    documents: Excluded = NOBODY
    copies: bool = True


@dataclass(frozen=True)
class Candidates:
    """The documents of a topic that may be learnt from."""

    query: str
    positives: list[str] = field(default_factory=list)
    negatives: list[str] = field(default_factory=list)


def normal(text: str) -> str:
    """A text without what hides that it is the same: case and white space."""
    return " ".join(text.split()).casefold()


def candidates(
    topics: Topics,
    qrels: Qrels,
    runs: Sequence[Run],
    leaks: Leaks,
    counts: Counts,
    *,
    grade: int,
    depth: int,
    unjudged: bool,
) -> list[Candidates]:
    """The documents of each topic that may be learnt from, by docno.

    Args:
        topics: The queries.
        qrels: Their judgements. Without runs the negatives are the documents judged lower.
        runs: Where negatives come from, down to ``depth``.
        grade: The least grade of a positive.
        depth: See ``runs``.
        unjudged: Whether documents that nobody judged are negatives.
    """
    grades: dict[str, dict[str, int]] = {}
    for qid, docno, given in qrels.frame.iter_rows():
        grades.setdefault(qid, {})[docno] = given
    ranked: dict[str, dict[str, None]] = {}
    for run in runs:
        for qid, docno, _ in run.top(depth).frame.iter_rows():
            ranked.setdefault(qid, {})[docno] = None
    found = []
    for qid, query in zip(topics.qids, topics.queries, strict=True):
        if normal(query) in leaks.queries:
            counts.left_out_queries += 1
            continue
        judged = grades.get(qid, {})
        pool = ranked.get(qid, {}) if runs else judged
        best = [docno for docno, given in judged.items() if given >= grade]
        worse = [docno for docno in pool if judged.get(docno, -1 if unjudged else grade) < grade]
        kept = [[docno for docno in some if docno not in leaks.documents] for some in (best, worse)]
        counts.left_out_documents += len(best) + len(worse) - len(kept[0]) - len(kept[1])
        found.append(Candidates(query, *kept))
    return found


def examples(
    topics: Sequence[Candidates],
    text_of: Callable[[str], str | None],
    leaks: Leaks,
    counts: Counts,
    *,
    negatives: int,
    seed: int,
) -> Iterator[Example]:
    """Draw negatives and look up texts, topic by topic.

    Args:
        topics: From :func:`candidates`.
        text_of: The text of a document; None if the corpus lacks it.
        leaks: What is left out; its documents are looked up to find their copies.
        negatives: For each positive, at most.
        seed: Another one draws others. What a topic draws depends on nothing but it, the query
            and the topic's negatives.
    """
    barred: set[str] = set()
    if leaks.copies:
        texts = (text_of(docno) for docno in sorted(leaks.documents.docnos))
        barred = {normal(text) for text in texts if text is not None and text.strip()}

    def usable(docnos: Sequence[str]) -> Iterator[str]:
        for docno in docnos:
            text = text_of(docno)
            if text is None or not text.strip():
                counts.missing += 1
            elif normal(text) in barred:
                counts.left_out_documents += 1
            else:
                yield text

    for topic in topics:
        best = list(usable(topic.positives))
        taken = {normal(text) for text in best}
        draw = np.random.default_rng(seed_of(seed, "negatives", topic.query))
        wanted = negatives * len(best)
        worse: list[str] = []
        for number in draw.permutation(len(topic.negatives)):
            if len(worse) == wanted:
                break
            # A document with the text of a positive is no negative, whoever did not judge it.
            worse += [t for t in usable([topic.negatives[number]]) if normal(t) not in taken]
        if not best or not worse:
            counts.without_positive += 1
            continue
        yield from (Example(topic.query, text, 1.0) for text in best)
        yield from (Example(topic.query, text, 0.0) for text in worse)


def read_pairs(path: Path, leaks: Leaks, counts: Counts) -> Iterator[Example]:
    """Yield examples: JSON lines with ``query``, ``text``, ``label``; ``docno`` for leak control.

    Raises:
        InputError: A line is none of these, with its number; or no line may be learnt from.
    """
    is_empty = True
    for line, text in read_lines(path):
        if not text.strip():
            continue
        example, docno = _pair(text, path, line)
        if docno is None and len(leaks.documents):
            raise InputError(
                "leak control is to leave out documents, but this pair has no `docno`.",
                path=path,
                line=line,
            )
        if normal(example.query) in leaks.queries:
            counts.left_out_queries += 1
        elif docno in leaks.documents:
            counts.left_out_documents += 1
        else:
            is_empty = False
            yield example
    if is_empty:
        raise InputError("there is no pair in it to learn from.", path=path)


def _pair(text: str, path: Path, line: int) -> tuple[Example, str | None]:
    form = 'A pair is {"query": "...", "text": "...", "label": 1}.'
    record = json_value(text, path, line, form)
    if not isinstance(record, dict):
        raise InputError("a pair is a JSON object.", path=path, line=line, hint=form)
    for key in ("query", "text"):
        if not isinstance(record.get(key), str):
            raise InputError(f"`{key}` must be a text.", path=path, line=line, hint=form)
    label = record.get("label")
    if not isinstance(label, int | float) or not 0 <= label <= 1 or math.isnan(label):
        raise InputError("`label` must be from 0 to 1.", path=path, line=line, hint=form)
    docno = record.get("docno")
    known = None if docno is None else str(docno)
    return Example(record["query"], record["text"], float(label)), known


def held_out_order(query: str, seed: int) -> int:
    """The place of a query, however it is written, in the order by which queries are held out."""
    return seed_of(seed, "held out", normal(query))


def held_out(places: Numbers, share: float) -> NDArray[np.bool_]:
    """The pairs that are held out: those of a share of the queries, with all their pairs.

    Queries stand in the order of a seeded hash, and the first are held out: what is held out hangs
    on a query and the seed, hardly on what else is there.

    Args:
        places: (n,) of each pair the place of its query, from :func:`held_out_order`.
        share: Of the queries.

    Returns:
        (n,) bool.

    Raises:
        InputError: Nothing would be left to train on.
    """
    order = np.unique(places)
    count = max(1, round(share * len(order))) if share else 0
    if count >= len(order):
        raise InputError(
            f"there are {len(order)} queries, {count} of which are to be held out.",
            hint="Give more queries, or a smaller `held_out.share`.",
        )
    found: NDArray[np.bool_] = places < order[count]
    return found
