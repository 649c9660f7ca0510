"""``adducir evaluate``."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import adducir
from adducir.cli import evaluate_options as opts
from adducir.cli import options


def evaluate(
    runs: options.RunPaths,
    qrels: opts.QrelsSources,
    measures: opts.Measures = None,
    negative_grades: opts.NegativeGrades = options.Negative.ZERO,
    baseline: opts.Baselines = None,
    test: opts.TestName = None,
    correction: opts.CorrectionName = None,
    family: opts.FamilyName = None,
    alpha: opts.Alpha = None,
    equivalence: opts.EquivalenceBound = None,
    against: opts.Against = None,
    best: opts.Best = None,
    permutations: opts.Permutations = None,
    seed: opts.Seed = None,
    confidence: opts.Confidence = None,
    show: opts.Shown = None,
    per_topic: opts.PerTopic = False,
    decimals: opts.Decimals = 3,
    topics: opts.QuerySource = None,
    format_name: options.TableFormat = None,
    output: options.Output = None,
) -> None:
    """Evaluate runs, test their differences and print the table.

    A system is named after its run's file, without the endings .gz, .trec, .txt, .run and .res;
    where two names are equal, the folders above distinguish them. Every topic of the qrels counts;
    a topic that a run lacks counts 0.
    """
    testing = opts.Testing(
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
        best,
    )
    details = testing.details(show)
    systems, testing = _systems(runs, testing)

    from adducir.cli.console import open_progress
    from adducir.cli.tables import show_table
    from adducir.corpora.qrels import load_qrels
    from adducir.corpora.topics import load_topics
    from adducir.evaluation.evaluator import Evaluator
    from adducir.evaluation.recall_curve import interpolated_precision
    from adducir.runs.metadata import metadata_for
    from adducir.runs.read import read_run
    from adducir.statistics.comparison.comparison import compare
    from adducir.tables.builder import Layout, build_table
    from adducir.tables.material import Material, TopicHits, hits_held
    from adducir.tables.style import Style

    with open_progress() as progress:  # ir_datasets may have to download them
        judged = load_qrels(qrels, progress=progress)
        asked = load_topics(topics, progress=progress) if topics else None
    evaluator = Evaluator(
        judged,
        measures or options.DEFAULT_MEASURES,
        negative="trec_eval" if negative_grades is options.Negative.TREC_EVAL else "zero",
    )
    is_page = opts.requested_format({"output": output, "format_name": format_name}) == "html"
    held = hits_held(len(judged.qids), len(systems)) if is_page else 0
    queries = dict(zip(asked.qids, asked.queries, strict=True)) if asked else {}
    scores, hits, precision = [], {}, {}
    for path, system in systems.items():
        # Searching may find nothing; the metadata beside a run say that it was meant so.
        run = read_run(path, allow_empty=metadata_for(path).is_file())
        scores.append(evaluator.score(run, system=system))
        if is_page:
            hits[system] = run.top(held).frame
            precision[system] = interpolated_precision(run, judged)
    comparison = compare(scores, **testing.arguments())
    layout = Layout(
        style=Style(decimals=decimals, details=details),
        provenance=_provenance(systems, judged.source),
        material=Material({"": TopicHits(queries, hits, judged.frame, precision)}),
    )
    table = build_table(comparison, scores, layout=layout)
    show_table(table, format_name, output, per_topic=per_topic)


def _systems(runs: Sequence[Path], testing: opts.Testing) -> tuple[dict[Path, str], opts.Testing]:
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
    from adducir.core.files import file_digest

    runs = {
        system: {"path": str(path), "sha256": file_digest(path)} for path, system in systems.items()
    }
    return {"adducir": adducir.__version__, "qrels": qrels, "runs": runs}
