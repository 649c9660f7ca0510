"""Human ratings of systems' answers, and the agreement between raters.

The file is CSV, one judgement per line: ``item``, ``rater``, ``system``, and ``rating`` (a number,
or text if it is a category), ``rank`` (from 1; equal ranks are ties) or both; empty cells are
missing values. Items are independent observations, raters of one answer are not: an answer's
ratings are averaged first, and mean, standard deviation and t interval are over the item means.

The unit of agreement is one system's answer to one item. Intervals are percentiles over samples of
items, with all answers to an item kept together.
"""

import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations
from math import isfinite, nan, sqrt
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adducir.core.errors import InputError, UsageError
from adducir.corpora.tables import text_records
from adducir.evaluation.measures import NamedMeasure
from adducir.evaluation.scores import Scores
from adducir.statistics.agreement import (
    Level,
    Statistic,
    cohens_kappa,
    estimated,
    fleiss_kappa,
    krippendorffs_alpha,
    most_common_count,
    votes_by_unit,
)
from adducir.statistics.comparison import compare
from adducir.statistics.settings import Bootstrap, Testing
from adducir.tables.build import Figure, build_table, figure_table
from adducir.tables.table import Column, Layout, ResultTable

Integers: TypeAlias = NDArray[np.int64]
_WORD = re.compile(r"[a-z0-9]+")
ALL = "all systems"
What: TypeAlias = Literal["rating", "rank"]
"""A rater's judgement of an answer: a rating, or a rank among the answers to the item."""
NAMES = ("item", "rater", "system")
MEASURES = {
    "rating": NamedMeasure("Mean rating"),
    "rank": NamedMeasure("Mean rank", lower_is_better=True),
}
TITLES: dict[What, str] = {"rating": "Rating", "rank": "Rank"}


@dataclass(frozen=True, eq=False)
class Ratings:
    """Judgements of systems' answers to items, one row of ``frame`` each."""

    frame: pl.DataFrame  # item, rater, system (Enum), label (text), rating, rank (NaN: none), line
    path: Path

    def has(self, kind: What) -> bool:
        is_given = pl.col("label") != "" if kind == "rating" else pl.col("rank").is_finite()
        return self.frame.filter(is_given).height > 0

    def names(self, column: str) -> list[str]:
        """The distinct items, raters or systems, in file order."""
        return self.frame[column].cast(pl.String).unique(maintain_order=True).to_list()

    def with_mean_ranks(self) -> "Ratings":
        """Average tied ranks: 1, 1, 2 and 1, 1, 3 become 1.5, 1.5, 3."""
        places = pl.col("rank").fill_nan(None).rank("average").over("item", "rater")
        return replace(self, frame=self.frame.with_columns(rank=places.fill_null(nan)))

    def item_means(self, kind: What) -> pl.DataFrame:
        """One row per judged item and system, with the mean over raters."""
        answered = self.frame.filter(pl.col(kind).is_finite())
        means = answered.group_by("item", "system").agg(pl.col(kind).mean().alias("mean"))
        return means.sort("item", "system")

    def scores(self, kind: What) -> list[Scores]:
        """The means as scores, with items as topics; a UsageError if a system lacks an item."""
        means = self.item_means(kind)
        items, systems = means["item"].unique().sort(), self.names("system")
        table = np.full((len(systems), len(items)), nan)
        columns = np.searchsorted(items.to_physical(), means["item"].to_physical())
        table[means["system"].to_physical(), columns] = means["mean"]
        if np.isnan(table).any():
            system, item = np.argwhere(np.isnan(table))[0].tolist()
            raise UsageError(
                f"{systems[system]} lacks a {kind} on item {items[item]}, unlike others.",
                hint="Paired tests need all systems on the same items: remove such items.",
            )
        qids = items.cast(pl.String).to_list()
        return [
            Scores.of(system, qids, (MEASURES[kind],), row[:, None])
            for system, row in zip(systems, table, strict=True)
        ]

    def described(self, kind: What, system: str, level: float) -> dict[str, float]:
        """Items, mean, standard deviation (n - 1) and t interval of a system's items' means."""
        from scipy.special import stdtrit

        means = self.item_means(kind).filter(pl.col("system") == system)["mean"].to_numpy()
        count = len(means)
        mean = float(means.mean()) if count else nan
        sd = float(means.std(ddof=1)) if count > 1 else nan
        reach = float(stdtrit(count - 1, 0.5 + level / 2)) * sd / sqrt(count) if count > 1 else nan
        ends = {"low": mean - reach, "high": mean + reach}
        return {str(MEASURES[kind]): mean, "Items": count, "SD": sd, **ends}


