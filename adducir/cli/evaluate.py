"""``adducir evaluate``."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import adducir
from adducir.cli import evaluate_options as asked
from adducir.cli import options


def evaluate(
    runs: options.RunPaths,
    qrels: asked.QrelsSources,
    measures: asked.Measures = None,
    negative_grades: asked.NegativeGrades = options.Negative.ZERO,
    baseline: asked.Baselines = None,
    test: asked.TestName = None,
    correction: asked.CorrectionName = None,
    family: asked.FamilyName = None,
    alpha: asked.Alpha = None,
    equivalence: asked.EquivalenceBound = None,
    against: asked.Against = None,
    permutations: asked.Permutations = None,
    seed: asked.Seed = None,
    confidence: asked.Confidence = None,
    show: asked.Shown = None,
    per_topic: asked.PerTopic = False,
    decimals: asked.Decimals = 3,
    format_name: options.TableFormat = None,
    output: options.Output = None,
) -> None:
    """Measure runs, test their differences and print the table.

    A system is named after its run's file, without the endings .gz, .trec, .txt, .run and .res;
    where two names are equal, the folders above tell them apart. Every topic of the qrels counts;
    a topic that a run lacks counts 0.
    """
    testing = asked.Testing(
        tuple(baseline or ()),
        test,
        correction,
        family,
        alpha,
        equivalence,
        against,
        permutations,
        seed,
        confidence,
    )
    details = testing.details(show)
    systems, testing = _systems(runs, testing)

    from adducir.cli.console import open_progress
    from adducir.cli.tables import show_table
    from adducir.corpora.qrels import load_qrels
    from adducir.experiments.comparison.compare import compare
    from adducir.experiments.evaluation.evaluate import Evaluator
    from adducir.experiments.tables.build import Layout, build_table
    from adducir.experiments.tables.style import Style
    from adducir.runs.metadata import metadata_for
    from adducir.runs.read import read_run

    with open_progress() as progress:  # ir_datasets may have to download them
        judged = load_qrels(qrels, progress=progress)
    evaluator = Evaluator(
        judged,
        measures or options.DEFAULT_MEASURES,
        negative="trec_eval" if negative_grades is options.Negative.TREC_EVAL else "zero",
    )
    scores = [
        # Searching may find nothing; the metadata beside a run say that it was meant so.
        evaluator.score(read_run(path, allow_empty=metadata_for(path).is_file()), system=system)
        for path, system in systems.items()
    ]
    comparison = compare(scores, **testing.said())
    layout = Layout(
        style=Style(decimals=decimals, details=details),
        provenance=_provenance(systems, judged.source),
    )
    table = build_table(comparison, scores, layout=layout)
    show_table(table, format_name, output, per_topic=per_topic)


def _systems(runs: Sequence[Path], testing: asked.Testing) -> tuple[dict[Path, str], asked.Testing]:
    """Name the systems, and call baselines and the like by those names.

    A baseline that is a file and not among the runs is put before them.
    """
    from adducir.cli.names import find_system, system_names

    wanted = [*testing.baseline, *([testing.against] if testing.against else [])]
    named = system_names(runs)
    others = [
        Path(name)
        for name in dict.fromkeys(wanted)
        if name != "best" and find_system(name, named) is None and Path(name).is_file()
    ]
    named = system_names([*others, *runs]) if others else named
    baseline = tuple(find_system(name, named) or name for name in testing.baseline)
    against = testing.against
    if against is not None and against != "best":
        against = find_system(against, named) or against
    return named, replace(testing, baseline=baseline, against=against)


def _provenance(systems: dict[Path, str], qrels: str) -> dict[str, Any]:
    from adducir.study.files import file_digest

    runs = {
        system: {"path": str(path), "sha256": file_digest(path)} for path, system in systems.items()
    }
    return {"adducir": adducir.__version__, "qrels": qrels, "runs": runs}
