"""Compare systems with baselines, with each other, and with the best: :func:`compare`.

Each topic set is tested by itself. The tests of a measure (``family: measure``) or of all measures
(``table``) are corrected together, those of equivalence as a family of their own. Only corrected
p-values decide verdicts. Descriptive measures (share judged, counts) are not tested.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import polars as pl

from adducir.core.errors import UsageError
from adducir.core.texts import MOST_ROWS, html_table
from adducir.corpora.frames import Framed
from adducir.evaluation.scores import ScoreMatrix, Scores
from adducir.statistics.set_tests import TESTED, SetTests
from adducir.statistics.settings import FOR_RUNS, Testing

_OPPOSITE = {"better": "worse", "worse": "better"}


@dataclass(frozen=True, eq=False)
class Comparison(Framed):
    """All systems on all measures and topic sets.

    Attributes:
        scores: What was compared.
        testing: What was asked for.
        means: A row for each set, system and measure: mean, topics, best (never of a descriptive
            measure), p_best (the least alpha at which the system leaves the model confidence set).
        tests: A row for each tested pair: set, measure, claim ("difference", "equivalence" or
            "non-inferiority"), system, reference, difference (of their means), low and high (its
            interval, uncorrected), statistic, p, p_corrected, verdict ("better" or "worse", which
            speak of quality, or "equivalent", or null), effect (Cohen's d_z), wins, ties and losses
            (topics on which the system is better, equal, worse), method (how it was tested;
            "refused" where there was too little to test, and p is null for a difference and 1 for
            an equivalence), constant (whether the difference is the same on every topic).
        designs: By set and measure, how many topics find a difference of ``topics_for``, or why
            that is not known.
    """

    scores: Scores
    testing: Testing
    means: pl.DataFrame
    tests: pl.DataFrame
    designs: Mapping[tuple[str, str], int | str] = field(default_factory=dict)
    _matrices: Mapping[str, ScoreMatrix] = field(default_factory=dict, repr=False)

    @cached_property
    def systems(self) -> tuple[str, ...]:
        return self.scores.systems

    def matrix(self, topic_set: str) -> ScoreMatrix:
        return self._matrices[topic_set]

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(self.scores.measures)

    def best(self, measure: str, topic_set: str = "") -> str:
        """The system with the best mean on a measure, the first given among equals."""
        return self.means.filter("best", set=topic_set, measure=measure)["system"][0]

    @property
    def references(self) -> tuple[str, ...]:
        return self.systems if self.testing.all_pairs else self.testing.baselines

    @cached_property
    def topics(self) -> dict[str, int]:
        return dict(self.means.select("set", "topics").unique(maintain_order=True).iter_rows())

    def both_ways(self) -> pl.DataFrame:
        found = self.tests.filter(claim="difference")
        turned = found.with_columns(
            system="reference",
            reference="system",
            difference=-pl.col("difference"),
            low=-pl.col("high"),
            high=-pl.col("low"),
            statistic=None,
            effect=-pl.col("effect"),
            wins="losses",
            losses="wins",
            verdict=pl.col("verdict").replace(_OPPOSITE),
        )
        return pl.concat([found, turned.select(TESTED.names()).cast(TESTED)])

    def to_polars(self) -> pl.DataFrame:
        """The tests, or the means where nothing was tested."""
        return self.tests if self.tests.height else self.means

    def _repr_html_(self) -> str:
        found = self.to_polars()
        names = ("measure", "system", "reference", "mean", "difference", "p_corrected", "verdict")
        keys = [name for name in names if name in found.columns]
        rows = found.select(keys).head(MOST_ROWS).rows()
        return html_table(f"{len(self.systems)} systems, {found.height} rows", keys, rows)


def compare(
    scores: Scores | Iterable[Scores], testing: Testing | None = None, **settings: Any
) -> Comparison:
    """Test systems for difference and for equivalence on all measures.

    The systems have the same topics and measures within each topic set. A set that lacks a baseline
    is not tested against it; a set of one topic is not tested. ``settings`` are the fields of
    :class:`Testing` by name, such as ``baseline="bm25"``, in place of ``testing``.
    """
    every = Scores.concat(scores)
    asked = testing or Testing(**settings)
    named = dict.fromkeys(asked.baselines, "baseline")
    if asked.against != "best":
        named[asked.against] = "system to be equivalent with"
    for name, what in named.items():
        if name not in every.systems:
            near = get_close_matches(name, every.systems, n=3, cutoff=0.4) or every.systems[:5]
            raise UsageError(
                f"the {what} {name!r} is not among the systems.",
                hint=f"Did you mean {' or '.join(near)}?",
            )
    each = [SetTests(name, every.matrix(name), asked) for name in every.sets]
    if every.runs:
        for what in asked.refused_for_runs().values():
            raise UsageError(f"{what}.", hint=FOR_RUNS)
    if asked.anything and len(every.systems) > 1 and max(one.topics for one in each) < 2:
        raise UsageError(
            f"a paired test needs at least two topics, but there is {len(every.qids)}.",
            hint="Compare means without a baseline, or evaluate on more topics.",
        )
    means, tests = list[pl.DataFrame](), [pl.DataFrame(schema=TESTED)]
    designs, matrices = dict[tuple[str, str], int | str](), dict[str, ScoreMatrix]()
    for one in each:
        matrices[one.name] = one.matrix
        means.append(one.means())
        tests += [one.differences(), one.equivalences()]
        designs |= one.designs()
    return Comparison(every, asked, pl.concat(means), pl.concat(tests), designs, matrices)