def read_ratings(path: Path) -> Ratings:
    rows: list[tuple[str, str, str, str, float, float, int]] = []
    seen: dict[tuple[str, ...], int] = {}
    for line, record in text_records(path, NAMES):
        if "rating" not in record and "rank" not in record:
            message = "the columns rating and rank are both missing."
            raise InputError(message, path=path, line=1, hint="Add one of them.")
        item, rater, system = names = record["item"], record["rater"], record["system"]
        for name in NAMES:
            if not record[name]:
                raise InputError(f"the cell of {name!r} is empty.", path=path, line=line)
        if (before := seen.setdefault(names, line)) != line:
            raise InputError(
                f"{rater} judges {system} on {item} twice, first on line {before}.",
                path=path,
                line=line,
                hint="Keep one of the two.",
            )
        label, place = record.get("rating", ""), record.get("rank", "")
        rank = number_of(place)
        if place and not rank >= 1:
            message = f"the rank {place!r} is not a number of 1 or more."
            raise InputError(message, path=path, line=line)
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
    """A finite number, or NaN if the text is not one."""
    try:
        value = float(text)
    except ValueError:
        return nan
    return value if isfinite(value) else nan


@dataclass(frozen=True)
class RaterAgreement:
    """How far raters agree."""

    figures: dict[str, float | None]
    raters: int  # the most common number of ratings
    units: int  # answers with that number
    left_out: int  # with another number
    single: int  # with one, which alpha ignores


def agreement_of(
    ratings: Ratings,
    kind: What,
    level: Level,
    drawing: Bootstrap,
    *,
    system: str | None = None,
    unigrams: bool = False,
) -> RaterAgreement:
    frame = ratings.frame if system is None else ratings.frame.filter(pl.col("system") == system)
    answered = _answered(Ratings(frame, ratings.path), kind, level)
    units, table, values = votes_by_unit(answered.sort("item", "system"), "item", "system")
    numbers = values if values.dtype == np.float64 else np.arange(len(values), dtype=np.float64)
    votes, items = table.sum(axis=1), _items(units)
    (usual, is_usual), is_several = most_common_count(table), votes >= 2
    is_same = is_usual & is_several
    figures: dict[str, float | None] = {}

    def add(name: str, statistic: Statistic, items: Integers) -> None:
        drawn = drawing.samples, drawing.seed, drawing.confidence
        ends = estimated(statistic, items, *drawn) or (None, None, None)
        figures.update(zip((name, f"{name} low", f"{name} high"), ends, strict=True))

    alpha = krippendorffs_alpha(table[is_several], numbers, level)
    add("alpha", alpha, items[is_several])
    add("kappa", fleiss_kappa(table[is_same]), items[is_same])
    highest = table[is_same].max(axis=1, initial=0)
    for name, most in (("all agree", usual), ("none agree", 1)):
        figures[name] = float((highest == most).mean()) if highest.size else None
    labels = pl.col("value").cast(pl.String).sort_by("rater")
    both = answered.group_by("item", "system", maintain_order=True).agg(labels)
    both = both.filter(pl.col("value").list.len() == 2)
    if len(ratings.names("rater")) == 2 and both.height:
        first, second = zip(*both["value"], strict=True)
        add("Cohen's kappa", cohens_kappa(np.array(first), np.array(second)), _items(both))
    if unigrams:
        units = frame.group_by("item", "system", maintain_order=True).agg("label")
        units = units.filter(pl.col("label").list.len() > 1)
        means = [
            np.mean([unigram_overlap(*pair) for pair in combinations(texts, 2)])
            for texts in units["label"].to_list()
        ]
        add("unigram overlap", lambda w: w @ np.array(means) / w.sum(axis=1), _items(units))
    left_out, single = int((votes != usual).sum()), int((votes == 1).sum())
    return RaterAgreement(figures, usual, int(is_same.sum()), left_out, single)


