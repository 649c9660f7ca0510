"""Facts about runs besides scores: hits, bounds, and judgements by a model."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations

import numpy as np
import polars as pl
from ir_measures import Measure

from adducir.core.errors import UsageError
from adducir.corpora.qrels import Qrels
from adducir.evaluation.evaluator import Bounds, Evaluator, bounds_of, depth_of
from adducir.evaluation.measures import is_descriptive
from adducir.evaluation.scores import Scores
from adducir.runs.docnos import misspelt
from adducir.runs.run import Run
from adducir.statistics.comparison import Comparison
from adducir.tables.report_data import TopicHits, hits_held
from adducir.tables.style import Style
from adducir.tables.table import PoweredFigure

TOPICS_ALONE = "its interval is over topics alone"
FEW = 50
"""With fewer human judgements, a note warns about the intervals."""
WHOLE = 0.9
"""The share of the model's judgements of a topic that humans must have judged, too."""
_RECALL = [f"IPrec@{level / 10}" for level in range(11)]


class RunFacts:
    """Collects hits, bounds and judgements by a model from runs of a topic set, one at a time."""

    def __init__(
        self,
        qrels: Qrels,
        measures: Sequence[Measure],
        *,
        systems: int = 0,
        queries: Mapping[str, str] | None = None,
        unjudged: bool = False,
        model: Evaluator | None = None,
        judge: str = "",
    ) -> None:
        self.qrels, self.measures, self.model, self.judge = qrels, measures, model, judge
        self.hits, self._unjudged = TopicHits(queries or {}, qrels.frame), unjudged
        self._recall = Evaluator(qrels, _RECALL) if systems else None
        self._held = hits_held(len(qrels.qids), systems)
        self._bounds: dict[str, dict[str, Bounds]] = {}
        self._guessed: list[Scores] = []
        self._ranked = pl.Series("docno", [], dtype=pl.String)

    def add(self, run: Run, name: str, system: str = "") -> None:
        """Add a named run; hits are those of each system's first run."""
        system = system or name
        self._ranked = pl.concat([self._ranked, run.frame["docno"].unique()]).unique()
        if self.model is not None:
            self._guessed.append(self.model.score(run, system=name))
        if self._unjudged:
            self._bounds[name] = bounds_of(run, self.qrels, self.measures)
        if self._recall is not None and system not in self.hits.runs:
            self.hits.runs[system] = run.top(self._held).frame
            self.hits.precision[system] = self._recall.values(run).mean(axis=0).tolist()
            for measure, bounds in self._bounds.get(name, {}).items():
                self.hits.bounds.setdefault(measure, {})[system] = bounds.means

    def notes(
        self,
        comparison: Comparison,
        style: Style,
        topic_set: str = "",
        names: Mapping[str, str] | None = None,
    ) -> list[str]:
        named, lines = names or {}, list[str]()
        if message := self.misspelt():
            lines.append(f"Warning: {message}")
        if self._unjudged:
            bounds = {named.get(name, name): bounds_ for name, bounds_ in self._bounds.items()}
            lines += _bound_notes(self.measures, bounds, style)
        if figures := self.powered(comparison, topic_set):
            lines += _powered_notes(comparison, figures, self.judge, named, style)
        return lines

    def misspelt(self) -> str:
        """A sentence about judged documents that the runs spell otherwise; empty if none."""
        return misspelt(self.qrels.frame["docno"], self._ranked, "the runs")

    def powered(self, comparison: Comparison, topic_set: str = "") -> list[PoweredFigure]:
        """Prediction-powered means and differences from baselines; none without a model."""
        if self.model is None:
            return []
        if comparison.scores.runs:
            raise UsageError(
                "prediction-powered means are not available for systems with several runs: "
                f"{TOPICS_ALONE}."
            )
        by_model = Scores.concat(self._guessed)
        return list(_powered(comparison, topic_set, by_model, self.judge))


def _bound_notes(
    measures: Sequence[Measure], bounds_of: Mapping[str, Mapping[str, Bounds]], style: Style
) -> Iterator[str]:
    """For each measure with bounds, those of every system, and which orders are certain."""
    bounded = [str(measure_) for measure_ in measures if depth_of(measure_)]
    if not bounded:
        raise UsageError(
            "none of the measures has bounds from unjudged documents.",
            hint="Use nDCG@10, AP@100 or RBP(p=0.8,rel=1).",
        )
    for measure in bounded:
        bounds = {system: by_measure[measure] for system, by_measure in bounds_of.items()}
        means = ((system, *map(style.number, bound.means)) for system, bound in bounds.items())
        ranges = "; ".join(f"{system} {low} to {high}" for system, low, _, high in means)
        sentence = f"Bounds of {measure} over all grades of unjudged documents: {ranges}."
        # Another run's unjudged documents would lower nDCG and AP, too, if they were relevant.
        if len(bounds) > 1 and measure.startswith("RBP"):
            pairs = permutations(bounds, 2)
            above = (f"{a} above {b}" for a, b in pairs if bounds[a].surely_better(bounds[b]))
            sure = ", ".join(above) or "no two systems"
            sentence += f" Ordered whatever these grades are: {sure}."
        yield sentence


