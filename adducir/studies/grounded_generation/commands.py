"""``adducir grounded-generation``."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adducir.cli import evaluate_options as opts
from adducir.cli import options
from adducir.cli.effects import with_any
from adducir.cli.outputs import LINES, QRELS, SOURCE
from adducir.cli.parameters import argument, option
from adducir.cli.shares import part_path, shares_of
from adducir.core.errors import UsageError
from adducir.studies.options import Lines, LinesInParts, Shares, counts_of, numbers_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from adducir.studies.grounded_generation.measures import TextMeasures
    from adducir.studies.grounded_generation.texts import References, System

GoldQrels = Annotated[
    Path | None, option("Write the gold passages as qrels, too: X.qrels, X.txt."), QRELS
]
GROUPS = ("answers", "grounding", "knowledge", "kilt", "msmarco")
"""Groups of measures (:mod:`adducir.studies.grounded_generation.measures`)."""


def passages(
    sources: Annotated[
        list[Path],
        argument(
            "KILT's knowledge source, or parts of it: a page a line; plain or compressed.", "SOURCE"
        ),
        SOURCE,
    ],
    output: Lines,
    words: Annotated[int, option("Words of a passage, at most.", min=1)] = 150,
) -> None:
    """Cut KILT's Wikipedia pages into passages.

    Passages keep within a section. One page at a time is in memory.

    Examples:
        adducir grounded-generation passages kilt_knowledgesource.json -o passages.jsonl.gz
        adducir grounded-generation passages pages.jsonl.gz --words 100 -o passages.jsonl.gz
    """
    from adducir.cli.console import note, open_progress
    from adducir.studies.grounded_generation.kilt import cut_page, read_pages, write_passages

    with open_progress() as progress:
        progress.start("Cutting pages", None, "pages")
        pages = (page for path in sources for page in read_pages(path))
        counted = (page for page in pages if progress.advance(1) is None)
        count = write_passages(
            (passage for page in counted for passage in cut_page(page, words)), output
        )
        progress.finish()
    note(f"wrote {output}: {count:,} passages")


def kilt(
    source: Annotated[Path, argument("A KILT task, such as wow-dev-kilt.jsonl.", "SOURCE"), SOURCE],
    passages: Annotated[
        list[Path],
        option("Passages that `passages` wrote; repeatable.", metavar="FILE"),
        SOURCE,
    ],
    output: LinesInParts,
    qrels: GoldQrels = None,
    turns: Annotated[
        str, option("What parts the turns of an input.", metavar="TEXT", shown="' | '")
    ] = " | ",
    shares: Shares = None,
    seed: Annotated[int, option("Decides parts."), with_any("shares")] = 0,
) -> None:
    """Make contexts of a KILT task, with gold passages by provenance.

    Gold are all passages that overlap the provenance of the answer. Contexts without one are kept.
    Parts share no dialogue, and --qrels is of all of them.
    Prints counts, and the task's digest: KILT changed the split of Wizard of Wikipedia in 2021.

    Examples:
        adducir grounded-generation kilt wow-dev.jsonl --passages passages.jsonl.gz -o dev.jsonl
        adducir grounded-generation kilt wow.jsonl --passages p.jsonl --shares .9,.1,0 -o x.jsonl
    """
    wanted = shares_of(shares)

    from adducir.cli.console import note, open_progress, show
    from adducir.core.files import file_digest
    from adducir.corpora.splitting import split
    from adducir.studies.grounded_generation.contexts import write_contexts, write_gold
    from adducir.studies.grounded_generation.kilt import contexts_of, read_kilt, read_passages

    examples = list(read_kilt(source))
    with open_progress() as progress:
        progress.start("Reading passages", None, "passages")
        read = (passage for path in passages for passage in read_passages(path))
        counted = (one for one in read if progress.advance(1) is None)
        contexts, counts = contexts_of(examples, counted, turns)
        progress.finish()
    parts = {"": contexts}
    if wanted is not None:
        parts = split(contexts, lambda one: one.group or one.id, wanted, seed)
    written = {part_path(output, name): some for name, some in parts.items()}
    for path, some in written.items():
        write_contexts(some, path)
    if qrels is not None:
        write_gold(contexts, qrels)
    rows = [
        ("contexts", len(contexts)),
        ("  with a gold passage", counts["found"]),
        ("    with several", counts["several"]),
        ("  without provenance", counts["unknown"]),
        ("  with a provenance that no passage overlaps", counts["lost"]),
    ]
    show(counts_of(rows))
    note(f"{source}: sha256 {file_digest(source)}")
    for path, some in written.items():
        note(f"wrote {path}: {len(some):,} contexts")


def nlgen(
    source: Annotated[
        Path,
        argument("MS MARCO's question answering file v2.1; plain or compressed.", "SOURCE"),
        SOURCE,
    ],
    output: Lines,
    corpus: Annotated[
        str | None,
        option(
            "The ranking collection, in which gold passages are found by their texts.",
            metavar="CORPUS",
            shown="no gold passages",
        ),
        SOURCE,
    ] = None,
    qrels: Annotated[GoldQrels, with_any("corpus")] = None,
    references: Annotated[
        Path | None,
        option("Write all well-formed answers, too, as `generated` reads them."),
        LINES,
    ] = None,
    skip: Annotated[int, option("Leave out the first N contexts.", min=0, metavar="N")] = 0,
    first: Annotated[
        int | None, option("Write N contexts, at most.", min=1, metavar="N", shown="all")
    ] = None,
) -> None:
    """Make contexts of MS MARCO's questions with well-formed answers.

    Gold are the passages of the collection that have the text of a selected passage. Prints what
    was left out. Hindsight's validation set is --first 6233 of the development set, its test set
    --skip 6233.

    Examples:
        adducir grounded-generation nlgen train_v2.1.json.gz --corpus collection.tsv -o train.jsonl
        adducir grounded-generation nlgen dev_v2.1.json.gz --first 6233 -o validation.jsonl
    """
    from adducir.cli.console import note, show
    from adducir.corpora.sources import open_corpus
    from adducir.studies.grounded_generation.contexts import write_contexts, write_gold
    from adducir.studies.grounded_generation.nlgen import contexts_of, read_nlgen, write_references

    questions, counts = read_nlgen(source)
    kept = questions[skip:][:first]
    if not kept:
        raise UsageError(
            f"nothing is left: {len(questions):,} queries have a well-formed answer.",
            hint="Give another file, or a smaller --skip.",
        )
    contexts = contexts_of(kept, open_corpus(corpus) if corpus else ())
    write_contexts(contexts, output)
    if qrels is not None:
        write_gold(contexts, qrels)
    if references is not None:
        write_references(kept, references)
    rows = [
        ("queries read", counts["queries"]),
        ("  dropped: no well-formed answer", counts["unanswered"]),
        ("  dropped: the answer is that there is none", counts["unanswerable"]),
        ("  dropped: --skip and --first", len(questions) - len(kept)),
        ("contexts", len(kept)),
        ("  with a selected passage", sum(bool(one.selected) for one in kept)),
        ("  with a gold passage", sum(bool(one.gold) for one in contexts)),
    ]
    show(counts_of(rows))
    note(f"wrote {output}: {len(contexts):,} contexts")


def generated(
    files: Annotated[
        list[Path],
        argument(
            "Generated texts, JSONL of Adducir, KILT or MS MARCO; each file is a system.", "TEXTS"
        ),
        SOURCE,
    ],
    references: Annotated[
        list[Path],
        option(
            "Contexts with targets, KILT's or MS MARCO's references; can be repeated.",
            "-r",
            metavar="FILE",
        ),
        SOURCE,
    ],
    measures: Annotated[
        list[str] | None,
        option(
            "answers, grounding, knowledge, kilt, msmarco; with commas or repeated.",
            "-m",
            metavar="GROUP",
            shown="those of the first four that there are data for",
        ),
    ] = None,
    corpus: Annotated[
        str | None,
        option("Where the texts of passages are, by their docnos.", metavar="CORPUS"),
        SOURCE,
    ] = None,
    train: Annotated[
        list[Path] | None,
        option(
            "Training targets, in the forms of the references: Novel-F1's common words.",
            metavar="FILE",
            shown="the references",
        ),
        SOURCE,
    ] = None,
    mass: Annotated[
        float, option("Share of all words that the common words make up.", min=0, max=1, rare=True)
    ] = 0.5,
    depth: Annotated[int, option("Add the best of so many texts of each input.", min=1)] = 1,
    *,
    testing: opts.Testing,
    printing: opts.Printing,
) -> None:
    """Evaluate generated texts against answers and passages.

    F1, Novel-F1, Knowledge-F1, ROUGE-L, of answers and of the passages that texts were generated
    from; KILT's and MS MARCO's measures as their scripts compute
    them. An input without a text counts 0 and is reported.

    Examples:
        adducir grounded-generation generated a.jsonl b.jsonl -r wow-dev.jsonl --depth 5 -b a
        adducir grounded-generation generated a.jsonl -r wow-dev-kilt.jsonl --measures kilt
    """
    groups = list(dict.fromkeys(options.listed(measures)))
    if unknown := [name for name in groups if name not in GROUPS]:
        raise UsageError(f"{unknown[0]!r} is not one of the --measures {', '.join(GROUPS)}.")

    from adducir.cli.names import system_names
    from adducir.studies.grounded_generation.measures import common_words
    from adducir.studies.grounded_generation.text_table import text_table
    from adducir.studies.grounded_generation.texts import (
        passages_of,
        read_generated,
        read_references,
    )

    right = read_references(*references)
    trained = read_references(*train) if train else right
    systems = {name: read_generated(path) for path, name in system_names(files).items()}
    common = common_words((text for one in trained.values() for text in one.answers), mass)
    passages = passages_of(corpus, right, systems.values()) if corpus else {}
    used = _measures(groups, right, systems, common, passages, depth)
    notes: tuple[str, ...] = ()
    if any("Novel-F1" in one.names for one in used):
        where = "the training targets" if train else "the references: no --train was given"
        share = f"{len(common):,} common words make up {mass:.0%} of the words"
        notes = (f"Novel-F1: {share} of {where}.",)
    digests = opts.digests([*files, *references, *(train or [])])
    table = text_table(
        {name: {name: found} for name, found in systems.items()},
        right,
        used,
        testing=testing.testing,
        layout=replace(printing.layout(testing, files=digests), notes=notes),
    )
    printing.show(table)


def _measures(
    groups: "Sequence[str]",
    references: "References",
    systems: "Mapping[str, System]",
    common: "Sequence[str]",
    passages: "Mapping[str, str]",
    depth: int,
) -> "list[TextMeasures]":
    """The measures that were asked for, or else those that there are data for."""
    from adducir.studies.grounded_generation import measures

    made: dict[str, TextMeasures] = {
        "answers": measures.Answers(common, depth),
        "grounding": measures.Grounding(common, passages, depth),
        "knowledge": measures.Knowledge(passages, depth),
        "kilt": measures.Kilt(),
        "msmarco": measures.MsMarco(),
    }
    right, every = references.values(), [one for some in systems.values() for one in some.values()]
    outputs = [output for one in every for output in one.outputs]
    grounded = all(one.passage is not None or one.docno in passages for one in outputs)
    there = {
        "answers": any(one.answers for one in right),
        "grounding": bool(outputs) and grounded,
        "knowledge": any(docno in passages for one in right for docno in one.gold),
        "kilt": any(one.evidence for one in right)
        and all(any(map(measures.pages_of, some.values())) for some in systems.values()),
    }
    return [made[one] for one in groups or [group for group, known in there.items() if known]]


def sharpness(
    runs: Annotated[
        list[Path],
        argument("Runs whose scores are logarithms of probabilities; each is a system.", "RUN"),
        SOURCE,
    ],
    depth: Annotated[int, option("Passages of a query that share the probability.", min=1)] = 100,
    cutoffs: Annotated[
        list[str] | None,
        option("The k of Mass@k, with commas or repeated.", shown="1,2,5,10,20,50,100"),
    ] = None,
    temperature: Annotated[float, option("Divides the scores.", min=1e-6)] = 1.0,
    *,
    testing: opts.Testing,
    printing: opts.Printing,
) -> None:
    """Show how sharply runs decide: the probability that is reached by rank.

    Each query's scores become probabilities by a softmax over its passages; Mass@k is the sum of
    the k greatest. A sharp distribution is no better for it.

    Examples:
        adducir grounded-generation sharpness runs/retriever.trec.gz runs/guide.trec.gz
        adducir grounded-generation sharpness runs/guide.trec.gz --cutoffs 1,5,10 -o sharp.csv
    """
    from adducir.cli.names import system_names
    from adducir.runs.read import read_run
    from adducir.statistics.comparison import compare
    from adducir.studies.grounded_generation.measures import CUTOFFS, mass_scores
    from adducir.tables.build import build_table

    scores = []
    for path, name in system_names(runs).items():
        rows: dict[str, list[float]] = {}
        for qid, score in read_run(path).frame.select("qid", "score").iter_rows():
            rows.setdefault(qid, []).append(score)
        if not rows:
            raise UsageError(f"the run {name} is empty.")
        scores.append(
            mass_scores(
                name,
                rows,
                cutoffs=numbers_of(cutoffs) or CUTOFFS,
                depth=depth,
                temperature=temperature,
            )
        )
    layout = printing.layout(testing, runs=opts.digests(runs))
    printing.show(build_table(compare(scores, testing.testing), layout))


COMMANDS = (passages, kilt, nlgen, generated, sharpness)
