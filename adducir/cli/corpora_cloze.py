"""``adducir corpora cloze``."""

from typing import Annotated

from adducir.cli import parts
from adducir.cli.parameters import option


def corpora_cloze(
    sources: parts.Texts,
    output: parts.Spans,
    form: parts.Form = "auto",
    every: Annotated[int, option("Sentences from one mask to the next.", min=2)] = 10,
    longest: Annotated[
        int, option("Sentences of a mask, at most.", "--max-sentences", min=1, max=20)
    ] = 1,
    words: parts.ContextWords = 256,
    min_words: Annotated[int, option("Words of a mask.", min=1)] = 8,
    max_words: Annotated[int, option("Words of a mask, for each of its sentences.", min=1)] = 60,
) -> None:
    """Mask sentences of texts to pretrain encoders on.

    Sentences are masked evenly over each answer or book; what stands around them is the query.
    """
    from adducir.cli.console import note, open_progress
    from adducir.datasets.spans.cloze import mask_sentences
    from adducir.datasets.spans.record import write_spans
    from adducir.datasets.spans.texts import read_texts

    with open_progress() as progress:
        progress.start("Masking sentences", None, "masks")
        found = mask_sentences(
            read_texts(sources, None if form == "auto" else form, progress=progress),
            every=every,
            longest=longest,
            words=words,
            min_words=min_words,
            max_words=max_words,
        )
        count = write_spans((span for span in found if progress.advance(1) is None), output)
        progress.finish()
    note(f"wrote {output}: {count:,} masks")
