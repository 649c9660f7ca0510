"""``adducir sample``."""

from pathlib import Path
from tempfile import TemporaryDirectory

from adducir.cli import common
from adducir.cli.command import Writes, option
from adducir.cli.texts import TextSources
from adducir.core.errors import UsageError
from adducir.core.texts import counted, nearest
from adducir.corpora.reading import QueryReading
from adducir.judges.files import design_for
from adducir.runs.reading import RunReading


class Sample(TextSources, QueryReading, RunReading):
    runs: common.Runs
    output: Path = option(
        "The sheet for people.",
        "-o",
        writes=Writes("file", (".csv",), lambda path, _: [path, design_for(path)]),
    )
    documents: int = option("How many documents people judge.", "-n", ge=1)
    topics: common.Topics
    depth: int = option("How many top documents of each run are in the pool.", default=10, ge=1)
    between: common.Names = option(
        "The systems whose differences matter most: documents that tell them apart are drawn up "
        "to five times as often. Intervals between other systems become wider.",
        default=(),
        metavar="SYSTEM",
        shown="all alike",
    )
    seed: int = option("Draws the documents.", default=0, ge=0)


def sample(settings: Sample) -> None:
    """Draw documents for people to judge, so that a model's judgements can be corrected.

    The pool is the top documents of all runs. Each topic gets about the same number of documents.
    People fill in the column `grade`; the file beside the sheet, which ends in .design.json, says
    how documents were drawn, and has to stay there. `adducir evaluate --set people=people.csv`
    corrects the model's judgements.

    Examples:
        adducir sample runs/*.trec.gz -t bundled:topics -c bundled:arguments -n 40 -o people.csv
    """
    settings.check_source()
    names = common.system_names(settings.runs)

    from adducir.cli.console import near, open_progress
    from adducir.core.files import file_digest
    from adducir.judges.sheets import Design, write_sheet

    for name in settings.between:
        if name not in names.values():
            near_names = nearest(name, names.values()) or f" ({', '.join(names.values())})."
            raise UsageError(f"--between: {name!r} is not one of the systems{near_names}")
    with open_progress() as progress, TemporaryDirectory(prefix="adducir-") as scratch:
        runs = {name: settings.read_run(path) for path, name in names.items()}
        topics = settings.read_topics(settings.topics)
        design = Design.of(
            runs,
            settings.documents,
            depth=settings.depth,
            seed=settings.seed,
            between=settings.between,
            digests={name: file_digest(path) for path, name in names.items()},
        )
        docnos = design.drawn["docno"].unique(maintain_order=True).to_list()
        texts = dict(zip(docnos, settings.texts(docnos, Path(scratch)).get(docnos), strict=True))
        queries = dict(zip(topics.qids, topics.queries, strict=True))
        write_sheet(design, settings.output, queries, texts)
        progress.note(
            f"{near(settings.output)}: {counted(len(design.drawn), 'document')} of "
            f"{len(design.pairs):,} in the top {settings.depth} of {counted(len(runs), 'run')}, "
            f"{counted(design.pairs['qid'].n_unique(), 'topic')}; "
            f"keep {design_for(settings.output).name} beside it"
        )
