"""Ratings that people gave systems' answers, and what they think of each system.

The file is CSV, one judgement a line: ``item``, ``rater``, ``system``, and ``rating`` (a number, or
text where it is a category) or ``rank`` (from 1; equal ones are ties) or both; empty: not given.
Items are independent observations, raters of one answer are not: an answer's ratings are averaged
first, and mean, standard deviation and t interval are those of the items' means.
"""

from dataclasses import dataclass, replace
from math import isfinite, nan, sqrt
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from adducir.core.csv_files import records
from adducir.core.errors import InputError, UsageError
from adducir.evaluation.measures import NamedMeasure
from adducir.evaluation.scores import Scores

What: TypeAlias = Literal["rating", "rank"]
"""What raters give an answer: a rating, or a rank among the answers to the item."""
NAMES = ("item", "rater", "system")
MEASURES = {
    "rating": NamedMeasure("Mean rating"),
    "rank": NamedMeasure("Mean rank", lower_is_better=True),
}


@dataclass(frozen=True, eq=False)
class Ratings:
    """Judgements of systems' answers to items, a row of ``frame`` for each.

    Item, rater and system are categories in the order of the file; label is the rating as text,
    rating and rank are NaN for none.
    """

    frame: pl.DataFrame
    path: Path

    def has(self, what: What) -> bool:
        given = pl.col("label") != "" if what == "rating" else pl.col("rank").is_finite()
        return self.frame.filter(given).height > 0

    def names(self, column: str) -> list[str]:
        """The different items, raters or systems, in the order of the file."""
        return self.frame[column].cast(pl.String).unique(maintain_order=True).to_list()

    def with_mean_ranks(self) -> "Ratings":
        """Equal ranks as the mean of their places: 1, 1, 2 and 1, 1, 3 become 1.5, 1.5, 3."""
        places = pl.col("rank").fill_nan(None).rank("average").over("item", "rater")
        return replace(self, frame=self.frame.with_columns(rank=places.fill_null(nan)))

    def item_means(self, what: What) -> pl.DataFrame:
        """A row for each item and system that was judged, with its mean over raters."""
        given = self.frame.filter(pl.col(what).is_finite())
        means = given.group_by("item", "system").agg(pl.col(what).mean().alias("mean"))
        return means.sort("item", "system")

    def scores(self, what: What) -> list[Scores]:
        """The means as scores, items as topics; a UsageError where a system lacks an item."""
        means = self.item_means(what)
        items, systems = means["item"].unique().sort(), self.names("system")
        table = np.full((len(systems), len(items)), nan)
        columns = np.searchsorted(items.to_physical(), means["item"].to_physical())
        table[means["system"].to_physical(), columns] = means["mean"]
        if np.isnan(table).any():
            system, item = np.argwhere(np.isnan(table))[0].tolist()
            raise UsageError(
                f"{systems[system]} has no {what} on item {items[item]}, where others have.",
                hint="Paired tests need all systems on the same items: leave such items out.",
            )
        qids = items.cast(pl.String).to_list()
        return [
            Scores.of(system, qids, (MEASURES[what],), row[:, None])
            for system, row in zip(systems, table, strict=True)
        ]

    def described(self, what: What, system: str, level: float) -> dict[str, float]:
        """Items, mean, standard deviation (n - 1) and t interval of a system's items' means."""
        from scipy.special import stdtrit

        means = self.item_means(what).filter(pl.col("system") == system)["mean"].to_numpy()
        count = len(means)
        mean = float(means.mean()) if count else nan
        sd = float(means.std(ddof=1)) if count > 1 else nan
        reach = float(stdtrit(count - 1, 0.5 + level / 2)) * sd / sqrt(count) if count > 1 else nan
        ends = {"low": mean - reach, "high": mean + reach}
        return {str(MEASURES[what]): mean, "Items": count, "SD": sd, **ends}


def read_ratings(path: Path) -> Ratings:
    rows: list[tuple[str, str, str, str, float, float, int]] = []
    seen: dict[tuple[str, ...], int] = {}
    for line, record in records(path, NAMES):
        if "rating" not in record and "rank" not in record:
            what = "there is neither a column rating nor a column rank."
            raise InputError(what, path=path, line=1, hint="Add one of them.")
        item, rater, system = names = record["item"], record["rater"], record["system"]
        for name in NAMES:
            if not record[name]:
                raise InputError(f"the cell of {name!r} is empty.", path=path, line=line)
        if (before := seen.setdefault(names, line)) != line:
            raise InputError(
                f"{rater} judges {system} on {item} twice, first in line {before}.",
                path=path,
                line=line,
                hint="Keep one of the two.",
            )
        label, place = record.get("rating", ""), record.get("rank", "")
        rank = number_of(place)
        if place and not rank >= 1:
            what = f"the rank {place!r} is not a number of 1 or more."
            raise InputError(what, path=path, line=line)
        rows.append((*names, label, number_of(label), rank, line))
    numbers = {"rating": pl.Float64(), "rank": pl.Float64(), "line": pl.Int64()}
    schema = dict.fromkeys((*NAMES, "label"), pl.String) | numbers
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    named = [frame[name].cast(pl.Enum(frame[name].unique(maintain_order=True))) for name in NAMES]
    ratings = Ratings(frame.with_columns(named), path)
    if not ratings.has("rating") and not ratings.has("rank"):
        raise InputError("it contains neither ratings nor ranks.", path=path)
    return ratings


def number_of(text: str) -> float:
    """A finite number, or NaN where the text is none."""
    try:
        value = float(text)
    except ValueError:
        return nan
    return value if isfinite(value) else nan
