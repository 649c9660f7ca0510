"""``adducir share``, ``adducir verify`` and ``adducir submit``."""

import shlex
from pathlib import Path
from typing import Any, Literal, cast

from adducir.cli import common
from adducir.cli.command import Writes, option, optional, repeatable
from adducir.cli.console import note, show
from adducir.cli.new import STARTER
from adducir.core.errors import EXIT_PROBLEMS_FOUND, InputError, UsageError
from adducir.core.recipe import Recipe


class ShareOptions(Recipe):
    study: Path = option("The study's folder.", argument=True)
    output: Path | None = optional(
        "The archive to write.", shown="STUDY.zip", writes=Writes("file", (".zip",))
    )
    largest: int = option("Leave out data files larger than this many MB.", default=100, ge=0)


def share(settings: ShareOptions) -> None:
    """Pack a study for others: recipes, code, runs with metadata, tables, digests.

    The archive includes data in the study's folder that recipes name, and language models' answers.
    Indexes and models are left out, because recipes rebuild them. Recipients run adducir verify.

    Examples:
        adducir share my-study
        adducir share . --output paper.zip --largest 10
    """
    from adducir.core.artifacts import refuse_other
    from adducir.experiments.sharing import share as pack

    output = settings.output or Path(f"{settings.study.resolve().name}.zip")
    if settings.output is None and output.exists():
        refuse_other(output, "this file already exists")
    guide = (STARTER / "verify.txt").read_text(encoding="utf-8")
    guide = guide.replace("{archive}", output.name)
    count, left_out = pack(settings.study, output, guide, settings.largest * 1_000_000)
    for path in left_out:
        is_link = path.is_symlink() or path.stat().st_size <= settings.largest * 1_000_000
        why = "it links to another place" if is_link else f"it is larger than {settings.largest} MB"
        note(f"left out because {why}: {path}")
    note(f"{output}: {count} files; to verify them: adducir verify {shlex.quote(str(output))}")


class VerifyOptions(Recipe):
    archive: Path = option("An archive from adducir share, or the unpacked folder.", argument=True)


def verify(settings: VerifyOptions) -> int:
    """Verify a study's archive: digests, runs, and the tables, evaluated again.

    Nothing in the archive is run or changed: its code is not imported, and neither indexes nor
    models are needed. Runs of language models are made again from the answers in the archive, if it
    has the corpus. The exit code is 1 if something differs.

    Examples:
        adducir verify my-study.zip
    """
    from adducir.experiments.sharing import verify as verdicts

    results = list(verdicts(settings.archive))
    show("\n".join(f"{verdict:5}  {message}" for verdict, message in results))
    return EXIT_PROBLEMS_FOUND if "wrong" in dict(results) else 0


class SubmitOptions(Recipe):
    runs: tuple[str, ...] = option(
        "The run; for LongEval the run of each snapshot, as SNAPSHOT=RUN.",
        metavar="RUN",
        argument=True,
    )
    output: Path = option("The folder to write.", writes=common.FOLDER)
    layout: Literal["tira", "longeval"] = option(
        "For whom: run.txt.gz, or a folder with it per snapshot, and ir-metadata.yml.",
        default="tira",
    )
    team: str = option("The team's name.")
    goal: str = option("The research goal in one sentence.")
    repository: str = option("The address of the code.")
    fields: tuple[str, ...] = repeatable(
        "Add or change a field of the metadata, as in method.indexing.stemmer=porter; can be "
        "repeated.",
        "--set",
    )


