"""``adducir corpora quotations``."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from adducir.cli import options
from adducir.cli.effects import where, with_any
from adducir.cli.outputs import JSON_IN_PARTS, LINES_IN_PARTS, SOURCE
from adducir.cli.parameters import option
from adducir.cli.parts import Shares
from adducir.cli.shares import part_path, shares_of

if TYPE_CHECKING:
    from adducir.datasets.quotations.builder import Built
    from adducir.datasets.quotations.report import Report

RELIC = where("rules", "relic")


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The numbers of the rules; None for those that the rules themselves say."""

    words: Annotated[
        int, option("Words of the book in a quotation; relic: of a sought sentence.")
    ] = 10
    context: Annotated[int, option("Sentences of criticism on each side.")] = 4
    max_sentences: Annotated[int, option("Sentences of a quotation, at most.", max=5)] = 5
    parts: Annotated[
        int | None,
        option("strict: windows of a longer one.", shown="3"),
        where("rules", "strict"),
    ] = None
    min_matches: Annotated[int, option("Matches of a book that a work has, at least.")] = 3
    max_matches: Annotated[
        int | None,
        option(
            "Matches of a book that a work has, at most.", shown="half of its sentences; relic: 500"
        ),
    ] = None
    echo: Annotated[
        int | None,
        option(
            "Words in a row that the context must not repeat; relic: characters.",
            shown="8; relic: 25",
        ),
    ] = None
    min_similarity: Annotated[
        float | None, option("relic: QRatio that makes a match.", shown="80"), RELIC
    ] = None
    run: Annotated[
        int | None, option("relic: characters in a row by which a block grows.", shown="15"), RELIC
    ] = None


def corpora_quotations(
    primary: Annotated[
        list[Path],
        option("Books: text files or folders of them; repeatable.", metavar="BOOKS"),
        SOURCE,
    ],
    secondary: Annotated[
        list[Path], option("Works that quote the books, likewise.", metavar="CRITICISM")
    ],
    output: Annotated[Path, option("RELiC's JSON, such as relic.json.", "-o"), JSON_IN_PARTS],
    spans: Annotated[
        Path | None, option("The windows as masked spans, such as X.jsonl.gz."), LINES_IN_PARTS
    ] = None,
    shares: Shares = None,
    seed: Annotated[
        int,
        option("Decides which book goes to which part, and the sample."),
        with_any("shares", "sample"),
    ] = 0,
    sample: Annotated[int, option("Print so many windows, for reading.", min=0)] = 0,
    rules: Annotated[
        Literal["strict", "relic"], option("strict: words in a row; relic: alike sentences.")
    ] = "strict",
    *,
    numbers: Numbers,
) -> None:
    """Find quotations from books in literary criticism.

    What the criticism has of a book's words becomes a masked quotation with the critic's sentences
    around it. Prints the counts of each book, and what was dropped and
    why.
    """
    wanted = shares_of(shares)

    from adducir.cli.console import note, open_progress, show
    from adducir.datasets.quotations.construction import construct
    from adducir.datasets.quotations.rules import rules_of

    chosen = rules_of(rules, options.given(**vars(numbers)))
    with open_progress() as progress:
        built = construct(primary, secondary, chosen, progress)
    show(_report(built.report))
    for name, count in _write(built, output, spans, wanted, seed):
        note(f"wrote {name}: {count:,} quotations")
    if sample:
        show(_sample(built, sample, seed))


def _write(
    built: "Built",
    output: Path,
    spans: Path | None,
    shares: dict[str, float] | None,
    seed: int,
) -> list[tuple[Path, int]]:
    """Write all files; what was written, with the quotations of each."""
    from adducir.datasets.quotations.construction import relic_of, spans_of, split_relic
    from adducir.datasets.quotations.relic_files import write_relic
    from adducir.datasets.spans.record import write_spans

    books = relic_of(built)
    divided = {"": books} if shares is None else split_relic(books, shares, seed)
    written: list[tuple[Path, int]] = []
    for name, part in divided.items():
        path = part_path(output, name)
        written.append((path, write_relic(part, path)))
        if spans is not None:
            path = part_path(spans, name)
            own = (span for span in spans_of(built) if span.group in part)
            written.append((path, write_spans(own, path)))
    return written


def _report(report: "Report") -> str:
    """The counts of each book as a table, and what the reasons of dropping mean."""
    from adducir.cli.console import columns
    from adducir.datasets.quotations.report import REASONS, as_rows

    rows = as_rows(report.books)
    lines = columns(rows)
    used = [reason for reason in REASONS if reason in rows[0]]
    lines += [f"{reason}: {REASONS[reason]}" for reason in used]
    lines += [f"{name} was not searched: {REASONS[why]}" for name, why in report.refused.items()]
    return "\n".join(lines)


def _sample(built: "Built", count: int, seed: int) -> str:
    """Windows drawn by chance, in their order, each as a paragraph for reading."""
    import numpy as np

    sentences = {book.name: book.sentences for book in built.books}
    total = len(built.windows)
    drawn = np.random.default_rng(seed).choice(total, min(count, total), replace=False)
    texts: list[str] = []
    for number in sorted(drawn.tolist()):
        one = built.windows[number]
        passage = sentences[one.book][one.start : one.start + one.length]
        texts.append(
            f"\n{number:06}  {one.book}, sentence {one.start}, in {one.work}\n"
            f"  before: {' '.join(one.left)}\n"
            f"  critic: {one.quoted}\n"
            f"  book:   {' | '.join(passage)}\n"
            f"  after:  {' '.join(one.right)}"
        )
    return "\n".join(texts)
