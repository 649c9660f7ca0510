"""``adducir grounded-generation``."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator

from adducir.cli import common
from adducir.cli.command import Writes, option, optional, repeatable
from adducir.cli.console import note
from adducir.cli.tabled import Tabled, digests
from adducir.core.errors import UsageError
from adducir.core.recipe import Recipe, needs
from adducir.corpora.reading import DocnoReading
from adducir.studies.options import LINES_IN_PARTS, Shares, counted, in_parts, show_counts

GOLD_QRELS = "Also write the gold passages as qrels: X.qrels, X.txt."
QRELS = Writes("file", (".qrels", ".txt", ".tsv"))
Group = Literal["answers", "grounding", "knowledge", "kilt", "ranks", "without-gold"]


class SplitSettings(Recipe):
    sources: list[Path] = option(
        "KILT's knowledge source, or parts of it: one page per line; plain or compressed.",
        metavar="SOURCE",
        argument=True,
    )
    output: Path = option("The file to write, such as X.jsonl.gz.", "-o", writes=common.LINES)
    words: int = option("Maximum words of a passage.", default=150, ge=1)


def passages(settings: SplitSettings) -> None:
    """Split KILT's Wikipedia pages into passages.

    Passages do not cross section boundaries. Only one page at a time is in memory.

    Examples:
        adducir grounded-generation passages kilt_knowledgesource.json -o passages.jsonl.gz
        adducir grounded-generation passages pages.jsonl.gz --words 100 -o passages.jsonl.gz
    """
    from adducir.studies.grounded_generation.builders import cut_page, read_pages, write_passages

    pages = (page for path in settings.sources for page in read_pages(path))
    read = counted(pages, "Splitting pages", "pages")
    cut = (passage for page in read for passage in cut_page(page, settings.words))
    count = write_passages(cut, settings.output)
    note(f"wrote {settings.output}: {count:,} passages")


class Kilt(Recipe):
    source: Path = option(
        "A KILT task, such as wow-dev-kilt.jsonl.", metavar="SOURCE", argument=True
    )
    passages: list[Path] = option("Passages written by `passages`; repeatable.", metavar="FILE")
    output: Path = option("The file to write, such as X.jsonl.gz.", "-o", writes=LINES_IN_PARTS)
    qrels: Path | None = optional(GOLD_QRELS, writes=QRELS)
    turns: str = option(
        "What separates the turns of an input.", default=" | ", metavar="TEXT", shown="' | '"
    )
    shares: Shares = None
    seed: Annotated[int, needs("shares")] = option("The seed of the split.", default=0)


def kilt(settings: Kilt) -> None:
    """Build contexts from a KILT task, with gold passages by provenance.

    All passages that overlap the provenance of the answer are gold. Contexts without one are kept.
    Splits do not share dialogues, and --qrels covers all of them.
    Prints counts, and the task's digest: KILT changed the split of Wizard of Wikipedia in 2021.

    Examples:
        adducir grounded-generation kilt wow-dev.jsonl --passages passages.jsonl.gz -o dev.jsonl
        adducir grounded-generation kilt wow.jsonl --passages p.jsonl --shares .9,.1,0 -o x.jsonl
    """
    from adducir.core.files import file_digest
    from adducir.studies.grounded_generation.builders import kilt_contexts, read_kilt, read_passages
    from adducir.studies.grounded_generation.texts import write_contexts, write_gold

    examples = list(read_kilt(settings.source))
    passages = (passage for path in settings.passages for passage in read_passages(path))
    read = counted(passages, "Reading passages", "passages")
    contexts, counts = kilt_contexts(examples, read, settings.turns)
    parts = [*in_parts(settings, contexts, lambda context: context.group or context.id)]
    for _, path, some in parts:
        write_contexts(some, path)
    if settings.qrels is not None:
        write_gold(contexts, settings.qrels)
    show_counts(
        {
            "contexts": len(contexts),
            "  with a gold passage": counts["found"],
            "    with several": counts["several"],
            "  without provenance": counts["unknown"],
            "  with a provenance that no passage overlaps": counts["lost"],
        }
    )
    note(f"{settings.source}: sha256 {file_digest(settings.source)}")
    for _, path, some in parts:
        note(f"wrote {path}: {len(some):,} contexts")


class Nlgen(DocnoReading):
    source: Path = option(
        "MS MARCO's question answering file v2.1; plain or compressed.",
        metavar="SOURCE",
        argument=True,
    )
    output: Path = option("The file to write, such as X.jsonl.gz.", "-o", writes=common.LINES)
    corpus: str | None = optional(
        "The ranking collection, in which gold passages are found by text.",
        metavar="CORPUS",
        shown="no gold passages",
        reads=True,
    )
    qrels: Annotated[Path | None, needs("corpus")] = optional(GOLD_QRELS, writes=QRELS)
    references: Path | None = optional(
        "Also write all well-formed answers, for `generated`.", writes=common.LINES
    )
    skip: int = option("Skip the first N contexts.", default=0, ge=0)
    first: int | None = optional("Write at most N contexts.", ge=1, shown="all")


def nlgen(settings: Nlgen) -> None:
    """Build contexts from MS MARCO's questions with well-formed answers.

    The collection's passages with the text of a selected passage are gold. Prints what was
    dropped. Hindsight's validation set is --first 6233 of the development set, its test set
    --skip 6233.

    Examples:
        adducir grounded-generation nlgen train_v2.1.json.gz --corpus collection.tsv -o train.jsonl
        adducir grounded-generation nlgen dev_v2.1.json.gz --first 6233 -o validation.jsonl
    """
    from adducir.studies.grounded_generation import builders
    from adducir.studies.grounded_generation.texts import write_contexts, write_gold

    questions, counts = builders.read_nlgen(settings.source)
    kept = questions[settings.skip :][: settings.first]
    if not kept:
        raise UsageError(
            f"no contexts are left: {len(questions):,} queries have a well-formed answer.",
            hint="Give another file, or a smaller --skip.",
        )
    contexts = builders.nlgen_contexts(
        kept, settings.opened(settings.corpus) if settings.corpus else ()
    )
    write_contexts(contexts, settings.output)
    if settings.qrels is not None:
        write_gold(contexts, settings.qrels)
    if settings.references is not None:
        builders.write_references(kept, settings.references)
    show_counts(
        {
            "queries read": counts["queries"],
            "  dropped: no well-formed answer": counts["unanswered"],
            "  dropped: the answer is that there is none": counts["unanswerable"],
            "  dropped: --skip and --first": len(questions) - len(kept),
            "contexts": len(kept),
            "  with a selected passage": sum(bool(question.selected) for question in kept),
            "  with a gold passage": sum(bool(context.gold) for context in contexts),
        }
    )
    note(f"wrote {settings.output}: {len(contexts):,} contexts")


class GeneratedTexts(Tabled, DocnoReading):
    files: tuple[Path, ...] = option(
        "Generated texts, as JSONL of Adducir, KILT or MS MARCO; each file is a system.",
        metavar="TEXTS",
        argument=True,
    )
    references: tuple[Path, ...] = option(
        "Contexts with targets, KILT's or MS MARCO's references; can be repeated.",
        "-r",
        metavar="FILE",
    )
    measures: Annotated[tuple[Group, ...], BeforeValidator(common.items)] = repeatable(
        "answers, grounding, knowledge, kilt, ranks, without-gold; comma-separated or repeated.",
        "-m",
        metavar="GROUP",
        shown="the first four, with data",
    )
    corpus: str | None = optional(
        "The corpus with the texts of passages.", metavar="CORPUS", reads=True
    )
    train: tuple[Path, ...] = repeatable(
        "Training targets, in the same forms as references, for Novel-F1's common words.",
        metavar="FILE",
        shown="the references",
    )
    mass: float = option(
        "Share of all words that the common words make up.", default=0.5, ge=0, le=1, rare=True
    )
    depth: int = option(
        "Add the best of this many texts per input; of ranks, their number.", default=1, ge=1
    )


def generated(settings: GeneratedTexts) -> None:
    """Evaluate generated texts against answers and passages.

    Prints F1, Novel-F1, Knowledge-F1 and ROUGE-L against answers and the passages that texts were
    generated from, and KILT's measures as in its script. Inputs without a text count 0 and are
    reported.

    Examples:
        adducir grounded-generation generated a.jsonl b.jsonl -r wow-dev.jsonl --depth 5 -b a
        adducir grounded-generation generated a.jsonl -r wow-dev-kilt.jsonl --measures kilt
    """
    from adducir.statistics.comparison import compare
    from adducir.studies.grounded_generation import measures, texts
    from adducir.tables.build import build_table

    right = texts.read_references(*settings.references)
    trained = texts.read_references(*settings.train) if settings.train else right
    systems = {
        name: texts.read_generated(path)
        for path, name in common.system_names(settings.files).items()
    }
    answers = (text for answer in trained.values() for text in answer.answers)
    common_ones = measures.common_words(answers, settings.mass)
    passages = dict[str, str]()
    if settings.corpus:
        corpus = settings.opened(settings.corpus)
        passages = texts.passages_of(corpus, right, systems.values())
    have_data = measures.with_data(right, systems.values(), passages)
    named = settings.measures or [name for name in have_data if name not in measures.ON_REQUEST]
    groups = measures.groups(common_ones, passages, settings.depth)
    used = [groups[name] for name in dict.fromkeys(named)]
    runs = {name: {name: generated} for name, generated in systems.items()}
    scores, notes = measures.measured(runs, right, used)
    if any("Novel-F1" in group.names for group in used):
        where = "the training targets" if settings.train else "the references: no --train was given"
        share = f"{len(common_ones):,} common words make up {settings.mass:.0%} of the words"
        notes.append(f"Novel-F1: {share} of {where}.")
    files = digests([*settings.files, *settings.references, *settings.train])
    are_many = any(len(scores_of_system.qids) > 1 for scores_of_system in scores)
    comparison = compare(scores, settings.testing() if are_many else None)
    layout = settings.layout({"files": files}, notes=notes)
    settings.print(build_table(comparison, layout))


COMMANDS = (passages, kilt, nlgen, generated)