def submit(settings: SubmitOptions) -> None:
    """Lay out runs for a shared task, with metadata, and check them as the task's platform does.

    The metadata are those beside the first run, plus team, goal and repository. Further fields that
    LongEval requires and the metadata lack are listed.

    Examples:
        adducir submit runs/bm25.trec.gz --team owls --goal "BM25 as a baseline" \
            --repository https://github.com/owls/owls --output submission
        adducir submit snapshot-1=runs/s1.trec.gz snapshot-2=runs/s2.trec.gz --layout longeval \
            --set "data.training data.name=none" \
            --set "method.indexing={tokenizer: Lucene, stemmer: Porter, stopwords: Lucene}" \
            --team owls --goal "BM25 as a baseline" --repository https://github.com/owls/owls \
            --output submission
    """
    from adducir.core.artifacts import publishing_results
    from adducir.core.config import OverrideError, apply
    from adducir.runs.read import read_run
    from adducir.runs.run import Run
    from adducir.runs.write import facts_at, metadata_for, metadata_text, part_of, write_run

    is_tira, runs = settings.layout == "tira", dict[str, Run]()
    for text in settings.runs:
        name, equals, file = (is_tira and ("", "=", text)) or text.partition("=")
        if not equals or name in runs or Path(name).name != name:
            message = f"{text}: TIRA takes one run, LongEval one for each snapshot."
            raise UsageError(message, hint="Write SNAPSHOT=RUN for each.")
        runs[name] = run = read_run(Path(file))
        if len(run) < 10 or len(run.qids) < 3:
            counts = f"{len(run)} and {len(run.qids)}"
            message = f"TIRA requires 10 or more documents and 3 or more topics, not {counts}."
            raise InputError(message, path=run.path)
    first = next(iter(runs.values()))
    path = cast("Path", first.path)
    facts = facts_at(path)
    facts.pop("run file", None)  # it describes another file
    facts["actor"] = {**part_of(facts, "actor"), "team": settings.team}
    facts["research goal"] = {**part_of(facts, "research goal"), "description": settings.goal}
    facts["implementation"] = {"source": {"repository": settings.repository}}
    facts["tag"] = first.tag
    if not is_tira:
        _as_longeval(facts)
    try:
        for text in settings.fields:
            facts, _ = apply(facts, text)
    except OverrideError as error:
        raise UsageError(f"--set {text}: {error}.") from error
    lacking = [
        ".".join(map(str, (*place, key)))
        for place, keys in (() if is_tira else _ASKED.items())
        for key in keys
        if key not in (part_of(facts, *place) or part_of(facts, *place, 0))
    ]
    if lacking:
        message = f"the run's metadata lack fields that LongEval requires: {', '.join(lacking)}."
        raise UsageError(message, hint="Set each with --set KEY=VALUE.")
    with publishing_results(settings.output) as folder:
        root = folder / "ir-metadata.yml"
        for name, run in runs.items():
            path = folder / name / "run.txt.gz"
            path.parent.mkdir(exist_ok=True)
            write_run(Run(run.frame, str(facts["tag"])), path, facts)
            metadata_for(path).replace(root)
        if not is_tira:
            root.write_text(metadata_text(facts), encoding="utf-8")
        for lock in folder.rglob(".*.lock"):
            lock.unlink()
    topics = ", ".join(f"{name} {len(run.qids)}".strip() for name, run in runs.items())
    note(f"{settings.output}: run.txt.gz (topics: {topics}) and ir-metadata.yml")


_ASKED = {
    ("data", "training data"): ("name",),
    ("method", "indexing"): ("tokenizer", "stemmer", "stopwords"),
    ("method", "retrieval"): (
        "name",
        "lexical",
        "deep_neural_model",
        "sparse_neural_model",
        "dense_neural_model",
        "single_stage_retrieval",
    ),
}
"""Fields of LongEval's template beyond every submission's (longeval-code, clef25, clef26)."""


def _as_longeval(facts: dict[str, Any]) -> None:
    """Translate metadata into the fields of LongEval's template."""
    from adducir.runs.write import part_of, platform_facts

    method, platform = part_of(facts, "method"), part_of(facts, "platform") or platform_facts()
    software = part_of(platform, "software")
    libraries = [*part_of(software, "libraries").values(), software.get("retrieval toolkit")]
    several = [
        value for value in (software.get("libraries"), *libraries) if isinstance(value, list)
    ]
    software = {**software, "libraries": [name for names in several for name in names]}
    facts["platform"] = {**platform, "software": software}
    first, later = ([*map(part_of, method.get(key, ()))] for key in ("retrieval", "reranking"))
    models = [stage.get("model") for stage in first]
    feedback = [part_of(stage, "feedback").get("method") for stage in first]
    names = [
        f"{model}+{two}" if two else model for model, two in zip(models, feedback, strict=True)
    ]
    is_dense, is_sparse = "dense" in models, "impact" in models
    answers = (
        " >> ".join(map(str, [*names, *(stage.get("name") for stage in later)])),
        not {*models} <= {"dense", "impact"},
        is_dense or is_sparse or bool(later),
        is_sparse,
        is_dense,
        not later,
    )
    answered = dict(zip(_ASKED["method", "retrieval"], answers, strict=True))
    facts["method"] = {
        "automatic": method.get("automatic", True),
        **({"retrieval": [answered]} if first else {}),
        "stages": {key: value for key, value in method.items() if key != "automatic"},
    }
