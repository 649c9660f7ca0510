"""Values per topic of any number of systems: one tidy frame and its measures."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from ir_measures import Measure
from numpy.typing import NDArray

from adducir.core.errors import UsageError
from adducir.core.texts import MOST_ROWS, html_table, refuse_unless
from adducir.corpora.frames import Framed
from adducir.evaluation.lists import Floats, NegativeGrades
from adducir.evaluation.measures import is_summed, parse_measure, parse_measures, summary

SCHEMA = dict.fromkeys(("set", "system", "run", "qid", "measure"), pl.String) | {
    "value": pl.Float64
}
SEED = re.compile(r"[._ +-]?seed[-_=]?\d{1,9}", re.IGNORECASE)


@dataclass(frozen=True)
class Evaluation:
    """Facts about a run's evaluation besides its values."""

    set: str
    system: str
    missing: tuple[str, ...] = ()  # topics of the qrels missing from the run; their values are 0
    extra: tuple[str, ...] = ()  # topics of the run missing from the qrels; ignored
    negative: NegativeGrades = "zero"  # how negative grades were treated
    negatives: int = 0  # number of negative judgements
    positives_only: bool = False  # whether all judged documents are relevant
    unmatched: bool = False  # whether none of the run's documents is judged for its topic
    passage: str = ""  # of the run, whose document is judged instead


@dataclass(frozen=True, eq=False)
class ScoreMatrix:
    """The scores of S systems on the same T topics and M measures.

    ``values`` are (M, S, T), means for a system of several runs, whose own are (R, M, T).
    """

    systems: tuple[str, ...]
    qids: tuple[str, ...]
    measures: Mapping[str, Measure]
    values: Floats
    runs: Mapping[str, Floats]

    def of(self, system: str, measure: str) -> Floats | None:
        """(T,) the scores of a system on a measure, if present."""
        if system not in self.systems or measure not in self.measures:
            return None
        return self.values[list(self.measures).index(measure), self.systems.index(system)]


