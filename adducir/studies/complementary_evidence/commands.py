"""``adducir complementary-evidence``."""

from itertools import chain
from pathlib import Path
from typing import Annotated, Literal

from adducir.cli import common
from adducir.cli.command import option, repeatable
from adducir.cli.console import note
from adducir.cli.tabled import Tabled, digests
from adducir.core.errors import ArtifactError, UsageError
from adducir.core.recipe import Recipe, without
from adducir.corpora.reading import DocnoReading
from adducir.studies.options import LINES_IN_PARTS, Shares, in_parts, show_counts


class Building(Recipe):
    """Options shared by the builders of data sets."""

    output: Path = option("The file to write, such as X.jsonl.gz.", "-o", writes=LINES_IN_PARTS)
    negatives: int = option("Negative pairs per question to train on.", default=8, ge=0)
    shares: Shares = None
    seed: int = option("The seed of splits, pairs and other draws.", default=0)


class HotpotQA(Building, DocnoReading):
    sources: tuple[Path, ...] = option(
        "HotpotQA's JSON, or the same objects one per line; plain or .gz.",
        metavar="SOURCE",
        argument=True,
    )
    passages: Annotated[int, without("own")] = option(
        "Paragraphs of a question's pool.", default=50, ge=1
    )
    own: bool = option("No pool: each question's own paragraphs.", default=False)
    gold: Literal["always", "found"] = option(
        "found: the pool as BM25 ranks it; always: with all gold paragraphs, dropping "
        "questions that lack one.",
        default="always",
    )
    paragraphs: Annotated[tuple[str, ...], without("own")] = repeatable(
        "More paragraphs to search: a corpus with titles and texts; repeatable.",
        metavar="CORPUS",
        shown="the questions' own",
        reads=True,
    )
    k1: Annotated[float, without("own")] = option("BM25's term saturation.", default=0.9)
    b: Annotated[float, without("own")] = option("BM25's length weight.", default=0.4)


def hotpotqa(settings: HotpotQA) -> None:
    """Build pools of paragraphs for HotpotQA's questions.

    The pools come from bigram BM25 over the paragraphs of all questions and --paragraphs, as in
    HotpotQA-50. Prints how many gold pairs are available and found: the upper bound of any
    selection.

    Examples:
        adducir complementary-evidence hotpotqa hotpot_dev_fullwiki_v1.json -o test.jsonl.gz
        adducir complementary-evidence hotpotqa hotpot_dev.json --gold found -o test.jsonl.gz
    """
    from adducir.indexes.models import BM25
    from adducir.studies.complementary_evidence import builders
    from adducir.studies.complementary_evidence.questions import write_questions

    read = [question for path in settings.sources for question in builders.read_hotpotqa(path)]
    if not read:
        raise UsageError("the file does not contain any questions.")
    rows = {"questions read": len(read)}
    if settings.own:
        questions = [builders.with_passages(question, question.paragraphs) for question in read]
        whole = [question for question in questions if not any(question.missing)]
        complete = sum(bool(question.gold) for question in whole)
        rows["  with all gold paragraphs among their own"] = complete
        questions = questions if settings.gold == "found" else whole
    else:
        searched: dict[str, str] = {}
        corpora = map(settings.opened, settings.paragraphs)
        more = chain.from_iterable(map(builders.paragraphs_of_corpus, corpora))
        for paragraph in chain.from_iterable((*(question.paragraphs for question in read), more)):
            searched.setdefault(paragraph.title, f"{paragraph.title}\n{paragraph.text}")
        model, size, gold = BM25(k1=settings.k1, b=settings.b), settings.passages, settings.gold
        questions, counts = builders.bm25_pools(
            read, searched, passages=size, gold=gold, model=model
        )
        rows |= {
            "paragraphs searched": len(searched),
            "  questions with a gold paragraph that is not available": counts["unknown"],
            "  questions whose gold paragraphs BM25 found": counts["found"],
        }
    questions = [
        question.with_sets(negatives=settings.negatives, seed=settings.seed)
        for question in questions
    ]
    for _, path, part in in_parts(settings, questions, lambda question: question.id):
        write_questions(part, path)
        note(f"wrote {path}: {len(part):,} questions")
    show_counts({**rows, "questions written": len(questions)})


class MNLI12(Building):
    sources: tuple[Path, ...] = option(
        "MultiNLI's JSONL; plain or .gz.", metavar="SOURCE", argument=True
    )
    min_words: int = option("Minimum words of a segment.", default=6, ge=1)


