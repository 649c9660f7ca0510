"""The texts of the passages that references and outputs name."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from adducir.corpora.documents import text_of
from adducir.corpora.sources import open_corpus
from adducir.studies.grounded_generation.evaluation.texts import Generated, Reference


def passages_of(
    source: str | Path,
    references: Mapping[str, Reference],
    systems: Iterable[Mapping[str, Generated]],
) -> dict[str, str]:
    """The texts of named passages by docno, read from a corpus in one pass.

    The text is that of all the fields that would be indexed, the title first. In memory are the
    passages that are named, not the corpus.

    Raises:
        InputError: The corpus cannot be read.
    """
    wanted = {docno for one in references.values() for docno in one.gold}
    for found in systems:
        wanted.update(
            output.docno for one in found.values() for output in one.outputs if output.docno
        )
    corpus = open_corpus(source)
    fields = corpus.default_fields
    return {one.docno: text_of(one, fields) for one in corpus if one.docno in wanted}
