"""``adducir literary-evidence proxy-make`` and ``proxy-score``: a task for human judges."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import adducir
from adducir.cli import options
from adducir.cli.effects import with_any, without
from adducir.cli.evaluate_options import Printing, digests
from adducir.cli.outputs import SOURCE, Writes
from adducir.cli.parameters import argument, option
from adducir.core.errors import UsageError
from adducir.studies.options import Drawing

if TYPE_CHECKING:
    from adducir.studies.literary_evidence.proxy.choices import Choices
    from adducir.studies.literary_evidence.proxy.files import Key

TASK = Writes("file", (".csv", ".jsonl"))
KEY = Writes("file", (".csv",))


def proxy_make(
    run: Annotated[Path, option("The run whose best other candidates are offered: BM25's, say.")],
    corpus: Annotated[str, option("The candidates: file, folder or ir_datasets id.", "-c"), SOURCE],
    output: Annotated[Path, option("What judges get: a .csv or .jsonl file.", "-o"), TASK],
    key: Annotated[Path, option("Where the answers go: a .csv file."), KEY],
    topics: Annotated[
        str | None,
        option("The contexts, as topics; they need --qrels.", "-t"),
        without("spans"),
        SOURCE,
    ] = None,
    qrels: Annotated[
        list[str] | None,
        option("The gold items: one relevant document per topic.", "-q"),
        SOURCE,
        without("spans"),
    ] = None,
    spans: Annotated[
        Path | None, option("Masked spans, which name their gold items, instead of topics."), SOURCE
    ] = None,
    others: Annotated[
        int, option("Distractors beside the gold item.", "--num-distractors", min=1)
    ] = 2,
    sample: Annotated[int | None, option("Items to take at random.", min=1, shown="all")] = None,
    seed: Annotated[int, option("Seed of the order and of the sample.", min=0)] = 0,
    topic_field: Annotated[
        str | None, option("The field of the contexts."), with_any("topics")
    ] = None,
    group_field: Annotated[
        str | None,
        option("A field of the topics to break the results down by later."),
        with_any("topics"),
    ] = None,
    fields: Annotated[
        list[str] | None,
        option(
            "Fields of the candidates to show, with commas or repeated.", shown="the corpus's texts"
        ),
    ] = None,
) -> None:
    """Make a multiple-choice task for human judges: the gold item among distractors.

    The judges' file shows neither docnos nor the gold item; the key file does. Both bear the same
    mark, so that choices are never scored by another key.

    Examples:
        adducir literary-evidence proxy-make --run a.trec -c c.tsv --spans x.jsonl -o t.csv --key k
    """
    from adducir.cli.console import note, open_progress
    from adducir.corpora.qrels import load_qrels
    from adducir.corpora.sources import open_corpus
    from adducir.corpora.topics import load_topics
    from adducir.runs.read import read_run
    from adducir.studies.literary_evidence.proxy.files import check_task_name, write_key, write_task
    from adducir.studies.literary_evidence.proxy.loading import (
        questions_of_spans,
        questions_of_topics,
        ranking_of,
        texts_of,
    )
    from adducir.studies.literary_evidence.proxy.tasks import make_task

    check_task_name(output)
    ranking = ranking_of(read_run(run))
    with open_progress():
        if spans is not None:
            questions = questions_of_spans(spans)
        elif topics and qrels:
            groups = load_topics(topics, field=group_field) if group_field else None
            contexts = load_topics(topics, field=topic_field)
            judged = load_qrels(qrels)
            questions = questions_of_topics(contexts, judged, groups)
        else:
            raise UsageError(
                "the contexts are missing.", hint="Give --topics and --qrels, or --spans."
            )
        documents = open_corpus(corpus)
        texts = texts_of(documents, questions, ranking, options.listed(fields))
    task = make_task(questions, ranking, texts, others=others, seed=seed, sample=sample)
    write_key(task, key)
    write_task(task, output)
    note(f"{output}: {len(task.items):,} items with {others + 1} candidates each; key in {key}")
    for reason, count in task.left_out.items():
        note(f"left out, {reason}: {count:,}")


def proxy_score(
    key: Annotated[Path, option("The key of the task.", metavar="FILE"), SOURCE],
    choices: Annotated[
        list[Path] | None,
        argument(
            "The task file filled in, one per judge, or all judges' with a column rater.", "CHOICES"
        ),
    ] = None,
    runs: Annotated[
        list[Path] | None,
        option("A model's run: it chooses the candidate it scores highest; repeatable.", "--run"),
    ] = None,
    by_group: Annotated[bool, option("Also show the groups of the items.")] = False,
    *,
    drawing: Drawing,
    printing: Printing,
) -> None:
    """Score the choices of judges and models: accuracy, intervals and agreement.

    A judge is named after the file, without its ending, unless a column rater says otherwise.

    Examples:
        adducir literary-evidence proxy-score anna.csv ben.csv carl.csv --key key.csv
        adducir literary-evidence proxy-score anna.csv --key key.csv --run runs/dense.trec.gz
    """
    inputs = [key, *(choices or []), *(runs or [])]
    if not choices and not runs:
        raise UsageError("there is nothing to score.", hint="Name files of choices, or --run.")

    from adducir.studies.literary_evidence.proxy.files import read_key
    from adducir.studies.literary_evidence.proxy.table import Look, proxy_table

    answers = read_key(key)
    judges = _judges(choices or [], answers)
    models, notes = _models(runs or [], answers)
    look = Look(
        by_group=by_group,
        drawing=drawing.drawing(),
        notes=notes,
        style=printing.style(),
        provenance={"adducir": adducir.__version__, "files": digests(inputs)},
    )
    printing.show(proxy_table(answers, judges, models, look))


def _judges(paths: Sequence[Path], key: "Key") -> "list[Choices]":
    from adducir.cli.names import stem
    from adducir.studies.literary_evidence.proxy.choices import read_choices

    found: list[Choices] = []
    for path in paths:
        name = Path(stem(path)).stem
        for one in read_choices(path, key, name):
            if one.name in [other.name for other in found]:
                raise UsageError(
                    f"{path} holds choices of {one.name}, as a file before it.",
                    hint="Give every judge a file name, or a rater, of their own.",
                )
            found.append(one)
    return found


def _models(paths: Sequence[Path], key: "Key") -> "tuple[list[Choices], list[str]]":
    """The models' choices, and what is to be said about candidates that they do not score."""
    from adducir.cli.names import system_names
    from adducir.runs.read import read_run
    from adducir.studies.literary_evidence.proxy.choices import choices_of_scores
    from adducir.studies.literary_evidence.proxy.loading import scores_of

    found, notes = [], []
    for path, name in system_names(paths).items():
        scores = scores_of(read_run(path), key.answers)
        choices, partial = choices_of_scores(name, scores, key)
        found.append(choices)
        if partial:
            notes.append(
                f"{name} lacks scores of candidates of {partial:,} items; these come last there."
            )
    return found, notes
