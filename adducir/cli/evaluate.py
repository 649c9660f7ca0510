"""``adducir evaluate``."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from adducir.cli import evaluate_options as opts
from adducir.cli import options
from adducir.cli.effects import Effect, with_any
from adducir.cli.outputs import SOURCE
from adducir.cli.parameters import option
from adducir.core.errors import UsageError
from adducir.statistics.choices import EquivalenceTestName, PresetName

MEASURING = "Measures"


@dataclass(frozen=True, kw_only=True)
class Testing(opts.Testing):
    """The same of runs, with tests of equivalence."""

    baseline: Annotated[
        list[str] | None,
        option(
            "The run that all others are tested against: its path or its name in the table; can "
            "be repeated.",
            "-b",
            metavar="RUN",
            panel=opts.TESTING,
        ),
    ] = None
    preset: Annotated[
        PresetName | None,
        option(
            "A test and its correction by one name, in place of --test and --correction.",
            metavar="NAME",
            panel=opts.TESTING,
            rare=True,
        ),
        opts.DIFFERENCES,
    ] = None
    equivalence: Annotated[
        float | None,
        option(
            "Test as well whether the difference lies within plus or minus this bound (TOST).",
            metavar="BOUND",
            panel=opts.TESTING,
        ),
    ] = None
    against: Annotated[
        str | None,
        option(
            "Equivalent with what: the best system of each measure, or a run.",
            metavar="best|RUN",
            shown="best",
            panel=opts.TESTING,
            rare=True,
        ),
        with_any("equivalence"),
    ] = None
    equivalence_test: Annotated[
        EquivalenceTestName | None,
        option(
            "How equivalence is tested: t-tests adjusted for skewness, or t-tests.",
            shown="hall",
            panel=opts.TESTING,
            rare=True,
        ),
        with_any("equivalence"),
    ] = None
    non_inferiority: Annotated[
        bool,
        option(
            "Test only that a system is not worse by the bound of --equivalence or more.",
            panel=opts.TESTING,
            rare=True,
        ),
        with_any("equivalence"),
    ] = False


def evaluate(
    runs: options.RunPaths,
    qrels: Annotated[options.QrelsSources, SOURCE],
    measures: Annotated[
        list[str] | None,
        option(
            "Measures, as ir_measures or trec_eval name them, with blanks between them.",
            "-m",
            shown=options.DEFAULT_MEASURES,
            panel=MEASURING,
        ),
    ] = None,
    negative_grades: Annotated[
        options.NegativeGrades, option(options.NEGATIVE_GRADES, panel=MEASURING, rare=True)
    ] = "zero",
    per_topic: Annotated[
        bool,
        option("Show the values of each topic.", panel=opts.LOOK),
        Effect(
            "in HTML, which shows each topic anyway",
            lambda values: opts.requested_format(values) != "html",
        ),
    ] = False,
    unjudged: Annotated[
        bool,
        option(
            "State in the footer how far unjudged documents could move nDCG@k, AP@k and RBP.",
            panel=MEASURING,
            rare=True,
        ),
    ] = False,
    pool_seeds: Annotated[
        bool,
        option(
            "Take runs whose names differ only in seed1, seed2, ... for runs of one system.",
            panel=opts.TESTING,
            rare=True,
        ),
    ] = False,
    model_qrels: Annotated[
        str | None,
        option(
            "Judgements of a model, of the topics of --qrels and others: the footer states "
            "prediction-powered means and differences.",
            metavar="SOURCE",
            panel=MEASURING,
            rare=True,
        ),
        SOURCE,
    ] = None,
    judge: Annotated[
        str | None,
        option("Name and version of that model.", metavar="NAME", panel=MEASURING, rare=True),
        with_any("model_qrels", rare=True),
    ] = None,
    topics: Annotated[
        str | None,
        option(
            "The queries, for the HTML report: a file or an ir_datasets id.",
            metavar="SOURCE",
            panel=opts.LOOK,
        ),
        SOURCE,
        opts.IN_HTML,
    ] = None,
    *,
    testing: Testing,
    further: opts.Further,
    printing: opts.Printing,
) -> None:
    """Evaluate runs, test their differences and print the table.

    A system is named after its run's file, without the endings .gz, .trec, .txt, .run and .res;
    where two names are equal, the folders above distinguish them. Every topic of the qrels counts;
    a topic that a run lacks counts 0.
    """
    if model_qrels is not None and not (judge or "").strip():
        raise UsageError(
            "--set model_qrels needs --set judge.", hint="Name the model and its version."
        )
    systems, testing = _systems(runs, testing)

    from adducir.cli.console import note, open_progress
    from adducir.corpora.qrels import load_qrels
    from adducir.corpora.topics import load_topics
    from adducir.evaluation.evaluator import Evaluator
    from adducir.evaluation.run_notes import RunNotes
    from adducir.evaluation.seeds import pool_seeds as pooled
    from adducir.evaluation.seeds import system_of
    from adducir.runs.metadata import metadata_for
    from adducir.runs.read import read_run
    from adducir.statistics.comparison.comparison import compare
    from adducir.tables.builder import build_table
    from adducir.tables.footer import unmatched
    from adducir.tables.hits import HitCollector
    from adducir.tables.material import Material

    with open_progress():  # ir_datasets may have to download them
        judged = load_qrels(qrels)
        by_model = load_qrels(model_qrels) if model_qrels else None
        asked = load_topics(topics) if topics else None
    evaluator = Evaluator(judged, measures or options.DEFAULT_MEASURES, negative=negative_grades)
    is_page = opts.requested_format(vars(printing)) == "html"
    queries = dict(zip(asked.qids, asked.queries, strict=True)) if asked else {}
    shown = HitCollector(judged, len(systems), queries, evaluator.measures)
    guesses = by_model and Evaluator(by_model, evaluator.measures, negative=negative_grades)
    further_notes = RunNotes(
        judged, evaluator.measures, unjudged=unjudged, model=guesses or None, judge=str(judge)
    )
    scores = []
    for path, system in systems.items():
        # Searching may find nothing; the metadata beside a run say that it was meant so.
        run = read_run(path, allow_empty=metadata_for(path).is_file())
        scores.append(evaluator.score(run, system=system))
        bounds = further_notes.add(run, system)
        if is_page:
            shown.add(system_of(system) if pool_seeds else system, run, bounds)
    scores = pooled(scores) if pool_seeds else scores
    comparison = compare(scores, **testing.arguments(), **further.arguments())
    material = Material({"": shown.found()})
    layout = printing.layout(testing, material, qrels=judged.source, runs=_files(systems))
    notes = further_notes.notes(comparison, scores)
    table = build_table(comparison, scores, layout=replace(layout, notes=notes))
    for warning in unmatched(scores, {}):
        note(warning)
    printing.show(table, per_topic=per_topic)


def _systems(runs: Sequence[Path], testing: Testing) -> tuple[dict[Path, str], Testing]:
    """Name the systems, and call baselines and the like by those names.

    A baseline that is a file and not among the runs is put before them.
    """
    from adducir.cli.names import find_system, system_names

    wanted = [*(testing.baseline or ()), *([testing.against] if testing.against else [])]
    named = system_names(runs)
    others = [
        Path(name)
        for name in dict.fromkeys(wanted)
        if name != "best"
        and find_system(name, named) is None
        and Path(name).exists()
        and not Path(name).is_dir()
    ]
    named = system_names([*others, *runs]) if others else named
    baseline = [find_system(name, named) or name for name in testing.baseline or ()]
    against = testing.against
    if against is not None and against != "best":
        against = find_system(against, named) or against
    return named, replace(testing, baseline=baseline or None, against=against)


def _files(systems: dict[Path, str]) -> dict[str, Any]:
    digests, named = opts.digests(systems), systems.items()
    return {name: {"path": str(path), "sha256": digests[str(path)]} for path, name in named}
