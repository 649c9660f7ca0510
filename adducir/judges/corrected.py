"""Scores per topic from a model's judgements, corrected by people's judgements of a sample."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from ir_measures import Measure

from adducir.core.errors import UsageError
from adducir.core.texts import counted
from adducir.corpora.frames import topic_numbers
from adducir.corpora.qrels import Qrels
from adducir.evaluation.evaluator import Evaluator
from adducir.evaluation.formulas import MEASURES, Linear
from adducir.evaluation.lists import Floats
from adducir.evaluation.measures import kind_of, leaves_unjudged_out, parse_measures
from adducir.evaluation.scores import Evaluation, Scores
from adducir.judges.correction import corrected_gains
from adducir.judges.sheets import Design
from adducir.runs.run import Run

CORRECTED_MEASURES = ("P@10",)
"""The measures of a corrected table, by default."""
LINEAR = "P@10, RBP(p=0.8,rel=1)@10, DCG@10, SDCG(max_rel=3)@10"


def linear_kind(measure: Measure) -> Linear:
    """A measure that can be corrected document by document; others are refused with the reason."""
    kind = kind_of(measure)
    if kind is None or not issubclass(kind, Linear) or leaves_unjudged_out(measure):
        raise UsageError(
            f"{measure} cannot be corrected: it is not a sum of the documents' gains, because what "
            "one document adds depends on the grades of others.",
            hint=f"Use a measure that is, such as {LINEAR}.",
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
                    hint="Use a smaller cutoff, or draw a sample with --depth.",
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

    def _gains(self, kind: Linear) -> pl.DataFrame:
        """Columns qid, docno and gain, corrected, of every pair of the frame."""
        keys = ["qid", "docno"]
        pairs = self.design.pairs.join(
            self.judged.frame.rename({"grade": "model"}), on=keys, how="left", maintain_order="left"
        ).join(self.people, on=keys, how="left", maintain_order="left")
        levels = {grade: n for n, grade in enumerate(sorted(pairs["model"].drop_nulls().unique()))}
        level = np.array([levels.get(grade, -1) for grade in pairs["model"]], dtype=np.int64)
        grade = pairs["grade"]
        gain = np.where(
            grade.is_null().to_numpy(), np.nan, kind.gains(grade.fill_null(0).to_numpy())
        )
        probability = pairs["probability"].to_numpy()
        corrected = corrected_gains(topic_numbers(pairs["qid"]), level, gain, probability)
        return pairs.select(keys).with_columns(gain=corrected)

    def score(self, run: Run, *, system: str | None = None, topic_set: str = "") -> Scores:
        """Values per topic; a document of the run that is not in the frame is an error."""
        name, qids = run.tag if system is None else system, self.qids
        number = {qid: place for place, qid in enumerate(qids)}
        ranked = run.to_polars().filter(pl.col("qid").is_in(qids))
        columns: list[Floats] = []
        for measure in self.measures:
            kind = linear_kind(measure)
            top = ranked.filter(pl.col("rank") < kind.cutoff)
            graded = top.join(
                self._gains(kind), on=["qid", "docno"], how="left", maintain_order="left"
            )
            outside = graded.filter(pl.col("gain").is_null())
            if len(outside):
                raise UsageError(
                    f"{counted(len(outside), 'document')} in the top {kind.cutoff} of {name} "
                    f"were not in the pool that the sample was drawn from, such as "
                    f"{outside['docno'][0]} of topic {outside['qid'][0]}.",
                    hint="Draw a sample for all runs, including this one: adducir sample.",
                )
            gained = graded["gain"].to_numpy() * kind.discounts(graded["rank"].to_numpy())
            topic = np.array([number[qid] for qid in graded["qid"]], dtype=np.int64)
            columns.append(np.bincount(topic, gained, minlength=len(qids)).astype(np.float64))
        scores = Scores.of(name, qids, self.measures, np.column_stack(columns), topic_set=topic_set)
        retrieved = set(ranked["qid"].unique())
        evaluation = Evaluation(
            topic_set,
            name,
            missing=tuple(qid for qid in qids if qid not in retrieved),
            extra=tuple(qid for qid in run.qids if qid not in number),
        )
        return replace(scores, evaluations=(evaluation,))

    def by_model(self, run: Run) -> dict[str, float]:
        """The means that the model's grades alone give, by measure."""
        scores = Evaluator(self.judged, self.measures).score(run)
        return {str(measure): scores.mean(measure) for measure in self.measures}
