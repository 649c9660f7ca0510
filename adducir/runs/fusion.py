"""Fusion methods, and the family that knows them by name.

A method gives each ranked document of a run a contribution; the contributions of all runs, times
the runs' weights, are summed by document, and the method may adjust the sum by the number of runs
that rank the document. Packages add methods of their own by the entry-point group
``adducir.fusion``.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from adducir.core.errors import UsageError
from adducir.core.recipe import Recipe
from adducir.core.registry import Family
from adducir.runs.order import Floats
from adducir.runs.run import Run

Normalisation = Literal["min-max", "z-score", "none"]


class FusionMethod(Recipe):
    """A way to make one score of what several runs say of a document.

    The fields of a subclass are its hyperparameters.
    """

    @abstractmethod
    def contributions(self, run: Run) -> Floats:
        """(n,) what each row of a run adds to its document's score, before the run's weight."""

    def combined(self, sums: Floats, counts: Floats) -> Floats:
        """(m,) scores of documents.

        Args:
            sums: (m,) weighted sums of the contributions.
            counts: (m,) how many runs rank the document, 1 or more.
        """
        del counts
        return sums

    def check(self, runs: Sequence[Run]) -> None:
        """Refuse runs that the method makes no sense for.

        Raises:
            UsageError: It does not.
        """
        del runs


def normalised(run: Run, how: Normalisation) -> Floats:
    """(n,) the scores of a run, topic by topic on the scale of ``how``.

    - ``min-max``: 0 for the last document of the run's ranking, 1 for the first (Lee, SIGIR 1997).
    - ``z-score``: minus the mean, over the standard deviation (of the population), also called zero
      mean and unit variance (Montague and Aslam, CIKM 2001). A document that a run does not rank
      adds nothing, as if its score were the mean.
    - ``none``: scores as they are.

    Scores that are all equal become 1 by ``min-max`` and 0 by ``z-score``.
    """
    score: Floats = run.frame["score"].to_numpy()
    if how == "none" or not len(score):
        return score
    starts = np.cumsum(run.lengths) - run.lengths
    high = np.maximum.reduceat(score, starts)[run.topics]
    low = np.minimum.reduceat(score, starts)[run.topics]
    # Halved, since the span of doubles is twice what a double holds.
    span = high / 2 - low / 2
    flat = span == 0
    scaled: Floats = np.where(flat, 1.0, (score / 2 - low / 2) / np.where(flat, 1.0, span))
    if how == "min-max":
        return scaled
    # z-scores do not change with the scale, and those of numbers from 0 to 1 never overflow.
    lengths = run.lengths[run.topics]
    centred = scaled - (np.add.reduceat(scaled, starts)[run.topics] / lengths)
    deviation = np.sqrt(np.add.reduceat(centred**2, starts)[run.topics] / lengths)
    return np.where(flat, 0.0, centred / np.where(flat, 1.0, deviation))


class RRF(FusionMethod):
    """Reciprocal rank fusion.

    The sum of ``weight / (k + rank)``, with ranks from 1. Cormack, Clarke and Büttcher, "Reciprocal
    rank fusion outperforms Condorcet and individual rank learning methods", SIGIR 2009; they set
    k = 60.
    """

    k: float = Field(60.0, ge=0, description="How much the first ranks are evened out.")

    def contributions(self, run: Run) -> Floats:
        """(n,) reciprocals of ``k + rank``."""
        reciprocals: Floats = 1 / (self.k + 1 + run.ranks)
        return reciprocals


class CombSUM(FusionMethod):
    """The sum of scores.

    The sum of a document's scores; with weights, the weighted sum of scores. Fox and Shaw,
    "Combination of multiple searches", TREC-2, 1994.
    """

    normalise: Normalisation = Field(
        "min-max", description="How the scores of a topic are brought to one scale first."
    )

    def contributions(self, run: Run) -> Floats:
        """(n,) normalised scores."""
        return normalised(run, self.normalise)


class CombMNZ(CombSUM):
    """The sum of scores times the number of runs that rank the document.

    The sum of a document's scores, times the number of runs that rank it. Fox and Shaw,
    "Combination of multiple searches", TREC-2, 1994.
    """

    def combined(self, sums: Floats, counts: Floats) -> Floats:
        """(m,) sums times counts."""
        return sums * counts

    def check(self, runs: Sequence[Run]) -> None:
        """Refuse negative scores, which the number of runs would lower.

        Raises:
            UsageError: A run has some, once normalised.
        """
        negative = [run.tag for run in runs if (self.contributions(run) < 0).any()]
        if negative:
            raise UsageError(
                f"{negative[0]} has negative scores, which combmnz would lower for every run that "
                "ranks the document.",
                hint="Normalise by min-max.",
            )


class CombANZ(CombSUM):
    """The sum of scores over the number of runs that rank the document.

    The mean of a document's scores over the runs that rank it. Fox and Shaw, "Combination of
    multiple searches", TREC-2, 1994.
    """

    def combined(self, sums: Floats, counts: Floats) -> Floats:
        """(m,) sums over counts."""
        return sums / counts


class ISR(FusionMethod):
    """Inverse square rank fusion.

    The sum of ``weight / rank²``, times the number of runs that rank it. Mourão, Martins and
    Magalhães, "Multimodal medical information retrieval with unsupervised rank fusion",
    Computerized Medical Imaging and Graphics 39, 2015. Ranks begin at 1.
    """

    def contributions(self, run: Run) -> Floats:
        """(n,) inverse squares of ranks."""
        inverse: Floats = 1 / (1.0 + run.ranks) ** 2
        return inverse

    def combined(self, sums: Floats, counts: Floats) -> Floats:
        """(m,) sums times counts."""
        return sums * counts


class LogISR(ISR):
    """Inverse square rank fusion with a logarithmic number of runs.

    The sum of ``weight / rank²``, times ``log(n + sigma)``. n is the number of runs that rank the
    document. Mourão, Martins and Magalhães (2015), as ISR. With ``sigma`` = 0 every document that a
    single run ranks gets the score 0; ranx calls that ``log_isr``, and ``logn_isr`` what is the
    default here.
    """

    sigma: float = Field(
        0.01, ge=0, description="Added to the number of runs that rank a document."
    )

    def combined(self, sums: Floats, counts: Floats) -> Floats:
        """(m,) sums times the logarithm of counts."""
        return sums * np.log(counts + self.sigma)


_HERE = "adducir.runs.fusion"

FUSION = Family(
    "fusion",
    FusionMethod,  # type: ignore[type-abstract]  # what its kinds extend, never made itself
    {
        "rrf": f"{_HERE}:RRF",
        "combsum": f"{_HERE}:CombSUM",
        "combmnz": f"{_HERE}:CombMNZ",
        "combanz": f"{_HERE}:CombANZ",
        "isr": f"{_HERE}:ISR",
        "log-isr": f"{_HERE}:LogISR",
    },
    what="fusion method",
)
