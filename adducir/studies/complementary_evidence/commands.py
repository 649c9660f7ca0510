"""``adducir complementary-evidence``."""

from itertools import chain
from pathlib import Path
from typing import Annotated, Literal

from adducir.cli import evaluate_options as opts
from adducir.cli import options
from adducir.cli.effects import without
from adducir.cli.hyperparameters import hyperparameters_of
from adducir.cli.outputs import SOURCE
from adducir.cli.parameters import argument, option
from adducir.cli.shards import ShardOptions
from adducir.cli.shares import part_path, shares_of
from adducir.core.errors import UsageError
from adducir.studies.complementary_evidence.selectors.selector import SELECTORS
from adducir.studies.options import Lines, LinesInParts, Shares, counts_of

Negatives = Annotated[int, option("False pairs of a question to train on.", min=0)]


def hotpotqa(
    sources: Annotated[
        list[Path],
        argument("HotpotQA's JSON, or the same objects one per line; plain or .gz.", "SOURCE"),
        SOURCE,
    ],
    output: LinesInParts,
    passages: Annotated[
        int, option("Paragraphs of a question's pool.", min=1), without("own")
    ] = 50,
    own: Annotated[bool, option("No pool: each question's own paragraphs.")] = False,
    gold: Annotated[
        Literal["always", "found"],
        option(
            "found: the pool as BM25 makes it; always: with all true paragraphs, and without "
            "questions that lack one."
        ),
    ] = "always",
    paragraphs: Annotated[
        list[str] | None,
        option(
            "More paragraphs to search, a corpus with titles and texts; repeatable.",
            metavar="CORPUS",
            shown="the questions' own",
        ),
        SOURCE,
        without("own"),
    ] = None,
    k1: Annotated[float, option("BM25's term saturation."), without("own")] = 0.9,
    b: Annotated[float, option("BM25's length weight."), without("own")] = 0.4,
    negatives: Negatives = 8,
    shares: Shares = None,
    seed: Annotated[int, option("Decides parts and pairs.")] = 0,
) -> None:
    """Build pools of paragraphs for HotpotQA's questions.

    The pools come from bigram BM25, as those of HotpotQA-50. Searched are the paragraphs of all
    questions and those of --paragraphs. Prints how many true pairs are at hand and found: the upper
    bound of any selection.

    Examples:
        adducir complementary-evidence hotpotqa hotpot_dev_fullwiki_v1.json -o test.jsonl.gz
        adducir complementary-evidence hotpotqa hotpot_dev.json --gold found -o test.jsonl.gz
    """
    wanted = shares_of(shares)

    from adducir.cli.console import note, open_progress, show
    from adducir.corpora.splitting import split
    from adducir.indexes.models import BM25
    from adducir.studies.complementary_evidence.hotpotqa import (
        bm25_pools,
        paragraphs_of_corpus,
        read_hotpotqa,
        with_passages,
    )
    from adducir.studies.complementary_evidence.questions import write_questions

    read = [question for path in sources for question in read_hotpotqa(path)]
    if not read:
        raise UsageError("there is no question.")
    rows = [("questions read", len(read))]
    if own:
        made = [with_passages(question, question.paragraphs) for question in read]
        whole = [question for question in made if not any(question.missing)]
        found = sum(bool(question.gold) for question in whole)
        rows.append(("  with all true paragraphs in their own", found))
        made = made if gold == "found" else whole
    else:
        searched: dict[str, str] = {}
        more = (one for source in paragraphs or () for one in paragraphs_of_corpus(source))
        for one in chain.from_iterable((*(question.paragraphs for question in read), more)):
            searched.setdefault(one.title, f"{one.title}\n{one.text}")
        model = BM25(k1=k1, b=b)
        with open_progress():
            made, counts = bm25_pools(read, searched, passages=passages, gold=gold, model=model)
        rows += [
            ("paragraphs searched", len(searched)),
            ("  questions with a true paragraph nowhere at hand", counts["unknown"]),
            ("  questions whose true paragraphs BM25 found", counts["found"]),
        ]
    made = [question.with_sets(negatives=negatives, seed=seed) for question in made]
    parts = {"": made} if wanted is None else split(made, lambda one: one.id, wanted, seed)
    for name, part in parts.items():
        path = part_path(output, name)
        write_questions(part, path)
        note(f"wrote {path}: {len(part):,} questions")
    show(counts_of([*rows, ("questions written", len(made))]))


