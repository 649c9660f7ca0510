"""Groundedness: how much of the passage that it was given a generated text takes up.

Hindsight, section 4.4: F1 and Novel-F1 of each output with the passage it was generated from, gold
or not; of the first passage, and the greatest over the first k. :func:`by_rank` gives the curve of
its Figure 3.
"""

from collections.abc import Collection, Mapping
from typing import ClassVar

import numpy as np

from adducir.core.errors import InputError, UsageError
from adducir.evaluation.judgements import Floats
from adducir.studies.grounded_generation.evaluation.kind import (
    TextMeasures,
    first_and_best,
    with_best,
)
from adducir.studies.grounded_generation.evaluation.novelty import Novelty
from adducir.studies.grounded_generation.evaluation.overlap import f1
from adducir.studies.grounded_generation.evaluation.texts import Generated, Output, Reference


class Grounding(TextMeasures):
    """F1 and Novel-F1 of outputs with their own passages.

    Args:
        common: The common words.
        passages: The texts of passages by docno, for outputs that name theirs only.
        depth: How many outputs of each input may be the best.
    """

    name: ClassVar = "grounding"

    def __init__(
        self, common: Collection[str], passages: Mapping[str, str] | None = None, depth: int = 1
    ) -> None:
        self.names = with_best(("F1", "Novel-F1"), depth)
        self._novelty = Novelty(common, "outputs and passages")
        self._passages = passages or {}
        self._depth = depth

    def counts(self, reference: Reference) -> bool:
        """All count: no right answer is needed."""
        del reference
        return True

    def values(self, reference: Reference, generated: Generated) -> list[float]:
        """See :class:`Grounding`; 0 where nothing was generated.

        Raises:
            InputError: An output's passage is not known.
        """
        rows = [self.row(reference, one) for one in generated.outputs[: self._depth]]
        return first_and_best(rows, self._depth) if rows else [0.0] * len(self.names)

    def row(self, reference: Reference, output: Output) -> list[float]:
        """F1 and Novel-F1 of one output with its passage."""
        passage = output.passage
        if passage is None and output.docno is not None:
            passage = self._passages.get(output.docno)
        if passage is None:
            raise InputError(
                f"the passage of an output for {reference.id!r} is not known"
                + (f": there is no {output.docno!r}." if output.docno else "."),
                hint="Give each output its 'passage', or its 'docno' and the corpus (--corpus).",
            )
        return [
            f1(output.text, passage),
            self._novelty.f1(output.text, passage, reference.input),
        ]

    def notes(self) -> list[str]:
        """How many pairs had no novel word."""
        return self._novelty.notes()


def by_rank(
    measures: Grounding,
    references: Mapping[str, Reference],
    found: Mapping[str, Generated],
    depth: int,
) -> Floats:
    """Groundedness at each rank of the passage.

    Returns:
        (depth, 2) mean F1 and Novel-F1 over the inputs that have an output at that rank; nan where
        none has.

    Raises:
        UsageError: ``depth`` is below 1.
        InputError: An output's passage is not known.
    """
    if depth < 1:
        raise UsageError(f"a depth must be 1 or more, not {depth}.")
    rows: list[list[list[float]]] = [[] for _ in range(depth)]
    for name, generated in found.items():
        for rank, output in enumerate(generated.outputs[:depth]):
            if name in references:
                rows[rank].append(measures.row(references[name], output))
    return np.array([np.mean(row, axis=0) if row else [np.nan] * 2 for row in rows])
