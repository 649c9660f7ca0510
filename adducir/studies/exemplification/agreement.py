"""How far raters agree: alpha, kappas, the overlap of marked texts, with bootstrap intervals.

The unit is one system's answer to one item. Krippendorff's alpha (2011) takes any number of raters
and missing ratings: 1 - D_o / D_e, the disagreement within units over that between all ratings.
For squared differences of ranks r the sum over all pairs of a unit's m ratings is
2 (m sum r^2 - (sum r)^2), which needs no matrix of pairs per sample. Cohen's kappa is that of 1960.
Intervals are percentiles of samples of items, all answers to one together.
"""

import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations
from math import isfinite
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adducir.core.errors import InputError
from adducir.statistics.comparison import compare
from adducir.statistics.settings import Testing
from adducir.studies.agreement import Floats, Statistic, estimated, fleiss_kappa
from adducir.studies.exemplification.ratings import MEASURES, Ratings, What
from adducir.studies.options import Drawing
from adducir.tables.build import Figure, build_table, figure_table
from adducir.tables.table import Column, Layout, ResultTable

Integers: TypeAlias = NDArray[np.int64]
Level: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]
_WORD = re.compile(r"[a-z0-9]+")
ALL = "all systems"
TITLES: dict[What, str] = {"rating": "Rating", "rank": "Rank"}


class Counts(NamedTuple):
    """How often each of C values was given to each of U units.

    Attributes:
        table: (U, C); units without a rating are left out.
        values: (C,) rising; 0 to C - 1 where they are mere categories.
        items: (U,) the item of each unit.
    """

    table: Floats
    values: Floats
    items: Integers

    def where(self, kept: NDArray[np.bool_]) -> "Counts":
        return Counts(self.table[kept], self.values, self.items[kept])


@dataclass(frozen=True)
class Agreement:
    """How far raters agree on ``units``, answers with the most common number of ratings.

    ``left_out`` units have another number, ``single`` ones one rating, which says nothing to alpha.
    """

    figures: dict[str, float | None]
    raters: int
    units: int
    left_out: int
    single: int


def agreement_of(
    ratings: Ratings,
    what: What,
    level: Level,
    drawing: Drawing,
    *,
    system: str | None = None,
    unigrams: bool = False,
) -> Agreement:
    frame = ratings.frame if system is None else ratings.frame.filter(pl.col("system") == system)
    counts = counted(Ratings(frame, ratings.path), what, level)
    given = counts.table.sum(axis=1)
    numbers, often = np.unique(given, return_counts=True)
    usual = int(numbers[often == often.max()].max()) if len(numbers) else 0
    several, same = counts.where(given >= 2), counts.where((given == usual) & (given >= 2))
    found: dict[str, float | None] = {}

    def add(name: str, statistic: Statistic, items: Integers) -> None:
        ends = estimated(statistic, items, drawing) or (None, None, None)
        found.update(zip((name, f"{name} low", f"{name} high"), ends, strict=True))

    add("alpha", alpha(several, level), several.items)
    add("kappa", fleiss_kappa(same.table), same.items)
    highest = same.table.max(axis=1, initial=0)
    for name, votes in (("all agree", usual), ("none agree", 1)):
        found[name] = float((highest == votes).mean()) if highest.size else None
    if len(ratings.names("rater")) == 2 and (pairs := _pairs(frame, what)).height:
        add("Cohen's kappa", cohens_kappa(pairs), _items(pairs))
    if unigrams:
        units = frame.group_by("item", "system", maintain_order=True).agg("label")
        units = units.filter(pl.col("label").list.len() > 1)
        means = [
            np.mean([unigram_overlap(*pair) for pair in combinations(texts, 2)])
            for texts in units["label"].to_list()
        ]
        add("unigram overlap", lambda w: w @ np.array(means) / w.sum(axis=1), _items(units))
    left_out, single = int((given != usual).sum()), int((given == 1).sum())
    return Agreement(found, usual, len(same.items), left_out, single)


