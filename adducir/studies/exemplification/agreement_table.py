"""The table of a human study: systems as rows, means and agreement as columns."""

from collections.abc import Mapping
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
    whats: list[What] = [what for what in TITLES if ratings.has(what)]
    systems, several = ratings.names("system"), len(whats) > 1
    names = [*systems, *([ALL] if len(systems) > 1 else [])]
    columns: list[Column] = []
    rows: dict[str, list[float | None]] = {name: [] for name in names}
    figures: list[Figure] = []
    notes: list[str] = []
    for what in whats:
        group = TITLES[what] if several else ""
        marked = unigrams and what == "rating"
        found = {
            name: agreement_of(
                ratings,
                what,
                level,
                drawing,
                system=None if name == ALL else name,
                unigrams=marked,
            )
            for name in [*systems, ALL]
        }
        measure = str(MEASURES[what])
        own = [
            Column(measure, group, higher_is_better=what == "rating", descriptive=True),
            *(
                Column(name, group, descriptive=True, summed=name == "Items")
                for name in ("Items", "SD", "low", "high", *found[ALL].figures)
            ),
        ]
        columns += own
        for name in names:
            values = _row(ratings, what, name, found[name], drawing)
            rows[name] += [values.get(column.measure) for column in own]
            figures += [
                Figure(group, name, column.measure, values.get(column.measure))
                for column in own[1:]
            ]
        notes += _notes(ratings, found[ALL], level, drawing, of=f" ({what}s)" if several else "")
    layout = replace(layout, notes=tuple(dict.fromkeys(notes)), unit="item")
    if testing is None:
        return figure_table(columns, rows, layout)
    scores = [
        one.in_set(TITLES[what] if several else "")
        for what in whats
        for one in ratings.scores(what)
    ]
    described = {column.measure: column for column in columns if "Mean" not in column.measure}
    table = build_table(compare(scores, testing), layout, figures=figures, columns=described)
    return replace(table, rows=tuple(sorted(table.rows, key=lambda row: row.system == ALL)))


def _row(
    ratings: Ratings, what: What, name: str, found: Agreement, drawing: Drawing
) -> dict[str, float]:
    if name == ALL:
        described: Mapping[str, float] = {"Items": len(ratings.names("item"))}
    else:
        described = ratings.described(what, name, drawing.confidence)
    every = {**described, **found.figures}
    known = {key: one for key, one in every.items() if one is not None and isfinite(one)}
    return {key: float(one) for key, one in known.items()}


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