def mnli12(settings: MNLI12) -> None:
    """Build MNLI-12 from MultiNLI.

    The task is to find the two halves of a hypothesis that a premise entails. Each hypothesis is
    split in two; a question has the six halves of its premise's hypotheses and six of another's.
    Splits do not share premises. Prints what was dropped, and why.

    Examples:
        adducir complementary-evidence mnli12 dev.jsonl -o mnli12.jsonl.gz
        adducir complementary-evidence mnli12 dev.jsonl --shares 0.7,0.1,0.2 -o mnli12.jsonl.gz
    """
    from adducir.studies.complementary_evidence.builders import build_mnli12, read_premises
    from adducir.studies.complementary_evidence.questions import write_questions

    premises, read = read_premises(settings.sources)
    how = settings.model_dump(include={"min_words", "negatives", "seed"})
    # Premises are split before questions are built, so that splits share no segment.
    for name, path, part in in_parts(settings, premises, lambda premise: premise.text):
        questions, dropped = build_mnli12(part, **how)
        write_questions(questions, path)
        show_counts(
            {
                "pairs read": read["pairs"],
                "  dropped: no agreed label": read["unlabelled"],
                f"premises{f' in {name}' if name else ''}": len(part),
                "  dropped: not one hypothesis of each label": dropped["incomplete"],
                "  dropped: a hypothesis is too short to cut": dropped["short"],
                "  dropped: a gold half is repeated": dropped["repeated"],
                "questions": len(questions),
            }
        )
        note(f"wrote {path}: {len(questions):,} questions")


class Select(common.Computing):
    model: Path = option(
        "A trained model, its recipe (rerankers/X.yaml), or a selector without a model.",
        "-m",
        metavar="MODEL",
    )
    questions: tuple[Path, ...] = option(
        "Questions with their passages, JSONL; can be repeated.", "-q", metavar="FILE"
    )
    output: Path = option("The file to write, such as X.jsonl.gz.", "-o", writes=common.LINES)
    precision: common.PrecisionOption = "float32"
    settings: dict[str, str] = option(
        "Another selection setting, such as size=3 or k1=1.2; repeatable.",
        "--set",
        default={},
        metavar="KEY=VALUE",
        shown="the model's",
    )


def select(settings: Select) -> None:
    """Select the set of passages that together answer a question.

    Passages are encoded once per question; the set is found by beam search in the vector space. By
    default, settings are those chosen on the recipe's validation questions. Interrupted work
    resumes.

    Examples:
        adducir complementary-evidence select -m rerankers/evidence -q test.jsonl.gz -o sets.jsonl
        adducir complementary-evidence select -m rerankers/drn -q test.jsonl --set size=2 -o s.jsonl
    """
    from adducir.core.chunks import Chunking
    from adducir.models.machine import using_threads
    from adducir.models.sources import trained_folder
    from adducir.studies.complementary_evidence.evidence_sets import (
        SelectionWork,
        changed,
        selected,
    )
    from adducir.studies.complementary_evidence.model import SelectorSettings
    from adducir.studies.complementary_evidence.questions import read_questions, write_selected
    from adducir.studies.complementary_evidence.selection import SELECTORS

    model, trained = settings.model, None
    questions = list(read_questions(*settings.questions))
    selection: Recipe
    if str(model) in SELECTORS and not model.exists():
        selection = SELECTORS.make(str(model), settings.settings)
    else:
        trained = trained_folder(model, error=ArtifactError)
        selection = changed(SelectorSettings.load(trained).selection, settings.settings)
    with using_threads(settings.threads):
        running = settings.running()
        work = SelectionWork(
            model=trained, questions=questions, selection=selection, running=running
        )
        with selected(work, Chunking(settings.output, settings.execution())) as chosen:
            count = write_selected(chosen, settings.output)
    note(f"wrote {settings.output}: sets for {count:,} questions")


class Sets(Tabled):
    files: tuple[Path, ...] = option(
        "Selected sets, JSONL with id and chosen; each file is a system, named after the file.",
        metavar="CHOSEN",
        argument=True,
    )
    questions: tuple[Path, ...] = option(
        "The questions with their gold sets, JSONL; can be repeated.", "-q", metavar="FILE"
    )
    upper_bound: bool = option(
        "Add the best possible selection from each question's pool.", default=False
    )


def sets(settings: Sets) -> None:
    """Evaluate selected sets of passages against the gold sets.

    Prints EM (exact match), F1, and Cover (a whole gold set was selected) over all questions with a
    gold set; questions without a selected set count 0 and are reported.

    Examples:
        adducir complementary-evidence sets a.jsonl b.jsonl -q test.jsonl.gz --baseline b
        adducir complementary-evidence sets a.jsonl -q test.jsonl.gz --upper-bound --format latex
    """
    from adducir.studies.complementary_evidence.measures import GoldSets, set_table
    from adducir.studies.complementary_evidence.questions import read_questions, read_selected

    gold_sets = GoldSets(read_questions(*settings.questions))
    chosen = {
        name: gold_sets.checked(read_selected(path), path)
        for path, name in common.system_names(settings.files).items()
    }
    table = set_table(
        {"": [gold_sets.scores(name, some) for name, some in chosen.items()]},
        {"": gold_sets.bound(chosen.values())} if settings.upper_bound else {},
        settings.testing(),
        settings.layout({"files": digests([*settings.files, *settings.questions])}),
    )
    settings.print(table)


COMMANDS = (hotpotqa, mnli12, select, sets)
