"""``adducir exemplification``."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from adducir.cli import common
from adducir.cli.command import option
from adducir.cli.console import columns, note, show
from adducir.core.recipe import Recipe
from adducir.studies.options import counted

if TYPE_CHECKING:
    from adducir.studies.exemplification.texts import SourceText


class _Masks(Recipe):
    sources: list[Path] = option(
        "Answers (JSON objects) and books (plain text), or folders of them; also .gz and .bz2.",
        metavar="SOURCE",
        argument=True,
    )
    output: Path = option("The file to write, such as X.jsonl.gz.", "-o", writes=common.LINES)
    form: Literal["auto", "eli5", "kilt", "nq", "qa", "book"] = option(
        "The sources' format; auto: by each file's content and name.", "--format", default="auto"
    )
    words: int = option(
        "Keep whole sentences on each side, until they have this many words.", default=256, ge=0
    )

    def texts(self, skipped: Counter[str]) -> "Iterator[SourceText]":
        from adducir.studies.exemplification.texts import read_texts

        return read_texts(self.sources, None if self.form == "auto" else self.form, skipped)


class ExtractionSettings(_Masks):
    min_words: int = option("Minimum words of a unit, without its marker.", default=1, ge=1)
    max_words: int = option("Maximum words; a longer unit is a table or a list.", default=256, ge=1)
    rules: Literal["strict", "paper"] = option(
        "The boundaries of units; paper: as in EGRET's paper.", default="strict"
    )


def examples(settings: ExtractionSettings) -> None:
    """Extract examples in context from answers and books.

    Sentences that contain "for example" or "e.g.", and parenthesised clauses that begin with them,
    become masked spans. Prints their number and lengths, and what was dropped and why.

    Examples:
        adducir exemplification examples eli5-train-kilt.jsonl -o eli5.jsonl.gz
        adducir exemplification examples books/ --words 256 -o books.jsonl.gz
    """
    from adducir.corpora.spans import write_spans
    from adducir.studies.exemplification.extraction import Tally, extract_examples

    tally, skipped = Tally(), Counter[str]()
    sizes = settings.model_dump(include={"words", "min_words", "max_words"})
    texts, strict = settings.texts(skipped), settings.rules == "strict"
    examples_ = extract_examples(texts, tally, strict=strict, **sizes)
    write_spans(counted(examples_, "Extracting examples", "units"), settings.output)
    sides = {"left": "left context", "span": "example", "right": "right context"}
    rows = [
        ("examples", f"{tally.spans:,}"),
        ("  different ones (candidates)", f"{tally.candidates:,}"),
        ("  questions or books with one", f"{len(tally.groups):,}"),
        ("answers or books read", f"{tally.texts:,}"),
    ]
    for side, name in sides.items():
        rows.append((f"mean words of {name}", f"{tally.words[side] / max(1, tally.spans):.1f}"))
    kinds = {f'{form} with "{marker}"': n for (form, marker), n in tally.kinds.items()}
    for before, some in (("", kinds), ("dropped: ", tally.dropped), ("not read: ", skipped)):
        rows += [(f"{before}{name}", f"{count:,}") for name, count in sorted(some.items())]
    show("\n".join(columns(rows)))
    note(f"wrote {settings.output}")


class Cloze(_Masks):
    every: int = option("Sentences from one mask to the next.", default=10, ge=2)
    longest: int = option("Maximum sentences of a mask.", "--max-sentences", default=1, ge=1, le=20)
    min_words: int = option("Words of a mask.", default=8, ge=1)
    max_words: int = option("Words of a mask, for each of its sentences.", default=60, ge=1)


def cloze(settings: Cloze) -> None:
    """Mask sentences of texts to pretrain encoders on.

    Sentences are masked evenly over each answer or book; their context is the query.

    Examples:
        adducir exemplification cloze eli5-train-kilt.jsonl --every 5 -o cloze.jsonl.gz
        adducir exemplification cloze novels/ --every 10 -o cloze.jsonl.gz
    """
    from adducir.corpora.spans import write_spans
    from adducir.studies.exemplification.extraction import mask_sentences

    sizes = settings.model_dump(exclude={"sources", "output", "form"})
    masks = mask_sentences(settings.texts(Counter()), **sizes)
    count = write_spans(counted(masks, "Masking sentences", "masks"), settings.output)
    note(f"wrote {settings.output}: {count:,} masks")


COMMANDS = (examples, cloze)
