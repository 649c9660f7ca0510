"""The lines below a table: four at most by default, and each says what holds."""

from typing import Any

import numpy as np
import pytest
from sample_tables import scores_of

from adducir.core.errors import UsageError
from adducir.corpora.qrels import Qrels
from adducir.evaluation.evaluator import Evaluator, evaluate
from adducir.runs.run import Run
from adducir.statistics.comparison import compare
from adducir.tables.build import build_table
from adducir.tables.run_facts import RunFacts
from adducir.tables.table import Layout, ResultTable

RUN = {f"d{place}": 10.0 - place for place in range(6)}


def lines(table: ResultTable) -> list[str]:
    return table.footer()


def of(values: Any, measures: str = "AP", layout: Layout | None = None, **asked: Any) -> list[str]:
    """The lines of a comparison of systems a, b, ..."""
    named = dict(zip("abcd", np.asarray(values, dtype=float), strict=False))
    named = {k: np.repeat(v[:, None], len(measures.split()), axis=1) for k, v in named.items()}
    return lines(build_table(compare(scores_of(named, measures), **asked), layout))


def drawn(systems: int = 3, topics: int = 40) -> np.ndarray:
    rng = np.random.default_rng(5)
    shift = np.linspace(0, 0.2, systems)[:, None]
    return rng.random(topics) * 0.5 + shift + rng.normal(0, 0.05, (systems, topics))


def hollow(*values: np.ndarray, measures: str = "P@1", test: str = "hall") -> str:
    return of(values, measures, equivalence=0.1, against="a", equivalence_test=test)[-1]


def test_hollow_equivalences_are_named() -> None:
    ones = np.ones(50)
    text = hollow(ones, ones, np.arange(50) % 2, measures="P@1 RR")
    assert "Not tested, because fewer than 15 topics differ or none varies: b and a (P@1)" in text
    assert "b and a (RR)" in text
    assert "c and a" not in text
    assert "none varies: all pairs." in hollow(ones[:9], ones[:9])
    few = np.r_[np.zeros(3), np.ones(97)]
    text = hollow(np.ones(100), few, test="t")
    assert "Warning: do not rely on the equivalence of b and a (P@1): with fewer than 15" in text
    base = drawn(1)[0]
    for test in ("hall", "t"):
        near = base + np.random.default_rng(2).normal(0, 0.05, 40)
        for other in (near, base[::-1]):
            text = hollow(base, other, test=test)
            assert "Not tested" not in text
            assert "Warning" not in text


def evaluated(qrels: dict[str, int], measures: str, **options: Any) -> str:
    judged, run = Qrels.of({"q": qrels, "r": qrels}), Run.of({"q": RUN, "r": RUN}, tag="a")
    return " ".join(lines(build_table(compare(evaluate(run, judged, measures, **options)))))


def test_qrels_that_tell_little_are_warned_of() -> None:
    positives = {"d3": 1, "d5": 2}
    text = evaluated(positives, "nDCG(judged_only=True)@5 Bpref AP")
    assert "relevant documents only, all that nDCG@5 (condensed), Bpref look at" in text
    assert "Warning" not in evaluated(positives, "AP R@5")
    assert "Warning" not in evaluated(positives | {"d1": 0}, "Bpref AP")
    assert "no document of a is judged" in evaluated({"x": 1, "y": 0}, "AP")
    spam = {"d0": -1, "d1": 1, "d2": 0}
    assert "2 judgements with a negative grade (spam) counted as judged" in evaluated(spam, "AP")
    as_trec_eval = evaluated(spam, "Bpref", negative="trec_eval")
    assert "left out as unjudged by condensed measures and Bpref" in as_trec_eval


def test_judgements_of_a_model_must_be_of_all_topics_and_of_more() -> None:
    human = Qrels.of({"1": {"d0": 1}, "2": {"d1": 1}})
    for other in ({"1": {"d0": 1}}, {"1": {"d0": 1}, "2": {"d1": 1}, "3": {"d1": 1}}):
        mine, theirs = Evaluator(human, "AP"), Evaluator(Qrels.of(other), "AP")
        facts = RunFacts(human, mine.measures, model=theirs, judge="Judge 1")
        run = Run.of(dict.fromkeys("123", RUN), tag="a")
        facts.add(run, "a")
        with pytest.raises(UsageError):
            facts.notes(compare(mine.score(run)))


def test_bounds_from_unjudged_documents_are_stated() -> None:
    qrels = Qrels.of({"q": {"d0": 1, "d9": 1}})
    notes = RunFacts(qrels, Evaluator(qrels, "nDCG@2 P@2").measures, unjudged=True)
    for name, docnos in (("full", ("d0", "d9")), ("open", ("x", "y"))):
        notes.add(Run.of({"q": dict(zip(docnos, (2.0, 1.0), strict=True))}, tag=name), name)
    comparison = compare(scores_of({"full": [1.0, 1.0], "open": [0.0, 0.0]}, "AP"))
    (text,) = notes.notes(comparison)
    assert text.startswith("Bounds of nDCG@2 over all grades of unjudged documents: full 1.000 to")
    assert text.endswith("no two systems.")
    with pytest.raises(UsageError, match="none of the measures has bounds"):
        RunFacts(qrels, Evaluator(qrels, "P@2").measures, unjudged=True).notes(comparison)
