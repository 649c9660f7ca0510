"""``adducir corpora nlgen``."""

from pathlib import Path
from typing import Annotated

from adducir.cli.effects import with_any
from adducir.cli.outputs import LINES, SOURCE
from adducir.cli.parameters import argument, option
from adducir.cli.parts import GoldQrels, counts_of
from adducir.core.errors import UsageError


def corpora_nlgen(
    source: Annotated[
        Path,
        argument("MS MARCO's question answering file v2.1; plain or compressed.", "SOURCE"),
        SOURCE,
    ],
    output: Annotated[Path, option("The contexts to write, such as X.jsonl.gz.", "-o"), LINES],
    corpus: Annotated[
        str | None,
        option(
            "The ranking collection, in which gold passages are found by their texts.",
            metavar="CORPUS",
            shown="no gold passages",
        ),
        SOURCE,
    ] = None,
    qrels: Annotated[GoldQrels, with_any("corpus")] = None,
    references: Annotated[
        Path | None,
        option("Write all well-formed answers, too, as `adducir generated` reads them."),
        LINES,
    ] = None,
    skip: Annotated[int, option("Leave out the first N contexts.", min=0, metavar="N")] = 0,
    first: Annotated[
        int | None, option("Write N contexts, at most.", min=1, metavar="N", shown="all")
    ] = None,
) -> None:
    """Make contexts of MS MARCO's questions with well-formed answers.

    Gold are the passages of the collection that have the text of a selected passage. Prints what
    was left out. Hindsight's validation set is --first 6233 of the development set, its test set
    --skip 6233.
    """
    from adducir.cli.console import note, show
    from adducir.corpora.sources import open_corpus
    from adducir.datasets.grounded.contexts import write_contexts
    from adducir.datasets.grounded.judgements import write_gold
    from adducir.datasets.grounded.nlgen import read_nlgen, with_gold, write_references

    made = read_nlgen(source)
    kept = made.questions[skip:][:first]
    if not kept:
        raise UsageError(
            f"nothing is left: {len(made.questions):,} queries have a well-formed answer.",
            hint="Give another file, or a smaller --skip.",
        )
    contexts = with_gold(kept, open_corpus(corpus) if corpus else ())
    write_contexts(contexts, output)
    if qrels is not None:
        write_gold(contexts, qrels)
    if references is not None:
        write_references(kept, references)
    rows = [
        ("queries read", made.counts.queries),
        ("  dropped: no well-formed answer", made.counts.without_answer),
        ("  dropped: the answer is that there is none", made.counts.unanswerable),
        ("  dropped: --skip and --first", made.counts.kept - len(kept)),
        ("contexts", len(kept)),
        ("  with a selected passage", sum(bool(one.selected) for one in kept)),
        ("  with a gold passage", sum(bool(one.gold) for one in contexts)),
    ]
    show(counts_of(rows))
    note(f"wrote {output}: {len(contexts):,} contexts")
