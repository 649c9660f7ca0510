"""Measures of generated texts: overlap with answers, passages and knowledge, KILT's, and sharpness.

Words are those of KILT's evaluation (``kilt/eval_downstream.py``, after SQuAD's): lower case, the
32 punctuation marks of ASCII deleted, ``a``, ``an`` and ``the`` deleted, cut at white space. So
``don't`` is the word ``dont``, as in the Hindsight paper's lists of common words.

``F1`` is the harmonic mean of precision and recall of the words of one text among those of the
other, each as often as it occurs; 0 where either text has no word. ``Novel-F1`` (Paranjape et al.,
ICLR 2022, section 4.4 and appendix A.2) is the same after the words that are common in the training
targets, and those of the input x, were removed from both texts. A copy of x therefore scores 0, as
does what consists of common words alone. Two texts without a novel word between them score 0; the
paper does not say so.

Of several answers or gold passages the nearest counts, for each measure apart. ``max F1@k`` and the
like are the best over the texts that were generated from the first k passages (Tables 2 and 4).
"""

import re
import string
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np

from adducir.core.errors import InputError, UsageError
from adducir.evaluation.measures import NamedMeasure
from adducir.evaluation.rouge import rouge_l
from adducir.evaluation.scores import Scores
from adducir.statistics.comparison import compare
from adducir.statistics.settings import Testing
from adducir.studies.grounded_generation.scripts import (
    bleu,
    kilt_rouge_l,
    marco_rouge_l,
    marco_words,
    r_precision,
    recall_at,
)
from adducir.studies.grounded_generation.texts import (
    Generated,
    Output,
    Reference,
    References,
    System,
)
from adducir.tables.build import Figure, Layout, build_table
from adducir.tables.table import ResultTable

CUTOFFS = (1, 2, 5, 10, 20, 50, 100)
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:an?|the)\b")


