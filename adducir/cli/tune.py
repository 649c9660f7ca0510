"""``adducir tune``: one tuned system of an experiment file, said by options."""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from adducir.cli import options
from adducir.cli.effects import with_any
from adducir.cli.hyperparameters import kind_option, numbers_of
from adducir.cli.outputs import FILES, SOURCE
from adducir.cli.parameters import option
from adducir.core.errors import UsageError
from adducir.core.recipe import Recipe
from adducir.indexes.feedback import FEEDBACK
from adducir.indexes.models import MODELS

if TYPE_CHECKING:
    from adducir.experiments.tuning.folds import JudgedTopics
    from adducir.experiments.tuning.tune import Tunable, Tuning

SYSTEM = "What is tuned"


class Plan(Recipe):
    """What ``--set`` changes; ``system`` as in an experiment file."""

    system: dict[str, Any]
    topics: dict[Literal["field"], str] = {}  # noqa: RUF012  (pydantic copies it)
    negative_grades: options.NegativeGrades = "zero"


def tune(
    topics: Annotated[
        list[str],
        option(
            "An ir_datasets id, or a file: TREC's or Touché's XML, TSV or JSONL; can be repeated, "
            "each with its --qrels.",
            "-t",
        ),
        SOURCE,
    ],
    qrels: options.QrelsSources,
    grid: Annotated[
        list[str],
        option(
            "A parameter and its values: k1=0.5:2.5:0.5 (from, to, step; both ends included), or "
            "b=0.2,0.4; can be repeated. Of equal settings the one with the smallest values is "
            "chosen, the first parameter first. Parameters of --model and --feedback: "
            f"{numbers_of(MODELS, FEEDBACK)}; of --fuse: weights.NAME, and those of 'adducir "
            "fuse', such as k; of --rerank: rerank_depth.",
            "-g",
            metavar="NAME=VALUES",
        ),
    ],
    output: Annotated[Path, option("Where the files go.", "-o"), FILES],
    folds: Annotated[
        str | None,
        option(
            "How many folds to cut the topics into; 'topics': each source of topics is a fold; or "
            "a file: JSON, a list of lists of qids, as Anserini has it.",
            metavar="K|topics|FILE",
            shown="topics if there are several, else 5",
        ),
    ] = None,
    measure: Annotated[
        str | None,
        option("The measure whose mean is to be greatest.", "-m", shown="nDCG(judged_only=True)@5"),
    ] = None,
    changes: Annotated[
        list[str] | None,
        option(
            "Change anything else, by the keys of an experiment file: system.method=combsum, "
            "system.rm3.fb_docs=5, system.tune.folds.seed=7, topics.field=title, "
            "negative_grades=trec_eval; can be repeated.",
            "--set",
            metavar="KEY=VALUE",
        ),
    ] = None,
    depth: Annotated[options.Depth, with_any("index", "fuse")] = 1000,
    threads: Annotated[options.Threads, with_any("index")] = None,
    index: Annotated[
        Path | None, option("The index to search.", "-i", metavar="FOLDER", panel=SYSTEM)
    ] = None,
    model: Annotated[
        str | None, kind_option(MODELS, shown="bm25", panel=SYSTEM), with_any("index")
    ] = None,
    feedback: Annotated[str | None, kind_option(FEEDBACK, panel=SYSTEM), with_any("index")] = None,
    fuse: Annotated[
        list[Path] | None,
        option(
            "Instead of searching, fuse runs; repeat it for each of them. A run's weight is "
            "called by the name of its file: weights.bm25.",
            metavar="RUN",
            panel=SYSTEM,
        ),
    ] = None,
    rerank: Annotated[
        tuple[Path, Path] | None,
        option(
            "Instead of searching, tune how many documents of a run are reranked: the run, and "
            "the same run reranked.",
            metavar="FIRST RERANKED",
            panel=SYSTEM,
        ),
    ] = None,
) -> None:
    """Tune parameters by cross-validated grid search.

    For each fold the setting with the best mean over the topics of all other folds is chosen.
    Only the held-out topics' figures are printed and pooled. The folder gets the whole grid, a heat
    map, the settings, the folds, and the pooled run, to be evaluated like any other. Work that was
    killed resumes.
    """
    from adducir.cli.names import system_names

    if [index is not None, bool(fuse), rerank is not None].count(True) != 1:
        raise UsageError("name what to tune: exactly one of --index, --fuse and --rerank.")
    # As systems of a file may be called: 2020-bm25 for 2020/bm25.
    found = system_names(fuse or rerank or ())
    names = {path: re.sub(r"[^\w .+&()=-]", "-", name) for path, name in found.items()}
    entry: dict[str, Any] = {"tune": {"grid": _values(grid), "folds": _folds(folds, topics)}}
    if measure is not None:
        entry["tune"]["objective"] = measure
    if index is not None:
        entry |= {"index": "index", **options.given(model=model)}
        if feedback is not None:
            FEEDBACK.kind(feedback)  # an unknown one is refused
            entry[feedback] = {}
    elif fuse:
        entry["fuse"] = list(names.values())
    plan, system = _planned({"system": entry}, changes or ())

    from adducir.cli.console import open_progress, show
    from adducir.core.artifacts import refuse_other_results
    from adducir.core.chunks import Chunking
    from adducir.evaluation.measures import parse_measure
    from adducir.experiments.tuning.folds import Pool
    from adducir.experiments.tuning.grid import Grid
    from adducir.experiments.tuning.report import write_report
    from adducir.experiments.tuning.tune import TuneRecipe, tune

    wanted: TuneRecipe = system.tune
    objective = parse_measure(wanted.objective)
    if depth is not None and objective.params.get("cutoff", 0) > depth:
        raise UsageError(f"{objective} needs more documents per topic than --depth {depth}.")
    refuse_other_results(output)
    with open_progress() as progress:
        pool = Pool.of(_topic_sets(topics, qrels, plan.topics.get("field")))
        tunable: Tunable
        if index is not None:
            from adducir.indexes.engines import open_index

            tunable = system.tunable(open_index(index), depth, threads)
        else:
            from adducir.runs.read import read_run

            if not pool.has_own_qids:
                raise UsageError(
                    "topic sets share qids, which the topics of one run cannot distinguish.",
                    hint="Tune each topic set by itself.",
                )
            runs = {name: read_run(path) for path, name in names.items()}
            if fuse:
                tunable = system.tunable(list(runs.values()), depth)
            else:
                from adducir.experiments.retrieval.rerank import depth_of

                tunable = depth_of(*runs.values())
        tuning = tune(
            tunable,
            Grid.of(wanted.values, system.hyperparameters),
            pool,
            wanted.make_folds(pool, str),
            objective,
            negative=plan.negative_grades,
            tag=output.name,
            chunking=Chunking(output),
        )
        files = write_report(tuning, output)
        for line in tuning.warnings():
            progress.note(line)
        progress.note(f"{output}: {', '.join(files)}")
    show(summary(tuning))


