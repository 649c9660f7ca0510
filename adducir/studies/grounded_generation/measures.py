"""Measures of generated texts: overlap with answers, passages and knowledge, KILT's, and sharpness.

Words are those of KILT's evaluation (``kilt/eval_downstream.py``, after SQuAD's): lower case, the
32 punctuation marks of ASCII deleted, ``a``, ``an`` and ``the`` deleted, split at white space. So
``don't`` is the word ``dont``, as in the Hindsight paper's lists of common words.

``F1`` compares the words of two texts, counting every occurrence; 0 if either has no words.
``Novel-F1`` (Paranjape et al., ICLR 2022, section 4.4 and appendix A.2) is the same after removing
the words that are common in the training targets, and those of the input x, from both texts. Two
texts without any novel word score 0; the paper does not say so. With several answers or gold
passages the best match counts, separately for each measure. ``max F1@k`` and the like are maxima
over the texts generated from the first k passages (Tables 2 and 4).

KILT (Petroni et al., NAACL 2021, section 5, ``kilt/eval_retrieval.py``) measures Wikipedia pages. A
question has one or several evidence sets, the pages behind each of its answers. Its ROUGE-L is from
the PyPI package ``rouge`` (1.0.0, 1.0.1), which differs from ``rouge_score``: texts are split into
sentences at every full stop (even in ``9.4``) and into words at white space; case and other
punctuation matter; the longest common subsequence of each pair of sentences is found, and the union
over all pairs counts each word once. Of several longest subsequences the package takes the one that
goes back in the answer where both ways are equally long.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from adducir.core.errors import InputError, UsageError, worded
from adducir.evaluation.measures import NamedMeasure
from adducir.evaluation.rouge import rouge_l
from adducir.evaluation.scores import Scores
from adducir.studies.grounded_generation.texts import (
    Generated,
    Output,
    Reference,
    References,
    System,
)

ON_REQUEST = ("ranks", "without-gold")
CUTOFFS = (1, 2, 5, 10, 20, 50, 100)
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:an?|the)\b")


@lru_cache(maxsize=1 << 12)
def words_of(text: str) -> tuple[str, ...]:
    return tuple(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def common_words(texts: Iterable[str], mass: float) -> tuple[str, ...]:
    """The most frequent words of texts, up to the one that brings them to a share of all words.

    The Hindsight paper's shares (appendix A.2) are .5 for Wizard of Wikipedia (121 words) and .33
    for MS MARCO NLGen (55 words).
    """
    counts = Counter(word for text in texts for word in words_of(text))
    threshold, reached = mass * counts.total(), 0
    common: list[str] = []
    for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if reached >= threshold:
            break
        common.append(word)
        reached += count
    return tuple(common)


def f1(first: str, second: str, excluded: Collection[str] = ()) -> float:
    """F1 of the words of two texts, without ``known`` ones: 0 to 1."""
    first_words, two = (
        [word for word in words_of(text) if word not in excluded] for text in (first, second)
    )
    same = (Counter(first_words) & Counter(two)).total()
    if not same:
        return 0.0
    precision, recall = same / len(first_words), same / len(two)
    return 2 * precision * recall / (precision + recall)


@dataclass(frozen=True)
class TextMeasures:
    """Measures that are computed together, one value each per reference that counts."""

    name: str  # how they are requested; also the head of their columns
    names: tuple[str, ...]
    counts: Callable[[Reference], bool]
    values: Callable[[Reference, Generated], list[float]]
    are_descriptive: bool = False

    def counted(self, references: References) -> list[Reference]:
        counted = [reference for reference in references.values() if self.counts(reference)]
        if not counted:
            raise UsageError(f"all references lack what the {self.name!r} measures need.")
        return counted

    def scores(self, system: str, references: References, generated: System) -> Scores:
        """A reference for which nothing was generated gets 0."""
        counted = self.counted(references)
        nothing = Generated("", ())
        values = np.array(
            [self.values(reference, generated.get(reference.id, nothing)) for reference in counted]
        )
        missing = tuple(reference.id for reference in counted if reference.id not in generated)
        extra = tuple(name for name in generated if name not in references)
        qids = [reference.id for reference in counted]
        measures = [NamedMeasure(name, is_descriptive=self.are_descriptive) for name in self.names]
        return Scores.of(system, qids, measures, values, missing=missing, extra=extra)


def _first_and_best(
    name: str,
    names: tuple[str, ...],
    counts: Callable[[Reference], bool],
    row: Callable[[Reference, Output], Sequence[float]],
    depth: int,
) -> TextMeasures:
    """Measures of the first text, and their maxima over the first ``depth`` if more than one."""

    def values(reference: Reference, generated: Generated) -> list[float]:
        rows = [row(reference, output) for output in generated.outputs[:depth]] or [
            [0.0] * len(names)
        ]
        best = [max(column) for column in zip(*rows, strict=True)]
        return [*rows[0], *(best if depth > 1 else ())]

    best = [f"max {name}@{depth}" for name in names] if depth > 1 else []
    return TextMeasures(name, (*names, *best), counts, values)


def answers(common: Collection[str], depth: int = 1) -> TextMeasures:
    """F1, Novel-F1 and ROUGE-L of generated texts against the answers."""
    words = frozenset(common)

    def row(reference: Reference, output: Output) -> list[float]:
        text, excluded = output.text, words.union(words_of(reference.input))
        values = [
            (f1(text, answer), f1(text, answer, excluded), rouge_l(answer, text))
            for answer in reference.answers
        ]
        return [max(column) for column in zip(*values, strict=True)]

    names = ("F1", "Novel-F1", "ROUGE-L")
    return _first_and_best(
        "answers",
        names,
        lambda reference: bool(reference.answers) and not reference.unanswerable,
        row,
        depth,
    )


def _grounded(
    common: Collection[str], passages: Mapping[str, str]
) -> Callable[[Reference, Output], list[float]]:
    """F1 and Novel-F1 of an output against the passage that it was generated from."""
    words = frozenset(common)

    def row(reference: Reference, output: Output) -> list[float]:
        passage = output.passage
        if passage is None and output.docno is not None:
            passage = passages.get(output.docno)
        if passage is None:
            named = f": there is no {output.docno!r}" if output.docno else ""
            raise InputError(
                f"the passage of an output for {reference.id!r} is not known{named}.",
                hint="Give each output its 'passage', or its 'docno' and the corpus "
                f"({worded('corpus')}).",
            )
        excluded = words.union(words_of(reference.input))
        return [f1(output.text, passage), f1(output.text, passage, excluded)]

    return row


def grounding(common: Collection[str], passages: Mapping[str, str], depth: int = 1) -> TextMeasures:
    """F1 and Novel-F1 of outputs against the passages they were generated from, gold or not.

    ``passages`` are texts by docno, for outputs that only name their passages.
    """
    row = _grounded(common, passages)
    return _first_and_best("grounding", ("F1", "Novel-F1"), lambda _: True, row, depth)


def grounding_by_rank(
    common: Collection[str], passages: Mapping[str, str], depth: int
) -> TextMeasures:
    """Novel-F1 of each of the first outputs against its own passage (Hindsight, figure 3)."""
    row = _grounded(common, passages)

    def values(reference: Reference, generated: Generated) -> list[float]:
        figures = [row(reference, output)[1] for output in generated.outputs[:depth]]
        return [*figures, *[0.0] * (depth - len(figures))]

    names = tuple(f"Novel-F1 rank {rank}" for rank in range(1, depth + 1))
    return TextMeasures("ranks", names, lambda _: True, values, are_descriptive=True)


def without_gold(common: Collection[str], depth: int) -> TextMeasures:
    """Overlap with the target that needs no knowledge of it (Hindsight, appendix A.2).

    The mean over the first outputs whose passage is not gold, 0 if there is none: F1, F1 without
    common words, and Novel-F1. Inputs whose gold passages or target are not known are skipped.
    """
    words = frozenset(common)

    def values(reference: Reference, generated: Generated) -> list[float]:
        outputs = [out for out in generated.outputs[:depth] if out.docno not in reference.gold]
        excluded = ((), words, words.union(words_of(reference.input)))
        rows = [
            [
                max(f1(output.text, answer, some) for answer in reference.answers)
                for some in excluded
            ]
            for output in outputs
        ]
        return np.mean(rows, axis=0).tolist() if rows else [0.0] * len(excluded)

    return TextMeasures(
        "without-gold",
        ("F1", "F1 without common", "Novel-F1"),
        lambda reference: bool(reference.gold and reference.answers),
        values,
        are_descriptive=True,
    )


def knowledge(passages: Mapping[str, str], depth: int = 1) -> TextMeasures:
    """Knowledge-F1 (Shuster et al., 2021): F1 of a generated text against the gold passage.

    Inputs without a gold passage in ``passages``, texts by docno, are skipped.
    """

    def row(reference: Reference, output: Output) -> list[float]:
        gold = (passages[docno] for docno in reference.gold if docno in passages)
        return [max(f1(output.text, text) for text in gold)]

    docnos = passages.keys()
    return _first_and_best(
        "knowledge",
        ("Knowledge-F1",),
        lambda reference: bool({*reference.gold} & docnos),
        row,
        depth,
    )


def r_precision(pages: Iterable[str], evidence: Sequence[Sequence[str]]) -> float:
    """The share of an evidence set's R pages among the first R found; the maximum over sets."""
    distinct = list(dict.fromkeys(pages))
    sets = [set(pages_) for pages_ in evidence if pages_]
    return max(
        (len({*distinct[: len(pages_)]} & pages_) / len(pages_) for pages_ in sets), default=0.0
    )


