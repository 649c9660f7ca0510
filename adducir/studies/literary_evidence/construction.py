"""The whole way from files to RELiC's files and to masked spans."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from adducir.core.progress import progress
from adducir.corpora.relic import RelicBook, RelicQuote, spans_of_relic
from adducir.corpora.spans import MaskedSpan
from adducir.corpora.splitting import split
from adducir.studies.literary_evidence.builder import Built, find_quotations
from adducir.studies.literary_evidence.rules import Rules
from adducir.studies.literary_evidence.sources import Source, read_book, read_work, text_files


def construct(
    primary: Sequence[Path], secondary: Sequence[Path], rules: Rules | None = None
) -> Built:
    """Read books and criticism (text files, or folders of them) and find the quotations.

    Raises:
        InputError: A file is missing, unreadable or without text, or two have one name.
    """
    books_at, works_at = text_files(primary), text_files(secondary)
    progress().start("Reading books", len(books_at), "books")
    books: list[Source] = []
    for path in books_at:
        books.append(read_book(path))
        progress().advance(1)
    progress().finish()

    def works() -> Iterator[Source]:
        for path in works_at:
            yield read_work(path)
            progress().advance(1)

    progress().start("Searching criticism", len(works_at), "works")
    built = find_quotations(books, works(), rules)
    progress().finish()
    return built


def relic_of(built: Built) -> dict[str, RelicBook]:
    """The windows as RELiC's official files have them, quotations numbered from 000000 on.

    A book without a window stays out.
    """
    found: dict[str, RelicBook] = {}
    sentences = {book.name: book.sentences for book in built.books}
    for number, window in enumerate(built.windows):
        book = found.setdefault(window.book, RelicBook({}, list(sentences[window.book])))
        quote = RelicQuote(list(window.left), window.start, window.length, list(window.right))
        book.quotes[f"{number:06}"] = quote
    return found


def spans_of(built: Built) -> list[MaskedSpan]:
    """The windows as masked spans, with the ids that :func:`relic_of` gives them.

    ``extra`` holds ``start`` and ``length``, the ``work``, its ``sentence`` that the quotation
    began at, and as ``quoted`` what stood there.
    """
    extra = {
        f"{number:06}": {"work": one.work, "sentence": one.place, "quoted": one.quoted}
        for number, one in enumerate(built.windows)
    }
    return list(spans_of_relic(relic_of(built), extra))


def split_relic(
    books: Mapping[str, RelicBook], shares: Mapping[str, float] | None = None, seed: int = 0
) -> dict[str, dict[str, RelicBook]]:
    """Divide books into training, validation and test as their spans are divided.

    Args:
        books: The books; one without quotations goes nowhere.

    Raises:
        UsageError: The shares do not fit, or a part with a share got no book.
    """
    parts = split(spans_of_relic(books), lambda span: span.group, shares, seed)
    homes = {name: {span.group for span in spans} for name, spans in parts.items()}
    return {
        name: {title: book for title, book in books.items() if title in home}
        for name, home in homes.items()
    }
