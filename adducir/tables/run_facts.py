"""Facts about runs besides scores: hits, bounds, and judgements by a model."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

import numpy as np
from ir_measures import Measure

from adducir.core.errors import UsageError
from adducir.corpora.qrels import Qrels
from adducir.evaluation.evaluator import Bounds, Evaluator, bounds_of, depth_of
from adducir.evaluation.measures import is_descriptive
from adducir.evaluation.scores import Scores
from adducir.runs.run import Run
from adducir.statistics.comparison import Comparison
from adducir.statistics.prediction_powered import powered_mean
from adducir.tables.report_data import TopicHits, hits_held
from adducir.tables.style import Style

TOPICS_ALONE = "its interval is over topics alone"
FEW = 30
"""With fewer human judgements, a note warns about the normal intervals."""
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

    def add(self, run: Run, name: str, system: str = "") -> None:
        """Add a named run; hits are those of each system's first run."""
        system = system or name
        if self.model is not None:
            self._guessed.append(self.model.score(run, system=name))
        if self._unjudged:
            self._bounds[name] = bounds_of(run, self.qrels, self.measures)
        if self._recall is not None and system not in self.hits.runs:
            self.hits.runs[system] = run.top(self._held).frame
            self.hits.precision[system] = self._recall.values(run).mean(axis=0).tolist()
            for measure, found in self._bounds.get(name, {}).items():
                self.hits.bounds.setdefault(measure, {})[system] = found.means

    def notes(
        self,
        comparison: Comparison,
        style: Style,
        topic_set: str = "",
        names: Mapping[str, str] | None = None,
    ) -> list[str]:
        named, found = names or {}, list[str]()
        if self._unjudged:
            bounds = {named.get(name, name): one for name, one in self._bounds.items()}
            found += _bound_notes(self.measures, bounds, style)
        if self.model is not None:
            model = Scores.concat(self._guessed)
            found += _powered_notes(comparison, topic_set, model, self.judge, named, style)
        return found


def _bound_notes(
    measures: Sequence[Measure], found: Mapping[str, Mapping[str, Bounds]], style: Style
) -> Iterator[str]:
    """For each measure with bounds, those of every system, and which orders are certain."""
    known = [str(one) for one in measures if depth_of(one)]
    if not known:
        raise UsageError(
            "none of the measures has bounds from unjudged documents.",
            hint="Use nDCG@10, AP@100 or RBP(p=0.8,rel=1).",
        )
    for measure in known:
        own = {system: by_measure[measure] for system, by_measure in found.items()}
        means = ((system, *map(style.number, one.means)) for system, one in own.items())
        ranges = "; ".join(f"{system} {low} to {high}" for system, low, _, high in means)
        sentence = f"Bounds of {measure} over all grades of unjudged documents: {ranges}."
        # Another run's unjudged documents would lower nDCG and AP, too, if they were relevant.
        if len(own) > 1 and measure.startswith("RBP"):
            pairs = permutations(own, 2)
            above = (f"{a} above {b}" for a, b in pairs if own[a].surely_better(own[b]))
            sure = ", ".join(above) or "no two systems"
            sentence += f" Ordered whatever these grades are: {sure}."
        yield sentence


def check_judged(humans: Sequence[str], models: Sequence[str], judge: str) -> None:
    """Refuse topics that do not allow a prediction-powered mean."""
    known = set(models)
    lacking = [qid for qid in humans if qid not in known]
    if lacking:
        raise UsageError(
            f"{judge} has not judged the topic {lacking[0]!r}, unlike humans.",
            hint="Let the model judge all topics, including those that humans judged.",
        )
    if len(known) - len(set(humans)) < 2:
        raise UsageError(f"{judge} must have judged at least two topics that humans did not.")


def _powered_notes(
    comparison: Comparison,
    topic_set: str,
    by_model: Scores,
    judge: str,
    names: Mapping[str, str],
    style: Style,
) -> Iterator[str]:
    if comparison.scores.runs:
        raise UsageError(
            "prediction-powered means are not available for systems with several runs: "
            f"{TOPICS_ALONE}."
        )
    humans, models = comparison.matrix(topic_set), by_model.matrix()
    check_judged(humans.qids, models.qids, judge)
    known = {qid: place for place, qid in enumerate(models.qids)}
    places = np.array([known[qid] for qid in humans.qids])
    alone = np.setdiff1d(np.arange(len(known)), places)
    level = 1 - comparison.testing.alpha

    def powered(measure: int, system: int, base: int | None = None) -> str:
        own, hat = humans.values[measure, system], models.values[measure, system]
        if base is not None:
            own, hat = own - humans.values[measure, base], hat - models.values[measure, base]
        found = powered_mean(own, hat[places], hat[alone], level=level)
        mean, low, high = (
            style.number(one, signed=base is not None)
            for one in (found.mean, found.low, found.high)
        )
        name = humans.systems[system]
        return f"{names.get(name, name)} {mean} [{low}, {high}] ({found.weight:.2f})"

    few = ""
    if len(places) < FEW:
        few = f" Intervals are normal, and too short with fewer than {FEW} topics."
    yield (
        f"Prediction-powered (Angelopoulos et al. 2023): {len(places)} topics with human "
        f"judgements, {len(alone)} more judged by {judge} alone; {level:.0%} intervals, lambda in "
        f"brackets. The table's figures use only the human judgements.{few}"
    )
    systems = range(len(humans.systems))
    rated = [
        (m, measure)
        for m, (measure, one) in enumerate(humans.measures.items())
        if not is_descriptive(one)
    ]
    for m, measure in rated:
        means = "; ".join(powered(m, system) for system in systems)
        yield f"Prediction-powered {measure}: {means}."
    for m, measure in rated:
        for name in comparison.testing.baselines:
            base = humans.systems.index(name)
            gaps = "; ".join(powered(m, one, base) for one in systems if one != base)
            what = f"difference from {names.get(name, name)} on {measure}"
            yield f"Prediction-powered {what}: {gaps}."
