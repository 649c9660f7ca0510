"""Runs evaluated by a model's judgements and people's of a sample: values, and what to say."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from ir_measures import Measure

from adducir.core.files import file_digest
from adducir.core.texts import counted
from adducir.corpora.qrels import Qrels
from adducir.evaluation.evaluator import Evaluator
from adducir.evaluation.lists import NegativeGrades
from adducir.evaluation.scores import Scores
from adducir.judges.agreement import Agreement, agreement_of
from adducir.judges.corrected import CorrectedEvaluator, check_depth, refuse_outside
from adducir.judges.sheets import Design, read_grades, settled
from adducir.runs.run import Run
from adducir.tables.style import Style

CORRECTED_MEASURES = ("P@10",)
"""The measures of a corrected table, by default."""
Measures = str | Measure | Iterable[str | Measure] | None


@dataclass(frozen=True, eq=False)
class PeoplesEvaluator:
    """Evaluates runs where people judged a sample of what a model judged.

    Attributes:
        judge: The model.
        sheets: People's.
        design: How the sample was drawn.
        agreement: Of people and the model.
        qrels: What values are of: the model's judgements, or people's of the topics drawn whole.
        model_qrels: The model's judgements of all topics, if whole topics were drawn; None if
            people judged all, or all but one.
    """

    judge: str
    sheets: Sequence[Path]
    design: Design
    agreement: Agreement
    qrels: Qrels
    model_qrels: Qrels | None
    _evaluator: Evaluator | CorrectedEvaluator
    _alone: Evaluator  # the model's judgements
    _by_model: dict[str, Scores] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        sheets: Sequence[Path],
        judged: Qrels,
        judge: str,
        measures: Measures = None,
        *,
        negative: NegativeGrades = "zero",
    ) -> "PeoplesEvaluator":
        """Read the sheets; ``measures`` are by default those that such a sample can correct."""
        design, grades = read_grades(sheets)
        people, model_qrels = settled(grades), None
        qrels, evaluator = judged, None
        if design.topics is None:
            measures = measures or CORRECTED_MEASURES
            evaluator = CorrectedEvaluator.of(judged, design, people, measures)
        else:
            measures = measures or (f"nDCG@{min(10, design.depth)}", "AP")
            qrels, model_qrels = whole_topics(design, people, judged)
        by_people = evaluator or Evaluator(qrels, measures, negative_grades=negative)
        check_depth(design, by_people.measures)
        agreement, alone = agreement_of(judged, grades), Evaluator(judged, measures)
        about = judge, sheets, design, agreement
        return cls(*about, qrels, model_qrels, by_people, alone)

    @property
    def measures(self) -> tuple[Measure, ...]:
        return tuple(self._evaluator.measures)

    def check(self, run: Run, name: str) -> None:
        """Refuse a run with documents that could not be drawn, as far as the measures look."""
        cutoffs = [int(kind["cutoff"]) for kind in self.measures if not self.design.topics]
        refuse_outside(self.design, run, name, max(cutoffs, default=self.design.depth))

    def score(self, run: Run, *, system: str | None = None, topic_set: str = "") -> Scores:
        """Values per topic; documents that could not be drawn are an error."""
        name = run.tag if system is None else system
        if isinstance(self._evaluator, CorrectedEvaluator):
            self._by_model[name] = self._alone.score(run)
        self.check(run, name)
        return self._evaluator.score(run, system=name, topic_set=topic_set)

    def notes(self, names: Mapping[str, str], style: Style) -> Iterator[str]:
        """What the values rest on, and what the model alone says of the runs scored so far."""
        if not isinstance(evaluator := self._evaluator, CorrectedEvaluator):
            topics = self.design.pairs["qid"].n_unique()
            yield (
                f"People judged the pools (top {self.design.depth}) of "
                f"{counted(self.design.topics or 0, 'topic')}, drawn at random from {topics:,}; "
                f"{self.judge} judged all. Documents outside the pools count as not relevant."
            )
            yield self.agreement.sentence(self.judge, style)
            return
        drawn, pairs = len(self.design.drawn), len(self.design.pairs)
        sentence = (
            f"Grades of {counted(pairs, 'document')} by {self.judge}, corrected by {drawn:,} that "
            "people judged, drawn at random within topics. Values of topics may be below 0 or "
            "above 1."
        )
        if missing := evaluator.ungraded:
            sentence += f" {self.judge} did not grade {counted(missing, 'document')}."
        yield sentence
        for measure in self.measures:
            means = "; ".join(
                f"{names.get(system, system)} {style.number(scores.mean(measure))}"
                for system, scores in self._by_model.items()
            )
            yield f"{measure} by {self.judge} alone: {means}."
        yield self.agreement.sentence(self.judge, style)
        first = self.measures[0]
        if widths := evaluator.widths(first):
            (now, reach), *more = widths.items()
            sentence = f"The widest 95% interval of a difference in {first}: {style.number(reach)}"
            sizes = [
                f"{style.number(width)} with {'all ' if size == pairs else ''}{size:,}"
                for size, width in more
            ]
            told = f"; about {', '.join(sizes)}" if sizes else ""
            yield f"{sentence} with {counted(now, 'document')} by people{told}."

    @property
    def facts(self) -> dict[str, Any]:
        """What provenance records."""
        sheets = {str(sheet): file_digest(sheet) for sheet in self.sheets}
        return {"people": sheets, "agreement": self.agreement.facts}


def whole_topics(design: Design, people: pl.DataFrame, judged: Qrels) -> tuple[Qrels, Qrels | None]:
    """People's judgements of the drawn topics, and the model's of all, both within the pool."""
    pairs = design.pairs.select("qid", "docno")
    model = judged.frame.join(pairs, on=["qid", "docno"], how="semi", maintain_order="left")
    others = model.filter(~pl.col("qid").is_in(people["qid"].unique().implode()))
    is_needed = others["qid"].n_unique() > 1
    return Qrels(people, "people"), Qrels(model, judged.source) if is_needed else None
