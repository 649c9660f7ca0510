"""The analysis in bulk, piece by piece, gives what Lucene's gives for whole texts."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adducir.corpora.documents import text_of
from adducir.corpora.sources import open_corpus
from adducir.indexes.analysis import Analysis
from adducir.indexes.feeding import packed
from adducir.indexes.memory.filling import Analyser

DEFAULT = Analysis()
SIGNS = "aabeS09'’.,:;_-/@#! \t\n\r\v\f\x00\x85\u00a0\u00ad\u0301\u200b\u200d\u2028\u3000"
LETTERS = "éßİſµ東京カタｶﾀ한국ไทยקע״׳अनि😀🏽👩🇩🇪⃣\U00020000\ufe0f"


def in_bulk(analyser: Analyser, texts: Sequence[str]) -> list[list[str]]:
    found = []
    for docnos, block in packed(
        ((str(n), [t.encode()]) for n, t in enumerate(texts)), with_docnos=False
    ):
        tokens, starts = analyser.tokens(len(docnos), block)
        names = analyser.terms()
        for first, last in pairwise(starts):
            found.append([names[token] for token in tokens[first:last]])
    return found


@pytest.fixture(scope="module")
def analyser() -> Analyser:
    """One for all texts, so that later ones meet pieces that were seen before."""
    return Analyser(DEFAULT)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(st.sampled_from(SIGNS + LETTERS), max_size=60), min_size=1, max_size=20))
def test_any_signs(analyser: Analyser, texts: list[str]) -> None:
    assert in_bulk(analyser, texts) == DEFAULT.terms(texts)


LENGTHS = st.sampled_from([1, 47, 48, 49, 199, 200, 201, 254, 255, 256, 511, 1100])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(LENGTHS, st.sampled_from("xé東.-'"), st.sampled_from(" \n-")), max_size=9)
)
def test_long_pieces(analyser: Analyser, pieces: list[tuple[int, str, str]]) -> None:
    text = "".join(f"ab{sign * length}{blank}" for length, sign, blank in pieces)
    assert in_bulk(analyser, [text, "dogs " + text]) == DEFAULT.terms([text, "dogs " + text])


def test_more_pieces_than_are_kept() -> None:
    analyser = Analyser(Analysis("none", "none"))
    words = [f"w{n}" for n in range(140_000)]
    for _ in range(2):
        (found,) = in_bulk(analyser, [" ".join(words)])
        assert found == words


@pytest.mark.parametrize("source", ["cacm/corpus.jsonl", "touche/argsme-subset.jsonl"])
def test_collections(collections: Path, analyser: Analyser, source: str) -> None:
    corpus = open_corpus(str(collections / source))
    texts = [text_of(document, tuple(document.fields)) for document in corpus]
    assert in_bulk(analyser, texts) == DEFAULT.terms(texts)
