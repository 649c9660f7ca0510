"""Figures of systems of several runs are over topics and runs, whatever was tested."""

import numpy as np
import pytest

from adducir.evaluation.measures import parse_measures
from adducir.evaluation.scores import Scores
from adducir.evaluation.seeds import over_runs
from adducir.statistics.comparison.comparison import compare
from adducir.statistics.corrections import correct
from adducir.statistics.two_level import two_level
from adducir.tables.builder import Layout, build_table
from adducir.tables.report.pairwise import pairwise
from adducir.tables.report.sections import critical_difference, ranks
from adducir.tables.report.view import View
from adducir.tables.style import Style

RNG = np.random.default_rng(3)
RUNS = [
    RNG.random((count, 30)) * 0.2 + RNG.normal(0, 0.05, (count, 1)) * (count > 1) + shift
    for count, shift in ((1, 0.2), (3, 0.25), (4, 0.4))
]


def view_of(style: str, **testing) -> View:
    (measure,), qids = parse_measures("AP"), tuple(map(str, range(30)))
    scores = [
        over_runs(
            f"s{k}",
            [Scores(f"s{k}.seed{n}", qids, (measure,), run[:, None]) for n, run in enumerate(one)],
        )
        for k, one in enumerate(RUNS)
    ]
    layout = Layout(style=Style(critical_difference=style))
    return View(build_table(compare(scores, **testing), scores, layout=layout))


def test_pairs_that_were_not_planned() -> None:
    found = pairwise(view_of("tests", baseline="s0"), 0)
    pairs = [(0, 1), (0, 2), (1, 2)]
    wanted = correct([two_level(RUNS[i], RUNS[j]).p for i, j in pairs], "holm")
    for (i, j), p in zip(pairs, wanted, strict=True):
        assert found.p[found.rows.index(i), found.rows.index(j)] == pytest.approx(p, rel=1e-9)
    assert found.how == "Two-level t-test, Holm"


def test_pairs_that_were_planned() -> None:
    view = view_of("tests", family="pairs")
    found = pairwise(view, 0)
    assert found.how == "Two-level t-test, Holm"
    assert "Paired" not in critical_difference.section(view).body


def test_ranks_are_not_resampled_over_topics_alone() -> None:
    assert ranks.section(view_of("tests", baseline="s0")) is None
