"""EGRET's and RELiC's ways from texts to ranks, which ``streaming_memory.py`` measures.

``masks``: ``adducir exemplification cloze`` over made-up books, so many masks. ``examples``:
``adducir exemplification examples``, so many units. ``training``: a study whose encoder learns
from so many spans.
``opening``: the same, before it is trained: no tested one may be among them.
``candidates``: one whose contexts are ranked among so many spans. ``passages``: one of RELiC's
form, with so many sentences in books of 500, passages of two lengths. Networks are tiny BERTs.
"""

import hashlib
import multiprocessing
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from synthetic import documents

from adducir.corpora.spans import MaskedSpan, write_spans

CONTEXTS, BOOK = 32, 500
Work = Callable[[], bytes]


def sentences(count: int, words: int = 14, seed: int = 2) -> Iterator[str]:
    """Made-up sentences."""
    for _, text in documents(count, words, seed):
        yield f"{text.capitalize()}."


def write_books(folder: Path, count: int, opening: str = "") -> None:
    """Books of 500 sentences, five in a paragraph; every second one has an opening."""
    folder.mkdir()
    book: list[str] = []
    for number, text in enumerate(sentences(count), 1):
        own = f"{opening} {text[0].lower()}{text[1:]}" if opening and number % 2 else text
        book.append(own + ("\n\n" if number % 5 == 0 else "\n"))
        if len(book) == BOOK or number == count:
            (folder / f"book-{number:08d}.txt").write_text("".join(book), encoding="utf-8")
            book.clear()


def spans(count: int, seed: int = 2, name: str = "s") -> Iterator[MaskedSpan]:
    """So many spans of books of 100, each with about 100 words on either side."""
    sides = sentences(2 * count, 100, seed + 1)
    for number, text in enumerate(sentences(count, 14, seed)):
        book = f"{name}{number // 100}"
        yield MaskedSpan(f"{name}-{number}", book, (next(sides),), (text,), (next(sides),))


def write_some_spans(path: Path, count: int, seed: int = 2, name: str = "s") -> None:
    """A file of made-up spans."""
    write_spans(spans(count, seed, name), path)


def apart(target: Callable[..., None], *words: Any) -> None:
    """Call a function in another process, so that what it takes is not in the peak."""
    process = multiprocessing.get_context("spawn").Process(target=target, args=words)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit("the input could not be written")


def command(folder: Path, *words: str) -> None:
    """Run a command in a folder."""
    from adducir.cli.app import main

    os.chdir(folder)
    if main(list(words)):
        raise SystemExit("the command failed")


def write_base(folder: Path, width: int) -> None:
    """A tiny BERT with MiniLM's tokenizer."""
    import torch
    import transformers

    from adducir.models.sources import model_source

    tokenizer = transformers.AutoTokenizer.from_pretrained(model_source("minilm").local())
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=width,
    )
    transformers.BertModel(config).save_pretrained(folder / "base")
    tokenizer.save_pretrained(folder / "base")


def study(folder: Path, data: str, system: str, width: int = 32) -> Work:
    """A study of one system, first run on a few spans, so that what libraries take is there."""
    write_base(folder, width)
    apart(write_some_spans, folder / "tested.jsonl.gz", CONTEXTS, 7, "t")
    apart(write_some_spans, folder / "few.jsonl.gz", 400, 9, "w")
    (folder / "encoder.yaml").write_text(
        "base: base\ntowers: shared\ncontext: {tokens: 32}\nlengths: {context: 64, span: 32}\n"
        "data: {train: few.jsonl.gz, shares: {train: 0.5, validation: 0.5}}\n"
        "training: {epochs: 1, batch_size: 100, patience: null}\n",
        encoding="utf-8",
    )

    def write(name: str, data: str, system: str) -> None:
        text = f"task: known-item\ndata: {{X: {data}}}\ncontexts: {{L+R: {{tokens: 32}}}}\n"
        text += f"systems: {{S: {system}}}\n"
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")

    few = "{spans: tested.jsonl.gz, candidates: few.jsonl.gz}"
    write("warm", few, "{train: encoder.yaml}")
    write("study", data, system)
    command(folder, "experiment", "warm.yaml", "--threads", "1")

    def work() -> bytes:
        command(folder, "experiment", "study.yaml", "--threads", "1")
        (ranks,) = (folder / "runs" / "study").rglob("ranks.tsv")
        weights = sorted((folder / "encoders").rglob("study/**/*.safetensors"))
        digests = [hashlib.sha256(one.read_bytes()).digest() for one in (ranks, *weights)]
        return b"".join(digests)

    return work


