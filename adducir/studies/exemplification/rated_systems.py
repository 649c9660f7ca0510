"""What raters think of each system: mean ratings and mean ranks, with intervals.

Raters of one answer do not make independent observations, items do. So an answer's ratings are
averaged first, and mean, standard deviation and t interval are those of the items' means. Where
every answer has as many raters, the mean is that of all ratings as well.
"""

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
import polars as pl

from adducir.core.errors import UsageError
from adducir.evaluation.measures import NamedMeasure
from adducir.evaluation.scores import Scores
from adducir.statistics.agreement.intervals import check_share
from adducir.statistics.agreement.ratings import Floats, Ratings, What

RATING = NamedMeasure("Mean rating")
RANK = NamedMeasure("Mean rank", lower_is_better=True)


@dataclass(frozen=True)
class SystemMean:
    """Ratings, or ranks, of one system.

    Attributes:
        system: Its name.
        items: On how many items it was judged.
        judgements: How often.
        mean: Mean of the items' means; NaN without a judgement.
        low: Lower end of the t interval of the mean; NaN with fewer than two items.
        high: Its upper end.
        sd: Standard deviation of the items' means (n - 1).
    """

    system: str
    items: int
    judgements: int
    mean: float
    low: float
    high: float
    sd: float


def system_means(
    ratings: Ratings, what: What = "rating", *, level: float = 0.95
) -> list[SystemMean]:
    """The mean rating, or mean rank, of every system.

    Args:
        ratings: The judgements; missing ones, and ratings that are no number, are left out.

    Raises:
        UsageError: ``level`` is not between 0 and 1.
    """
    check_share(level, "the confidence level")
    means = item_means(ratings, what)
    numbers = ratings.numbers(what)
    found = []
    for place, system in enumerate(ratings.systems):
        single = int(((ratings.system == place) & np.isfinite(numbers)).sum())
        found.append(_summary(system, means[~np.isnan(means[:, place]), place], single, level))
    return found


def item_means(ratings: Ratings, what: What = "rating") -> Floats:
    """(I, S) the mean over raters of each item and system; NaN where nobody judged."""
    numbers = ratings.numbers(what)
    given = np.isfinite(numbers)
    units, size = ratings.units()[given], len(ratings.items) * len(ratings.systems)
    number = np.bincount(units, minlength=size)
    total = np.bincount(units, weights=numbers[given], minlength=size)
    mean = total / np.where(number, number, np.nan)
    return np.asarray(mean.reshape(len(ratings.items), len(ratings.systems)))


def rating_scores(ratings: Ratings, what: What = "rating") -> list[Scores]:
    """Ratings, or ranks, as scores: one per system, its items as topics.

    So the project's paired tests hold systems against each other
    (:func:`adducir.statistics.comparison.compare`; of ranks, the lower is the better).

    Raises:
        UsageError: A system was not judged on an item where another was.
    """
    means = item_means(ratings, what)
    judged = ~np.isnan(means).all(axis=1)
    lacking = np.argwhere(np.isnan(means[judged]))
    items = [ratings.items[place] for place in np.flatnonzero(judged)]
    if lacking.size:
        item, system = lacking[0]
        raise UsageError(
            f"{ratings.systems[system]} has no {what} on item {items[item]}, where others have.",
            hint="Paired tests need all systems on the same items: leave such items out.",
        )
    measure = RATING if what == "rating" else RANK
    return [
        Scores.of(system, items, (measure,), means[judged][:, [place]])
        for place, system in enumerate(ratings.systems)
    ]


def with_mean_ranks(ratings: Ratings) -> Ratings:
    """The same ratings, equal ranks of one rater on one item replaced by the mean of their places.

    People write 1 = 2 > 3 as 1, 1, 2 or as 1, 1, 3: both become 1.5, 1.5, 3, and every rater's
    ranks of an item add up to the same sum.
    """
    frame = pl.DataFrame({"item": ratings.item, "rater": ratings.rater, "rank": ratings.rank})
    ranks = frame.select(
        pl.col("rank").fill_nan(None).rank("average").over("item", "rater").fill_null(np.nan)
    )
    return replace(ratings, rank=ranks["rank"].to_numpy().astype(np.float64))


def _summary(system: str, items: Floats, judgements: int, level: float) -> SystemMean:
    from scipy.special import stdtrit

    number = items.size
    mean = float(items.mean()) if number else float("nan")
    sd = float(items.std(ddof=1)) if number > 1 else float("nan")
    reach = float(stdtrit(number - 1, 0.5 + level / 2)) * sd / sqrt(number) if number > 1 else sd
    return SystemMean(system, number, judgements, mean, mean - reach, mean + reach, sd)
