"""The forest plot over topic sets, and the sentences beside it."""

import re

import numpy as np
import pytest

from adducir.core.errors import UsageError
from adducir.evaluation.measures import parse_measures
from adducir.evaluation.scores import Scores
from adducir.statistics.comparison.comparison import compare
from adducir.statistics.meta_analysis import meta_analysis
from adducir.tables.builder import Layout, build_table
from adducir.tables.report.page import render
from adducir.tables.report.sections import collections
from adducir.tables.report.view import View
from adducir.tables.style import Style

RNG = np.random.default_rng(8)
SETS = {
    name: {system: RNG.random(topics) + shift for system, shift in (("a", 0.0), ("b", 0.2))}
    for name, topics in (("x", 20), ("y", 30), ("z", 25))
}


def table_of(names=tuple(SETS), baseline="a", **layout):
    (measure,) = parse_measures("AP")
    scores = {
        name: [
            Scores(system, tuple(f"{name}{n}" for n in range(len(own))), (measure,), own[:, None])
            for system, own in SETS[name].items()
        ]
        for name in names
    }
    compared = {name: compare(many, baseline=baseline) for name, many in scores.items()}
    return build_table(compared, scores, layout=Layout(style=Style(meta=True), **layout))


def test_the_plot_has_the_figures_of_the_analysis() -> None:
    table = table_of(system_names={"b": "The second"})
    gaps = [own["b"] - own["a"] for own in SETS.values()]
    found = meta_analysis([g.mean() for g in gaps], [g.var(ddof=1) / g.size for g in gaps])
    (sentence,) = (one for one in table.footer if "REML" in one)
    assert sentence.startswith("The second against a on AP over 3 topic sets: ")
    assert f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]" in sentence
    body = collections.section(View(table)).body
    assert re.findall(r"weight (\d+)%", body) == [f"{100 * one:.0f}" for one in found.weights]
    for value in (*found.effects, *found.lows, *found.highs, found.mean, found.low, found.high):
        assert f"{value:+.3f}".replace("-", "−") in body.replace("&#8722;", "−").replace("-0", "−0")
    assert "The second · together" in body
    assert 'id="collections"' in render(table)


def test_it_is_drawn_on_request_and_of_several_sets_only() -> None:
    assert collections.section(View(table_of(baseline=None))) is None
    with pytest.raises(UsageError, match="takes several topic sets, but there is one"):
        table_of(names=("x",))
