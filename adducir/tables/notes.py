"""The lines below a table: its marks, tests, judgements, and warnings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Literal

import polars as pl

from adducir.core.texts import counted, listed
from adducir.evaluation.measures import is_descriptive, leaves_unjudged_out
from adducir.evaluation.scores import SEED, Evaluation
from adducir.runs.docnos import unfolded
from adducir.statistics.comparison import POWER, Comparison
from adducir.statistics.settings import CORRECTIONS, FEW, FEW_RUNS, TESTS
from adducir.tables.style import Detail
from adducir.tables.table import Mark, MarkKind, Note, ResultTable, printed_name

FEW_SAMPLED = 30
"""With this many topics or fewer, the set of best systems errs more often than alpha."""
_DETAILS: Mapping[Detail, str] = {
    "difference": "difference from the baseline",
    "ci": "{}confidence interval of the difference{}",
    "effect": "effect size d (difference in standard deviations of the differences)",
    "wins": "topics won/tied/lost against the baseline",
    "p": "p-value",
    "p_corrected": "corrected p-value (p')",
    "equivalence_p": "corrected p-value of the equivalence test (p≈)",
}


def lines_of(table: ResultTable) -> Iterator[Note]:
    """The non-empty lines below a comparison's table."""
    if (comparison := table.comparison) is None:
        return
    lines = _Lines(table, comparison)
    if marks := lines.marks():
        yield marks
    yield (lines.tested(),)
    if table.evaluated and (judged := lines.judged()):
        yield (judged,)
    if attention := " ".join(lines.attention()):
        yield (attention,)
    if lines.claims.height:
        yield lines.equivalence()
    if comparison.testing.best == "set" and comparison.means["p_best"].count():
        yield lines.best_set()
    if runs := comparison.scores.runs:
        yield (lines.runs(runs),)
    if warning := lines.single_runs():
        yield (warning,)
    if details := table.style.details:
        level = f"{100 * comparison.testing.level:g}% "
        is_corrected = CORRECTIONS.kind(comparison.testing.correction).title
        alone = ", not corrected" if is_corrected else ""
        shown = [_DETAILS[detail].format(level, alone) for detail in details]
        yield (f"Below each mean: {'; '.join(shown)}.",)
    if comparison.designs:
        yield (lines.design(),)


