"""Scores per topic from a model's judgements, corrected by people's judgements of a sample."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
import polars as pl
from ir_measures import Measure

from adducir.core.errors import Keyed, UsageError
from adducir.core.texts import counted
from adducir.corpora.frames import topic_numbers
from adducir.corpora.qrels import Qrels
from adducir.evaluation.formulas import MEASURES, Linear
from adducir.evaluation.lists import Floats
from adducir.evaluation.measures import kind_of, leaves_unjudged_out, parse_measures
from adducir.evaluation.scores import Evaluation, Scores
from adducir.judges.correction import Sampled
from adducir.judges.planning import widths
from adducir.judges.sampling import weights_of
from adducir.judges.sheets import Design
from adducir.runs.run import Run

LINEAR = "P@10, RBP(p=0.8,rel=1)@10, DCG@10, SDCG(max_rel=3)@10"
EXTEND = Keyed(
    "Let people judge some of the new ones, too: adducir sample RUN --extend SHEET -n 20 -o "
    "more.csv (with -t and -c, as before); then give both sheets, {}, and let "
    "the model judge all runs again.",
    ("people", "SHEET,more.csv"),
)


def refuse_outside(design: Design, run: Run, name: str, depth: int) -> None:
    """Refuse a run whose top ``depth`` has documents that could not be drawn."""
    topics = (design.pairs if design.topics is None else design.drawn).select("qid").unique()
    top = run.top(depth).frame.join(topics, on="qid", how="semi")
    new = top.join(design.pairs, on=["qid", "docno"], how="anti")
    if len(new):
        raise UsageError(
            f"{counted(len(new), 'document')} in the top {depth} of {name} were not in the pool "
            f"that the sample was drawn from, such as {new['docno'][0]} of topic {new['qid'][0]}.",
            hint=EXTEND,
            path=run.path,
        )


def check_depth(design: Design, measures: Iterable[Measure]) -> None:
    """Refuse measures that look deeper than the pool."""
    for measure in measures:
        cutoff = measure.params.get("cutoff")
        if isinstance(cutoff, int) and cutoff > design.depth:
            raise UsageError(
                f"{measure} needs the top {cutoff}, but the pools are the top {design.depth}.",
                hint="Use a smaller cutoff, or draw deeper (adducir sample --depth).",
            )


def linear_kind(measure: Measure) -> Linear:
    """A measure that can be corrected document by document; others are refused with the reason."""
    kind = kind_of(measure)
    if kind is None or not issubclass(kind, Linear) or leaves_unjudged_out(measure):
        raise UsageError(
            f"{measure} cannot be corrected: it is not a sum of the documents' gains, because what "
            "one document adds depends on the grades of others.",
            hint=f"Use a measure that is, such as {LINEAR}; or let people judge whole topics: "
            "adducir sample --whole-topics.",
        )
    formula = MEASURES.make(str(measure.NAME), measure.params)
    if not isinstance(formula, Linear) or formula.cutoff is None:
        raise UsageError(
            f"{measure} needs a cutoff, as documents beyond the pool were not judged.",
            hint=f"Write {measure}@10.",
        )
    return formula


@dataclass(frozen=True, eq=False)
class CorrectedEvaluator:
    """Evaluates runs by a model's grades of all pooled documents and people's of a sample.

    Attributes:
        design: How the sample was drawn.
        measures: Measures that are linear in the gains.
        ungraded: How many pairs of the frame the model did not grade; each counts what people think
            of the others.
    """

    design: Design
    measures: tuple[Measure, ...]
    ungraded: int
    _samples: dict[Measure, Sampled]
    _weights: dict[tuple[str, Measure], Floats] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        judged: Qrels,
        design: Design,
        people: pl.DataFrame,
        measures: str | Measure | Iterable[str | Measure],
    ) -> "CorrectedEvaluator":
        """From the model's grades, and people's of the sample (qid, docno, grade)."""
        parsed = tuple(parse_measures(measures))
        kinds = {measure: linear_kind(measure) for measure in parsed}
        check_depth(design, parsed)
        keys = ["qid", "docno"]
        by_model = judged.frame.rename({"grade": "model"})
        pairs = design.pairs.join(by_model, on=keys, how="left", maintain_order="left")
        pairs = pairs.join(people, on=keys, how="left", maintain_order="left")
        topic, probability = topic_numbers(pairs["qid"]), pairs["probability"].to_numpy()
        level = (pairs["model"].rank("dense").cast(pl.Int64) - 1).fill_null(-1).to_numpy()
        is_drawn, grade = pairs["grade"].is_not_null().to_numpy(), pairs["grade"].fill_null(0)
        samples = {}
        for measure, kind in kinds.items():
            gain = np.where(is_drawn, kind.gains(grade.to_numpy()), np.nan)
            samples[measure] = Sampled.of(topic, level, gain, probability)
        return cls(design, parsed, pairs["model"].null_count(), samples)

    def score(self, run: Run, *, system: str | None = None, topic_set: str = "") -> Scores:
        """Values per topic; a document of the run that is not in the frame is an error."""
        name = run.tag if system is None else system
        qids = self.design.pairs["qid"].unique(maintain_order=True).to_list()
        ranked = run.to_polars().filter(pl.col("qid").is_in(qids))
        columns: list[Floats] = []
        for measure, sample in self._samples.items():
            kind = linear_kind(measure)
            top = ranked.filter(pl.col("rank") < kind.cutoff)
            refuse_outside(self.design, run, name, kind.cutoff or 0)
            weight = weights_of(self.design.pairs, top, kind)
            self._weights[name, measure] = weight
            columns.append(sample.values(weight))
        scores = Scores.of(name, qids, self.measures, np.column_stack(columns), topic_set=topic_set)
        retrieved = set(ranked["qid"].unique())
        evaluation = Evaluation(
            topic_set,
            name,
            missing=tuple(qid for qid in qids if qid not in retrieved),
            extra=tuple(qid for qid in run.qids if qid not in set(qids)),
        )
        return replace(scores, evaluations=(evaluation,))

    def widths(self, measure: Measure) -> dict[int, float]:
        """The widest 95 % interval of two systems' difference, by documents that people judge."""
        pairs = combinations([w for (_, one), w in self._weights.items() if one == measure], 2)
        widest: dict[int, float] = {}
        for first, second in pairs:
            for size, width in widths(self._samples[measure], first - second).items():
                widest[size] = max(width, widest.get(size, 0.0))
        return widest
