"""Selectors of evidence by name: which passages answer a question together.

Packages add selectors of their own by the entry-point group ``adducir.selectors``.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from adducir.core.errors import UsageError
from adducir.core.recipe import Recipe
from adducir.core.registry import Family

if TYPE_CHECKING:
    from adducir.studies.complementary_evidence.questions import EvidenceQuestion, SelectedSet


class Selector(Recipe):
    """A way to choose sets of passages; its fields are its hyperparameters.

    A selector without a model gives :meth:`choose`. One with a model names its class, which has
    ``load(folder)``, ``settings.selection``, ``read(question)``, ``states(batch, ...)`` and
    ``choose(questions, states, selection)``, as
    :class:`adducir.studies.complementary_evidence.selectors.model.ComplementaryModel` has.

    Attributes:
        trained: The class of its model, as ``module:class``; empty where it has none.
    """

    trained: ClassVar[str] = ""

    def choose(self, questions: "Sequence[EvidenceQuestion]") -> "list[SelectedSet]":
        """The set of each question, passages in the order in which they are taken.

        Raises:
            UsageError: It chooses by a trained model.
        """
        del questions
        raise UsageError(
            "this selector needs a trained model.",
            hint="Name the folder that 'adducir train' made, or its recipe.",
        )


_HERE = "adducir.studies.complementary_evidence.selectors"

SELECTORS = Family(
    "selectors",
    Selector,
    {
        "complementary": f"{_HERE}.settings:Selection",
        "drn": f"{_HERE}.settings:DRNSelection",
        "bm25": f"{_HERE}.bm25:BM25Selection",
    },
    what="selector",
)
