"""Runs evaluated by a model's judgements and people's of a sample: values, and what to say."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ir_measures import Measure

from adducir.core.files import file_digest
from adducir.corpora.qrels import Qrels
from adducir.evaluation.evaluator import Evaluator
from adducir.evaluation.lists import NegativeGrades
from adducir.evaluation.scores import Scores
from adducir.judges.agreement import Agreement, agreement_of
from adducir.judges.corrected import (
    CORRECTED_MEASURES,
    CorrectedEvaluator,
    outside,
    whole_topics,
    whole_topics_measures,
)
from adducir.judges.notes import corrected_notes, whole_topics_note
from adducir.judges.sheets import Design, read_grades, settled
from adducir.runs.run import Run
from adducir.tables.style import Style


@dataclass(frozen=True, eq=False)
class PeoplesEvaluator:
    """Evaluates runs where people judged a sample of what a model judged.

    Attributes:
        judge: The model.
        sheets: People's.
        design: How the sample was drawn.
        agreement: Of people and the model.
        qrels: What values are of: the model's judgements, or people's of the topics drawn whole.
        model_qrels: The model's judgements of all topics, if whole topics were drawn.
    """

    judge: str
    sheets: Sequence[Path]
    design: Design
    agreement: Agreement
    qrels: Qrels
    model_qrels: Qrels | None
    _evaluator: Evaluator | CorrectedEvaluator
    _by_model: dict[str, dict[str, float]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        sheets: Sequence[Path],
        judged: Qrels,
        judge: str,
        measures: str | Measure | Iterable[str | Measure] | None = None,
        *,
        negative: NegativeGrades = "zero",
    ) -> "PeoplesEvaluator":
        """Read the sheets; ``measures`` are by default those that such a sample can correct."""
        design, grades = read_grades(sheets)
        about = judge, sheets, design, agreement_of(judged, grades)
        people = settled(grades)
        if design.topics is None:
            measures = measures or CORRECTED_MEASURES
            corrected = CorrectedEvaluator.of(judged, design, people, measures)
            return cls(*about, judged, None, corrected)
        measures = measures or whole_topics_measures(design)
        qrels, model_qrels = whole_topics(design, people, judged, measures)
        return cls(*about, qrels, model_qrels, Evaluator(qrels, measures, negative=negative))

    @property
    def measures(self) -> tuple[Measure, ...]:
        return tuple(self._evaluator.measures)

    def score(self, run: Run, *, system: str | None = None, topic_set: str = "") -> Scores:
        """Values per topic; documents that could not be drawn are an error."""
        name = run.tag if system is None else system
        if isinstance(self._evaluator, CorrectedEvaluator):
            self._by_model[name] = self._evaluator.by_model(run)
        else:
            top = run.top(self.design.depth).frame.select("qid", "docno")
            drawn = top.join(self.design.drawn.select("qid").unique(), on="qid", how="semi")
            outside(self.design, drawn, name, self.design.depth)
        return self._evaluator.score(run, system=name, topic_set=topic_set)

    def notes(self, names: Mapping[str, str], style: Style) -> Iterator[str]:
        """What the values rest on, and what the model alone says of the runs scored so far."""
        if isinstance(self._evaluator, CorrectedEvaluator):
            about = self.judge, self._by_model, self.agreement, names, style
            yield from corrected_notes(self._evaluator, *about)
        else:
            yield whole_topics_note(self.design, self.judge)
            yield self.agreement.sentence(self.judge, style)

    @property
    def facts(self) -> dict[str, Any]:
        """What provenance records."""
        sheets = {str(sheet): file_digest(sheet) for sheet in self.sheets}
        return {"people": sheets, "agreement": self.agreement.facts}
