"""``adducir tune``: an experiment file's tuned search, as options."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from adducir.cli import common
from adducir.cli.command import option, optional, repeatable
from adducir.cli.console import columns, note, show
from adducir.core.errors import UsageError
from adducir.core.recipe import Recipe, number_in
from adducir.core.texts import sentence
from adducir.corpora.reading import QrelsReading, QueryReading
from adducir.indexes.kinds import FEEDBACK, MODELS

if TYPE_CHECKING:
    from adducir.core.recipe import KeyPath
    from adducir.experiments.tuning.design import JudgedTopics
    from adducir.experiments.tuning.tune import Tuning

SYSTEM = "What is tuned"


class TuneOptions(QrelsReading, QueryReading):
    topics: list[str] = option(
        "An ir_datasets id, or a file: TREC, Touché's XML, TSV, CSV, JSONL; can be repeated, each "
        "with its --qrels.",
        reads=True,
    )
    qrels: common.Qrels
    grid: list[str] = option(
        "A parameter and its values: k1=0.5:2.5:0.5 (from, to, step; both ends included), or "
        "b=0.2,0.4; can be repeated. Among equally good settings the smallest values win, the "
        "first parameter first. Parameters are the numbers of the model and the feedback.",
        "-g",
        metavar="NAME=VALUES",
    )
    output: Path = option("The folder to write to.", writes=common.FOLDER)
    folds: str | None = optional(
        "The number of folds; 'topics': each source of topics is a fold; or a JSON file, a list of "
        "lists of qids, as in Anserini.",
        metavar="K|topics|FILE",
        shown="topics if there are several, else 5",
    )
    measure: str | None = optional("The measure whose mean to maximise.", "-m", shown="nDCG@10")
    changes: tuple[str, ...] = repeatable(
        "Change anything else, with the keys of an experiment file: system.rm3.fb_docs=5, "
        "system.tune.folds.seed=7, topics.field=title, negative_grades=trec_eval; can be repeated.",
        "--set",
    )
    depth: common.Depth = 1000
    threads: common.Threads = None
    index: Path = option("The index to search.", panel=SYSTEM)
    model: Annotated[str | None, MODELS] = optional(
        "The retrieval model.", shown="bm25", panel=SYSTEM
    )
    feedback: Annotated[str | None, FEEDBACK] = optional(
        "Expand queries with their best documents.", panel=SYSTEM
    )


class SaidTopics(Recipe):
    field: str | None = None
    """The topics' field with the query."""


class Said(Recipe):
    """Keys of ``--set``; ``system`` as in an experiment file."""

    system: dict[str, Any]
    """The keys of a system that searches an index."""
    topics: SaidTopics = SaidTopics()
    """How topics are read."""
    negative_grades: Literal["zero", "trec_eval"] = "zero"
    """How negative judgements count."""


def tune(settings: TuneOptions) -> None:
    """Tune parameters by cross-validated grid search.

    Each fold uses the setting with the best mean over the topics of all other folds. Only figures
    of held-out topics are printed and pooled. The whole grid, the settings, the folds, and the
    pooled run are written to the folder; evaluate the run like any other.

    Examples:
        adducir tune -i indexes/arguments -t bundled:topics -q bundled:qrels \
            --grid k1=0.4:1.6:0.4 --grid b=0.2,0.4 -o tuning/bm25
    """
    said, system = _system(settings)

    from adducir.core.artifacts import refuse_other_results
    from adducir.evaluation.measures import needs_subtopics, parse_measure
    from adducir.experiments.tuning.design import Grid, TopicPool
    from adducir.experiments.tuning.tune import tune as tune_grid
    from adducir.experiments.tuning.tune import write_report
    from adducir.indexes.engines import open_index

    depth, output = settings.depth, settings.output
    tag = common.tag_of(output, None)
    objective = parse_measure(system.tune.objective)
    if depth is not None and objective.params.get("cutoff", 0) > depth:
        raise UsageError(f"{objective} needs more documents per topic than --depth {depth}.")
    refuse_other_results(output)
    by_subtopic = needs_subtopics([objective])
    pool = TopicPool.of(_topic_sets(settings, said.topics.field, subtopics=by_subtopic))
    tuning = tune_grid(
        system.tunable(open_index(settings.index), depth, settings.threads),
        Grid.of(system.tune.values, system.hyperparameters),
        pool,
        system.tune.make_folds(pool, str),
        objective,
        negative=said.negative_grades,
        tag=tag,
    )
    files = write_report(tuning, output)
    for line in (*tuning.warnings(), f"{output}: {', '.join(files)}"):
        note(line)
    show(summary(tuning))


