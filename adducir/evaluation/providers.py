"""The measures that Adducir leaves to the software that ir_measures wraps.

ir_measures asks its providers in turn, so that a figure may change with what
happens to be installed (RR@10 comes from another one where cwl_eval is there),
and its providers break ties in different ways. Here each measure has exactly
one provider, and is given the run with scores that strictly decrease in the run's
own order.

The scores are n, n - 1, ..., 1: positive, as Compat needs them. Measures
defined by the user (``ir_measures.define``) get the run's own scores, changed
no more than ties ask for.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from ir_measures import Measure
from ir_measures.providers import registry

from adducir.core.errors import InputError, MachineError, UsageError
from adducir.evaluation.lists import Floats, Judgements
from adducir.runs.order import strictly_decreasing
from adducir.runs.run import Run

_PROVIDERS = {
    "infAP": "pytrec_eval",
    "Compat": "compat",
    "ERR": "gdeval",
    "BPM": "cwl_eval",
    "INSQ": "cwl_eval",
    "INST": "cwl_eval",
    "NERR8": "cwl_eval",
    "NERR9": "cwl_eval",
    "NERR10": "cwl_eval",
    "NERR11": "cwl_eval",
    "SDCG": "cwl_eval",
}
_REFUSED = {
    "Accuracy": "it is undefined for topics of which no relevant document was retrieved, "
    "so systems would be averaged over different topics",
    "RBP": "graded gains have no agreed scale: give a threshold, as in RBP(rel=1,p=0.8)",
}
_SUBTOPICS = "it needs judgements by subtopic, and qrels here have none"
_GDEVAL_LARGEST_GRADE = 4


def provider_of(measure: Measure) -> str:
    """The name of the ir_measures provider that computes a measure, if one does and is here."""
    if hasattr(measure, "runtime_impl"):  # ir_measures.define and define_byquery
        return "runtime"
    if str(measure.NAME) not in _PROVIDERS:
        reason = _REFUSED.get(str(measure.NAME), _SUBTOPICS)
        raise UsageError(f"The measure {measure} is not available: {reason}.")
    name = _PROVIDERS[str(measure.NAME)]
    provider = registry[name]
    if not provider.supports(measure):
        near = f"{measure.NAME}@10" if "cutoff" in measure.SUPPORTED_PARAMS else measure.NAME
        raise UsageError(
            f"The measure {measure} cannot be computed with these parameters by {name}.",
            hint=f"Try {near}.",
        )
    if not provider.is_available():
        how = provider.install_instructions()  # type: ignore[no-untyped-call]
        raise MachineError(
            f"The measure {measure} needs {name}, which is not installed.",
            hint=f"Install it: {how}.",
        )
    return name


def compute(measures: Sequence[Measure], run: Run, judgements: Judgements) -> dict[Measure, Floats]:
    """(T,) values of measures by their providers; 0 for a topic that the run lacks."""
    by_provider: dict[str, list[Measure]] = {}
    for measure in measures:
        by_provider.setdefault(provider_of(measure), []).append(measure)
    values = {measure: np.zeros(len(judgements.qids)) for measure in measures}
    for name, group in by_provider.items():
        # infAP alone gives negative grades a meaning: pooled, but not judged.
        grade = judgements.raw_grade if name == "pytrec_eval" else judgements.grade
        if name == "gdeval" and grade.max() > _GDEVAL_LARGEST_GRADE:
            raise InputError(
                f"ERR takes grades up to {_GDEVAL_LARGEST_GRADE}, but the qrels have "
                f"{grade.max()}.",
                path=judgements.source,
            )
        # gdeval takes integers for qids only.
        ids = [
            qid if name == "runtime" else str(number)
            for number, qid in enumerate(judgements.qids, 1)
        ]
        qrels: dict[str, dict[str, int]] = {qid: {} for qid in ids}
        triples = zip(judgements.topic.tolist(), judgements.docno, grade.tolist(), strict=True)
        for topic, docno, value in triples:
            qrels[ids[topic]][docno] = value
        if name == "pytrec_eval":  # trec_eval's code crashes on a topic of negative grades only
            qrels = {qid: grades for qid, grades in qrels.items() if max(grades.values()) >= 0}
        evaluator = registry[name].evaluator(group, qrels)
        ranked = _ranked(run, dict(zip(judgements.qids, ids, strict=True)), name == "runtime")
        places = {qid: place for place, qid in enumerate(ids)}
        for qid, measure, score in evaluator.iter_calc(ranked):
            values[measure][places[qid]] = score
    return values


def _ranked(run: Run, ids: Mapping[str, str], own_scores: bool) -> dict[str, dict[str, float]]:
    """The run as providers take it, under other qids, with scores that strictly decrease."""
    scores = strictly_decreasing(run.frame["score"].to_numpy(), run.topics)
    frame = run.frame.with_columns(score=pl.Series(scores))
    result: dict[str, dict[str, float]] = {}
    for (qid,), part in frame.group_by("qid", maintain_order=True):
        if qid in ids:
            given = part["score"] if own_scores else map(float, range(len(part), 0, -1))
            result[ids[str(qid)]] = dict(zip(part["docno"], given, strict=True))
    return result