def _values(grid: Sequence[str]) -> dict[str, list[float]]:
    """The values by parameter, as a recipe has them."""
    from adducir.experiments.tuning.grid import from_text

    found: dict[str, list[float]] = {}
    for item in grid:
        name, equals, values = (part.strip() for part in item.partition("="))
        if not (equals and name):
            raise UsageError(f"--grid takes NAME=VALUES, such as k1=0.9,1.2, not {item!r}.")
        if name in found:
            raise UsageError(f"--grid names {name} twice.")
        found[name] = [float(value) for value in from_text(values)]
    return found


def _folds(wanted: str | None, topics: Sequence[str]) -> object:
    """Folds as a recipe has them."""
    wanted = wanted or ("topics" if len(topics) > 1 else "5")
    if wanted == "topics":
        return wanted
    return {"k": int(wanted)} if wanted.isdecimal() else {"file": wanted}


def _planned(data: dict[str, Any], changes: Sequence[str]) -> tuple[Plan, Any]:
    """The plan, and its system as its class in an experiment file."""
    from adducir.core.config import OverrideError, apply
    from adducir.core.recipe import ErrorDetail, validated
    from adducir.experiments.retrieval.fusion import Fusion
    from adducir.experiments.retrieval.search import Search
    from adducir.experiments.tuning.grid import Hyperparameter
    from adducir.experiments.tuning.tune import TuneRecipe

    class _Pair(Recipe):
        """A run and the same reranked: all there is to say is what is tried."""

        tune: TuneRecipe

        @property
        def hyperparameters(self) -> dict[str, Hyperparameter]:
            return {"rerank_depth": Hyperparameter(whole=True, low=1)}

    own = next((key for key in ("index", "fuse") if key in data["system"]), "rerank")
    for text in changes:
        try:
            data, override = apply(data, text)
        except OverrideError as error:
            raise UsageError(f"--set {text}: {error}.") from error
        if override.path in (("system",), *(("system", one) for one in (own, "seeds", "group"))):
            raise UsageError(f"--set {text} has no effect here.")
    plan, errors = validated(Plan, data)
    if plan is not None:
        kinds: dict[str, tuple[type[Recipe], Any]] = {
            "index": (Search, plan.system),
            "fuse": (Fusion, plan.system),
            "rerank": (_Pair, plan.system),
        }
        system, errors = validated(*kinds[own])
        if system is not None:
            return plan, system
        errors = [ErrorDetail(("system", *one.path), one.what) for one in errors]
    raise UsageError("; ".join(map(str, errors)).rstrip(".") + ".")


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

    load = partial(load_topics, field=field)
    loaded = [load(source) for source in topics]
    if len(topics) == 1 or len(qrels) == 1:
        judged = load_qrels(list(qrels))
        parts = [judged if len(topics) == 1 else judged.restricted(one.qids) for one in loaded]
    else:
        parts = [load_qrels(source) for source in qrels]
    return list(map(JudgedTopics, set_names(topics), loaded, parts))


def set_names(sources: Sequence[str]) -> list[str]:
    """A name for each source of topics: its last part, as much as is needed to differ."""
    from adducir.cli.names import stem

    parts = [[*Path(source).parts[:-1], stem(Path(source))] for source in sources]
    names = [Path(part[-1]).stem if "." in part[-1] else part[-1] for part in parts]
    return [
        "-".join([*part[:-1], name]).replace("/", "") if names.count(name) > 1 else name
        for part, name in zip(parts, names, strict=True)
    ]


def summary(tuning: "Tuning") -> str:
    """A line for each fold, and the pooled figure."""
    from adducir.cli.console import columns
    from adducir.experiments.tuning.grid import plain

    lines = [["fold", "topics", *tuning.grid.names, "training", "held out"]]
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