@dataclass(frozen=True, eq=False)
class Scores(Framed):
    """The values of systems on topic sets.

    Attributes:
        frame: Columns set, system, run, qid, measure (its exact name) and value. The set is "" if
            there is only one; the run is the system's name, or one of a trained system's runs
            (seeds).
        measures: The measures by name.
        evaluations: Facts about each evaluated run.

    Example:
        >>> ad.evaluate(run, {"1": {"x": 1}}, "P@1").to_polars().columns
        ['set', 'system', 'run', 'qid', 'measure', 'value']
    """

    frame: pl.DataFrame
    measures: Mapping[str, Measure]
    evaluations: tuple[Evaluation, ...] = field(default=(), repr=False)

    @classmethod
    def of(
        cls,
        system: str,
        qids: Sequence[str],
        measures: Sequence[Measure | str],
        values: NDArray[Any],
        *,
        run: str = "",
        topic_set: str = "",
        missing: Sequence[str] = (),
        extra: Sequence[str] = (),
    ) -> "Scores":
        """The (T, M) values of one run of a system, with 0 for ``missing`` topics."""
        by_name = {str(measure): measure for measure in parse_measures(measures)}
        topics, count = len(qids), len(measures)
        if np.shape(values) != (topics, count) or len(by_name) != count:
            raise UsageError(
                f"the scores of {system} have shape {np.shape(values)}, not {topics} topics by "
                f"{count} different measures."
            )
        columns = {
            "set": topic_set,
            "system": system,
            "run": run or system,
            "qid": list(qids) * count,
            "measure": np.repeat(list(by_name), topics),
            "value": np.asarray(values, dtype=np.float64).T.ravel(),
        }
        evaluation = Evaluation(topic_set, system, tuple(missing), tuple(extra))
        frame = pl.DataFrame(columns, schema=SCHEMA)
        return cls(frame, by_name, (evaluation,) if missing or extra else ())

    @classmethod
    def concat(cls, scores: "Scores | Iterable[Scores]") -> "Scores":
        if isinstance(scores, Scores):
            return scores
        parts = list(scores)
        for part in parts:
            refuse_unless(part, "each of the scores", Scores)
        if not parts:
            raise UsageError("there are no systems to compare.")
        frames, measures = list[pl.DataFrame](), dict[str, Measure]()
        evaluations = list[Evaluation]()
        for part in parts:
            frames.append(part.frame)
            evaluations += part.evaluations
            for name, measure in part.measures.items():
                measures.setdefault(name, measure)
        return cls(pl.concat(frames), measures, tuple(evaluations))

    def in_set(self, name: str) -> "Scores":
        evaluations = tuple(replace(evaluation_, set=name) for evaluation_ in self.evaluations)
        return replace(
            self, frame=self.frame.with_columns(set=pl.lit(name)), evaluations=evaluations
        )

    def renamed(self, name: str | Callable[[str], str]) -> "Scores":
        """A copy with another name for the system; runs keep theirs."""
        new = {system: name if isinstance(name, str) else name(system) for system in self.systems}
        frame = self.frame.with_columns(pl.col("system").replace(new))
        evaluations = tuple(
            replace(evaluation_, system=new[evaluation_.system]) for evaluation_ in self.evaluations
        )
        return replace(self, frame=frame, evaluations=evaluations)

    @cached_property
    def sets(self) -> tuple[str, ...]:
        return tuple(self.frame["set"].unique(maintain_order=True))

    @cached_property
    def systems(self) -> tuple[str, ...]:
        return tuple(self.frame["system"].unique(maintain_order=True))

    @cached_property
    def qids(self) -> tuple[str, ...]:
        return tuple(self.frame["qid"].unique(maintain_order=True))

    @cached_property
    def runs(self) -> dict[str, int]:
        """The number of runs of each system with several; its scores are their means."""
        runs = self.frame.group_by("set", "system", maintain_order=True).agg(pl.n_unique("run"))
        most = runs.group_by("system", maintain_order=True).agg(pl.max("run"))
        return dict(most.filter(pl.col("run") > 1).iter_rows())

    @property
    def missing(self) -> dict[str, tuple[str, ...]]:
        """The missing topics, which count 0, of each system that has any."""
        return {
            evaluation.system: evaluation.missing
            for evaluation in self.evaluations
            if evaluation.missing
        }

    def values(self, measure: Measure | str) -> Floats:
        """(T,) one system's values of a measure; means over several runs."""
        name = str(measure)
        if name not in self.measures:
            name = str(parse_measure(measure))
        if name not in self.measures:
            raise UsageError(
                f"{measure} was not computed.", hint=f"Computed: {', '.join(self.measures)}."
            )
        if len(self.systems) > 1:
            raise UsageError(f"these are scores of {len(self.systems)} systems.")
        part = self.frame.filter(measure=name).group_by("qid", maintain_order=True)
        return part.agg(pl.col("value").mean())["value"].to_numpy()

    def mean(self, measure: Measure | str) -> float:
        """One system's mean of a measure over all topics (trec_eval's ``-c``).

        Of counts too; of gm_map and gm_bpref the geometric mean.
        """
        values = self.values(measure)
        measure_ = self.measures.get(str(measure)) or parse_measure(measure)
        mean = float(values.mean())
        return mean if is_summed(measure_) else summary(measure_, mean, values.size)

    def means(self) -> pl.DataFrame:
        """Means over topics and runs by set, system and measure; sums of counts."""
        keys = ["set", "system", "measure"]
        rows = self.frame.group_by(*keys, "qid", maintain_order=True).agg(pl.col("value").mean())
        averages = rows.group_by(keys, maintain_order=True).agg(
            pl.col("value").mean(), topics=pl.len()
        )
        values = [
            summary(self.measures[measure], mean, topics)
            for measure, mean, topics in averages.select("measure", "value", "topics").iter_rows()
        ]
        return averages.with_columns(value=pl.Series(values, dtype=pl.Float64))

    def matrix(self, topic_set: str | None = None) -> ScoreMatrix:
        """The scores on a topic set (optional if there is only one) as arrays."""
        part = self.frame if topic_set is None else self.frame.filter(set=topic_set)
        wrong = part.filter(~pl.col("value").is_finite())
        if wrong.height:
            _, _, run, qid, measure, value = wrong.row(0)
            raise UsageError(f"{run} has {value} for {measure} on topic {qid}, not a number.")
        runs = part.select("system", "run").unique(maintain_order=True)
        systems = runs["system"].unique(maintain_order=True)
        names, qids = (
            part["measure"].unique(maintain_order=True),
            part["qid"].unique(maintain_order=True),
        )
        row = _codes(part["run"] + "\t" + part["system"], runs["run"] + "\t" + runs["system"])
        places = row, _codes(part["measure"], names), _codes(part["qid"], qids)
        cells = np.full((len(runs), len(names), len(qids)), np.nan)
        cells[places] = part["value"].to_numpy()
        empty = np.argwhere(np.isnan(cells))
        if empty.size:
            run, measure, topic = empty[0]
            raise UsageError(
                f"{runs['run'][int(run)]} lacks {names[int(measure)]} of topic {qids[int(topic)]}, "
                "unlike another system.",
                hint="Evaluate all runs with the same qrels and measures.",
            )
        if part.height > cells.size:
            twice = part.filter(part.select("system", "run", "qid", "measure").is_duplicated())
            raise UsageError(
                f"several runs are called {twice['run'][0]}.",
                hint="Give each run a unique tag or name.",
            )
        of_system, several = _codes(runs["system"], systems), dict[str, Floats]()
        values = np.empty((len(systems), len(names), len(qids)))
        for number, name in enumerate(systems):
            runs_here = cells[of_system == number]
            values[number] = runs_here[0]
            if len(runs_here) > 1:
                several[name], values[number] = runs_here, runs_here.mean(axis=0)
        return ScoreMatrix(
            tuple(systems),
            tuple(qids),
            {name: self.measures[name] for name in names},
            np.ascontiguousarray(values.transpose(1, 0, 2)),
            several,
        )

    def pooled(self) -> "Scores":
        """The scores with runs that differ only in seed1, seed2 and so on as one system's."""
        for name, runs in by_system(self.systems).items():
            if len(runs) > 1 and name in runs:
                message = (
                    f"{name} is not one of the runs {name}.seed1 and so on, but has their name."
                )
                raise UsageError(message, hint="Rename it, or leave it out.")
        pooled = self.renamed(system_of)
        if len(pooled.systems) == len(self.systems):
            raise UsageError(
                "no two runs have names that differ only in the seed.",
                hint="Call them X.seed1, X.seed2 and so on.",
            )
        return pooled

    def to_polars(self) -> pl.DataFrame:
        return self.frame

    def _repr_html_(self) -> str:
        rows = self.means().select("system", "measure", "value").head(MOST_ROWS).rows()
        caption = f"{', '.join(self.systems[:3])}: {len(self.qids):,} topics"
        return html_table(caption, ("system", "measure", "value"), rows)


def _codes(column: pl.Series, names: pl.Series) -> NDArray[np.int64]:
    """(n,) the position of each value in the unique names."""
    return column.cast(pl.Enum(names)).to_physical().to_numpy().astype(np.int64)


def system_of(name: str) -> str:
    """A run's name without its seed: ``DeepCT.seed3`` becomes ``DeepCT``."""
    return SEED.sub("", name) or name


def run_name(system: str, seed: int | None) -> str:
    """The name of a system's run, or of what is made for it, with the seed, if any."""
    return system if seed is None else f"{system}.seed{seed}"


def by_system(runs: Iterable[str]) -> dict[str, list[str]]:
    pooled: dict[str, list[str]] = {}
    for name in runs:
        pooled.setdefault(system_of(name), []).append(name)
    return pooled
