"""``adducir corpora hotpotqa``."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from adducir.cli.effects import without
from adducir.cli.outputs import LINES_IN_PARTS, SOURCE
from adducir.cli.parameters import argument, option
from adducir.cli.parts import Shares, counts_of
from adducir.cli.shares import part_path, shares_of
from adducir.core.errors import UsageError
from adducir.core.standard_output import is_standard_output

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from adducir.datasets.evidence_sets.hotpotqa import HotpotQuestion
    from adducir.datasets.evidence_sets.record import EvidenceQuestion
    from adducir.indexes.pools import Gold


def corpora_hotpotqa(
    sources: Annotated[
        list[Path],
        argument("HotpotQA's JSON, or the same objects one per line; plain or .gz.", "SOURCE"),
        SOURCE,
    ],
    output: Annotated[
        Path, option("The questions to write, such as X.jsonl.gz.", "-o"), LINES_IN_PARTS
    ],
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
    negatives: Annotated[int, option("False pairs of a question to train on.", min=0)] = 8,
    shares: Shares = None,
    seed: Annotated[int, option("Decides parts and pairs.")] = 0,
) -> None:
    """Build pools of paragraphs for HotpotQA's questions.

    The pools come from bigram BM25, as those of HotpotQA-50. Searched are the paragraphs of all
    questions and those of --paragraphs. Prints how many true pairs are at hand and found: the upper
    bound of any selection.
    """
    wanted = shares_of(shares)

    from adducir.cli.console import note, show
    from adducir.datasets.evidence_sets.hotpotqa import read_hotpotqa
    from adducir.datasets.evidence_sets.record_files import write_questions
    from adducir.datasets.splitting import split

    questions = (question for path in sources for question in read_hotpotqa(path))
    made: Sequence[EvidenceQuestion]
    if own:
        made, report = _own(list(questions), gold, negatives, seed)
    else:
        beside = output.parent if output.parent.is_dir() else None
        folder = None if is_standard_output(output) else beside
        made, report = _pools(
            questions, paragraphs or [], passages, gold, (k1, b), negatives, seed, folder
        )
    places = range(len(made))
    parts = (
        {"": list(places)}
        if wanted is None
        else split(places, lambda place: made[place].id, wanted, seed)
    )
    for name, part in parts.items():
        path = part_path(output, name)
        write_questions((made[place] for place in part), path)
        note(f"wrote {path}: {len(part):,} questions")
    show(report)


def _own(
    questions: "Sequence[HotpotQuestion]", gold: "Gold", negatives: int, seed: int
) -> "tuple[list[EvidenceQuestion], str]":
    from adducir.datasets.evidence_sets.hotpotqa import own_passages
    from adducir.datasets.evidence_sets.sampling import with_sets

    if not questions:
        raise UsageError("there is no question.")
    whole = [with_sets(own_passages(q), negatives=negatives, seed=seed) for q in questions]
    found = [question for question in whole if not any(question.missing)]
    made = whole if gold == "found" else found
    rows = [
        ("questions read", len(questions)),
        ("  with all true paragraphs in their own", sum(bool(one.gold) for one in found)),
        ("questions written", len(made)),
    ]
    return made, counts_of(rows)


def _pools(
    questions: "Iterable[HotpotQuestion]",
    corpora: "Sequence[str]",
    passages: int,
    gold: "Gold",
    parameters: tuple[float, float],
    negatives: int,
    seed: int,
    folder: Path | None,
) -> "tuple[Sequence[EvidenceQuestion], str]":
    from adducir.cli.console import open_progress
    from adducir.datasets.evidence_sets.hotpotqa import paragraphs_of, paragraphs_of_corpus
    from adducir.indexes.models import BM25
    from adducir.indexes.paragraphs import Paragraphs
    from adducir.indexes.pools import bm25_pools

    searched, light = Paragraphs(folder), []
    for question in questions:
        searched.add(paragraphs_of([question]).items())
        light.append(replace(question, context=()))
    if not light:
        raise UsageError("there is no question.")
    for source in corpora:
        searched.add(paragraphs_of_corpus(source))
    with open_progress() as progress:
        made = bm25_pools(
            light,
            searched,
            passages=passages,
            gold=gold,
            negatives=negatives,
            model=BM25(k1=parameters[0], b=parameters[1]),
            seed=seed,
            progress=progress,
        )
    rows = [
        ("questions read", made.counts.questions),
        ("paragraphs searched", len(searched)),
        ("  questions with a true paragraph nowhere at hand", made.counts.unknown),
        ("  questions whose true paragraphs BM25 found", made.counts.found),
        ("questions written", made.counts.made),
    ]
    return made, counts_of(rows)
