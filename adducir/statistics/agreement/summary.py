"""All about the ratings of one system, or of all: agreement with its intervals."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from adducir.statistics.agreement.alpha import alphas, krippendorff_alpha, pairable
from adducir.statistics.agreement.counts import Counts, Level, count
from adducir.statistics.agreement.intervals import DEFAULT_SAMPLES, Interval, bootstrap_interval
from adducir.statistics.agreement.kappa import Kappa, fleiss_kappa, kappas
from adducir.statistics.agreement.ratings import Floats, Integers, Ratings, What
from adducir.statistics.agreement.two_raters import Pairs, mean_overlaps, overlaps, pairs_of


@dataclass(frozen=True)
class Drawing:
    """How bootstrap intervals are made: see :func:`.intervals.bootstrap_interval`."""

    samples: int = DEFAULT_SAMPLES
    seed: int = 0
    level: float = 0.95


@dataclass(frozen=True)
class Agreement:
    """How far raters agree.

    Attributes:
        alpha: Krippendorff's alpha; NaN where it is undefined.
        alpha_interval: Its interval; None where alpha is undefined.
        kappa: Fleiss' kappa and the like, over the units with the most common number of ratings;
            None where that is less than two.
        kappa_interval: The interval of kappa; None where kappa is undefined.
        left_out: Units with another number of ratings, which kappa leaves out.
        units: Units with any rating.
        single: Units with one rating only, which say nothing about agreement.
        cohen: Cohen's kappa; None where there are not exactly two raters.
        cohen_interval: Its interval; None where it is undefined.
        overlap: Mean unigram overlap of the raters' texts; None where it was not asked for.
        overlap_interval: Its interval.
    """

    alpha: float
    alpha_interval: Interval | None
    kappa: Kappa | None
    kappa_interval: Interval | None
    left_out: int
    units: int
    single: int
    cohen: float | None = None
    cohen_interval: Interval | None = None
    overlap: float | None = None
    overlap_interval: Interval | None = None


def agreement_of(
    ratings: Ratings,
    what: What = "rating",
    level: Level = "ordinal",
    *,
    system: str | None = None,
    categories: int | None = None,
    unigrams: bool = False,
    drawing: Drawing | None = None,
) -> Agreement:
    """Measure the agreement on the answers of a system, or of all systems.

    Args:
        level: What alpha takes values to mean; kappa takes them as mere categories.
        categories: How many categories raters could choose from, where that is more than they
            used; the free-marginal kappa depends on it.
        drawing: How to make intervals; by default 2,000 samples, seed 0, level .95.

    Raises:
        UsageError: No such system, or a wrong number in ``drawing``.
        InputError: A rating that does not fit the level; with the line.
    """
    counts = count(ratings, what, level, system)
    drawing = drawing or Drawing()
    raters = counts.raters
    alpha, interval = _alpha(counts, level, drawing)
    kappa, kappa_interval, left_out = _kappa(counts, categories, drawing)
    cohen, cohen_interval = _cohen(pairs_of(ratings, what, system), drawing)
    overlap, overlap_interval = _overlap(ratings, system, drawing) if unigrams else (None, None)
    return Agreement(
        alpha=alpha,
        alpha_interval=interval,
        kappa=kappa,
        kappa_interval=kappa_interval,
        left_out=left_out,
        units=raters.size,
        single=int((raters == 1).sum()),
        cohen=cohen,
        cohen_interval=cohen_interval,
        overlap=overlap,
        overlap_interval=overlap_interval,
    )


def _cohen(pairs: Pairs | None, drawing: Drawing) -> tuple[float | None, Interval | None]:
    if pairs is None:
        return None, None
    kappa = float(pairs.kappas(np.ones((1, pairs.items.size)))[0])
    return kappa, _interval(kappa, pairs.kappas, pairs.items, drawing)


def _overlap(
    ratings: Ratings, system: str | None, drawing: Drawing
) -> tuple[float, Interval | None]:
    values, items = overlaps(ratings, system)
    if not values.size:
        return float("nan"), None
    mean = float(values.mean())
    return mean, _interval(mean, lambda drawn: mean_overlaps(values, drawn), items, drawing)


def _alpha(counts: Counts, level: Level, drawing: Drawing) -> tuple[float, Interval | None]:
    kept = counts.raters >= 2
    if not kept.any():
        return float("nan"), None
    table, values = pairable(counts.table, counts.values)
    alpha = krippendorff_alpha(table, values, level)
    interval = _interval(
        alpha, lambda drawn: alphas(table, values, level, drawn), counts.items[kept], drawing
    )
    return alpha, interval


def _kappa(
    counts: Counts, categories: int | None, drawing: Drawing
) -> tuple[Kappa | None, Interval | None, int]:
    """Kappa over the units with the most common number of ratings, the greater of two such."""
    raters = counts.raters
    if not raters.size:
        return None, None, 0
    numbers, often = np.unique(raters, return_counts=True)
    usual = numbers[often == often.max()].max()
    kept = raters == usual
    if usual < 2:
        return None, None, int((~kept).sum())
    table = counts.table[kept]
    kappa = fleiss_kappa(table, categories=categories)
    interval = _interval(
        kappa.kappa, lambda drawn: kappas(table, drawn), counts.items[kept], drawing
    )
    return kappa, interval, int((~kept).sum())


def _interval(
    value: float, statistic: Callable[[Floats], Floats], items: Integers, drawing: Drawing
) -> Interval | None:
    if not np.isfinite(value):
        return None
    return bootstrap_interval(
        statistic, items, samples=drawing.samples, seed=drawing.seed, level=drawing.level
    )
