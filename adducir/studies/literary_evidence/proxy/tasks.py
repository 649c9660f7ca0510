"""Make the proxy task of literary evidence: choose the gold item among a few candidates.

Thousands of candidates cannot be put before people. RELiC (Thai et al., 2022, section 4) lets them
choose among three: the gold item and BM25's two best other candidates, in random order, so that
string overlap does not give the answer away.

A candidate with the gold item's own words (case and white space apart) is no other candidate and is
ignored, and so is a repetition of one that was taken.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from adducir.core.errors import UsageError

MASK = "[masked]"
NO_TEXT = "gold item not in the corpus"
NOT_RANKED = "not in the run"
TOO_FEW = "too few other candidates"


@dataclass(frozen=True)
class Question:
    """A context, and the docno of what was masked in it."""

    id: str
    context: str
    gold: str
    group: str = ""


@dataclass(frozen=True)
class Item:
    """What a judge sees, and the answer.

    Attributes:
        id: The question's.
        context: The text with the mask.
        docnos: The candidates in the order shown.
        candidates: Their texts.
        gold: Which one is the gold item, counted from 1.
        group: Something to break figures down by; may be empty.
    """

    id: str
    context: str
    docnos: tuple[str, ...]
    candidates: tuple[str, ...]
    gold: int
    group: str = ""


@dataclass(frozen=True)
class Task:
    """The items, and how many questions made none, by reason."""

    items: tuple[Item, ...]
    left_out: Mapping[str, int]

    @cached_property
    def mark(self) -> str:
        """Twelve digits that identify this task with this order of candidates."""
        shown = json.dumps([(item.id, item.docnos) for item in self.items])
        return hashlib.sha256(shown.encode()).hexdigest()[:12]


def make_task(
    questions: Iterable[Question],
    ranking: Mapping[str, Sequence[str]],
    texts: Mapping[str, str],
    *,
    others: int = 2,
    seed: int = 0,
    sample: int | None = None,
) -> Task:
    """Choose the candidates of every question and shuffle them.

    An item's order depends on the seed and on its own id alone, so more or fewer questions change
    no other item.

    Args:
        ranking: Docnos of the ranker (BM25, say) for each question, best first; the gold item may
            be among them.
        texts: The text of each docno; a ranked one without text is ignored.
        seed: Seed of the order, and of the sample.
        sample: Take so many of the items that can be made; None: all.

    Raises:
        UsageError: An id comes twice; ``others`` or ``sample`` below 1; or nothing is left.
    """
    if others < 1 or (sample is not None and sample < 1):
        raise UsageError("at least one other candidate, and one item, must be asked for.")
    items: dict[str, Item] = {}
    left_out: Counter[str] = Counter()
    for question in questions:
        if question.id in items:
            raise UsageError(f"the question {question.id} comes twice.")
        made = _item(question, ranking.get(question.id), texts, others, seed)
        if isinstance(made, str):
            left_out[made] += 1
        else:
            items[question.id] = made
    if not items:
        reasons = ", ".join(f"{reason}: {count}" for reason, count in left_out.items())
        raise UsageError(f"no question can be asked ({reasons or 'there is none'}).")
    chosen = sorted(items, key=lambda one: _digest("sample", seed, one))[:sample]
    kept = set(chosen)
    return Task(tuple(item for item in items.values() if item.id in kept), dict(left_out))


def _item(
    question: Question,
    ranked: Sequence[str] | None,
    texts: Mapping[str, str],
    others: int,
    seed: int,
) -> Item | str:
    """The item of a question, or the reason why there is none."""
    if not texts.get(question.gold, "").strip():
        return NO_TEXT
    if ranked is None:
        return NOT_RANKED
    chosen = {_words(texts[question.gold]): question.gold}
    for docno in ranked:
        words = _words(texts.get(docno, ""))
        if words:
            chosen.setdefault(words, docno)
        if len(chosen) > others:
            break
    if len(chosen) <= others:
        return TOO_FEW
    docnos = list(chosen.values())
    order = np.random.default_rng(_digest("order", seed, question.id)).permutation(len(docnos))
    shown = tuple(docnos[place] for place in order)
    return Item(
        question.id,
        question.context,
        shown,
        tuple(" ".join(texts[docno].split()) for docno in shown),
        shown.index(question.gold) + 1,
        question.group,
    )


def _words(text: str) -> str:
    return " ".join(text.casefold().split())


def _digest(what: str, seed: int, name: str) -> int:
    """A number for a seed and a name, the same on every machine."""
    return int.from_bytes(hashlib.sha256(f"{what}\0{seed}\0{name}".encode()).digest()[:8])
