"""Made-up tables for the tests of formats and of the report. The figures are nobody's."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from adducir.evaluation.scores import Scores
from adducir.statistics.comparison import compare
from adducir.tables.build import build_table
from adducir.tables.style import Style
from adducir.tables.table import Layout, ResultTable

NASTY = r"50%_of{A&B}|~^\$#<script>alert('x')</script>"
VARIANTS = ("Original", "DeepCT, topic and conclusion", "DeepCT, no judged documents")
YEARS = ("Touché 2020", "Touché 2021")


def scores_of(
    values: Mapping[str, Any], measures: str, topic_set: str = "", **known: Any
) -> list[Scores]:
    """The scores of systems, (T, M) or (T,) each."""
    columns = [np.reshape(one, (len(one), -1)) for one in values.values()]
    qids = [str(number) for number in range(1, 1 + len(columns[0]))]
    return [
        Scores.of(name, qids, measures.split(), one, topic_set=topic_set, **known)
        for name, one in zip(values, columns, strict=True)
    ]


def small(style: Style | None = None, **testing: Any) -> ResultTable:
    """Three systems, two measures, one baseline: better, worse, and equivalent to the best."""
    rng = np.random.default_rng(3)
    base = rng.beta(4, 4, (20, 2)) * 0.6 + 0.2
    values = {
        "BM25": base,
        "BM25+RM3": base + np.array([0.1, -0.001]) + rng.normal(0, 0.02, (20, 2)),
        "QLD": base + np.array([-0.2, -0.1]) + rng.normal(0, 0.05, (20, 2)),
    }
    asked = {"baseline": "BM25", "equivalence": 0.05, "against": "best"} | testing
    comparison = compare(scores_of(values, "nDCG(judged_only=True)@5 Bpref"), **asked)
    return build_table(comparison, Layout(title="Made-up figures", style=style or Style()))


def wide(style: Style | None = None, topics: int = 49, **testing: Any) -> ResultTable:
    """Sections of corpus variants, two years, four measures each, two baselines."""
    rng = np.random.default_rng(7)
    systems = ("DirichletLM", "BM25", "BM25+RM3(terms=10,docs=8,weight=.5)", "QLD+RM3")
    measures = "nDCG(judged_only=True)@5 Bpref Judged@5 R@100"
    names = {
        system if variant == VARIANTS[0] else f"{system} [{variant}]": (system, variant)
        for variant in VARIANTS
        for system in systems
    }
    scores = []
    for year in YEARS:
        topic = rng.beta(3, 3, (topics, 4))
        values = {
            name: np.clip(topic + rng.normal(number / 60, 0.1, topic.shape), 0, 1)
            for number, name in enumerate(names)
        }
        scores += scores_of(values, measures, year)
    asked = {"baseline": ("DirichletLM", "BM25"), "equivalence": 0.1, "against": "BM25"} | testing
    layout = Layout(
        title="Made-up figures in the shape of a paper's table",
        label="tab:wide",
        style=style or Style(),
        system_names={name: system for name, (system, _) in names.items()},
        sections={name: variant for name, (_, variant) in names.items()},
        provenance={"command": "adducir experiment experiments/wide.yaml", "runs": {"BM25": "ab"}},
    )
    return build_table(compare(scores, **asked), layout)


def nasty() -> ResultTable:
    """Names made to break every format's syntax."""
    names = (NASTY, "[bracket]", "*star* `code` --rm3", "Ünïcode → κ=½", "line\nbreak")
    scores = [Scores.of(name, ["<1>"], ["P@5"], [[0.5]]) for name in names]
    layout = Layout(
        title="Fish & <i>Chips</i> 100%",
        measure_names={"P@5": "50% & more_"},
        sections=dict.fromkeys(names, "A & <b>"),
        notes=("a_b & <u>",),
    )
    return build_table(compare(scores), layout)
