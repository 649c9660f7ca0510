"""The table of a human study: systems as rows, means and agreement as columns."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any

from adducir.statistics.agreement.counts import Level
from adducir.statistics.agreement.intervals import Interval
from adducir.statistics.agreement.ratings import Ratings, What
from adducir.statistics.agreement.summary import Agreement, Drawing, agreement_of
from adducir.statistics.comparison.comparison import compare
from adducir.statistics.comparison.statements import statements
from adducir.studies.exemplification.rated_systems import SystemMean, rating_scores, system_means
from adducir.tables.cells import references, table_cell
from adducir.tables.style import Style
from adducir.tables.table import Column, ResultTable, Row, TableCell

if TYPE_CHECKING:
    from adducir.statistics.comparison.results import Comparison

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
        testing: Arguments of :func:`adducir.statistics.comparison.comparison.compare`, ``baseline``
            among them; empty: no tests.
        style: How numbers are printed.
        provenance: How the table was made.
    """

    level: Level = "ordinal"
    unigrams: bool = False
    drawing: Drawing = field(default_factory=Drawing)
    testing: Mapping[str, Any] = field(default_factory=dict)
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
    groups = [_Group(ratings, what, study) for what in whats]
    rows = [*ratings.systems, *([ALL] if len(ratings.systems) > 1 else [])]
    several = len(groups) > 1
    return ResultTable(
        columns=tuple(column for group in groups for column in group.columns(several)),
        rows=tuple(
            Row(name, tuple(cell for group in groups for cell in group.cells(name)))
            for name in rows
        ),
        baselines=groups[0].references,
        pairs=study.testing.get("family") == "pairs",
        footer=tuple(
            dict.fromkeys(sentence for group in groups for sentence in group.sentences(several))
        ),
        facts={TITLES[group.what]: group.facts() for group in groups},
        provenance=study.provenance,
        style=study.style,
    )


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
        self.comparison: Comparison | None = None
        if self.scores:
            self.comparison = compare(self.scores, **study.testing)

    @property
    def references(self) -> tuple[str, ...]:
        """What systems are tested against."""
        return references(self.comparison) if self.comparison else ()

    def columns(self, several: bool) -> list[Column]:
        """The mean, which is tested, and what describes it."""
        title = TITLES[self.what]
        group = title if several else ""
        topics = self.scores[0].qids if self.scores else ()
        mean = Column(
            f"Mean {self.what}",
            group,
            higher_is_better=self.what == "rating",
            descriptive=self.comparison is None,
            topics=topics,
        )
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

    def cells(self, row: str) -> list[TableCell]:
        """A row's cells: those of a system, or of all."""
        return [self._mean(row), *map(_cell, self._figures(row))]

    def _mean(self, row: str) -> TableCell:
        if row not in self.means:
            return TableCell()
        if self.comparison is None:
            return _cell(self.means[row].mean)
        scores = next(one for one in self.scores if one.system == row)
        return table_cell(self.comparison, row, scores.measures[0], scores)

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
        if self.comparison is not None:
            sentences += statements(self.comparison)[1:]
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


def _cell(value: float | None) -> TableCell:
    return TableCell(None if value is None or not isfinite(value) else float(value))


def _ends(interval: Interval | None) -> Sequence[float | None]:
    return (interval.low, interval.high) if interval else (None, None)
