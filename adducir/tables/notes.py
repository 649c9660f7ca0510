"""The lines below a table: its marks, how it was tested and judged, and what to beware of."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import polars as pl
from ir_measures import Measure

from adducir.core.texts import listed
from adducir.evaluation.measures import is_descriptive, leaves_unjudged_out
from adducir.evaluation.scores import Evaluation
from adducir.statistics.comparison import Comparison
from adducir.statistics.equivalence import FEW
from adducir.statistics.power import POWER
from adducir.statistics.settings import CORRECTIONS, TESTS
from adducir.statistics.two_level import FEW_RUNS
from adducir.tables.style import Detail
from adducir.tables.table import Mark, Note, ResultTable, printed_name

if TYPE_CHECKING:
    from adducir.tables.build import Layout

FEW_SAMPLED = 30
"""With so many topics or fewer, the set of best systems is too small more often than alpha says."""
_DETAILS: Mapping[Detail, str] = {
    "difference": "difference to the baseline",
    "ci": "{}confidence interval of the difference",
    "effect": "effect size d (difference in standard deviations of the differences)",
    "wins": "topics won/tied/lost against the baseline",
    "p": "p-value",
    "p_corrected": "corrected p-value (p')",
    "equivalence_p": "corrected p-value of the equivalence test (p≈)",
}


def lines_of(table: ResultTable, layout: "Layout") -> Iterator[Note]:
    if table.comparison is None:
        return
    lines = _Lines(table, table.comparison, layout)
    yield from filter(
        any,
        (
            lines.marks(),
            (lines.tested(),),
            (lines.judged() if layout.evaluated else "",),
            (" ".join(lines.attention()),),
            lines.equivalence(),
            lines.best_set(),
            (lines.runs(),),
            (lines.details(),),
            (lines.design(),),
        ),
    )


class _Lines:
    def __init__(self, table: ResultTable, comparison: Comparison, layout: "Layout") -> None:
        self.table, self.comparison, self.asked = table, comparison, comparison.testing
        self.layout, self.measures = layout, comparison.scores.measures
        self.differences = comparison.tests.filter(claim="difference")
        self.claims = comparison.tests.filter(pl.col("claim") != "difference")
        self.borne = {mark.kind for _, _, cell in table.cells() for mark in cell.marks}
        self.several_sets = len(comparison.scores.sets) > 1
        self.section = " in its section" if table.stacked else ""

    def system(self, name: str) -> str:
        return self.layout.system_names.get(name, name)

    def measure(self, name: str) -> str:
        return self.layout.measure_names.get(name) or printed_name(name)

    def printed(self, holds: Callable[[Measure], bool]) -> list[str]:
        return [self.measure(name) for name, one in self.measures.items() if holds(one)]

    def in_set(self, name: str) -> str:
        """The beginning of what is said of a topic set, if there are several."""
        return f"{name}, " if self.several_sets else ""

    def marks(self) -> Note:
        parts: list[Note] = []
        if any(cell.best for _, _, cell in self.table.cells()):
            parts.append((Mark("best"), f" best mean{self.section}"))
        if self.differences["p"].count():
            kinds = [kind for kind in ("better", "worse") if kind in self.borne]
            names = [self.system(name) for name in self.asked.baselines]
            if self.asked.all_pairs:
                whom = "the systems whose letters follow"
            elif len(names) > 1:
                whom = "the baselines whose letters follow"
            else:
                whom = names[0]
            if kinds:
                signs = [sign for kind in kinds for sign in (Mark(kind), " ")]
                parts.append((*signs, f"significantly {', '.join(kinds)} than {whom}"))
            else:
                parts.append((f"{'N' if not parts else 'n'}o difference is significant",))
        joined = [piece for part in parts for piece in ("; ", *part)]
        return (*joined[1:], ".") if joined else ()

    def tested(self) -> str:
        asked, parts = self.asked, []
        if self.differences["p"].count():
            title = "two-level t-test" if self.comparison.runs else TESTS.kind(asked.test).title
            names = [self.system(name) for name in asked.baselines]
            whom = "of all pairs of systems" if asked.all_pairs else f"against {listed(names)}"
            parts.append(f"{title[0].upper()}{title[1:]}, two-sided, {whom}")
            parts.append(
                f"{self._corrected(asked.correction, self.differences)}, alpha = {asked.alpha:g}"
                + f", {asked.permutations:,} permutations, seed {asked.seed}" * asked.permutes
            )
        sizes, unit = self.comparison.topics, self.layout.unit
        if len(set(sizes.values())) == 1:
            parts.append(plural(next(iter(sizes.values())), unit))
        else:
            parts.append(f"{unit}s: " + ", ".join(f"{name} {n:,}" for name, n in sizes.items()))
        shown = self.printed(is_descriptive)
        if shown and len(parts) > 1:
            parts.append(f"not tested, as it is descriptive: {listed(shown)}")
        return f"{'; '.join(parts)}."

    def _corrected(self, correction: str, tests: pl.DataFrame) -> str:
        whole = self.asked.family == "table"
        keys = ["set"] if whole else ["set", "measure"]
        counts = tests.filter(pl.col("p").is_not_null()).group_by(keys).len()["len"]
        low, high = min(counts), max(counts)
        number = f"{low}" if low == high else f"{low} to {high}"
        which = "the one test" if high == 1 else f"the {number} tests"
        of = "of all measures" if whole else "of each measure"
        if self.several_sets:
            of += " on each topic set" if whole else " and topic set"
        title = CORRECTIONS.kind(correction).title
        how = f"corrected by {title} over" if " " in title else f"{title}-corrected over"
        return f"{how if title else 'no correction for'} {which} {of}"

    def judged(self) -> str:
        def counts(one: Measure) -> bool:
            return getattr(one, "NAME", None) is not None and not is_descriptive(one)

        without = self.printed(lambda one: counts(one) and leaves_unjudged_out(one))
        others = self.printed(lambda one: counts(one) and not leaves_unjudged_out(one))
        parts = []
        if others:
            what = "all measures" if not without else listed(others)
            parts.append(f"count as not relevant in {what}")
        if without:
            parts.append(f"are left out by {listed(without)}")
        sentences = [f"Unjudged documents {' and '.join(parts)}"] if parts else []
        for name, many in self._by_set():
            one = next((one for one in many if one.negatives), None)
            if one is not None and (without or others):
                how = (
                    "counted as judged and not relevant"
                    if one.negative == "zero"
                    else "left out as unjudged by condensed measures and Bpref (trec_eval)"
                )
                judgements = plural(one.negatives, "judgement")
                sentences.append(f"{name}{judgements} with a negative grade (spam) {how}")
        return f"{'; '.join(sentences)}." if sentences else ""

    def _by_set(self) -> Iterator[tuple[str, list[Evaluation]]]:
        every = sorted(self.comparison.scores.evaluations, key=lambda one: one.set)
        for name, many in groupby(every, key=lambda one: one.set):
            yield f"{name}: " if self.several_sets else "", list(many)

    def attention(self) -> Iterator[str]:
        yield from unmatched(self.comparison.scores.evaluations, self.layout.system_names)
        if len(self.comparison.systems) == 1 and self.asked.anything:
            yield "There is one system only, and nothing to test."
        hollow = self.printed(leaves_unjudged_out)
        for name, many in self._by_set():
            for qids, systems in _alike(many, lambda one: one.missing):
                verb = "lacks" if len(systems) == 1 else "lack"
                yield (
                    f"{name}{self._listed(systems)} {verb} {len(qids)} of the topics, which count "
                    f"0: {listed(qids)}."
                )
            for qids, systems in _alike(many, lambda one: one.extra):
                yield (
                    f"{name}Ignored, because the qrels lack them: {plural(len(qids), 'topic')} "
                    f"of {self._listed(systems)} ({listed(qids)})."
                )
            if hollow and any(one.positives_only for one in many):
                yield (
                    f"{name}Warning: the qrels hold relevant documents only, all that "
                    f"{listed(hollow)} look at: the figures tell next to nothing."
                )
        same = self.differences.filter("constant", pl.col("method").is_in(["t", "two-level"]))
        if same.height:
            yield (
                f"The difference is the same on every topic between {listed(self._pairs(same))}: p "
                "is that of the exact randomisation test, 2^(1 - topics)."
            )

    def _listed(self, systems: Iterable[str]) -> str:
        return listed([self.system(name) for name in systems])

    def _pairs(self, tests: pl.DataFrame) -> list[str]:
        return [
            f"{self.system(a)} and {self.system(b)} ({self.in_set(name)}{self.measure(measure)})"
            for name, a, b, measure in tests["set", "system", "reference", "measure"].iter_rows()
        ]

    def equivalence(self) -> Note:
        asked, claims = self.asked, self.claims
        if not claims.height:
            return ()
        best = asked.against == "best"
        whom = self.system(asked.against)
        whom = f"the best system of the column{self.section}" if best else whom
        claim, what = "equivalence", f"equivalent to {whom} within ±{asked.equivalence:g}"
        sides, tost = "two one-sided", " (TOST)"
        if asked.non_inferiority:
            what = f"not worse than {whom} by {asked.equivalence:g} or more"
            claim, sides, tost = "non-inferiority", "one-sided", ""
        kind = "two-level" if self.comparison.runs else "paired"
        skew = " adjusted for skewness" if asked.equivalence_test == "hall" else ""
        corrected = self._corrected(asked.equivalence_correction, claims)
        none: Note = (f"No system was shown to be {what}",)
        shown = (Mark("equivalent"), f" {what}") if "equivalent" in self.borne else none
        text = f": {sides} {kind} t-tests{tost}{skew}; {corrected}, alpha = {asked.alpha:g}."
        if best:
            text += " Exploratory: the best system was picked by the figures that are tested."
        refused = claims.filter(method="refused")
        if refused.height:
            all_pairs = refused.height == claims.height
            named = "all pairs" if all_pairs else listed(self._pairs(refused))
            text += f" Not tested, because fewer than {FEW} topics differ or none varies: {named}."
        topics = claims["set"].replace_strict(self.comparison.topics, return_dtype=pl.Int64)
        few = pl.col("ties") + FEW > pl.lit(1) * topics
        doubtful = claims.filter(few, verdict="equivalent", method="t")
        if doubtful.height:
            text += (
                f" Warning: do not rely on the {claim} of {listed(self._pairs(doubtful))}: with "
                f"fewer than {FEW} topics that differ the t-test does not hold its level."
            )
        return (*shown, text)

    def best_set(self) -> Note:
        found = self.comparison.means.filter(pl.col("p_best").is_not_null())
        if not found.height:
            return ()
        asked, undecided = self.asked, self.comparison.undecided
        how = (
            f"model confidence set (Hansen, Lunde and Nason) of each measure, level "
            f"{100 * (1 - asked.alpha):g}%, {asked.samples:,} samples, seed {asked.seed}."
        )
        none: Note = (f"Systems that may be the best: {how}",)
        borne: Note = (Mark("set"), f" may be the best of the column{self.section}: {how}")
        shown = borne if "set" in self.borne else none
        text = ""
        every = set(found.select("set", "measure").iter_rows())
        if undecided:
            names = dict.fromkeys(self.measure(m) for n, m in every if (n, m) in undecided)
            what = "every measure" if undecided == every and len(every) > 1 else listed([*names])
            text += f" The set holds every system on {what}: none can be told from the best."
        if undecided != every and min(self.comparison.topics.values()) <= FEW_SAMPLED:
            text += (
                f" Warning: with {FEW_SAMPLED} topics or fewer it lacks a best system more often "
                "than alpha."
            )
        return (*shown, text)

    def runs(self) -> str:
        runs = self.comparison.runs
        if not runs:
            return ""
        counts = listed([f"{self.system(name)} {count}" for name, count in runs.items()])
        text = (
            f"Runs of a system: {counts}. Figures are means over runs; tests and intervals are "
            "over topics and runs (two-level, Cochran)."
        )
        few = [name for name, count in runs.items() if count < FEW_RUNS]
        if few and (self.asked.differences or self.asked.equivalence):
            text += (
                f" Not tested: {self._listed(few)}, because two runs do not show how much runs "
                f"vary. Give {FEW_RUNS} or more."
            )
        return text

    def details(self) -> str:
        level = f"{100 * self.asked.level:g}% "
        shown = [_DETAILS[detail].format(level) for detail in self.table.style.details]
        return f"Below each mean: {'; '.join(shown)}." if shown else ""

    def design(self) -> str:
        found = [
            f"{self.in_set(name)}{self.measure(measure)} "
            + (f"unknown ({count})" if isinstance(count, str) else f"{count:,}")
            for (name, measure), count in self.comparison.designs.items()
        ]
        if not found:
            return ""
        return (
            f"Topics needed to find a true difference of {self.asked.topics_for:g} between two "
            f"systems with power {POWER:g} (paired t-test, alpha = {self.asked.alpha:g}, "
            f"uncorrected; variance of these scores; Sakai 2016): {', '.join(found)}."
        )


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def unmatched(evaluations: Iterable[Evaluation], names: Mapping[str, str]) -> list[str]:
    """A warning of runs that seem to be of another collection."""
    found = dict.fromkeys(names.get(o.system, o.system) for o in evaluations if o.unmatched)
    return [
        f"Warning: no document of {name} is judged for its topic, so its figures say nothing. Is "
        "it a run of this collection?"
        for name in found
    ]


def _alike(
    many: Sequence[Evaluation], topics: Callable[[Evaluation], tuple[str, ...]]
) -> list[tuple[tuple[str, ...], list[str]]]:
    """Topics that evaluations name, with the systems that name the same."""
    found: dict[tuple[str, ...], dict[str, None]] = {}
    for one in many:
        if topics(one):
            found.setdefault(topics(one), {})[one.system] = None
    return [(qids, list(systems)) for qids, systems in found.items()]