class _Lines:
    def __init__(self, table: ResultTable, comparison: Comparison) -> None:
        self.table, self.comparison, self.asked = table, comparison, comparison.testing
        self.differences = comparison.tests.filter(claim="difference")
        self.claims = comparison.tests.filter(pl.col("claim") != "difference")
        self.borne = set[str]()
        for _, _, cell in table.cells():
            self.borne.update(["best"] * cell.best, (mark.kind for mark in cell.marks))
        self.several_runs = bool(comparison.scores.runs)
        self.several_sets = len(comparison.scores.sets) > 1
        # Sections that are topic sets are tested separately.
        sections = {section for section, _ in table.places.values()}
        self.section = " in its section" if len(sections) > 1 else ""
        # The printed names of systems and measures; which measures rate nothing, and which know
        # judgements and leave unjudged documents out, or count them.
        self.systems = {name: table.system_names.get(name, name) for name in comparison.systems}
        self.measures: dict[str, str] = {}
        self.descriptive, self.hollow, self.counting = list[str](), list[str](), list[str]()
        for name, measure in comparison.scores.measures.items():
            title = table.measure_names.get(name) or printed_name(name)
            self.measures[name] = title
            if is_descriptive(measure):
                self.descriptive.append(title)
            elif leaves_unjudged_out(measure):
                self.hollow.append(title)
            elif getattr(measure, "NAME", None) is not None:
                self.counting.append(title)
        self.by_set: dict[str, list[Evaluation]] = {}
        for evaluation in sorted(comparison.scores.evaluations, key=attrgetter("set")):
            self.by_set.setdefault(evaluation.set, []).append(evaluation)

    def marks(self) -> Note:
        shown: list[str | Mark] = []
        if "best" in self.borne:
            shown += [Mark("best"), f" best mean{self.section}"]
        if self.differences["p"].count():
            kinds: tuple[MarkKind, ...] = ("better", "worse")
            borne = [kind for kind in kinds if kind in self.borne]
            shown += ["; "] if shown else []
            for kind in borne:
                shown += [Mark(kind), " "]
            if not borne:
                shown.append(f"{'n' if shown else 'N'}o difference is significant")
            elif self.asked.all_pairs:
                whom = "the systems whose letters follow"
            elif len(self.asked.baselines) > 1:
                whom = "the baselines whose letters follow"
            else:
                whom = self.systems[self.asked.baselines[0]]
            shown += [f"significantly {', '.join(borne)} than {whom}"] if borne else []
        return (*shown, ".") if shown else ()

    def tested(self) -> str:
        testing, parts = self.asked, []
        if self.differences["p"].count():
            title = "two-level t-test" if self.several_runs else TESTS.kind(testing.test).title
            against = f"against {self._listed(testing.baselines)}"
            whom = "of all pairs of systems" if testing.all_pairs else against
            parts.append(f"{title[0].upper()}{title[1:]}, two-sided, {whom}")
            corrected = self._corrected(testing.correction, self.differences)
            parts.append(
                f"{corrected}, alpha = {testing.alpha:g}"
                + f", {testing.permutations:,} permutations, seed {testing.seed}" * testing.permutes
            )
        sizes, unit = self.comparison.topics, self.table.unit
        if len(set(sizes.values())) == 1:
            parts.append(counted(next(iter(sizes.values())), unit))
        else:
            parts.append(f"{unit}s: " + ", ".join(f"{name} {n:,}" for name, n in sizes.items()))
        if self.descriptive and len(parts) > 1:
            parts.append(f"not tested, as it is descriptive: {listed(self.descriptive)}")
        return f"{'; '.join(parts)}."

    def _corrected(self, correction: str, tests: pl.DataFrame) -> str:
        whole = self.asked.family == "table"
        keys = ["set"] if whole else ["set", "measure"]
        kind, unit = CORRECTIONS.kind(correction), "tests"
        systems = pl.concat([pl.col("system"), pl.col("reference")]).n_unique()
        size = systems * (systems - 1) // 2 if kind.of_all_pairs else pl.len()
        counts = tests.filter(pl.col("p").is_not_null()).group_by(keys).agg(size=size)["size"]
        low, high = min(counts), max(counts)
        number = f"{low}" if low == high else f"{low} to {high}"
        if kind.of_all_pairs:
            unit = "pairs of systems, whichever are tested,"
        which = "the one test" if high == 1 else f"the {number} {unit}"
        scope = "of all measures" if whole else "of each measure"
        if self.several_sets:
            scope += " on each topic set" if whole else " and topic set"
        title = kind.title
        how = f"corrected by {title} over" if " " in title else f"{title}-corrected over"
        return f"{how if title else 'no correction for'} {which} {scope}"

    def judged(self) -> str:
        """How unjudged documents count, if a measure uses judgements."""
        without, others, parts = self.hollow, self.counting, []
        if others:
            where = "all measures" if not without else listed(others)
            parts.append(f"count as not relevant in {where}")
        if without:
            parts.append(f"are left out by {listed(without)}")
        if not parts:
            return ""
        sentences = [f"Unjudged documents {' and '.join(parts)}"]
        for name, facts in self.by_set.items():
            spam = max(facts, key=attrgetter("negatives"))
            if spam.negatives:
                how = (
                    "counted as judged and not relevant"
                    if spam.negative == "zero"
                    else "left out as unjudged by condensed measures and Bpref (trec_eval)"
                )
                judgements = counted(spam.negatives, "judgement")
                whose = f"{name}: " if self.several_sets else ""
                sentences.append(f"{whose}{judgements} with a negative grade {how}")
        return f"{'; '.join(sentences)}."

    def attention(self) -> Iterator[str]:
        if len(self.comparison.systems) == 1 and self.asked.anything:
            yield "There is only one system, so nothing was tested."
        for topic_set, facts in self.by_set.items():
            name = f"{topic_set}: " if self.several_sets else ""
            for qids, systems in _alike(facts, "missing").items():
                verb = "lacks" if len(systems) == 1 else "lack"
                yield (
                    f"{name}{self._listed(systems)} {verb} {len(qids)} of the topics, which count "
                    f"0: {listed(qids)}."
                )
            for qids, systems in _alike(facts, "extra").items():
                yield (
                    f"{name}Ignored {counted(len(qids), 'topic')} without judgements of "
                    f"{self._listed(systems)} ({listed(qids)})."
                )
            if self.hollow and any(fact.positives_only for fact in facts):
                yield (
                    f"{name}Warning: all judged documents are relevant, and unjudged ones are left "
                    f"out by {listed(self.hollow)}: these figures mean very little."
                )
        same = self.differences.filter("constant", pl.col("method").is_in(["t", "two-level"]))
        if same.height:
            yield (
                f"The difference is the same on every topic between {self._pairs(same)}: p is that "
                "of the exact randomisation test, 2^(1 - topics)."
            )

    def _listed(self, systems: Iterable[str]) -> str:
        return listed([self.systems[name] for name in systems])

    def _pairs(self, tests: pl.DataFrame) -> str:
        return listed(
            [
                f"{self.systems[a]} and {self.systems[b]} "
                f"({f'{name}, ' * self.several_sets}{self.measures[measure]})"
                for name, measure, _, a, b, *_ in tests.iter_rows()
            ]
        )

    def equivalence(self) -> Note:
        testing, claims = self.asked, self.claims
        best = testing.against == "best"
        whom = f"the best system of the column{self.section}"
        whom = whom if best else self.systems[testing.against]
        claim, claimed = "equivalence", f"equivalent to {whom} within ±{testing.equivalence:g}"
        sides, tost = "two one-sided", " (TOST)"
        if testing.non_inferiority:
            claimed = f"not worse than {whom} by {testing.equivalence:g} or more"
            claim, sides, tost = "non-inferiority", "one-sided", ""
        kind = "two-level" if self.several_runs else "paired"
        skew = " adjusted for skewness" if testing.equivalence_test == "hall" else ""
        corrected = self._corrected(testing.equivalence_correction, claims)
        none: Note = (f"No system was shown to be {claimed}",)
        shown = (Mark("equivalent"), f" {claimed}") if "equivalent" in self.borne else none
        text = f": {sides} {kind} t-tests{tost}{skew}; {corrected}, alpha = {testing.alpha:g}."
        if best:
            text += " Exploratory: the best system was picked by the figures that are tested."
        refused = claims.filter(method="refused")
        why = f"scores differ on fewer than {FEW} topics, or equally on all"
        if refused.height == claims.height:
            bound = f"Equivalence within ±{testing.equivalence:g}"
            if testing.non_inferiority:
                bound = f"Non-inferiority (by less than {testing.equivalence:g})"
            return (f"{bound} was not tested: {why}.",)
        if refused.height:
            text += f" Not tested, because {why}: {self._pairs(refused)}."
        topics = claims["set"].replace_strict(self.comparison.topics, return_dtype=pl.Int64)
        few = pl.col("ties") + FEW > pl.lit(1) * topics
        doubtful = claims.filter(few, verdict="equivalent", method="t")
        if doubtful.height:
            text += (
                f" Warning: do not rely on the {claim} of {self._pairs(doubtful)}: with fewer than "
                f"{FEW} topics that differ the t-test does not hold its level."
            )
        return (*shown, text)

    def best_set(self) -> Note:
        testing, means = self.asked, self.comparison.means
        how = (
            f"model confidence set (Hansen, Lunde and Nason) of each measure, level "
            f"{100 * (1 - testing.alpha):g}%, {testing.samples:,} samples, seed {testing.seed}."
        )
        none: Note = (f"Systems that may be the best: {how}",)
        borne: Note = (Mark("set"), f" may be the best of the column{self.section}: {how}")
        shown = borne if "set" in self.borne else none
        text = ""
        sets = means.group_by("set", "measure", maintain_order=True).agg(pl.min("p_best"))
        sets = sets.drop_nulls()
        undecided = sets.filter(pl.col("p_best") > testing.alpha)["measure"]
        if len(undecided):
            names = [self.measures[name] for name in undecided.unique(maintain_order=True)]
            where = "every measure" if len(undecided) == sets.height > 1 else listed(names)
            text += f" The set contains every system on {where}: none can be told from the best."
        if len(undecided) < sets.height and min(self.comparison.topics.values()) <= FEW_SAMPLED:
            text += (
                f" Warning: with {FEW_SAMPLED} topics or fewer it lacks a best system more often "
                "than alpha."
            )
        return (*shown, text)

    def runs(self, runs: Mapping[str, int]) -> str:
        counts = listed([f"{self.systems[name]} {count}" for name, count in runs.items()])
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

    def single_runs(self) -> str:
        """What tests overlook: how runs of a system vary of which there is one."""
        if not self.differences["p"].count() and not self.claims["p"].count():
            return ""
        several = self.comparison.scores.runs
        frame = self.comparison.scores.frame.select("system", "run").unique(maintain_order=True)
        single = [row for row in frame.iter_rows() if row[0] not in several]
        seeded = [name for name, run in single if name in self.table.trained or SEED.search(run)]
        if seeded:
            is_one = len(seeded) == 1
            return (
                f"Warning: {self._listed(seeded)} {'was' if is_one else 'were'} trained, but "
                f"{'has' if is_one else 'have'} one run{' each' * (not is_one)}. Tests take "
                f"{'it' if is_one else 'them'} as if training did not vary, and so find "
                f"differences too often: give {FEW_RUNS} runs or more of each trained system."
            )
        if several and single:
            return (
                f"One run of {self._listed(name for name, _ in single)}, taken not to vary: if it "
                "was trained, tests find differences too often."
            )
        return ""

    def design(self) -> str:
        topics = [
            f"{f'{name}, ' * self.several_sets}{self.measures[measure]} "
            + (f"unknown ({count})" if isinstance(count, str) else f"{count:,}")
            for (name, measure), count in self.comparison.designs.items()
        ]
        return (
            f"Topics needed to find a true difference of {self.asked.topics_for:g} between two "
            f"systems with power {POWER:g} (paired t-test, alpha = {self.asked.alpha:g}, "
            f"uncorrected; variance of these scores; Sakai 2016): {', '.join(topics)}."
        )


def unmatched(evaluations: Iterable[Evaluation], names: Mapping[str, str]) -> list[str]:
    """A warning about runs that seem to belong to another collection."""
    warnings: dict[str, None] = {}
    for evaluation in evaluations:
        if evaluation.unmatched:
            system = names.get(evaluation.system, evaluation.system)
            why = "its figures are meaningless. Is it a run of this collection?"
            if evaluation.passage:
                why = f"its figures are meaningless: {unfolded(evaluation.passage, 'RUN')}"
            warnings[f"Warning: no document of {system} is judged for its topic, so {why}"] = None
    return list(warnings)


def _alike(
    evaluations: Sequence[Evaluation], kind: Literal["missing", "extra"]
) -> dict[tuple[str, ...], dict[str, None]]:
    """Topics named by evaluations, with the systems that name the same ones."""
    alike: dict[tuple[str, ...], dict[str, None]] = {}
    for evaluation in evaluations:
        if topics := getattr(evaluation, kind):
            alike.setdefault(topics, {})[evaluation.system] = None
    return alike
