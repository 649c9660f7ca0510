"""``adducir literary-evidence proxy-make`` and ``proxy-score``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from adducir.cli import common
from adducir.cli.command import Writes, option
from adducir.cli.console import note, open_progress
from adducir.cli.tabled import TableOptions, digests
from adducir.core.errors import UsageError
from adducir.core.recipe import needs
from adducir.corpora.reading import DocnoReading
from adducir.runs.reading import RunReading
from adducir.studies.options import Bootstrap

if TYPE_CHECKING:
    from adducir.studies.literary_evidence.proxy import Chosen

T = TypeVar("T")


class ProxyMake(RunReading, DocnoReading):
    conditions = {"docno_field": needs("corpus")}  # noqa: RUF012  (pydantic's class variable)
    run: Path = option("The run with the distractors, such as BM25's.")
    output: Path = option("The judges' file, .csv.", "-o", writes=Writes("file", (".csv",)))
    key: Path = option("The file of answers, .csv.", writes=Writes("file", (".csv",)))
    spans: Path | None = option("The contexts: masked spans with their gold items.", default=None)
    corpus: Annotated[str | None, needs("spans")] = option(
        "With --spans the candidates: file, folder or ir_datasets id.",
        "-c",
        default=None,
        reads=True,
    )
    relic: Path | None = option("RELiC's JSON instead, with contexts and candidates.", default=None)
    others: int = option("Distractors besides the gold item.", "--num-distractors", default=2, ge=1)
    sample: int | None = option(
        "Size of a random sample of items.", default=None, ge=1, shown="all"
    )
    seed: int = option("Seed of the order and the sample.", default=0, ge=0)
    groups: common.Names = option(
        "Only contexts of these groups or books, comma-separated or repeated.",
        "--group",
        default=(),
        shown="all",
    )
    sentences: int | None = option(
        "Only contexts of quotations of this many sentences.", default=None, ge=1, shown="all"
    )
    missed: int | None = option(
        "Only contexts whose gold item is not among the first N of the run.",
        default=None,
        ge=1,
        shown="all",
    )
    fields: Annotated[common.Names, needs("corpus")] = option(
        "Fields of the candidates to show, comma-separated or repeated.",
        default=(),
        shown="the corpus's texts",
    )


def proxy_make(settings: ProxyMake) -> None:
    """Build a multiple-choice task for human judges: the gold item among distractors.

    The judges' file shows neither docnos nor the gold item; the key file does. Both have the same
    mark, so that choices cannot be scored with another key.

    Examples:
        adducir literary-evidence proxy-make --run x.trec --relic val.json -o task.csv --key k
        adducir literary-evidence proxy-make --run a.trec -c c.tsv --spans x.jsonl -o t.csv --key k
    """
    has_spans = settings.spans is not None
    if has_spans == (settings.relic is not None) or has_spans != (settings.corpus is not None):
        raise UsageError("give either --relic, or --spans and --corpus.")

    from adducir.corpora.documents import text_of
    from adducir.corpora.spans import read_spans
    from adducir.studies.literary_evidence import proxy
    from adducir.studies.literary_evidence.relic import book_tasks, read_relic

    ranking: dict[str, list[str]] = {}
    for qid, docno in settings.read_run(settings.run).frame.select("qid", "docno").iter_rows():
        ranking.setdefault(qid, []).append(docno)
    with open_progress():
        tasks = [] if settings.relic is None else [*book_tasks(read_relic(settings.relic))]
        spans = [span for task in tasks for span in task.spans]
        spans += read_spans(settings.spans) if settings.spans else ()
        spans = proxy.chosen(spans, ranking, settings.groups, settings.sentences, settings.missed)
        docnos = {docno for span in spans for docno in (span.docno, *ranking.get(span.id, ()))}
        texts, source = proxy.texts_of(tasks, docnos), str(settings.relic)
        if settings.corpus is not None:
            documents = settings.opened(settings.corpus)
            fields, source = settings.fields or documents.default_fields, str(documents.source)
            texts = {
                document.docno: text_of(document, fields)
                for document in documents
                if document.docno in docnos
            }
    if not texts:
        hint = "Name the run's corpus."
        raise UsageError(f"{source} contains neither gold items nor candidates.", hint=hint)
    drawing = settings.model_dump(include={"others", "seed", "sample"})
    key, left_out = proxy.make_key(spans, ranking, texts, **drawing)
    proxy.write_key(key, settings.key)
    proxy.write_task(key, spans, texts, settings.output)
    items = f"{len(key.answers):,} items with {key.options} candidates each"
    note(f"{settings.output}: {items}; key in {settings.key}")
    for reason, count in left_out.items():
        note(f"left out, {reason}: {count:,}")


class ProxyScore(Bootstrap, TableOptions):
    choices: tuple[Path, ...] = option(
        "The completed task file, one per judge, or one for all judges with a column rater.",
        metavar="CHOICES",
        argument=True,
        default=(),
    )
    key: Path = option("The key of the task.")
    runs: tuple[Path, ...] = option(
        "A model's run: it chooses the candidate it scores highest; repeatable.",
        "--run",
        default=(),
    )
    by_group: bool = option("Also show groups of items.", default=False)


def proxy_score(settings: ProxyScore) -> None:
    """Score the choices of judges and models: accuracy, intervals and agreement.

    A judge is named after the file, without its suffix, unless there is a column rater.

    Examples:
        adducir literary-evidence proxy-score anna.csv ben.csv carl.csv --key key.csv
        adducir literary-evidence proxy-score anna.csv --key key.csv --run runs/dense.trec.gz
    """
    if not settings.choices and not settings.runs:
        raise UsageError("choices to score are missing.", hint="Name files of choices, or --run.")

    from adducir.runs.read import read_run
    from adducir.studies.literary_evidence import proxy

    key = proxy.read_key(settings.key)
    judges: dict[str, Chosen] = {}
    for path in settings.choices:
        add_figures(judges, proxy.read_choices(path, key, Path(common.stem(path)).stem), path)
    models: dict[str, Chosen] = {}
    notes = []
    for path, name in common.system_names(settings.runs).items():
        scores: dict[str, dict[str, float]] = {}
        for qid, docno, score in read_run(path).frame.iter_rows():
            scores.setdefault(qid, {})[docno] = score
        models[name], partial = proxy.choices_of_scores(name, scores, key)
        if partial:
            notes.append(
                f"{name} lacks scores for candidates of {partial:,} items; these rank last."
            )
    if judges.keys() & models.keys():
        raise UsageError("a judge and a run have the same name.", hint="Rename one of the files.")
    files = digests([settings.key, *settings.choices, *settings.runs])
    layout, by_group = settings.layout(notes=notes, files=files), settings.by_group
    settings.print(proxy.proxy_table(key, judges, models, settings, layout, by_group=by_group))


def add_figures(figures: dict[str, T], more: dict[str, T], path: Path) -> None:
    if twice := more.keys() & figures.keys():
        message = f"{path} repeats figures of {min(twice)} from an earlier file."
        raise UsageError(message, hint="Give every system or judge a unique name.")
    figures |= more
