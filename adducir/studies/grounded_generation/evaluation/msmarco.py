"""BLEU and ROUGE-L as ``ms_marco_eval`` computes them for MS MARCO's answers.

Queries whose right answer is ``No Answer Present.``, and those without any, are left out; an answer
of that text is an empty one. ROUGE-L weighs recall with b = 1.2, and takes the best
precision and the best recall each over all references before it joins them: (1 + b^2) R P /
(R + b^2 P). An answer without words counts 0. The script stops where an answer is missing; here it
counts as an empty one.
"""

from collections.abc import Callable, Mapping
from typing import ClassVar

from adducir.evaluation.rouge import RougeL
from adducir.studies.grounded_generation.evaluation.bleu import bleu
from adducir.studies.grounded_generation.evaluation.kind import TextMeasures
from adducir.studies.grounded_generation.evaluation.marco_words import marco_words
from adducir.studies.grounded_generation.evaluation.texts import Generated, Reference

_BETA = 1.2


class MsMarco(TextMeasures):
    """ROUGE-L of each answer, and BLEU-1 to BLEU-4 of all.

    Args:
        cut: Cuts a text into words, in place of :func:`marco_words`: spaCy's tokenizer, say.
    """

    name: ClassVar = "msmarco"
    names = ("ROUGE-L",)

    def __init__(self, cut: Callable[[str], list[str]] = marco_words) -> None:
        self._cut = cut
        self._rouge = RougeL(cut=cut)

    def counts(self, reference: Reference) -> bool:
        """Whether it has an answer."""
        return bool(reference.answers) and not reference.unanswerable

    def values(self, reference: Reference, generated: Generated) -> list[float]:
        """ROUGE-L with b = 1.2."""
        precision = recall = 0.0
        for answer in reference.answers:
            common, wanted, found = self._rouge.lengths(answer, generated.answer)
            if common:
                precision, recall = max(precision, common / found), max(recall, common / wanted)
        if not precision:
            return [0.0]
        weight = _BETA**2
        return [(1 + weight) * precision * recall / (recall + weight * precision)]

    def collection(
        self, references: Mapping[str, Reference], found: Mapping[str, Generated]
    ) -> dict[str, float]:
        """BLEU-1 to BLEU-4 of all answers at once."""
        pairs = (
            (
                self._cut(found[one.id].answer) if one.id in found else [],
                [self._cut(answer) for answer in one.answers],
            )
            for one in self.counted(references)
        )
        return {f"BLEU-{order}": value for order, value in enumerate(bleu(pairs), start=1)}
