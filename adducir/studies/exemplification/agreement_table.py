"""The table of a human study: systems as rows, means and agreement as columns."""

from dataclasses import replace
from math import isfinite

from adducir.statistics.comparison import compare
from adducir.statistics.settings import Testing
from adducir.studies.exemplification.agreement import Agreement, Level, agreement_of
from adducir.studies.exemplification.ratings import MEASURES, Ratings, What
from adducir.studies.options import Drawing
from adducir.tables.build import Figure, Layout, build_table, figure_table
from adducir.tables.table import Column, ResultTable

ALL = "all systems"
TITLES: dict[What, str] = {"rating": "Rating", "rank": "Rank"}


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

    Ratings and ranks, where the file has both, are two groups of columns.

    Args:
        level: What alpha takes ratings to mean.
        unigrams: Ratings are texts that raters marked.
        testing: What to test; None: nothing.
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
    """What a reader must know to judge the figures."""
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
        notes.append(f"{found.single:,} answers with one rating say nothing to alpha{of}.")
    if "unigram overlap" in found.figures:
        notes.append(
            "Unigram overlap: 2 |A and B| / (|A| + |B|) of the words of two raters' texts, "
            "averaged over the raters of an answer."
        )
    return notes