def masks(folder: Path, count: int, part: int | None) -> Work:
    """Mask so many sentences of books."""
    del part
    apart(write_books, folder / "books", 2 * count)
    apart(write_books, folder / "warm", 500)
    words = ("exemplification", "cloze", "--every", "2")
    command(folder, *words, "warm", "-o", "warm.jsonl.gz")
    return _written(folder, (*words, "books"))


def examples(folder: Path, count: int, part: int | None) -> Work:
    """Extract so many examples of books."""
    del part
    apart(write_books, folder / "books", 2 * count, "For example,")
    apart(write_books, folder / "warm", 500, "For example,")
    words = ("exemplification", "examples")
    command(folder, *words, "warm", "-o", "warm.jsonl.gz")
    return _written(folder, (*words, "books"))


def _written(folder: Path, words: tuple[str, ...]) -> Work:
    def work() -> bytes:
        command(folder, *words, "-o", "spans.jsonl")
        with (folder / "spans.jsonl").open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()

    return work


def training(folder: Path, count: int, part: int | None) -> Work:
    """Train an encoder on so many spans, and rank a few."""
    del part
    apart(write_some_spans, folder / "spans.jsonl.gz", count)
    system = "{train: encoder.yaml, set: [data.train=spans.jsonl.gz]}"
    return study(folder, "{spans: tested.jsonl.gz}", system, 16)


def opening(folder: Path, count: int, part: int | None) -> Work:
    """Hold what an encoder learns from, so many spans, to what is tested on."""
    del part
    from adducir.experiments.experiment import plan_experiment

    apart(write_some_spans, folder / "spans.jsonl.gz", count)
    system = "{train: encoder.yaml, set: [data.train=spans.jsonl.gz]}"
    study(folder, "{spans: tested.jsonl.gz}", system, 16)

    def work() -> bytes:
        plan_experiment(folder / "study.yaml", folder=folder)
        return b"opened"

    return work


def candidates(folder: Path, count: int, part: int | None) -> Work:
    """Rank so many spans for a few contexts."""
    if part is not None:
        from adducir.encoders import filed_ranks

        filed_ranks.filed_ranks.__kwdefaults__["part"] = part
    apart(write_some_spans, folder / "spans.jsonl.gz", count)
    data = "{spans: tested.jsonl.gz, candidates: spans.jsonl.gz}"
    return study(folder, data, "{encoder: base}", 128)


def passages(folder: Path, count: int, part: int | None) -> Work:
    """Rank the passages of so many sentences' books."""
    del part
    apart(write_some_books, folder / "relic.json", count)
    return study(folder, "{relic: relic.json}", "{encoder: base}", 128)


def write_some_books(path: Path, count: int) -> None:
    """A file of RELiC's form."""
    from adducir.corpora.relic import RelicBook, RelicQuote, write_relic

    books: dict[str, RelicBook] = {}
    lines = sentences(count)
    for number in range(0, count, BOOK):
        some = [next(lines) for _ in range(min(BOOK, count - number))]
        quotes = {
            f"q{number}-{length}": RelicQuote([some[0]], 1, length, [some[-1]]) for length in (1, 4)
        }
        books[f"book {number}"] = RelicBook(quotes, some)
    write_relic(books, path)
