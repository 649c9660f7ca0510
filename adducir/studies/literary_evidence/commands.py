"""``adducir literary-evidence``."""

from pathlib import Path
from typing import Annotated

from adducir.cli import common
from adducir.cli.command import Writes, option, optional, repeatable
from adducir.cli.console import columns, note, show
from adducir.cli.tabled import TableOptions, digests
from adducir.core.recipe import needs
from adducir.studies.literary_evidence.ask import ask
from adducir.studies.literary_evidence.finding import Rules
from adducir.studies.options import LINES_IN_PARTS, Shares, in_parts, part_path, parts_of


class Quotations(Rules):
    primary: list[Path] = option(
        "Books: text files or folders of them; repeatable.", metavar="BOOKS"
    )
    secondary: list[Path] = option(
        "Works that quote the books: text files or folders of them; repeatable.",
        metavar="CRITICISM",
    )
    output: Path = option(
        "RELiC's JSON, such as relic.json.", "-o", writes=Writes("file", (".json",), parts_of)
    )
    spans: Path | None = optional(
        "The windows as masked spans, such as X.jsonl.gz.", writes=LINES_IN_PARTS
    )
    shares: Shares = None
    seed: Annotated[int, needs("shares")] = option("The seed of the split by books.", default=0)


def quotations(settings: Quotations) -> None:
    """Find quotations from books in literary criticism.

    Passages that criticism quotes from a book become masked quotations in the critic's sentences.
    Prints the counts per book, and what was dropped and why.

    Examples:
        adducir literary-evidence quotations --primary novels --secondary works -o relic.json
        adducir literary-evidence quotations --primary novels --secondary works -o x.json --words 8
    """
    from adducir.corpora.spans import write_spans
    from adducir.studies.literary_evidence.quotations import REASONS, construct
    from adducir.studies.literary_evidence.relic import write_relic

    built = construct(settings.primary, settings.secondary, settings)
    rows = built.rows()
    lines = columns(rows)
    lines += [f"{reason}: {REASONS[reason]}" for reason in REASONS if reason in rows[0]]
    refused = built.refused.items()
    lines += [f"{name} was not searched: {REASONS[why]}" for name, why in refused]
    show("\n".join(lines))
    books = built.relic()
    for name, path, titles in in_parts(settings, list(books), str):
        part = {title: books[title] for title in titles}
        note(f"wrote {path}: {write_relic(part, path):,} quotations")
        if settings.spans is not None:
            path = part_path(settings.spans, name)
            note(f"wrote {path}: {write_spans(built.spans(part), path):,} quotations")


class StatisticsSettings(TableOptions):
    files: tuple[Path, ...] = option("RELiC's JSON files.", metavar="RELIC", argument=True)
    spans: tuple[Path, ...] = repeatable(
        "The same windows as `quotations` writes them, with the works they are from; repeatable.",
        metavar="FILE",
    )
    books: bool = option("A row for each book, not for each file.", default=False)


def statistics(settings: StatisticsSettings) -> None:
    """Describe a collection: windows, lengths, and how much of the books is quoted.

    Examples:
        adducir literary-evidence statistics RELiC/train.json RELiC/val.json RELiC/test.json
        adducir literary-evidence statistics relic.json --spans windows.jsonl.gz --books
    """
    from adducir.corpora.spans import read_spans
    from adducir.studies.literary_evidence.collection import collection_table
    from adducir.studies.literary_evidence.relic import read_relic

    files = {name: read_relic(path) for path, name in common.system_names(settings.files).items()}
    spans = read_spans(*settings.spans) if settings.spans else ()
    works = {span.id: str(span.extra["work"]) for span in spans if "work" in span.extra}
    layout = settings.layout({"files": digests([*settings.files, *settings.spans])})
    settings.print(collection_table(files, layout, works, by_book=settings.books))


COMMANDS = (quotations, statistics, ask)
