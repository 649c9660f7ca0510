"""KILT's measures of answers and pages, as its official script computes them.

``R-precision`` and ``Recall@5`` of pages; ``F1``
and ``ROUGE-L`` of the answer, the best over the
right answers; ``KILT-F1`` and ``KILT-ROUGE-L``: the same where R-precision is 1, else 0. An empty
answer counts 0 in these four. The script stops where a prediction is missing; here it counts 0.

Texts in Adducir's form name passages, not pages: of a passage that ``adducir grounded-generation
passages`` made, ``4041-2``, the page is ``4041``.
"""

from collections.abc import Sequence
from typing import ClassVar

from adducir.studies.grounded_generation.evaluation.kilt_pages import r_precision, recall_at
from adducir.studies.grounded_generation.evaluation.kilt_rouge import kilt_rouge_l
from adducir.studies.grounded_generation.evaluation.kind import TextMeasures
from adducir.studies.grounded_generation.evaluation.overlap import best_f1
from adducir.studies.grounded_generation.evaluation.texts import Generated, Reference


class Kilt(TextMeasures):
    """KILT's table of one task."""

    name: ClassVar = "kilt"
    names = ("R-precision", "Recall@5", "F1", "ROUGE-L", "KILT-F1", "KILT-ROUGE-L")

    def counts(self, reference: Reference) -> bool:
        """Whether it has an answer or a page; the lines of KILT's test sets have neither."""
        return bool(reference.answers or reference.evidence)

    def values(self, reference: Reference, generated: Generated) -> list[float]:
        """The six values."""
        pages = pages_of(generated)
        precision = r_precision(pages, reference.evidence)
        recall = recall_at(5, pages, reference.evidence)
        answer = generated.answer.strip()
        overlap = best_f1(answer, reference.answers)
        rouge = max((kilt_rouge_l(answer, one) for one in reference.answers), default=0.0)
        right = float(precision == 1)
        return [precision, recall, overlap, rouge, right * overlap, right * rouge]


def pages_of(generated: Generated) -> Sequence[str]:
    """The pages that a system found: as given, else those of the passages that outputs name."""
    if generated.pages:
        return generated.pages
    docnos = (output.docno or "" for output in generated.outputs)
    return [page for docno in docnos if (page := docno.rpartition("-")[0])]
