"""Sentences that the footer of a comparison has on request, beside what it always says."""

from collections.abc import Iterator, Mapping, Sequence
from math import sqrt

import numpy as np

from adducir.core.errors import UsageError
from adducir.statistics.anova import two_way_anova
from adducir.statistics.comparison.lineup import Lineup, SystemScores, line_up
from adducir.statistics.comparison.results import Comparison, Measure, Settings
from adducir.statistics.differences import FloatArray
from adducir.statistics.power import topics_needed
from adducir.statistics.prediction_powered import powered_mean

POWER = 0.8
"""The conventional power of topic set size design."""
TOPICS_ALONE = "its interval is over topics alone"
FEW = 30
"""With fewer human judgements the normal intervals of prediction-powered means are said to err."""


def designs(lineup: Lineup, settings: Settings) -> dict[Measure, int | str]:
    """How many topics find a true difference of ``settings.topics_for``, by these scores' variance.

    Raises:
        UsageError: No number of topics finds it.
    """
    if settings.topics_for is None:
        return {}
    values, found = _values(lineup), dict[Measure, int | str]()
    for measure in _measures(lineup.measures, settings):
        try:
            variance = two_way_anova([values[one, measure] for one in lineup.systems]).error
            found[measure] = topics_needed(
                settings.topics_for,
                sqrt(2 * variance),
                alpha=settings.alpha,
                power_wanted=POWER,
            )
        except UsageError as error:
            found[measure] = error.what.rstrip(".")
    return found


def further_statements(comparison: Comparison) -> Iterator[str]:
    """The sentence of topic set size design, where it was asked for."""
    difference = comparison.settings.topics_for
    if comparison.designs and difference is not None:
        found = (
            f"{measure} {f'unknown ({count})' if isinstance(count, str) else f'{count:,}'}"
            for measure, count in comparison.designs.items()
        )
        yield (
            f"Topics needed to find a true difference of {difference:g} between two systems with "
            f"power {POWER:g} (paired t-test, alpha = {comparison.settings.alpha:g}, uncorrected; "
            f"variance of these scores; Sakai 2016): {', '.join(found)}."
        )


def check_judged(humans: Sequence[str], models: Sequence[str], judge: str) -> None:
    """Refuse topics that no prediction-powered mean can be made of.

    Args:
        humans: The topics that humans judged.
        models: Those that the model judged.
        judge: Name and version of the model.

    Raises:
        UsageError: The model lacks a topic that humans judged, or judged no two besides.
    """
    known = set(models)
    lacking = [qid for qid in humans if qid not in known]
    if lacking:
        raise UsageError(
            f"{judge} has not judged the topic {lacking[0]!r}, which humans judged.",
            hint="Let the model judge all topics, those that humans judged included.",
        )
    if len(known) - len(set(humans)) < 2:
        raise UsageError(f"{judge} must have judged two topics at least that humans did not judge.")


def powered_notes(
    comparison: Comparison,
    human: Sequence[SystemScores],
    model: Sequence[SystemScores],
    judge: str,
    names: Mapping[str, str] | None = None,
) -> list[str]:
    """Prediction-powered means, and differences to baselines, of human and model judgements.

    Args:
        human: Scores by human judgements, on the topics that humans judged.
        model: Scores of the same systems by the model's judgements, on these topics and others.
        judge: Name and version of the model.
        names: Printed names of systems.

    Raises:
        UsageError: As :func:`check_judged`; no judge is named; or a system has several runs.
    """
    if comparison.runs:
        raise UsageError(
            f"there is no prediction-powered mean of systems with several runs: {TOPICS_ALONE}."
        )
    humans, models = line_up(human), line_up(model)
    known = {qid: place for place, qid in enumerate(models.qids)}
    check_judged(humans.qids, models.qids, judge)
    places = np.array([known[qid] for qid in humans.qids], dtype=np.int64)
    alone = np.setdiff1d(np.arange(len(known)), places)
    named = {system: system for system in comparison.systems} | dict(names or {})
    level = 1 - comparison.settings.alpha
    by_human, by_model = _values(humans), _values(models)

    def powered(measure: Measure, system: str, base: str | None = None) -> str:
        own, hat = by_human[system, measure], by_model[system, measure]
        if base is not None:
            own, hat = own - by_human[base, measure], hat - by_model[base, measure]
        found = powered_mean(own, hat[places], hat[alone], judge=judge, level=level)
        sign = "" if base is None else "+"
        ends = f"[{found.low:{sign}.3f}, {found.high:{sign}.3f}]"
        return f"{named[system]} {found.mean:{sign}.3f} {ends} ({found.weight:.2f})"

    sentences = [
        f"Prediction-powered (Angelopoulos et al. 2023): {len(places)} topics with human "
        f"judgements, {len(alone)} more judged by {judge} alone; {level:.0%} intervals, lambda in "
        "brackets. The figures of the table are by the human judgements alone."
    ]
    if len(places) < FEW:
        sentences.append(
            f"These intervals are normal approximations, too short with fewer than {FEW} topics."
        )
    for measure in _measures(comparison.measures, comparison.settings):
        means = (powered(measure, system) for system in comparison.systems)
        sentences.append(f"Prediction-powered {measure}: {'; '.join(means)}.")
    for measure, base in _tested(comparison.measures, comparison.settings):
        others = (one for one in comparison.systems if one != base)
        gaps = "; ".join(powered(measure, system, base) for system in others)
        what = f"Prediction-powered difference to {named[base]} on {measure}"
        sentences.append(f"{what}: {gaps}.")
    return sentences


def _measures(measures: Sequence[Measure], settings: Settings) -> list[Measure]:
    """The measures that are tested."""
    return [one for one in measures if one not in settings.descriptive]


def _tested(measures: Sequence[Measure], settings: Settings) -> Iterator[tuple[Measure, str]]:
    """Measures that are tested, with each baseline."""
    for measure in _measures(measures, settings):
        for baseline in settings.baselines:
            yield measure, baseline


def _values(lineup: Lineup) -> dict[tuple[str, Measure], FloatArray]:
    """(T,) values of each system on each measure."""
    return {
        (system, measure): lineup.values[row, column]
        for row, measure in enumerate(lineup.measures)
        for column, system in enumerate(lineup.systems)
    }