def counted(ratings: Ratings, what: What, level: Level) -> Counts:
    frame = ratings.frame
    if what == "rating" and level == "nominal":
        given = frame.filter(pl.col("label") != "").with_columns(value="label")
    else:
        odd = frame.filter(
            pl.lit(what == "rating") & (pl.col("label") != "") & pl.col(what).is_nan()
        )
        _refuse(ratings, odd, f"is not a number, which the level {level} needs", "nominal")
        if level == "ratio":
            below = frame.filter(pl.col(what) < 0)
            _refuse(ratings, below, "is below 0, where the level ratio has its zero", "interval")
        given = frame.filter(pl.col(what).is_finite()).with_columns(value=what)
    values = given["value"].unique().sort()
    units = given.select("item", "system").unique().sort("item", "system").with_row_index("unit")
    placed = given.join(units, on=["item", "system"])
    table = np.zeros((units.height, len(values)))
    codes = np.searchsorted(values.to_numpy(), placed["value"].to_numpy())
    np.add.at(table, (placed["unit"].to_numpy(), codes), 1)
    numbers = (
        values.to_numpy() if values.dtype == pl.Float64 else np.arange(len(values), dtype=float)
    )
    return Counts(table, numbers, _items(units))


def _refuse(ratings: Ratings, odd: pl.DataFrame, what: str, level: str) -> None:
    if odd.height:
        label, line = odd.row(0, named=True)["label"], odd["line"][0]
        hint = f"Take the level {level}."
        raise InputError(f"the rating {label!r} {what}.", path=ratings.path, line=line, hint=hint)


def _items(frame: pl.DataFrame) -> Integers:
    return frame["item"].to_physical().to_numpy().astype(np.int64)


def alpha(counts: Counts, level: Level) -> Statistic:
    """Krippendorff's alpha; every unit has two ratings or more."""
    table, values = counts.table, counts.values
    size = table.sum(axis=1)
    apart = (values[:, None] - values) ** 2
    if level == "nominal":
        apart = np.sign(apart)
    elif level == "ratio":
        sums = values[:, None] + values
        apart /= np.where(sums == 0, 1.0, sums) ** 2
    within_units = ((table @ apart) * table).sum(axis=1) / (size - 1)

    def of(weights: Floats) -> Floats:
        totals = weights @ table
        number = totals.sum(axis=1)
        if level == "ordinal":
            ranks = np.cumsum(totals, axis=1) - totals / 2 - number[:, None] / 2
            pairs = 2 * (size * (ranks**2 @ table.T) - (ranks @ table.T) ** 2)
            within = (weights * pairs / (size - 1)).sum(axis=1)
            squares, sums = (totals * ranks**2).sum(axis=1), (totals * ranks).sum(axis=1)
            between = 2 * (number * squares - sums**2)
        else:
            within, between = weights @ within_units, ((totals @ apart) * totals).sum(axis=1)
        varied = (totals > 0).sum(axis=1) > 1
        return np.asarray(1 - (number - 1) * within / np.where(varied, between, np.nan))

    return of


def _pairs(frame: pl.DataFrame, what: What) -> pl.DataFrame:
    """The units that both raters rated, with what each gave: columns item, 0 and 1."""
    label = pl.col("label") if what == "rating" else pl.col("rank").fill_nan(None).cast(pl.String)
    given = frame.with_columns(label=label.fill_null("")).filter(pl.col("label") != "")
    by_unit = given.group_by("item", "system", maintain_order=True).agg(
        pl.col("label").sort_by("rater")
    )
    whole = by_unit.filter(pl.col("label").list.len() == 2)
    return whole.select("item", *(pl.col("label").list.get(n).alias(str(n)) for n in (0, 1)))


def cohens_kappa(pairs: pl.DataFrame) -> Statistic:
    names = np.unique(np.concatenate([pairs["0"].to_numpy(), pairs["1"].to_numpy()]))
    each = [np.searchsorted(names, pairs[str(rater)].to_numpy()) for rater in (0, 1)]
    same = each[0] == each[1]

    def of(weights: Floats) -> Floats:
        total = weights.sum(axis=1)
        own, other = (weights @ np.eye(len(names))[one] / total[:, None] for one in each)
        expected, observed = (own * other).sum(axis=1), weights @ same / total
        return np.asarray((observed - expected) / np.where(expected < 1, 1 - expected, np.nan))

    return of


