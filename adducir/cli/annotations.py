"""``adducir annotations``: agreement, distributions, and multiple-choice tasks."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from adducir.cli import common
from adducir.cli.command import option, optional, repeatable
from adducir.cli.console import note
from adducir.cli.tabled import TableOptions, digests
from adducir.core.errors import UsageError
from adducir.core.recipe import needs
from adducir.corpora.reading import DocnoReading
from adducir.runs.reading import RunReading
from adducir.statistics.settings import CORRECTIONS, TESTS, Bootstrap, Testing

if TYPE_CHECKING:
    from adducir.annotations.multiple_choice import Choices


class ProxyMakeSettings(RunReading, DocnoReading):
    run: Path = option("The run with the distractors, such as BM25's.")
    output: Path = option("The judges' file, .csv.", writes=common.CSV)
    key: Path = option("The file of answers, .csv.", writes=common.CSV)
    spans: Path | None = optional("The contexts: masked spans with their gold items.")
    corpus: Annotated[str | None, needs("spans")] = optional(
        "With --spans the candidates: file, folder or ir_datasets id.", "-c", reads=True
    )
    contexts: common.Contexts = None
    others: int = option("Distractors besides the gold item.", "--num-distractors", default=2, ge=1)
    sample: int | None = optional("Size of a random sample of items.", ge=1, shown="all")
    seed: int = option("Seed of the order and the sample.", default=0, ge=0)
    groups: common.Names = repeatable(
        "Only contexts of these groups or books, comma-separated or repeated.",
        "--group",
        shown="all",
    )
    sentences: int | None = optional(
        "Only contexts of quotations of this many sentences.", ge=1, shown="all"
    )
    missed: int | None = optional(
        "Only contexts whose gold item is not among the first N of the run.", ge=1, shown="all"
    )
    fields: Annotated[common.Names, needs("corpus")] = repeatable(
        "Fields of the candidates to show, comma-separated or repeated.", shown="the corpus's texts"
    )


def annotations_proxy_make(settings: ProxyMakeSettings) -> None:
    """Build a multiple-choice task for human judges: the gold item among distractors.

    The judges' file shows neither docnos nor the gold item; the key file does. Both have the same
    mark, so that choices cannot be scored with another key.

    Examples:
        adducir annotations proxy-make --run x.trec --contexts relic x.json -o t.csv --key k
        adducir annotations proxy-make --run a.trec -c c.tsv --spans x.jsonl -o t.csv --key k
    """
    has_spans = settings.spans is not None
    if has_spans == (settings.contexts is not None) or has_spans != (settings.corpus is not None):
        raise UsageError("give either --contexts, or --spans and --corpus.")

    from adducir.annotations import multiple_choice
    from adducir.corpora.documents import text_of
    from adducir.corpora.frames import as_dict
    from adducir.corpora.spans import read_spans
    from adducir.encoders.ranking import CONTEXTS, SpanTask

    scores = as_dict(settings.read_run(settings.run).frame)
    ranking = {qid: [*scores_of_topic] for qid, scores_of_topic in scores.items()}
    tasks, source = list[SpanTask](), ""
    if settings.contexts is not None:
        kind, path = settings.contexts
        tasks, source = [*CONTEXTS.make(kind).tasks(path)], str(path)
    spans = [span for task in tasks for span in task.spans]
    spans += read_spans(settings.spans) if settings.spans else ()
    spans = multiple_choice.chosen(
        spans, ranking, settings.groups, settings.sentences, settings.missed
    )
    docnos = {docno for span in spans for docno in (span.docno, *ranking.get(span.id, ()))}
    texts = multiple_choice.texts_of(tasks, docnos)
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
    key, left_out = multiple_choice.make_key(spans, ranking, texts, **drawing)
    multiple_choice.write_key(key, settings.key)
    multiple_choice.write_task(key, spans, texts, settings.output)
    items = f"{len(key.answers):,} items with {key.options} candidates each"
    note(f"{settings.output}: {items}; key in {settings.key}")
    for reason, count in left_out.items():
        note(f"left out, {reason}: {count:,}")


class ProxyScoreSettings(Bootstrap, TableOptions):
    choices: tuple[Path, ...] = repeatable(
        "The completed task file, one per judge, or one for all judges with a column rater.",
        argument=True,
    )
    key: Path = option("The key of the task.")
    runs: tuple[Path, ...] = repeatable(
        "A model's run: it chooses the candidate it scores highest; repeatable.", "--run"
    )
    by_group: bool = option("Also show groups of items.", default=False)


def annotations_proxy_score(settings: ProxyScoreSettings) -> None:
    """Score the choices of judges and models: accuracy, intervals and agreement.

    A judge is named after the file, without its suffix, unless there is a column rater.

    Examples:
        adducir annotations proxy-score anna.csv ben.csv carl.csv --key key.csv
        adducir annotations proxy-score anna.csv --key key.csv --run runs/dense.trec.gz
    """
    if not settings.choices and not settings.runs:
        raise UsageError("choices to score are missing.", hint="Name files of choices, or --run.")

    from adducir.annotations import multiple_choice
    from adducir.corpora.frames import as_dict
    from adducir.runs.read import read_run

    key = multiple_choice.read_key(settings.key)
    judges: dict[str, Choices] = {}
    for path in settings.choices:
        common.add_figures(
            judges, multiple_choice.read_choices(path, key, Path(common.stem(path)).stem), path
        )
    models: dict[str, Choices] = {}
    notes = []
    for path, name in common.system_names(settings.runs).items():
        scores = as_dict(read_run(path).frame)
        models[name], partial = multiple_choice.choices_of_scores(name, scores, key)
        if partial:
            notes.append(
                f"{name} lacks scores for candidates of {partial:,} items; these rank last."
            )
    if judges.keys() & models.keys():
        raise UsageError("a judge and a run have the same name.", hint="Rename one of the files.")
    files = digests([settings.key, *settings.choices, *settings.runs])
    layout, by_group = settings.layout({"files": files}, notes=notes), settings.by_group
    settings.print(
        multiple_choice.proxy_table(key, judges, models, settings, layout, by_group=by_group)
    )


class AgreementSettings(Bootstrap, TableOptions):
    ratings: Path = option(
        "A CSV file with the columns item, rater, system, and rating or rank or both.",
        argument=True,
    )
    level: Literal["nominal", "ordinal", "interval", "ratio"] = option(
        "Level of measurement for Krippendorff's alpha.", default="ordinal"
    )
    unigrams: bool = option(
        "Ratings are texts that raters marked: measure the overlap of their words.", default=False
    )
    mean_ranks: bool = option("Average tied ranks: 1, 1, 2 become 1.5, 1.5, 3.", default=False)
    baseline: tuple[str, ...] = repeatable(
        "Test the means of all other systems against this one, paired over items; repeatable.",
        metavar="SYSTEM",
    )
    test: Annotated[str, TESTS, needs("baseline")] = option("The paired test.", default="t")
    correction: Annotated[str, CORRECTIONS, needs("baseline")] = option(
        "Correction of p-values, per mean.", default="holm"
    )
    alpha: Annotated[float, needs("baseline")] = option(
        "Significance level (alpha).", default=0.05, gt=0, lt=1
    )


def annotations_agreement(settings: AgreementSettings) -> None:
    """Inter-annotator agreement, and how raters rate and rank each system.

    Krippendorff's alpha and Fleiss' kappa (for two raters also Cohen's) with bootstrap intervals,
    the rates at which all and none agree, mean ratings and mean ranks with t intervals over items.

    Examples:
        adducir annotations agreement ratings.csv
        adducir annotations agreement ratings.csv --level interval --baseline c-REALM
    """
    if settings.unigrams and settings.level not in ("ordinal", "nominal"):
        raise UsageError("--unigrams compares texts, whose only level is nominal.")

    from adducir.annotations.ratings import agreement_table, read_ratings

    ratings = read_ratings(settings.ratings)
    if settings.mean_ranks:
        if not ratings.has("rank"):
            raise UsageError(f"--mean-ranks has no effect without ranks in {settings.ratings}.")
        ratings = ratings.with_mean_ranks()
    options = settings.model_dump(include={"baseline", "test", "correction", "alpha"})
    settings.print(
        agreement_table(
            ratings,
            settings,
            settings.layout({"files": digests([settings.ratings])}),
            level="nominal" if settings.unigrams else settings.level,
            unigrams=settings.unigrams,
            testing=Testing(**options) if settings.baseline else None,
        )
    )


class DistributionsSettings(TableOptions):
    file: Path = option(
        "A CSV file or JSON lines, one annotation each, with a column item.",
        metavar="ANNOTATIONS",
        argument=True,
    )
    labels: common.Names = repeatable(
        "Columns with categories, such as type,personal.", shown="none"
    )
    texts: common.Names = repeatable(
        "Columns with marked texts, such as anchor,example.", shown="none"
    )
    group: str | None = optional("A column such as dataset: a row for each value.")
    valid: str | None = optional(
        "A column that says yes or no: whether the item is an example at all."
    )


def annotations_distributions(settings: DistributionsSettings) -> None:
    """Distributions of annotated labels, and lengths of marked texts.

    For each group, for all, and for each label: the number of items, the shares of the labels, and
    the mean sentences and words of the texts. An item with several annotations counts once.

    Examples:
        adducir annotations distributions a.csv --labels type,personal --texts anchor,example
        adducir annotations distributions a.csv --labels type --group dataset --valid valid
    """
    if not settings.labels and not settings.texts:
        raise UsageError("give --labels or --texts, or both.")

    from adducir.annotations import labels

    columns = labels.AnnotatedColumns(
        settings.labels, settings.texts, settings.group, settings.valid
    )
    frame = labels.read_annotations(settings.file, columns)
    layout = settings.layout({"files": digests([settings.file])})
    settings.print(labels.annotation_table(frame, columns, layout))
