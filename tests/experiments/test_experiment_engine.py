"""An experiment on either engine gives the same table."""

from pathlib import Path

from adducir.experiments.planning import plan_experiment
from adducir.experiments.running import run_experiment

DEMO = Path(__file__).parents[2] / "experiments" / "demo.yaml"


def test_the_demo_is_the_same_on_both_engines(tmp_path: Path) -> None:
    tables = {}
    for engine in ("lucene", "memory"):
        override = f"indexes.arguments.engine={engine}"
        plan = plan_experiment(DEMO, (override,), folder=tmp_path / engine)
        tables[engine] = run_experiment(plan).files["per-topic"].read_text()
        again = plan_experiment(DEMO, (override,), folder=tmp_path / engine)
        assert all(step.why is None for step in again.indexes.values())
    assert tables["lucene"] == tables["memory"]