def unigram_overlap(one: str, two: str) -> float:
    """How far two texts have the same words, 0 to 1; two empty texts agree."""
    first, second = (Counter(_WORD.findall(text.lower())) for text in (one, two))
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if total else 1.0


def agreement_table(
    ratings: Ratings,
    drawing: Drawing,
    layout: Layout,
    *,
    level: Level = "ordinal",
    unigrams: bool = False,
    testing: Testing | None = None,
) -> ResultTable:
    """Means with intervals, alpha and kappas, for every system and for all together.

    At a ``level`` alpha takes ratings so; by ``unigrams`` they are texts that raters marked.
    """
    groups = {what: title for what, title in TITLES.items() if ratings.has(what)}
    if len(groups) == 1:
        groups = dict.fromkeys(groups, "")
    systems = ratings.names("system")
    names = [*systems, *([ALL] if len(systems) > 1 else [])]
    columns: list[Column] = []
    rows: dict[str, list[float | None]] = {name: [] for name in names}
    figures: list[Figure] = []
    notes: list[str] = []
    for what, group in groups.items():
        measure, marked = str(MEASURES[what]), unigrams and what == "rating"
        own = [Column(measure, group, higher_is_better=what == "rating", descriptive=True)]
        whole = agreement_of(ratings, what, level, drawing, unigrams=marked)
        own += [
            Column(name, group, descriptive=True, summed=name == "Items")
            for name in ("Items", "SD", "low", "high", *whole.figures)
        ]
        columns += own
        for name in names:
            values: dict[str, float | None] = {"Items": len(ratings.names("item"))}
            found = whole
            if name != ALL:
                values = {**ratings.described(what, name, drawing.confidence)}
                found = agreement_of(ratings, what, level, drawing, system=name, unigrams=marked)
            values |= found.figures
            cells = [values.get(column.measure) for column in own]
            cells = [None if one is None or not isfinite(one) else float(one) for one in cells]
            rows[name] += cells
            figures += [
                Figure(group, name, column.measure, cell)
                for column, cell in zip(own[1:], cells[1:], strict=True)
            ]
        notes += _notes(ratings, whole, level, drawing, of=f" ({what}s)" if group else "")
    layout = replace(layout, notes=tuple(dict.fromkeys(notes)), unit="item")
    if testing is None:
        return figure_table(columns, rows, layout)
    scores = [one.in_set(group) for what, group in groups.items() for one in ratings.scores(what)]
    described = {column.measure: column for column in columns if "Mean" not in column.measure}
    table = build_table(compare(scores, testing), layout, figures=figures, columns=described)
    return replace(table, rows=tuple(sorted(table.rows, key=lambda row: row.system == ALL)))


def _notes(
    ratings: Ratings, found: Agreement, level: Level, drawing: Drawing, of: str
) -> list[str]:
    notes = [
        f"{len(ratings.names('item')):,} items, {len(ratings.names('rater')):,} raters, "
        f"{ratings.frame.height:,} judgements.",
        "Means, SD and their intervals (t) are over items, the raters of each answer averaged "
        "first.",
        f"alpha: Krippendorff's, {level}; kappa: Fleiss', of categories. low and high: "
        f"{100 * drawing.confidence:g}% intervals; of alpha and kappa bootstrap over items, "
        f"{drawing.samples:,} samples, seed {drawing.seed}.",
    ]
    if not found.units:
        notes.append(f"No kappa: most answers have one rating{of}.")
    elif found.left_out:
        notes.append(
            f"kappa of all systems is over the {found.units:,} answers with {found.raters} "
            f"ratings, without {found.left_out:,} with another number{of}."
        )
    if found.single:
        notes.append(f"{found.single:,} answers with one rating do not enter alpha{of}.")
    if "unigram overlap" in found.figures:
        notes.append(
            "Unigram overlap: 2 |A and B| / (|A| + |B|) of the words of two raters' texts, "
            "averaged over the raters of an answer."
        )
    return notes