def _system(settings: TuneOptions) -> tuple[Said, Any]:
    from adducir.core.config import OverrideError, apply
    from adducir.core.recipe import ErrorDetail, validated
    from adducir.experiments.retrieval.search import IndexSearch

    grid: dict[str, Any] = {}
    for item in settings.grid:
        name, equals, values = (part.strip() for part in item.partition("="))
        if not (equals and name) or name in grid:
            raise UsageError(
                f"--grid takes NAME=VALUES, such as k1=0.9,1.2, once per name, not {item!r}."
            )
        ends = values.split(":")
        is_range = len(ends) == 3
        grid[name] = (
            dict(zip(("from", "to", "step"), ends, strict=True)) if is_range else values.split(",")
        )
    folds: Any = settings.folds or ("topics" if len(settings.topics) > 1 else "5")
    if folds != "topics":
        folds = {"file" if number_in(folds) is None else "k": folds}
    entry: dict[str, Any] = {"index": "index", "tune": {"grid": grid, "folds": folds}}
    if settings.measure is not None:
        entry["tune"]["objective"] = settings.measure
    entry |= {"model": settings.model} if settings.model else {}
    entry |= {settings.feedback: {}} if settings.feedback else {}
    data: dict[str, Any] = {"system": entry}
    for text in settings.changes:
        try:
            data, override = apply(data, text)
        except OverrideError as error:
            raise UsageError(f"--set {text}: {error}.") from error
        fixed = ("index", "seeds", "group", "tune")
        if override.path in (("system",), *(("system", key) for key in fixed)):
            raise UsageError(f"--set {text} has no effect here.")
    said, errors = validated(Said, data)
    if said is not None:
        system, problems = validated(IndexSearch, said.system)
        if system is not None:
            return said, system
        errors = [ErrorDetail(("system", *problem.path), problem.what) for problem in problems]
    raise UsageError(sentence("; ".join(f"{_typed(error.path)}: {error.what}" for error in errors)))


def _typed(path: "KeyPath") -> str:
    """How users of the command write what is wrong."""
    from adducir.core.recipe import dotted

    key = dotted(path).removeprefix("system.")
    if key.startswith("tune.grid."):
        return f"--grid {key.removeprefix('tune.grid.')}"
    flags = {"model": "--model", "tune.objective": "--measure"}
    return "--folds" if key.startswith("tune.folds") else flags.get(key, f"--set {dotted(path)}")


def _topic_sets(
    settings: TuneOptions, field: str | None, *, subtopics: bool
) -> "list[JudgedTopics]":
    """Topics and qrels in pairs; a single source of topics takes all qrels."""
    topics, qrels = settings.topics, settings.qrels
    if len(topics) > 1 and len(qrels) not in (1, len(topics)):
        raise UsageError(
            f"{len(topics)} --topics need as many --qrels, or one for all, not {len(qrels)}."
        )

    from adducir.experiments.tuning.design import JudgedTopics

    read = partial(settings.read_qrels, subtopics=subtopics)
    loaded = [settings.read_topics(source, field) for source in topics]
    if len(topics) == 1 or len(qrels) == 1:
        judged = read(qrels)
        parts = [
            judged if len(topics) == 1 else judged.restricted(topics_.qids) for topics_ in loaded
        ]
    else:
        parts = [read(source) for source in qrels]
    # A name for each: the shortest distinct end of its source.
    stems = [Path(common.stem(Path(source))).stem for source in topics]
    names = [
        "-".join([*Path(source).parts[:-1], name]).replace("/", "")
        if stems.count(name) > 1
        else name
        for source, name in zip(topics, stems, strict=True)
    ]
    return list(map(JudgedTopics, names, loaded, parts))


def summary(tuning: "Tuning") -> str:
    """A line per fold, and the pooled figure."""
    from adducir.experiments.tuning.design import plain

    lines = [["fold", "topics", *tuning.grid.names, "training", "held out"]]
    for fold, name in enumerate(tuning.folds.names):
        setting = [plain(value) for value in tuning.setting(fold).values()]
        means = (part[fold, tuning.chosen[fold]] for part in (tuning.training, tuning.test))
        topics = str(len(tuning.folds.test(fold)))
        lines.append([name, topics, *setting, *(f"{value:.4f}" for value in means)])
    figure = f"{tuning.objective}, held out: {tuning.result:.4f} over {len(tuning.pool)} topics "
    figure += f"({tuning.folds.rule}; {len(tuning.grid.settings)} settings)"
    return "\n".join([*columns(lines), "", figure])
