"""``adducir tune``."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adducir.cli import options
from adducir.cli import tune_options as opts
from adducir.cli.effects import with_any
from adducir.cli.outputs import FILES, SOURCE
from adducir.cli.parameters import option
from adducir.cli.shards import WorkerOptions
from adducir.core.errors import UsageError

if TYPE_CHECKING:
    from adducir.experiments.tuning.folds import JudgedTopics
    from adducir.experiments.tuning.tuning import Tuning


def tune(
    topics: Annotated[opts.TopicsSources, SOURCE],
    qrels: options.QrelsSources,
    grid: opts.GridRanges,
    output: Annotated[Path, option("Where the files go.", "-o"), FILES],
    topic_field: opts.TopicField = None,
    measure: opts.Objective = opts.DEFAULT_OBJECTIVE,
    negative_grades: opts.NegativeGrades = "zero",
    depth: Annotated[options.Depth, with_any("index", "fuse")] = 1000,
    threads: Annotated[options.Threads, with_any("index")] = None,
    *,
    system: opts.System,
    division: opts.Division,
    shards: WorkerOptions,
) -> None:
    """Tune parameters by cross-validated grid search.

    For each fold the setting with the best mean over the topics of all other folds is chosen.
    Only the held-out topics' figures are printed and pooled. The folder gets the whole grid, a heat
    map, the settings, the folds, and the pooled run, to be evaluated like any other. Settings are
    tried in chunks, here or by several workers: work that was killed resumes.
    """
    rule = division.rule(several=len(topics) > 1)

    from adducir.cli.console import open_progress, show
    from adducir.core.artifacts import refuse_other_results
    from adducir.core.chunks import Chunking
    from adducir.evaluation.measures import parse_measure
    from adducir.experiments.tuning.folds import Pool
    from adducir.experiments.tuning.report import write_report
    from adducir.experiments.tuning.tune import tune as tune_system

    objective = parse_measure(measure)
    if depth is not None and objective.params.get("cutoff", 0) > depth:
        raise UsageError(f"{objective} needs more documents per topic than --depth {depth}.")
    ranges = opts.ranges(grid)
    refuse_other_results(output)
    with open_progress() as progress:
        pool = Pool.of(_topic_sets(topics, qrels, topic_field))
        tuning = tune_system(
            system.open(pool, depth, threads),
            ranges,
            pool,
            rule(pool),
            objective,
            negative=negative_grades,
            tag=output.name,
            chunking=Chunking(output, shards.execution()),
        )
        files = write_report(tuning, output)
        for line in tuning.warnings():
            progress.note(line)
        progress.note(f"{output}: {', '.join(files)}")
    show(summary(tuning))


def _topic_sets(
    topics: Sequence[str], qrels: Sequence[str], field: str | None
) -> "list[JudgedTopics]":
    """Topics and qrels in pairs; a single source of topics takes all qrels together."""
    if len(topics) > 1 and len(qrels) not in (1, len(topics)):
        raise UsageError(
            f"{len(topics)} --topics go with as many --qrels, or with one for all, not with "
            f"{len(qrels)}."
        )

    from adducir.corpora.qrels import load_qrels
    from adducir.corpora.topics import load_topics
    from adducir.experiments.tuning.folds import JudgedTopics

    loaded = [load_topics(source, field=field) for source in topics]
    if len(topics) == 1 or len(qrels) == 1:
        judged = load_qrels(list(qrels))
        parts = [judged if len(topics) == 1 else judged.restricted(one.qids) for one in loaded]
    else:
        parts = [load_qrels(source) for source in qrels]
    names = opts.set_names(topics)
    return [
        JudgedTopics(name, one, part) for name, one, part in zip(names, loaded, parts, strict=True)
    ]


def summary(tuning: "Tuning") -> str:
    """A line for each fold, and the pooled figure."""
    from adducir.cli.console import columns
    from adducir.experiments.tuning.grid import plain

    names = tuning.grid.names
    lines = [["fold", "topics", *names, "training", "held out"]]
    for fold, name in enumerate(tuning.folds.names):
        setting = [plain(value) for value in tuning.setting(fold).values()]
        means = (part[fold, tuning.chosen[fold]] for part in (tuning.training, tuning.test))
        topics = str(len(tuning.folds.test(fold)))
        lines.append([name, topics, *setting, *(f"{value:.4f}" for value in means)])
    summary = (
        f"{tuning.objective}, held out: {tuning.result:.4f} over {len(tuning.pool)} topics "
        f"({tuning.folds.rule}; {len(tuning.grid)} settings)"
    )
    return "\n".join([*columns(lines), "", summary])
