"""Hits on the terminal: titles, excerpts, and highlighted query words."""

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from adducir.cli.console import beside_bars, is_terminal
from adducir.core.errors import ArtifactError
from adducir.core.texts import counted, visible
from adducir.corpora.documents import Document, text_of

if TYPE_CHECKING:
    from adducir.indexes.hits import Hits
    from adducir.indexes.index import Index

WIDEST = 96
WORDS = 45
"""Of an excerpt."""
_TITLES = ("title", "conclusion", "headline")


class Screen(Console):
    """Standard output; only a terminal gets the blanks that pad lines."""

    def __init__(self) -> None:
        super().__init__(highlight=False, force_terminal=is_terminal(sys.stdout) or None)
        self.width = min(self.width, WIDEST)

    def print(self, *objects: Any, **style: Any) -> None:
        with beside_bars(self.file):
            if self.is_terminal:
                super().print(*objects, **style)
                return
            with self.capture() as printed:
                super().print(*objects, **style)
            self.file.write(re.sub(r" +$", "", printed.get(), flags=re.MULTILINE))


def texts_of(index: "Index", docnos: Sequence[str]) -> dict[str, Document]:
    """The documents that the index stores; empty if it does not store texts."""
    try:
        return {docno: document for docno in docnos if (document := index.documents.find(docno))}
    except ArtifactError:
        return {}


def title_of(document: Document) -> str:
    title = next((document.fields[name] for name in _TITLES if document.fields.get(name)), "")
    return visible(" ".join(title.split()))


def matching_words(query: str, index: "Index", texts: Iterable[str]) -> set[str]:
    """The words of the query and of texts whose terms are the query's."""
    words = sorted({word for text in [query, *texts] for word in re.findall(r"\w+", text)})
    lexical = bool(index.default_model)  # dense indexes lack an analyzer
    terms = index.analysis.terms(words) if lexical else [[word.lower()] for word in words]
    by_word = dict(zip(words, terms, strict=True))
    query_terms = {term for word in re.findall(r"\w+", query) for term in by_word[word]}
    return {word for word, word_terms in by_word.items() if query_terms & {*word_terms}}


def excerpt(text: str, matching: set[str]) -> Text:
    """The part of a text with the most matching words, which are marked."""
    pieces = visible(" ".join(text.split())).split(" ")
    matches = [matching & {*re.findall(r"\w+", piece)} for piece in pieces]
    starts = range(max(1, len(pieces) - WORDS + 1))
    start = max(starts, key=lambda at: (len(set().union(*matches[at : at + WORDS])), -at))
    shown = Text("… " if start else "")
    for n, piece in enumerate(pieces[start : start + WORDS], start):
        shown.append(piece, style="bold yellow" if matches[n] else "")
        shown.append(" ")
    shown.append("…" if start + WORDS < len(pieces) else "")
    return shown


def print_hits(
    index: "Index", search: "Callable[[str], Hits]", query: str, grades: Mapping[str, int] | None
) -> None:
    hits = search(query)
    shown = hits.docnos if hits.passages is None else hits.passages
    ranked = list(zip(hits.docnos, shown, hits.scores.tolist(), strict=True))
    documents = texts_of(index, list(shown))
    out = Screen()
    out.print(Text(f"{visible(query)}: {counted(len(ranked), 'hit')}", style="dim"))
    names = index.fields or tuple(dict.fromkeys(n for d in documents.values() for n in d.fields))
    texts = {
        docno: text_of(
            document, [name for name in names if document.fields.get(name) and name not in _TITLES]
        )
        or text_of(document, names)
        for docno, document in documents.items()
    }
    matching = matching_words(query, index, texts.values())
    for rank, (docno, passage, score) in enumerate(ranked, 1):
        head = Text.assemble((f"{rank:>3}  ", "bold cyan"), (f"{score:.4f}  ", "dim"))
        if grades is not None:
            head.append("grade ").append(graded(grades, docno)).append("  ")
        head.append(visible(docno))
        if passage in documents and (title := title_of(documents[passage])):
            head.append(f"  {title}", style="bold")
        out.print(head, soft_wrap=True)  # which never breaks a docno
        if passage in texts:
            out.print(Padding(excerpt(texts[passage], matching), (0, 0, 0, 5)))


def graded(grades: Mapping[str, int], docno: str) -> Text:
    """The grade of a document, or a dash if unjudged."""
    grade = grades.get(docno)
    if grade is None:
        return Text("–", style="dim")
    return Text(str(grade), style="green" if grade > 0 else "red")