def check_judged(humans: Qrels, model: Qrels, judge: str) -> None:
    """Refuse judgements that do not allow a prediction-powered mean."""
    both = model.frame.filter(pl.col("qid").is_in(humans.qids))
    shared = both.join(humans.frame, on=["qid", "docno"], how="semi").height
    if shared < WHOLE * both.height:
        raise UsageError(
            f"humans judged only {shared:,} of the {both.height:,} documents that {judge} judged "
            "for the same topics.",
            hint="Measures need whole topics: documents drawn at random leave most of the relevant "
            "ones out of the human values. Let humans judge a sample of topics, each completely, "
            "or drop the model's judgements that humans did not make for these topics.",
        )
    _check_topics(humans.qids, model.qids, judge)


def _check_topics(humans: Sequence[str], model: Sequence[str], judge: str) -> None:
    judged = set(model)
    lacking = [qid for qid in humans if qid not in judged]
    if lacking:
        raise UsageError(
            f"{judge} has not judged the topic {lacking[0]!r}, unlike humans.",
            hint="Let the model judge all topics, including those that humans judged.",
        )
    if len(judged) - len(humans) < 2:
        raise UsageError(f"{judge} must have judged at least two topics that humans did not.")


def _powered(
    comparison: Comparison, topic_set: str, by_model: Scores, judge: str
) -> Iterator[PoweredFigure]:
    humans, models = comparison.matrix(topic_set), by_model.matrix()
    _check_topics(humans.qids, models.qids, judge)
    places_of = {qid: place for place, qid in enumerate(models.qids)}
    places = np.array([places_of[qid] for qid in humans.qids])
    alone = np.setdiff1d(np.arange(len(places_of)), places)
    from adducir.statistics.prediction_powered import powered_mean

    level = 1 - comparison.testing.alpha
    systems = range(len(humans.systems))
    for m, (measure, definition) in enumerate(humans.measures.items()):
        if is_descriptive(definition):
            continue
        human, model = humans.values[m], models.values[m]
        for name in ("", *comparison.testing.baselines):
            base = humans.systems.index(name) if name else None
            for system in systems:
                if system == base:
                    continue
                y, hat = human[system], model[system]
                if base is not None:
                    y, hat = y - human[base], hat - model[base]
                estimate = powered_mean(y, hat[places], hat[alone], level=level)
                place = topic_set, humans.systems[system], measure, name
                yield PoweredFigure(*place, *estimate, len(places), len(alone))


def _powered_notes(
    comparison: Comparison,
    figures: Sequence[PoweredFigure],
    judge: str,
    names: Mapping[str, str],
    style: Style,
) -> Iterator[str]:
    humans, alone, level = figures[0].humans, figures[0].model, 1 - comparison.testing.alpha
    few = ""
    if humans < FEW:
        few = f" Warning: with fewer than {FEW} topics, intervals of skewed values are too short."
    yield (
        f"Prediction-powered (Angelopoulos et al. 2023): {humans} topics with human "
        f"judgements, {alone} more judged by {judge} alone; {level:.0%} intervals (Student's t), "
        f"lambda in brackets. The table's figures use only the human judgements.{few}"
    )

    def shown(some: Iterable[PoweredFigure]) -> str:
        texts = []
        for figure in some:
            signed = bool(figure.reference)
            value, low, high = (style.number(value_, signed=signed) for value_ in figure[4:7])
            name = names.get(figure.system, figure.system)
            texts.append(f"{name} {value} [{low}, {high}] ({figure.weight:.2f})")
        return "; ".join(texts)

    for reference in ("", *comparison.testing.baselines):
        versus = f"difference from {names.get(reference, reference)} on " if reference else ""
        for measure in dict.fromkeys(figure.measure for figure in figures):
            some = [
                figure
                for figure in figures
                if (figure.measure, figure.reference) == (measure, reference)
            ]
            if some:
                yield f"Prediction-powered {versus}{measure}: {shown(some)}."