def mnli12(
    sources: Annotated[
        list[Path], argument("MultiNLI: JSONL or tables with tabs; plain or .gz.", "SOURCE"), SOURCE
    ],
    output: LinesInParts,
    min_words: Annotated[int, option("Words of a segment, at least.", min=1)] = 6,
    negatives: Negatives = 8,
    shares: Shares = None,
    seed: Annotated[int, option("Decides parts, cuts, other premises, order and pairs.")] = 0,
) -> None:
    """Build MNLI-12 from MultiNLI.

    The task is to find the two halves of what a premise entails. Each hypothesis is cut in two; a
    question has the six halves of its premise's hypotheses and six of another's. Parts share no
    premise. Prints what was left out, and why.

    Examples:
        adducir complementary-evidence mnli12 dev.jsonl -o mnli12.jsonl.gz
        adducir complementary-evidence mnli12 dev.jsonl --shares 0.7,0.1,0.2 -o mnli12.jsonl.gz
    """
    wanted = shares_of(shares)

    from adducir.cli.console import note, show
    from adducir.corpora.splitting import split
    from adducir.studies.complementary_evidence.mnli12 import build_mnli12, read_premises
    from adducir.studies.complementary_evidence.questions import write_questions

    premises, read = read_premises(sources)
    parts = {"": premises}
    if wanted is not None:  # before questions are made, so that parts share no segment
        parts = split(premises, lambda premise: premise.text, wanted, seed)
    for name, part in parts.items():
        made, dropped = build_mnli12(part, min_words=min_words, negatives=negatives, seed=seed)
        path = part_path(output, name)
        write_questions(made, path)
        rows = [
            ("pairs read", read["pairs"]),
            ("  dropped: no agreed label", read["unlabelled"]),
            (f"premises{f' in {name}' if name else ''}", len(part)),
            ("  dropped: not one hypothesis of each label", dropped["incomplete"]),
            ("  dropped: a hypothesis is too short to cut", dropped["short"]),
            ("  dropped: a true half comes again", dropped["repeated"]),
            ("questions", len(made)),
        ]
        show(counts_of(rows))
        note(f"wrote {path}: {len(made):,} questions")


def select(
    model: Annotated[
        Path,
        option(
            "A trained model, its recipe (rerankers/X.yaml), or a selector that needs none.",
            "-m",
            metavar="MODEL",
        ),
    ],
    questions: Annotated[
        list[Path],
        option("Questions with their passages, JSONL; can be repeated.", "-q", metavar="FILE"),
        SOURCE,
    ],
    output: Lines,
    device: options.Device = "auto",
    precision: options.PrecisionOption = "float32",
    threads: options.Threads = None,
    *,
    shards: ShardOptions,
    hyperparameters: Annotated[
        dict[str, str], hyperparameters_of(SELECTORS, default="the model's")
    ],
) -> None:
    """Select the set of passages that together answer a question.

    Passages are encoded once a question; the set is found by beam search in the vector space. Where
    nothing else is asked for, settings are those chosen on the recipe's validation questions. Work
    that was killed resumes.

    Examples:
        adducir complementary-evidence select -m rerankers/evidence -q test.jsonl.gz -o sets.jsonl
        adducir complementary-evidence select -m rerankers/drn -q test.jsonl --set size=2 -o s.jsonl
    """
    from adducir.cli.console import note, open_progress
    from adducir.core.chunks import Chunking, Local
    from adducir.models.machine import choose_device, using_threads
    from adducir.studies.complementary_evidence.questions import read_questions, write_selected
    from adducir.studies.complementary_evidence.selectors import selecting
    from adducir.studies.complementary_evidence.selectors.work import (
        SelectionWork,
        selected_by_shards,
    )

    asked = list(read_questions(*questions))
    with open_progress(), using_threads(threads):
        loaded = selecting.load_evidence_model(model, choose_device(device))
        work = SelectionWork(
            None if selecting.names_selector(model) else model,
            asked,
            selecting.changed(loaded.settings.selection, hyperparameters),
            precision,
            Local(loaded),
            device,
            threads,
            shards.batch_tokens,
        )
        with selected_by_shards(work, Chunking(output, shards.execution())) as chosen:
            count = write_selected(chosen, output)
    note(f"wrote {output}: sets for {count:,} questions")


def sets(
    files: Annotated[
        list[Path],
        argument(
            "Chosen sets, JSONL with id and chosen; each file is a system, named after it.",
            "CHOSEN",
        ),
    ],
    questions: Annotated[
        list[Path],
        option("The questions with their gold sets, JSONL; can be repeated.", "-q", metavar="FILE"),
        SOURCE,
    ],
    upper_bound: Annotated[
        bool, option("Add what the best selection from each question's pool reaches.")
    ] = False,
    *,
    testing: opts.Testing,
    printing: opts.Printing,
) -> None:
    """Evaluate selected sets of passages against the gold sets.

    EM (exact match), F1, and Cover (a whole gold set is among what was chosen), over all questions
    that have a gold set; a question without a selected set counts 0 and is reported.

    Examples:
        adducir complementary-evidence sets a.jsonl b.jsonl -q test.jsonl.gz --baseline b
        adducir complementary-evidence sets a.jsonl -q test.jsonl.gz --upper-bound --format latex
    """
    from adducir.cli.names import system_names
    from adducir.studies.complementary_evidence.measures import GoldSets, set_table
    from adducir.studies.complementary_evidence.questions import read_questions, read_selected

    known = GoldSets(read_questions(*questions))
    chosen = {
        name: known.checked(read_selected(path), path) for path, name in system_names(files).items()
    }
    table = set_table(
        {"": [known.scores(name, some) for name, some in chosen.items()]},
        {"": known.bound(chosen.values())} if upper_bound else {},
        testing.testing,
        printing.layout(testing, files=opts.digests([*files, *questions])),
    )
    printing.show(table)


COMMANDS = (hotpotqa, mnli12, select, sets)
