"""trec_eval's own tests: its printed output, digit by digit.

Every line whose measure ir_measures can express is compared, for each topic and over all of them.
The files are trec_eval 10's, the participants' those of trec_eval 9.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from ir_measures import Measure, NumRel

from adducir import evaluate
from adducir.core.errors import UsageError
from adducir.corpora.qrels import Qrels, load_qrels
from adducir.evaluation.lists import Floats
from adducir.evaluation.measures import computable, is_summed, parse_measure, summary
from adducir.evaluation.scores import Scores
from adducir.runs.read import read_run
from adducir.runs.run import Run

UNCORRECTED = "touche2020-task1-relevance-args-me-corpus-version-2020-04-01.qrels"
Lines = list[tuple[str, str, str]]


def _printed(path: Path) -> Lines:
    """(measure, qid, value) of each line of trec_eval's output."""
    lines = [line.split() for line in path.read_text().splitlines() if line.strip()]
    return [(name, qid, value) for name, qid, value in lines if name != "relstring"]


def _expressible(lines: Lines) -> Lines:
    """Those of measures that there are here; the number of lines is tested."""
    known = {name for name, _, _ in lines if _is_known(name)}
    return [line for line in lines if line[0] in known]


def _is_known(name: str) -> bool:
    try:
        computable(parse_measure(name))
    except UsageError:
        return False
    return True


def _level(measure: Measure, rel: int) -> Measure:
    """trec_eval's -l: another ``rel`` for what goes by relevant or not."""
    needs_it = "rel" in measure.SUPPORTED_PARAMS and not (
        measure.NAME in ("NumRet", "RBP") and "rel" not in measure.params
    )
    return measure(rel=rel) if needs_it else measure


def _values_of_trec_eval_10(run: Run, qrels: Qrels, rel: int) -> Callable[..., Floats]:
    """Values of all measures but IPrec as they are; IPrec by trec_eval 10's rule.

    Its recall r is reached with ``lround(r * R)`` of R relevant documents, that
    of trec_eval 9, pytrec_eval and Adducir with ``int(r * R + 0.9)``. The
    former's IPrec@r of a topic is the latter's at the recall of that count.
    """
    level = _level(NumRel, rel)
    totals = evaluate(run, qrels, level, negative_grades="trec_eval").values(level)

    def values(scores: Scores, measure: Measure) -> Floats:
        if measure.NAME != "IPrec":
            return scores.values(measure)
        counts = np.floor(measure["recall"] * totals + 0.5)
        same = [measure(recall=float(recall)) for recall in counts / totals]
        recounted = evaluate(run, qrels, same, negative_grades="trec_eval")
        return np.array([recounted.values(one)[topic] for topic, one in enumerate(same)])

    return values


def _shown(values: Floats, qids: Sequence[str], measure: Measure, qid: str) -> str:
    summed = is_summed(measure)
    whole = summary(measure, float(values.mean()), len(values))
    value = whole if qid == "all" else values[qids.index(qid)]
    return f"{value:.0f}" if summed else f"{value:.4f}"


def _compare(lines: Lines, run: Run, qrels: Qrels, *, rel: int = 1, version: int = 9) -> None:
    if version == 10:  # which rounds recall levels in 11pt_avg, too
        lines = [line for line in lines if line[0] != "11pt_avg"]
    meant = {name: _level(parse_measure(name), rel) for name, _, _ in lines}
    scores = evaluate(run, qrels, meant.values(), negative_grades="trec_eval")
    values = Scores.values if version == 9 else _values_of_trec_eval_10(run, qrels, rel)
    columns = {name: values(scores, measure) for name, measure in meant.items()}
    ours = [
        (name, qid, _shown(columns[name], scores.qids, meant[name], qid)) for name, qid, _ in lines
    ]
    assert ours == lines


def _all(run: Run) -> Run:
    return run


def _run(path: Path, folder: Path) -> Run:
    rows = (line.split()[:6] for line in path.read_text().splitlines())
    (folder / "run.trec").write_text("".join(" ".join(row) + "\n" for row in rows))
    return read_run(folder / "run.trec")


@pytest.mark.parametrize(
    ("output", "run", "qrels", "rel", "change", "lines"),
    [
        ("out.test", "results.test", "qrels.test", 1, _all, 29),
        ("out.test.a", "results.test", "qrels.test", 1, _all, 95),
        ("out.test.aq", "results.test", "qrels.test", 1, _all, 371),
        ("out.test.aqc", "results.trunc", "qrels.test", 1, _all, 371),
        ("out.test.aqcM", "results.trunc", "qrels.test", 1, lambda run: run.top(100), 371),
        ("out.test.aql", "results.test", "qrels.rel_level", 2, _all, 371),
        ("out.test.meas_params", "results.test", "qrels.test", 1, _all, 76),
    ],
)
def test_printed_figures(
    collections: Path,
    tmp_path: Path,
    output: str,
    run: str,
    qrels: str,
    rel: int,
    change: Callable[[Run], Run],
    lines: int,
) -> None:
    folder = collections / "trec_eval"
    wanted = _expressible(_printed(folder / output))
    assert len(wanted) == lines
    ranking = change(_run(folder / run, tmp_path))
    _compare(wanted, ranking, load_qrels(folder / qrels), rel=rel, version=10)


def test_binary_rank_biased_precision(collections: Path) -> None:
    """trec_eval's rbp is graded; over qrels of 0 and 1 it is RBP(rel=1,p=0.9)."""
    folder = collections / "trec_eval"
    run, qrels = read_run(folder / "results.test"), load_qrels(folder / "qrels.test")
    scores = evaluate(run, qrels, "RBP(rel=1,p=0.9)")
    values = scores.values("RBP(rel=1,p=0.9)")
    wanted = {qid: value for name, qid, value in _printed(folder / "out.test.aq") if name == "rbp"}
    shown = {qid: f"{value:.4f}" for qid, value in zip(scores.qids, values, strict=True)}
    assert shown | {"all": f"{values.mean():.4f}"} == wanted


@pytest.mark.parametrize("name", ["ElrondOpenNlpRun", "ElrondSimpleRun"])
def test_participants_own_output_on_touche_2020(collections: Path, name: str) -> None:
    """On the uncorrected qrels; 2 x 90 figures."""
    folder = collections / "touche"
    qrels = load_qrels(folder / "qrels" / UNCORRECTED)
    lines = _printed(folder / f"runs/2020/{name}.trec_eval.txt")
    wanted = _expressible(lines)
    assert len(wanted) == 90
    _compare(wanted, read_run(folder / f"runs/2020/{name}.txt.gz"), qrels)
