"""``adducir share``, ``adducir verify`` and ``adducir submit``."""

from pathlib import Path
from typing import Literal

from adducir.cli import common
from adducir.cli.command import Writes, option
from adducir.cli.study import STARTER
from adducir.core.errors import EXIT_PROBLEMS_FOUND, InputError
from adducir.core.recipe import Recipe


class Share(Recipe):
    study: Path = option("The study's folder.", metavar="STUDY", argument=True)
    output: Path | None = option(
        "The archive to write.",
        "-o",
        default=None,
        shown="STUDY.zip",
        writes=Writes("file", (".zip",)),
    )
    largest: int = option("Leave out data files larger than this many MB.", default=100, ge=0)


def share(settings: Share) -> None:
    """Pack a study for others: recipes, code, runs with metadata, tables, digests.

    The archive includes data in the study's folder that recipes name. Indexes and models are left
    out, because recipes rebuild them. Recipients run adducir verify.

    Examples:
        adducir share my-study
        adducir share . --output paper.zip --largest 10
    """
    from adducir.cli.console import note, open_progress
    from adducir.core.artifacts import refuse_other
    from adducir.experiments.sharing import share as pack

    output = settings.output or Path(f"{settings.study.resolve().name}.zip")
    if settings.output is None and output.exists():
        refuse_other(output, "this file already exists")
    with open_progress():
        guide = (STARTER / "verify.txt").read_text(encoding="utf-8")
        guide = guide.replace("{archive}", output.name)
        count, left_out = pack(settings.study, output, guide, settings.largest * 1_000_000)
    for path in left_out:
        note(f"left out because it is larger than {settings.largest} MB: {path}")
    note(f"{output}: {count} files; to verify them: adducir verify {output}")


class Verify(Recipe):
    archive: Path = option(
        "An archive from adducir share, or the unpacked folder.",
        metavar="ARCHIVE",
        argument=True,
    )


def verify(settings: Verify) -> int:
    """Verify a study's archive: digests, runs, and the tables, evaluated again.

    The archive is neither run nor changed: its code is not imported, and indexes and models are not
    needed. The exit code is 1 if something differs.

    Examples:
        adducir verify my-study.zip
    """
    from adducir.cli.console import open_progress, show
    from adducir.experiments.sharing import verify as verdicts

    with open_progress():
        found = list(verdicts(settings.archive))
    show("\n".join(f"{verdict:5}  {what}" for verdict, what in found))
    return EXIT_PROBLEMS_FOUND if "wrong" in dict(found) else 0


class Submit(Recipe):
    run: Path = option("The run.", metavar="RUN", argument=True)
    output: Path = option("The folder to write.", "-o", writes=common.FOLDER)
    layout: Literal["tira"] = option(
        "The platform; tira: run.txt.gz with ir-metadata.yml.", default="tira"
    )
    team: str = option("The team's name.")
    goal: str = option("The research goal in one sentence.")
    repository: str = option("The address of the code.")


def submit(settings: Submit) -> None:
    """Lay out a run for a shared task, with its metadata, and check it as the task's platform does.

    Team, goal and repository are added to the metadata beside the run.

    Examples:
        adducir submit runs/bm25.trec.gz --team owls --goal "BM25 as a baseline" \
            --repository https://github.com/owls/owls --output submission
    """
    from adducir.cli.console import note
    from adducir.core.artifacts import publishing_results
    from adducir.runs.read import read_run
    from adducir.runs.write import metadata_for, part_of, read_metadata, write_run

    path, run = settings.run, read_run(settings.run)
    if len(run) < 10 or len(run.qids) < 3:
        what = (
            f"TIRA requires at least 10 documents and 3 topics, not {len(run)} and {len(run.qids)}."
        )
        raise InputError(what, path=path)
    facts = read_metadata(path) if metadata_for(path).is_file() else {}
    facts.pop("run file", None)  # it describes another file
    facts["actor"] = {**part_of(facts, "actor"), "team": settings.team}
    facts["research goal"] = {**part_of(facts, "research goal"), "description": settings.goal}
    facts["implementation"] = {"source": {"repository": settings.repository}}
    with publishing_results(settings.output) as folder:
        write_run(run, folder / "run.txt.gz", facts)
        metadata_for(folder / "run.txt.gz").rename(folder / "ir-metadata.yml")
        for lock in folder.glob(".*.lock"):
            lock.unlink()
    note(f"{settings.output}: run.txt.gz ({len(run.qids)} topics) and ir-metadata.yml")