def _answered(ratings: Ratings, kind: What, level: Level) -> pl.DataFrame:
    """The judgements with their ``value``; one that the level cannot measure is refused."""
    frame, number, has_label = ratings.frame, pl.col(kind), pl.col("label") != ""
    if kind == "rating" and level == "nominal":
        return frame.filter(has_label).with_columns(value="label")
    for odd, problem, fitting in (
        (number.is_nan(), f"is not a number, which the level {level} needs", "nominal"),
        (
            (number < 0) & (level == "ratio"),
            "is below 0, where that level has its zero",
            "interval",
        ),
    ):
        for row in frame.filter(odd, has_label, kind == "rating").head(1).rows(named=True):
            message = f"the rating {row['label']!r} {problem}."
            hint = f"Use the level {fitting}."
            raise InputError(message, path=ratings.path, line=row["line"], hint=hint)
    return frame.filter(number.is_finite()).with_columns(value=kind)


def _items(frame: pl.DataFrame) -> Integers:
    return frame["item"].to_physical().to_numpy().astype(np.int64)


def unigram_overlap(first_text: str, two: str) -> float:
    """The word overlap of two texts, 0 to 1; two empty texts agree."""
    first, second = (Counter(_WORD.findall(text.lower())) for text in (first_text, two))
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if total else 1.0


def agreement_table(
    ratings: Ratings,
    drawing: Bootstrap,
    layout: Layout,
    *,
    level: Level = "ordinal",
    unigrams: bool = False,
    testing: Testing | None = None,
) -> ResultTable:
    """Means with intervals, alpha and kappas, for every system and for all together.

    ``level`` is alpha's level of measurement; with ``unigrams`` ratings are marked texts.
    """
    groups = {kind: title for kind, title in TITLES.items() if ratings.has(kind)}
    if len(groups) == 1:
        groups = dict.fromkeys(groups, "")
    systems = ratings.names("system")
    names = [*systems, *([ALL] if len(systems) > 1 else [])]
    columns: list[Column] = []
    rows: dict[str, list[float | None]] = {name: [] for name in names}
    figures: list[Figure] = []
    notes: list[str] = []
    for kind, group in groups.items():
        measure, marked = str(MEASURES[kind]), unigrams and kind == "rating"
        group_columns = [
            Column(measure, group, higher_is_better=kind == "rating", descriptive=True)
        ]
        whole = agreement_of(ratings, kind, level, drawing, unigrams=marked)
        group_columns += [
            Column(name, group, descriptive=True, summed=name == "Items")
            for name in ("Items", "SD", "low", "high", *whole.figures)
        ]
        columns += group_columns
        for name in names:
            values: dict[str, float | None] = {"Items": len(ratings.names("item"))}
            result = whole
            if name != ALL:
                values = {**ratings.described(kind, name, drawing.confidence)}
                result = agreement_of(ratings, kind, level, drawing, system=name, unigrams=marked)
            values |= result.figures
            cells = [values.get(column.measure) for column in group_columns]
            cells = [
                None if value is None or not isfinite(value) else float(value) for value in cells
            ]
            rows[name] += cells
            figures += [
                Figure(group, name, column.measure, cell)
                for column, cell in zip(group_columns[1:], cells[1:], strict=True)
            ]
        notes += _notes(ratings, whole, level, drawing, suffix=f" ({kind}s)" if group else "")
    layout = replace(layout, notes=tuple(dict.fromkeys(notes)), unit="item")
    if testing is None:
        return figure_table(columns, rows, layout)
    scores = [
        scores_of_system.in_set(group)
        for kind, group in groups.items()
        for scores_of_system in ratings.scores(kind)
    ]
    described = {column.measure: column for column in columns if "Mean" not in column.measure}
    table = build_table(compare(scores, testing), layout, figures=figures, columns=described)
    return replace(table, rows=tuple(sorted(table.rows, key=lambda row: row.system == ALL)))


def _notes(
    ratings: Ratings, agreement: RaterAgreement, level: Level, drawing: Bootstrap, suffix: str
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
    if not agreement.units:
        notes.append(f"No kappa: most answers have one rating{suffix}.")
    elif agreement.left_out:
        notes.append(
            f"kappa of all systems is over the {agreement.units:,} answers with {agreement.raters} "
            f"ratings, without {agreement.left_out:,} with another number{suffix}."
        )
    if agreement.single:
        notes.append(f"{agreement.single:,} answers with one rating do not enter alpha{suffix}.")
    if "unigram overlap" in agreement.figures:
        notes.append(
            "Unigram overlap: 2 |A and B| / (|A| + |B|) of the words of two raters' texts, "
            "averaged over the raters of an answer."
        )
    return notes
