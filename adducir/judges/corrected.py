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
from adducir.evaluation.evaluator import Evaluator
from adducir.evaluation.formulas import MEASURES, Linear
from adducir.evaluation.lists import Floats
from adducir.evaluation.measures import kind_of, leaves_unjudged_out, parse_measures
from adducir.evaluation.scores import Evaluation, Scores
from adducir.judges.correction import Sampled
from adducir.judges.planning import weights_of, widths
from adducir.judges.sheets import Design
from adducir.runs.run import Run

CORRECTED_MEASURES = ("P@10",)
"""The measures of a corrected table, by default."""
LINEAR = "P@10, RBP(p=0.8,rel=1)@10, DCG@10, SDCG(max_rel=3)@10"
EXTEND = Keyed(
    "Let people judge some of the new ones, too: adducir sample RUN --extend SHEET -n 20 -o "
    "more.csv (with -t and -c, as before); then give both sheets, {}, and let "
    "the model judge all runs again.",
    ("people", "SHEET,more.csv"),
)


def outside(design: Design, ranked: pl.DataFrame, name: str, depth: int) -> None:
    """Refuse a run whose top ``depth`` has documents that are not in the frame."""
    new = ranked.join(design.pairs, on=["qid", "docno"], how="anti")
    if len(new):
        raise UsageError(
            f"{counted(len(new), 'document')} in the top {depth} of {name} were not in the pool "
            f"that the sample was drawn from, such as {new['docno'][0]} of topic {new['qid'][0]}.",
            hint=EXTEND,
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
        judged: The model's grades; a document of the frame without one counts what people think of
            the others.
        design: How the sample was drawn.
        people: Columns qid, docno, grade of the sample.
        measures: Measures that are linear in the gains.
    """

    judged: Qrels
    design: Design
    people: pl.DataFrame
    measures: tuple[Measure, ...]
    _samples: dict[Measure, Sampled] = field(default_factory=dict)
    _weights: dict[tuple[str, Measure], Floats] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        judged: Qrels,
        design: Design,
        people: pl.DataFrame,
        measures: str | Measure | Iterable[str | Measure],
    ) -> "CorrectedEvaluator":
        parsed = tuple(parse_measures(measures))
        for measure in parsed:
            kind = linear_kind(measure)
            if (kind.cutoff or 0) > design.depth:
                raise UsageError(
                    f"{measure} needs the top {kind.cutoff}, but the sample was drawn from the top "
                    f"{design.depth}.",
                    hint="Use a smaller cutoff, or draw a deeper sample (adducir sample --depth).",
                )
        return cls(judged, design, people, parsed)

    @property
    def qids(self) -> list[str]:
        return self.design.pairs["qid"].unique(maintain_order=True).to_list()

    @property
    def ungraded(self) -> int:
        """How many pairs of the frame the model did not grade."""
        pairs = self.design.pairs.join(self.judged.frame, on=["qid", "docno"], how="anti")
        return len(pairs)

    def _sample(self, measure: Measure) -> Sampled:
        """Every pair of the frame as the correction of a measure needs it."""
        if measure in self._samples:
            return self._samples[measure]
        keys = ["qid", "docno"]
        pairs = self.design.pairs.join(
            self.judged.frame.rename({"grade": "model"}), on=keys, how="left", maintain_order="left"
        ).join(self.people, on=keys, how="left", maintain_order="left")
        levels = {grade: n for n, grade in enumerate(sorted(pairs["model"].drop_nulls().unique()))}
        level = np.array([levels.get(grade, -1) for grade in pairs["model"]], dtype=np.int64)
        grade = pairs["grade"]
        gain = np.where(
            grade.is_null().to_numpy(),
            np.nan,
            linear_kind(measure).gains(grade.fill_null(0).to_numpy()),
        )
        topic, probability = topic_numbers(pairs["qid"]), pairs["probability"].to_numpy()
        self._samples[measure] = sample = Sampled.of(topic, level, gain, probability)
        return sample

    def score(self, run: Run, *, system: str | None = None, topic_set: str = "") -> Scores:
        """Values per topic; a document of the run that is not in the frame is an error."""
        name, qids = run.tag if system is None else system, self.qids
        ranked = run.to_polars().filter(pl.col("qid").is_in(qids))
        columns: list[Floats] = []
        for measure in self.measures:
            kind = linear_kind(measure)
            top = ranked.filter(pl.col("rank") < kind.cutoff)
            outside(self.design, top, name, kind.cutoff or 0)
            weight = weights_of(self.design.pairs, top, kind)
            self._weights[name, measure] = weight
            columns.append(self._sample(measure).values(weight))
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
            for size, width in widths(self._sample(measure), first - second).items():
                widest[size] = max(width, widest.get(size, 0.0))
        return widest

    def by_model(self, run: Run) -> dict[str, float]:
        """The means that the model's grades alone give, by measure."""
        scores = Evaluator(self.judged, self.measures).score(run)
        return {str(measure): scores.mean(measure) for measure in self.measures}


def whole_topics_measures(design: Design) -> tuple[str, ...]:
    """The measures of a table of whole topics, by default."""
    return f"nDCG@{min(10, design.depth)}", "AP"


def whole_topics(
    design: Design,
    people: pl.DataFrame,
    judged: Qrels,
    measures: str | Measure | Iterable[str | Measure],
) -> tuple[Qrels, Qrels | None]:
    """People's judgements of the drawn topics, and the model's of all, both within the pool.

    The model's are None if people judged all topics, or all but one.
    """
    for measure in parse_measures(measures):
        cutoff = measure.params.get("cutoff")
        if isinstance(cutoff, int) and cutoff > design.depth:
            raise UsageError(
                f"{measure} needs the top {cutoff}, but the pools are the top {design.depth}.",
                hint="Use a smaller cutoff, or draw deeper topics (adducir sample --depth).",
            )
    pairs = design.pairs.select("qid", "docno")
    model = judged.frame.join(pairs, on=["qid", "docno"], how="semi", maintain_order="left")
    others = model.filter(~pl.col("qid").is_in(people["qid"].unique().implode()))
    is_needed = others["qid"].n_unique() > 1
    return Qrels(people, "people"), Qrels(model, judged.source) if is_needed else None
