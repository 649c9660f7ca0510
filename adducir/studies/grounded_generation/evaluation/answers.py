"""Generated texts against the right answers: F1, Novel-F1 and ROUGE-L.

Of several answers the nearest counts, for each measure apart. ``max F1@k`` and the like are the
best over the texts that were generated from the first k passages (Hindsight, Table 4).
"""

from collections.abc import Collection, Mapping
from typing import ClassVar

from adducir.evaluation.rouge import RougeL
from adducir.studies.grounded_generation.evaluation.kind import (
    TextMeasures,
    first_and_best,
    with_best,
)
from adducir.studies.grounded_generation.evaluation.novelty import Novelty
from adducir.studies.grounded_generation.evaluation.overlap import f1
from adducir.studies.grounded_generation.evaluation.texts import Generated, Reference


class Answers(TextMeasures):
    """F1, Novel-F1 and ROUGE-L of the first text, and the best of the first ``depth``.

    Args:
        common: The common words; see :mod:`~adducir.studies.grounded_generation.evaluation.words`.
        depth: How many texts of each input may be the best.
    """

    name: ClassVar = "answers"

    def __init__(self, common: Collection[str], depth: int = 1) -> None:
        self.names = with_best(("F1", "Novel-F1", "ROUGE-L"), depth)
        self._novelty = Novelty(common, "outputs and answers")
        self._rouge = RougeL()
        self._depth = depth

    def counts(self, reference: Reference) -> bool:
        """Whether it has an answer."""
        return bool(reference.answers) and not reference.unanswerable

    def values(self, reference: Reference, generated: Generated) -> list[float]:
        """See :class:`Answers`; 0 where nothing was generated."""
        rows = [
            [
                max(f1(one.text, answer) for answer in reference.answers),
                max(self._novelty.f1(one.text, a, reference.input) for a in reference.answers),
                max(self._rouge.score(answer, one.text) for answer in reference.answers),
            ]
            for one in generated.outputs[: self._depth]
        ]
        return first_and_best(rows, self._depth) if rows else [0.0] * len(self.names)

    def notes(self) -> list[str]:
        """How many pairs had no novel word."""
        return self._novelty.notes()


class Knowledge(TextMeasures):
    """Knowledge-F1 (Shuster et al., 2021): F1 of a generated text and the gold passage.

    Of several gold passages the nearest counts. Inputs without one are left out.

    Args:
        passages: The texts of passages by docno.
        depth: How many texts of each input may be the best.
    """

    name: ClassVar = "knowledge"

    def __init__(self, passages: Mapping[str, str], depth: int = 1) -> None:
        self.names = with_best(("Knowledge-F1",), depth)
        self._passages = passages
        self._depth = depth

    def counts(self, reference: Reference) -> bool:
        """Whether it has a gold passage with a known text."""
        return any(docno in self._passages for docno in reference.gold)

    def values(self, reference: Reference, generated: Generated) -> list[float]:
        """See :class:`Knowledge`; 0 where nothing was generated."""
        gold = [self._passages[docno] for docno in reference.gold if docno in self._passages]
        rows = [
            [max(f1(one.text, text) for text in gold)] for one in generated.outputs[: self._depth]
        ]
        return first_and_best(rows, self._depth) if rows else [0.0] * len(self.names)