def recall_at(k: int, pages: Iterable[str], evidence: Sequence[Sequence[str]]) -> float:
    """The share of evidence sets that are complete within the first k ranks.

    A set takes one rank, that of its last page found; a page in no set also takes one.
    """
    left = [set(page_set) for page_set in dict.fromkeys(map(frozenset, evidence))]
    if not left:
        return 0.0
    places: list[int] = []  # the number of a partly found set, or one of these two
    whole, none = -1, -2
    for page in dict.fromkeys(pages):
        holding = [number for number, page_set in enumerate(left) if page in page_set]
        for number in holding:
            if number in places:
                places.remove(number)
            left[number].remove(page)
            places.append(number if left[number] else whole)
        if not holding:
            places.append(none)
    return places[:k].count(whole) / len(left)


def kilt_rouge_l(answer: str, reference: str) -> float:
    # The words of each sentence; blanks between two full stops are one empty word there.
    said, gold = (
        [sentence.split() or [""] for sentence in text.split(".") if sentence]
        for text in (answer, reference)
    )
    said_words, wanted_words = (
        {word for word_list in some for word in word_list} for some in (said, gold)
    )
    if not said_words or not wanted_words:
        return 0.0
    union = {
        word
        for gold_sentence in gold
        for said_sentence in said
        for word in _subsequence(gold_sentence, said_sentence)
    }
    recall, precision = len(union) / len(wanted_words), len(union) / len(said_words)
    return 2 * (precision * recall) / (precision + recall + 1e-8)


