"""``adducir literary-evidence proxy-make`` and ``proxy-score``: a task for human judges."""

from pathlib import Path
from typing import TYPE_CHECKING

from adducir.cli import common
from adducir.cli.command import Writes, option
from adducir.cli.tabled import Printing, digests
from adducir.core.errors import UsageError
from adducir.core.recipe import Recipe
from adducir.studies.options import Drawing

if TYPE_CHECKING:
    from adducir.studies.literary_evidence.proxy_table import Chosen


class ProxyMake(Recipe):
    run: Path = option("The run whose best other candidates are offered: BM25's, say.")
    corpus: str = option("The candidates: file, folder or ir_datasets id.", "-c", reads=True)
    output: Path = option(
        "What judges get: a .csv or .jsonl file.", "-o", writes=Writes("file", (".csv", ".jsonl"))
    )
    key: Path = option("Where the answers go: a .csv file.", writes=Writes("file", (".csv",)))
    spans: Path = option("The contexts: masked spans, which name their gold items.")
    others: int = option("Distractors beside the gold item.", "--num-distractors", default=2, ge=1)
    sample: int | None = option("Items to take at random.", default=None, ge=1, shown="all")
    seed: int = option("Seed of the order and of the sample.", default=0, ge=0)
    fields: common.Names = option(
        "Fields of the candidates to show, with commas or repeated.",
        default=(),
        shown="the corpus's texts",
    )


def proxy_make(settings: ProxyMake) -> None:
    """Make a multiple-choice task for human judges: the gold item among distractors.

    The judges' file shows neither docnos nor the gold item; the key file does. Both bear the same
    mark, so that choices are never scored by another key.

    Examples:
        adducir literary-evidence proxy-make --run a.trec -c c.tsv --spans x.jsonl -o t.csv --key k
    """
    from adducir.cli.console import note, open_progress
    from adducir.corpora.documents import text_of
    from adducir.corpora.sources import open_corpus
    from adducir.runs.read import read_run
    from adducir.studies.literary_evidence import proxy_task

    ranking: dict[str, list[str]] = {}
    for qid, docno in read_run(settings.run).frame.select("qid", "docno").iter_rows():
        ranking.setdefault(qid, []).append(docno)
    with open_progress():
        questions = proxy_task.questions_of_spans(settings.spans)
        wanted = {docno for one in questions for docno in (one.gold, *ranking.get(one.id, ()))}
        documents = open_corpus(settings.corpus)
        fields = settings.fields or documents.default_fields
        texts = {one.docno: text_of(one, fields) for one in documents if one.docno in wanted}
    if not texts:
        raise UsageError(
            f"{documents.source} holds none of the gold items and none of the candidates.",
            hint="Name the corpus that the run was made on.",
        )
    key, left_out = proxy_task.make_key(
        questions,
        ranking,
        texts,
        others=settings.others,
        seed=settings.seed,
        sample=settings.sample,
    )
    proxy_task.write_key(key, settings.key)
    proxy_task.write_task(key, questions, texts, settings.output)
    items = f"{len(key.answers):,} items with {key.options} candidates each"
    note(f"{settings.output}: {items}; key in {settings.key}")
    for reason, count in left_out.items():
        note(f"left out, {reason}: {count:,}")


class ProxyScore(Drawing, Printing):
    choices: tuple[Path, ...] = option(
        "The task file filled in, one per judge, or all judges' with a column rater.",
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
    by_group: bool = option("Also show the groups of the items.", default=False)


def proxy_score(settings: ProxyScore) -> None:
    """Score the choices of judges and models: accuracy, intervals and agreement.

    A judge is named after the file, without its ending, unless a column rater says otherwise.

    Examples:
        adducir literary-evidence proxy-score anna.csv ben.csv carl.csv --key key.csv
        adducir literary-evidence proxy-score anna.csv --key key.csv --run runs/dense.trec.gz
    """
    if not settings.choices and not settings.runs:
        raise UsageError("there is nothing to score.", hint="Name files of choices, or --run.")

    from adducir.cli.common import stem, system_names
    from adducir.runs.read import read_run
    from adducir.studies.literary_evidence.proxy_table import (
        choices_of_scores,
        proxy_table,
        read_choices,
    )
    from adducir.studies.literary_evidence.proxy_task import read_key

    key = read_key(settings.key)
    judges: dict[str, Chosen] = {}
    for path in settings.choices:
        found = read_choices(path, key, Path(stem(path)).stem)
        if twice := found.keys() & judges.keys():
            raise UsageError(
                f"{path} holds choices of {min(twice)}, as a file before it.",
                hint="Give every judge a file name, or a rater, of their own.",
            )
        judges |= found
    models: dict[str, Chosen] = {}
    notes = []
    for path, name in system_names(settings.runs).items():
        scores: dict[str, dict[str, float]] = {}
        for qid, docno, score in read_run(path).frame.iter_rows():
            scores.setdefault(qid, {})[docno] = score
        models[name], partial = choices_of_scores(name, scores, key)
        if partial:
            notes.append(
                f"{name} lacks scores of candidates of {partial:,} items; these come last there."
            )
    if judges.keys() & models.keys():
        raise UsageError("a judge and a run have one name.", hint="Rename one of the files.")
    files = digests([settings.key, *settings.choices, *settings.runs])
    layout, by_group = settings.layout(notes=notes, files=files), settings.by_group
    settings.print(proxy_table(key, judges, models, settings, layout, by_group=by_group))