@lru_cache(maxsize=1 << 12)
def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, in its order."""
    return tuple(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def common_words(texts: Iterable[str], mass: float) -> tuple[str, ...]:
    """The most frequent words of texts, most frequent first, that make up a share of all words.

    Words of one frequency stand in alphabetical order. The word that reaches the share is the last
    one; the Hindsight paper (appendix A.2) leaves that open. Its shares are .5 for Wizard of
    Wikipedia (121 words) and .33 for MS MARCO NLGen (55 words).
    """
    counts = Counter(word for text in texts for word in words_of(text))
    wanted, reached = mass * counts.total(), 0
    found: list[str] = []
    for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if reached >= wanted:
            break
        found.append(word)
        reached += count
    return tuple(found)


def f1(first: str, second: str, known: Collection[str] = ()) -> float:
    """F1 of the words of two texts, ``known`` ones aside: 0 to 1."""
    one, two = ([word for word in words_of(text) if word not in known] for text in (first, second))
    same = (Counter(one) & Counter(two)).total()
    if not same:
        return 0.0
    precision, recall = same / len(one), same / len(two)
    return 2 * precision * recall / (precision + recall)


class TextMeasures(ABC):
    """Measures that are computed together, a value each for every reference.

    A reference that the measures have no meaning for is left out, for every system alike.

    Attributes:
        name: How they are asked for; heads their columns.
        names: The measures.
        depth: The texts of an input of which the best counts; with 1 there is the first alone.
    """

    name: ClassVar[str]
    names: tuple[str, ...]
    depth: int = 1

    @abstractmethod
    def counts(self, reference: Reference) -> bool:
        """Whether the reference counts."""

    @abstractmethod
    def row(self, reference: Reference, output: Output) -> Sequence[float]:
        """The value of each measure for one output."""

    @property
    def titles(self) -> tuple[str, ...]:
        """The measures of the first text, then those of the best."""
        best = tuple(f"max {name}@{self.depth}" for name in self.names)
        return (*self.names, *(best if self.depth > 1 else ()))

    def values(self, reference: Reference, generated: Generated) -> Sequence[float]:
        """The values for one reference; 0 where nothing was generated."""
        rows = [self.row(reference, one) for one in generated.outputs[: self.depth]]
        if not rows:
            return [0.0] * len(self.titles)
        best = [max(column) for column in zip(*rows, strict=True)]
        return [*rows[0], *(best if self.depth > 1 else ())]

    def counted(self, references: References) -> list[Reference]:
        """The references that count, in their order."""
        counted = [one for one in references.values() if self.counts(one)]
        if not counted:
            raise UsageError(f"no reference has what the measures of {self.name!r} need.")
        return counted

    def scores(self, system: str, references: References, found: System) -> Scores:
        """The values of one system; a reference for which it generated nothing gets 0."""
        counted = self.counted(references)
        none = [0.0] * len(self.titles)
        rows = [self.values(one, found[one.id]) if one.id in found else none for one in counted]
        missing = tuple(one.id for one in counted if one.id not in found)
        extra = tuple(name for name in found if name not in references)
        qids, measures = [one.id for one in counted], [*map(NamedMeasure, self.titles)]
        return Scores.of(system, qids, measures, np.array(rows), missing=missing, extra=extra)

    def collection(self, references: References, found: System) -> dict[str, float]:
        """Measures of all texts at once, which are not means and not tested."""
        return {}


class Answers(TextMeasures):
    """F1, Novel-F1 and ROUGE-L of generated texts with the right answers."""

    name: ClassVar = "answers"
    names = ("F1", "Novel-F1", "ROUGE-L")

    def __init__(self, common: Collection[str], depth: int = 1) -> None:
        self.depth, self._common = depth, frozenset(common)

    def counts(self, reference: Reference) -> bool:
        return bool(reference.answers) and not reference.unanswerable

    def row(self, reference: Reference, output: Output) -> list[float]:
        text, known = output.text, self._common.union(words_of(reference.input))
        each = [
            (f1(text, one), f1(text, one, known), rouge_l(one, text)) for one in reference.answers
        ]
        return [max(column) for column in zip(*each, strict=True)]


class Grounding(TextMeasures):
    """F1 and Novel-F1 of outputs with the passages they were generated from, gold or not.

    Args:
        passages: The texts of passages by docno, for outputs that only name theirs.
    """

    name: ClassVar = "grounding"
    names = ("F1", "Novel-F1")

    def __init__(
        self, common: Collection[str], passages: Mapping[str, str], depth: int = 1
    ) -> None:
        self.depth, self._common, self._passages = depth, frozenset(common), passages

    def counts(self, reference: Reference) -> bool:
        return True

    def row(self, reference: Reference, output: Output) -> list[float]:
        passage = output.passage
        if passage is None and output.docno is not None:
            passage = self._passages.get(output.docno)
        if passage is None:
            named = f": there is no {output.docno!r}" if output.docno else ""
            raise InputError(
                f"the passage of an output for {reference.id!r} is not known{named}.",
                hint="Give each output its 'passage', or its 'docno' and the corpus (--corpus).",
            )
        known = self._common.union(words_of(reference.input))
        return [f1(output.text, passage), f1(output.text, passage, known)]


class Knowledge(TextMeasures):
    """Knowledge-F1 (Shuster et al., 2021): F1 of a generated text and the gold passage.

    Args:
        passages: The texts of passages by docno; inputs without a gold one among them are left out.
    """

    name: ClassVar = "knowledge"
    names = ("Knowledge-F1",)

    def __init__(self, passages: Mapping[str, str], depth: int = 1) -> None:
        self._passages, self.depth = passages, depth

    def counts(self, reference: Reference) -> bool:
        return any(docno in self._passages for docno in reference.gold)

    def row(self, reference: Reference, output: Output) -> list[float]:
        gold = (self._passages[docno] for docno in reference.gold if docno in self._passages)
        return [max(f1(output.text, text) for text in gold)]


class Kilt(TextMeasures):
    """KILT's measures of answers and pages, as its official script computes them.

    ``R-precision`` and ``Recall@5`` of pages; ``F1`` and ``ROUGE-L`` of the answer, the best over
    the right answers; ``KILT-F1`` and ``KILT-ROUGE-L``: the same where R-precision is 1, else 0.
    The script stops where a prediction is missing; here it counts 0. Texts in Adducir's form name
    passages, not pages: the page of passage ``4041-2`` is ``4041``.
    """

    name: ClassVar = "kilt"
    names = ("R-precision", "Recall@5", "F1", "ROUGE-L", "KILT-F1", "KILT-ROUGE-L")

    def counts(self, reference: Reference) -> bool:
        """The lines of KILT's test sets have neither an answer nor a page."""
        return bool(reference.answers or reference.evidence)

    def row(self, reference: Reference, output: Output) -> list[float]:
        answer, answers = output.text.strip(), reference.answers
        overlap = max((f1(answer, one) for one in answers), default=0.0)
        return [overlap, max((kilt_rouge_l(answer, one) for one in answers), default=0.0)]

    def values(self, reference: Reference, generated: Generated) -> list[float]:
        pages = pages_of(generated)
        precision = r_precision(pages, reference.evidence)
        overlap, rouge = self.row(reference, Output(generated.answer))
        right = float(precision == 1)
        recall = recall_at(5, pages, reference.evidence)
        return [precision, recall, overlap, rouge, right * overlap, right * rouge]


def pages_of(generated: Generated) -> Sequence[str]:
    """The pages that a system found: as given, else those of the passages that outputs name."""
    docnos = (output.docno or "" for output in generated.outputs)
    return generated.pages or [page for docno in docnos if (page := docno.rpartition("-")[0])]