def _subsequence(first: Sequence[str], second: Sequence[str]) -> set[str]:
    lengths = [[0] * (len(second) + 1)]
    for word in first:
        above, row = lengths[-1], [0]
        for place, word_ in enumerate(second):
            row.append(above[place] + 1 if word == word_ else max(above[place + 1], row[place]))
        lengths.append(row)
    words: set[str] = set()
    i, j = len(first), len(second)
    while i and j:
        if first[i - 1] == second[j - 1]:
            i, j = i - 1, j - 1
            words.add(first[i])
        elif lengths[i - 1][j] > lengths[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return words


def kilt(*, on_pages: bool = False) -> TextMeasures:
    """KILT's measures of answers and pages, as in its official script.

    ``EM`` compares normalised texts, ``Accuracy`` texts as they are. Those called ``KILT-`` count
    only if R-precision is 1. The script stops if a
    prediction is missing; here it counts 0. ``on_pages``: only references with a known page count.
    """

    def values(reference: Reference, generated: Generated) -> list[float]:
        pages, answer = pages_of(generated), generated.answer.strip()
        precision = r_precision(pages, reference.evidence)
        overlap = max((f1(answer, right) for right in reference.answers), default=0.0)
        rouge = max((kilt_rouge_l(answer, right) for right in reference.answers), default=0.0)
        right = float(precision == 1)
        recall = recall_at(5, pages, reference.evidence)
        said = words_of(answer)
        exact = float(any(said == words_of(gold) for gold in reference.answers))
        same = float(answer in {gold.strip() for gold in reference.answers})
        of_text = [exact, same, overlap, rouge]
        return [precision, recall, *of_text, *(right * value for value in of_text)]

    of_texts = ("EM", "Accuracy", "F1", "ROUGE-L")
    names = ("R-precision", "Recall@5", *of_texts, *(f"KILT-{name}" for name in of_texts))
    return TextMeasures(
        "kilt",
        names,
        lambda reference: bool(reference.evidence or (reference.answers and not on_pages)),
        values,
    )


def pages_of(generated: Generated) -> Sequence[str]:
    """The pages that a system found, or those of its passages: ``4041`` for ``4041-2``."""
    docnos = (output.docno or "" for output in generated.outputs)
    return generated.pages or [page for docno in docnos if (page := docno.rpartition("-")[0])]


def groups(
    common: Collection[str], passages: Mapping[str, str], depth: int = 1
) -> dict[str, TextMeasures]:
    groups_ = (
        answers(common, depth),
        grounding(common, passages, depth),
        knowledge(passages, depth),
        kilt(),
        grounding_by_rank(common, passages, depth),
        without_gold(common, depth),
    )
    return {group.name: group for group in groups_}


def with_data(
    references: References, systems: Collection[System], passages: Mapping[str, str]
) -> list[str]:
    """The groups for which there are data."""
    right, generated = references.values(), [texts for some in systems for texts in some.values()]
    outputs = [output for generated_ in generated for output in generated_.outputs]
    grounded = all(output.passage is not None or output.docno in passages for output in outputs)
    have_data = {
        "answers": any(reference.answers for reference in right),
        "grounding": bool(outputs) and grounded,
        "knowledge": any(docno in passages for reference in right for docno in reference.gold),
        "kilt": any(reference.evidence for reference in right)
        and all(any(map(pages_of, some.values())) for some in systems),
        "ranks": bool(outputs) and grounded,
        "without-gold": any(reference.gold and reference.answers for reference in right)
        and all(output.docno for output in outputs),
    }
    return [name for name, has_data in have_data.items() if has_data]


def measured(
    systems: Mapping[str, Mapping[str, System]],
    references: References,
    measures: Sequence[TextMeasures],
) -> tuple[list[Scores], list[str]]:
    """The scores of each run, by systems and runs, in sets by measures; notes for the reader."""
    measured_scores, lacking = list[Scores](), list[str]()
    for measure in measures:
        group = measure.name if len(measures) > 1 else ""
        for system, runs in systems.items():
            scores_of_runs = (measure.scores(run, references, texts) for run, texts in runs.items())
            measured_scores += (scores.renamed(system).in_set(group) for scores in scores_of_runs)
        if few := len(references) - len(measure.counted(references)):
            head = f"{group}: " if group else ""
            lacking.append(f"{head}{few:,} of {len(references):,} references are excluded.")
    return measured_scores, lacking


def mass_scores(
    system: str, scores: Mapping[str, Sequence[float]], cutoffs: Sequence[int] = CUTOFFS
) -> Scores:
    """``Mass@k``, the sharpness of distributions over passages (Hindsight, figures 4 and 5).

    The sum of the k largest probabilities, by a softmax of scores or log-likelihoods.
    """
    values = np.ones((len(scores), len(cutoffs)))
    for row, values_of_context in enumerate(scores.values()):
        logs = np.sort(np.asarray(values_of_context, dtype=np.float64))[::-1]
        if not logs.size or np.isnan(logs).any():
            raise UsageError(f"{system} has an input without scores, or with one that is NaN.")
        weights = np.exp(logs - logs[0])
        reached = np.minimum(np.cumsum(weights) / weights.sum(), 1.0)
        values[row] = [reached[k - 1] if k <= len(reached) else 1.0 for k in cutoffs]
    measures = [NamedMeasure(f"Mass@{k}", is_descriptive=True) for k in cutoffs]
    return Scores.of(system, [*scores], measures, values)
