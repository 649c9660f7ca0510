"""The table of a human study: systems as rows, means and agreement as columns."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import isfinite
from typing import Any

from adducir.statistics.agreement.counts import Level
from adducir.statistics.agreement.intervals import Interval
from adducir.statistics.agreement.ratings import Ratings, What
from adducir.statistics.agreement.summary import Agreement, Drawing, agreement_of
from adducir.statistics.comparison import compare
from adducir.statistics.settings import Testing
from adducir.studies.exemplification.rated_systems import SystemMean, rating_scores, system_means
from adducir.tables.build import Figure, Layout, build_table, figure_table
from adducir.tables.style import Style
from adducir.tables.table import Column, ResultTable

ALL = "all systems"
TITLES: dict[What, str] = {"rating": "Rating", "rank": "Rank"}
_COLUMNS = (
    ("Items", True),
    ("SD", False),
    ("low", False),
    ("high", False),
    ("alpha", False),
    ("alpha low", False),
    ("alpha high", False),
    ("kappa", False),
    ("kappa low", False),
    ("kappa high", False),
    ("all agree", False),
    ("none agree", False),
)


@dataclass(frozen=True)
class Study:
    """What to report about ratings.

    Attributes:
        level: What alpha takes values to mean.
        unigrams: Whether ratings are texts, whose words' overlap is reported.
        drawing: How intervals are made; its level is that of all intervals.
        testing: What to test, and how; None: nothing.
        style: How numbers are printed.
        provenance: How the table was made.
    """

    level: Level = "ordinal"
    unigrams: bool = False
    drawing: Drawing = field(default_factory=Drawing)
    testing: Testing | None = None
    style: Style = field(default_factory=Style)
    provenance: Mapping[str, Any] = field(default_factory=dict)


def agreement_table(ratings: Ratings, study: Study | None = None) -> ResultTable:
    """Means with intervals, alpha and kappa, for every system and for all together.

    Ratings and ranks, where the file has both, are two groups of columns.

    Args:
        ratings: The judgements.
        study: What to report.

    Raises:
        UsageError: A wrong setting; or there are tests, and systems have not the same items.
        InputError: A rating does not fit the level.
    """
    study = study or Study()
    whats: list[What] = [what for what in TITLES if ratings.has(what)]
    several = len(whats) > 1
    groups = {TITLES[what] if several else "": _Group(ratings, what, study) for what in whats}
    notes = dict.fromkeys(n for group in groups.values() for n in group.sentences(several))
    layout = Layout(
        notes=tuple(notes),
        facts={TITLES[group.what]: group.facts() for group in groups.values()},
        provenance=study.provenance,
        style=study.style,
        unit="item",
    )
    names = [*ratings.systems, *([ALL] if len(ratings.systems) > 1 else [])]
    if study.testing is None:
        columns = [c for name, group in groups.items() for c in group.columns(name)]
        rows = {
            one: [figure for group in groups.values() for figure in group.all_figures(one)]
            for one in names
        }
        return figure_table(columns, rows, layout)
    scores = [one.in_set(name) for name, group in groups.items() for one in group.scores]
    described = {c.measure: c for name, group in groups.items() for c in group.columns(name)[1:]}
    figures = [
        Figure(name, one, column.measure, value)
        for one in names
        for name, group in groups.items()
        for column, value in zip(group.columns(name)[1:], group.figures(one), strict=True)
    ]
    table = build_table(compare(scores, study.testing), layout, figures=figures, columns=described)
    rows_of_systems = [row for row in table.rows if row.system != ALL]
    whole = [row for row in table.rows if row.system == ALL]
    return replace(table, rows=(*rows_of_systems, *whole))


class _Group:
    """Ratings, or ranks: everything known about them."""

    def __init__(self, ratings: Ratings, what: What, study: Study) -> None:
        self.what = what
        self.ratings = ratings
        self.study = study
        means = system_means(ratings, what, level=study.drawing.level)
        self.means: dict[str, SystemMean] = {one.system: one for one in means}
        self.agreements: dict[str, Agreement] = {
            system or ALL: agreement_of(
                ratings,
                what,
                study.level,
                system=system,
                unigrams=study.unigrams and what == "rating",
                drawing=study.drawing,
            )
            for system in [*ratings.systems, None]
        }
        self.scores = rating_scores(ratings, what) if study.testing else []

    def columns(self, group: str) -> list[Column]:
        """The mean, which may be tested, and what describes it."""
        falls = self.what == "rank"
        mean = Column(f"Mean {self.what}", group, higher_is_better=not falls, descriptive=True)
        return [
            mean,
            *(Column(name, group, descriptive=True, summed=whole) for name, whole in _COLUMNS),
            *(Column(name, group, descriptive=True) for name in self._more()),
        ]

    def _more(self) -> dict[str, str]:
        """What is reported on two raters or on texts: columns, and what they show."""
        found: dict[str, str] = {}
        for name, key in (("Cohen's kappa", "cohen"), ("unigram overlap", "overlap")):
            if getattr(self.agreements[ALL], key) is not None:
                found |= {name: key, f"{name} low": key, f"{name} high": key}
        return found

    def all_figures(self, row: str) -> list[float | None]:
        """A row's figures: those of a system, or of all."""
        mean = self.means.get(row)
        return [_known(mean.mean) if mean else None, *self.figures(row)]

    def figures(self, row: str) -> list[float | None]:
        """The same without the mean."""
        return [_known(value) for value in self._figures(row)]

    def _figures(self, row: str) -> list[float | None]:
        mean, found = self.means.get(row), self.agreements[row]
        kappa = found.kappa
        return [
            float(mean.items if mean else len(self.ratings.items)),
            *((mean.sd, mean.low, mean.high) if mean else (None, None, None)),
            found.alpha,
            *_ends(found.alpha_interval),
            kappa.kappa if kappa else None,
            *_ends(found.kappa_interval),
            kappa.all_agree if kappa else None,
            kappa.none_agree if kappa else None,
            *(
                value
                for key in dict.fromkeys(self._more().values())
                for value in (getattr(found, key), *_ends(getattr(found, f"{key}_interval")))
            ),
        ]

    def sentences(self, several: bool) -> list[str]:
        """What a reader must know to judge the figures."""
        study = self.study
        percent, drawing = f"{100 * study.drawing.level:g}%", study.drawing
        sentences = [
            f"{len(self.ratings.items):,} items, {len(self.ratings.raters):,} raters, "
            f"{len(self.ratings.item):,} judgements.",
            "Means, SD and their intervals (t) are over items, the raters of each answer "
            "averaged first.",
            f"alpha: Krippendorff's, {study.level}; kappa: Fleiss', of categories. low and high: "
            f"{percent} intervals; of alpha and kappa bootstrap over items, "
            f"{drawing.samples:,} samples, seed {drawing.seed}.",
            *self._left_out(several),
        ]
        if self.agreements[ALL].overlap is not None:
            sentences.append(
                "Unigram overlap: 2 |A and B| / (|A| + |B|) of the words of two raters' texts, "
                "averaged over the raters of an answer."
            )
        return sentences

    def _left_out(self, several: bool) -> list[str]:
        """What kappa and alpha are not about."""
        found = self.agreements[ALL]
        of = f" ({self.what}s)" if several else ""
        sentences = []
        if found.kappa is None:
            sentences.append(f"No kappa: most answers have one rating{of}.")
        elif found.left_out:
            sentences.append(
                f"kappa of all systems is over the {found.kappa.units:,} answers with "
                f"{found.kappa.raters} ratings, without {found.left_out:,} with another number{of}."
            )
        if found.single:
            sentences.append(f"{found.single:,} answers with one rating say nothing to alpha{of}.")
        return sentences

    def facts(self) -> dict[str, Any]:
        """Everything, for machines."""
        return {
            "level": self.study.level,
            "means": [asdict(one) for one in self.means.values()],
            "agreement": {name: asdict(one) for name, one in self.agreements.items()},
        }


def _known(value: float | None) -> float | None:
    return None if value is None or not isfinite(value) else float(value)


def _ends(interval: Interval | None) -> Sequence[float | None]:
    return (interval.low, interval.high) if interval else (None, None)
