"""``adducir corpora examples``."""

from typing import TYPE_CHECKING, Annotated, Literal

from adducir.cli import parts
from adducir.cli.parameters import option

if TYPE_CHECKING:
    from collections import Counter

    from adducir.datasets.spans.examples import Tally


def corpora_examples(
    sources: parts.Texts,
    output: parts.Spans,
    form: parts.Form = "auto",
    words: parts.ContextWords = 256,
    min_words: Annotated[int, option("Words of a unit beside its marker.", min=1)] = 1,
    max_words: Annotated[int, option("A longer unit is a table or a list.", min=1)] = 256,
    rules: Annotated[
        Literal["strict", "paper"], option("The edges of units; paper: as EGRET's paper has them.")
    ] = "strict",
) -> None:
    """Extract examples in context from answers and books.

    Sentences that hold "for example" or "e.g.", and parenthesised clauses that open with them,
    become masked spans. Prints how many there are, how long, and what was dropped and why.
    """
    from collections import Counter

    from adducir.cli.console import note, open_progress, show
    from adducir.datasets.spans.examples import Tally, extract_examples
    from adducir.datasets.spans.record import write_spans
    from adducir.datasets.spans.texts import read_texts

    tally, skipped = Tally(), Counter[str]()
    with open_progress() as progress:
        progress.start("Taking examples", None, "units")
        texts = read_texts(sources, None if form == "auto" else form, skipped, progress)
        found = extract_examples(
            texts, tally, words=words, min_words=min_words, max_words=max_words, rules=rules
        )
        write_spans((span for span in found if progress.advance(1) is None), output)
        progress.finish()
    show(_report(tally, skipped))
    note(f"wrote {output}")


def _report(tally: "Tally", skipped: "Counter[str]") -> str:
    """What was found, in the terms of the paper's Table 1, and what was not taken."""
    left, unit, right = tally.means()
    rows = [
        ("examples", f"{tally.spans:,}"),
        ("  different ones (candidates)", f"{tally.candidates:,}"),
        ("  questions or books with one", f"{tally.groups:,}"),
        ("answers or books read", f"{tally.texts:,}"),
        ("mean words of left context", f"{left:.1f}"),
        ("mean words of example", f"{unit:.1f}"),
        ("mean words of right context", f"{right:.1f}"),
        *[
            (f'{form} with "{marker}"', f"{count:,}")
            for (form, marker), count in sorted(tally.kinds.items())
        ],
        *[(f"dropped: {reason}", f"{count:,}") for reason, count in sorted(tally.dropped.items())],
        *[(f"not read: {reason}", f"{count:,}") for reason, count in sorted(skipped.items())],
    ]
    names, values = (max(len(row[side]) for row in rows) for side in (0, 1))
    return "\n".join(f"{name:{names}}  {value:>{values}}" for name, value in rows)
