"""``adducir literary-evidence ask``."""

import os
import re
import sys
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adducir.cli import options
from adducir.cli.effects import Effect
from adducir.cli.parameters import argument, option
from adducir.core.errors import MachineError, UsageError
from adducir.core.texts import visible

if TYPE_CHECKING:
    from adducir.studies.literary_evidence.book_search import Passage

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
        ENCODING,
    ] = None,
    device: Annotated[options.Device, ENCODING] = "auto",
) -> None:
    """Search books for the passages that best match a prompt.

    They are printed with chapter and place, those of several books in one ranking. Words are
    matched by BM25, meaning by an encoder; where both rank, the two rankings are fused.

    Examples:
        adducir literary-evidence ask emma.txt 'Emma is ashamed of how she treated Miss Bates'
        adducir literary-evidence ask emma.txt 'a walk in the rain' vanity --sentences 1 --top 10
    """
    count = sum(1 for _ in takewhile(os.path.exists, prompts))
    paths, prompts = [book, *map(Path, prompts[:count])], prompts[count:]
    if not prompts:
        what = "there is no prompt: every argument is a file or folder here."
        raise UsageError(what, hint="Put the prompt last, in quotation marks.")
    for prompt in prompts:
        if not prompt.strip():
            raise UsageError("a prompt is empty.")
        if os.path.exists(prompt) or prompt.endswith((".txt", ".md")):  # noqa: PTH110 - any text
            what = f"{prompt!r} looks like a book, and follows a prompt or is not here."
            raise UsageError(what, hint="Name the books before the prompts.")

    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    from adducir.cli.console import is_terminal, note, open_progress
    from adducir.core.files import cache_folder
    from adducir.models.sources import MINILM_INSTALL, model_source
    from adducir.studies.literary_evidence.book import open_book
    from adducir.studies.literary_evidence.book_search import SearchableBooks
    from adducir.studies.literary_evidence.sources import text_files

    with open_progress():
        books = [open_book(path) for path in text_files(paths)]
        if model is None:
            model = [BOTH]
            try:
                model_source(MINILM)
            except MachineError:
                note(f"minilm is not installed: by words alone. {MINILM_INSTALL}")
                model = [BM25]
        names = [one for name in model for one in ([BM25, MINILM] if name == BOTH else [name])]
        encoders = {}
        if set(names) != {BM25}:
            from adducir.encoders.model import load_encoder
            from adducir.encoders.sources import encoder_source
            from adducir.models.machine import choose_device

            sources = {name: encoder_source(name) for name in names if name != BM25}
            encoders = {
                name: (source, load_encoder(source).to(choose_device(device)))
                for name, source in sources.items()
            }
        cache = cache_folder()
        searchable = SearchableBooks(
            books,
            sentences,
            words=BM25 in names,
            encoders=encoders,
            keep=keep or (cache and cache / "ask"),
        )
        found = [searchable.best(prompt, top) for prompt in prompts]
    title = books[0].title if len(books) == 1 else f"{len(books)} books"
    length = "1 sentence" if sentences == 1 else f"{sentences} sentences"
    heading = Text.assemble(
        (visible(title), "bold"), (f"  {len(searchable.starts):,} passages of {length}", "dim")
    )
    console = Console(highlight=False, force_terminal=is_terminal(sys.stdout) or None)
    console.width = min(console.width, WIDEST)
    console.print(heading)
    for prompt, passages in zip(prompts, found, strict=True):
        console.print()
        console.print(Text(f"“{visible(prompt)}”", style="italic"))
        if not passages:
            console.print(Text("no passage shares a word with it", style="dim"))
        for number, passage in enumerate(passages, 1):
            console.print()
            head = _head(passage, titled=len(books) > 1)
            console.print(Text.assemble((f"{number:>2}  ", "bold cyan"), *head))
            text = Text(visible(passage.text))
            for word in dict.fromkeys(re.findall(r"\w{4,}", prompt)):
                text.highlight_regex(rf"(?i)\b{re.escape(word)}\b", "bold")
            console.print(Padding(text, (0, 2, 0, 4), expand=False))


def _head(passage: "Passage", *, titled: bool) -> list[tuple[str, str]]:
    """Book, chapter and place, and the rank in each ranking."""
    names = [passage.book if titled else None, passage.chapter]
    chapter = [(f"{visible(name)} · ", "cyan") for name in names if name]
    ranks = passage.ranks.items()
    placed = " · ".join(f"{name} {'–' if rank is None else f'#{rank:,}'}" for name, rank in ranks)
    return [*chapter, (f"{passage.place:.0%}", "cyan"), (f"   {placed}", "dim")]