class MsMarco(TextMeasures):
    """ROUGE-L of each answer, and BLEU-1 to BLEU-4 of all, as ``ms_marco_eval`` computes them.

    The script stops where an answer is missing; here it counts as an empty one.
    """

    name: ClassVar = "msmarco"
    names = ("ROUGE-L",)

    def counts(self, reference: Reference) -> bool:
        return bool(reference.answers) and not reference.unanswerable

    def row(self, reference: Reference, output: Output) -> list[float]:
        return [marco_rouge_l(output.text, reference.answers)]

    def collection(self, references: References, found: System) -> dict[str, float]:
        """BLEU-1 to BLEU-4 of all answers at once."""
        pairs = (
            (
                marco_words(found[one.id].answer) if one.id in found else [],
                [marco_words(answer) for answer in one.answers],
            )
            for one in self.counted(references)
        )
        return {f"BLEU-{order}": value for order, value in enumerate(bleu(pairs), start=1)}


class Measured(NamedTuple):
    """What systems generated, measured; the sets are the groups of measures.

    Attributes:
        scores: Of each run of a system by each group of measures.
        figures: The measures of all texts at once, which are last in their groups, not tested.
        notes: What a reader must know.
    """

    scores: list[Scores]
    figures: list[Figure]
    notes: list[str]


def measured(
    systems: Mapping[str, Mapping[str, System]],
    references: References,
    measures: Sequence[TextMeasures],
) -> Measured:
    """Measure systems over the same references.

    Args:
        systems: What each system generated, by its name and that of each of its runs.
        measures: Each group is measured over the references that count for it.
    """
    found = Measured([], [], [])
    lacking, wholes = list[str](), list[str]()
    for one in measures:
        group = one.name if len(measures) > 1 else ""
        counted, titles = len(one.counted(references)), list[str]()
        for system, runs in systems.items():
            for run, texts in runs.items():
                scores = one.scores(run, references, texts).renamed(system)
                found.scores.append(scores.in_set(group))
            each = [one.collection(references, texts) for texts in runs.values()]
            titles = list(each[0])
            for title in titles:
                mean = float(np.mean([run[title] for run in each]))
                found.figures.append(Figure(group, system, title, mean, counted))
        if counted < len(references):
            head = f"{group}: " if group else ""
            few = len(references) - counted
            lacking.append(f"{head}{few:,} of {len(references):,} references do not count.")
        if titles:
            wholes.append(f"{titles[0]} to {titles[-1]} are of all texts at once, and not tested.")
    found.notes.extend(dict.fromkeys([*lacking, *wholes]))
    return found


def text_table(
    systems: Mapping[str, Mapping[str, System]],
    references: References,
    measures: Sequence[TextMeasures],
    *,
    testing: Testing | None,
    layout: Layout,
) -> ResultTable:
    """A table of systems over the same references; see :func:`measured`."""
    found = measured(systems, references, measures)
    are_many = any(len(one.qids) > 1 for one in found.scores)
    comparison = compare(found.scores, testing if are_many else None)
    layout = replace(layout, notes=(*found.notes, *layout.notes))
    return build_table(comparison, layout, figures=found.figures)


def mass_scores(
    system: str,
    scores: Mapping[str, Sequence[float]],
    *,
    cutoffs: Sequence[int] = CUTOFFS,
    depth: int = 100,
    temperature: float = 1.0,
) -> Scores:
    """``Mass@k``, the sharpness of distributions over passages (Hindsight, figures 4 and 5).

    The scores of an input's passages become probabilities by a softmax over the best ``depth`` of
    them (its closed set); Mass@k is the sum of the k greatest. Scores are those of a retriever, or
    log-likelihoods: P(z|x,y) under a uniform prior is the softmax of log P(y|x,z).
    """
    if not scores or not cutoffs or min(*cutoffs, depth) < 1 or temperature <= 0:
        raise UsageError(
            "sharpness needs an input, a temperature above 0, and depth and cutoffs of 1 or more."
        )
    values = np.ones((len(scores), len(cutoffs)))
    for row, one in enumerate(scores.values()):
        logs = np.sort(np.asarray(one, dtype=np.float64))[::-1][:depth] / temperature
        if not logs.size or np.isnan(logs).any():
            raise UsageError(f"{system} has an input without scores, or with one that is NaN.")
        weights = np.exp(logs - logs[0])
        reached = np.minimum(np.cumsum(weights) / weights.sum(), 1.0)
        values[row] = [reached[k - 1] if k <= len(reached) else 1.0 for k in cutoffs]
    return Scores.of(system, [*scores], [NamedMeasure(f"Mass@{k}") for k in cutoffs], values)
