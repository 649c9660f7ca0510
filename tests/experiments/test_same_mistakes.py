"""All tasks refuse the same mistakes in a comparison and its table, before any data is there."""

from pathlib import Path

import pytest

from adducir.core.errors import InputError
from adducir.experiments.experiment import plan_experiment

TASKS = {
    "retrieval": """\
topics: {t: {source: none.tsv, qrels: none.txt}}
systems: {A: {run: none.trec}, B: {run: none2.trec}}
measures: [nDCG@5]
""",
    "known-item": """\
data: {D: {spans: none.jsonl}}
contexts: {L: {right: 0}}
systems: {A: {bm25: {}}, B: {bm25: {k1: 2}}}
""",
    "evidence-sets": """\
data: {D: [{train: a.jsonl, validation: v.jsonl, test: t.jsonl}]}
systems: {A: {selector: bm25}, B: {selector: bm25}}
""",
    "grounded-generation": """\
data: {passages: p.jsonl, train: a.jsonl, validation: v.jsonl, test: t.jsonl}
retriever: {base: tiny, adapter: 2}
systems: {A: {untrained: {}}, B: {untrained: {}}}
""",
}
MISTAKES = {
    "comparison={baseline: NOBODY}": "comparison.baseline",
    "comparison={equivalence: 0.1, against: NOBODY}": "comparison.against",
    "comparison={}": "comparison",
    "comparison={baseline: A, non_inferiority: true}": "comparison.non_inferiority",
    "table={show: [p]}": "table.show",
    "table={system_names: {NOBODY: nobody}}": "table.system_names.NOBODY",
}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refused_at_the_dry_run(task: str, mistake: str, tmp_path: Path) -> None:
    file = tmp_path / "experiments" / "study.yaml"
    file.parent.mkdir()
    file.write_text(f"task: {task}\n{TASKS[task]}")
    plan_experiment(file, ("comparison.baseline=A",), dry_run=True)
    with pytest.raises(InputError) as refused:
        plan_experiment(file, (mistake,), dry_run=True)
    assert f"`{MISTAKES[mistake]}" in str(refused.value)
