"""ROUGE-L against its definition."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.core.errors import UsageError
from adducir.evaluation.rouge import RougeL, rouge_scores

GOLD = (
    "For example, if grass was poisonous, it would be better for its survival, as less animals "
    "would come eat it."
)
RETRIEVED = (
    "For example, we move incredible slowly when compared to the maximum speed allowed in the "
    "universe."
)
HIGHEST = (
    "For example, if a certain percentage of snakes are venomous, then the more snakes in a given "
    "area the more venomous."
)


def plain(gold, text):
    """The definition, with the textbook table of common subsequences."""
    first, second = (re.findall("[a-z0-9]+", one.lower()) for one in (gold, text))
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            table[i + 1][j + 1] = (
                table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
            )
    common = table[-1][-1]
    if not common:
        return 0.0
    recall, precision = common / len(first), common / len(second)
    return 2 * recall * precision / (recall + precision)


def test_lins_own_sentences():
    # Lin (2004), section 3.1: "police killed the gunman" against these has F = .75 and .5.
    rouge = RougeL()
    assert rouge.score("police killed the gunman", "police kill the gunman") == 0.75
    assert rouge.score("police killed the gunman", "the gunman kill police") == 0.5
    # "the gunman police killed" has the same longest common subsequence, of two words.
    assert rouge.score("police killed the gunman", "the gunman police killed") == 0.5


def test_the_figure_that_the_paper_prints():
    assert round(RougeL().score(GOLD, RETRIEVED), 3) == 0.111
    assert round(RougeL().score(GOLD, HIGHEST), 3) == 0.146  # the paper prints .22


WORDS = st.lists(st.sampled_from(["a", "b", "C", "dog", "été", "2nd", "-", "…"]), max_size=90)


@given(WORDS, st.lists(WORDS, max_size=4))
def test_against_the_definition(gold, texts):
    texts = [" ".join(text) for text in texts]
    found = RougeL().scores(" ".join(gold), texts)
    assert found.tolist() == pytest.approx([plain(" ".join(gold), text) for text in texts])


def test_stems_and_scripts():
    assert RougeL().score("running dogs", "run dog") == 0
    assert RougeL(stem=True).score("running dogs", "run dog") == 1
    assert RougeL(stem=True).score("gas", "ga") == 0  # three letters are kept as they are
    assert RougeL().score("café", "caf") == 1  # as rouge_score has it
    assert RougeL(unicode=True).score("café", "caf") == 0
    assert RougeL(unicode=True).score("Ναι, ΟΧΙ", "ναι όχι") == 0.5
    assert RougeL().score("Ναι", "Ναι") == 0


def test_more_tokens_than_there_are_characters_before_the_surrogates():
    rouge = RougeL()
    rouge.encoded(" ".join(map(str, range(56_000))))
    assert rouge.score("x55999y 55999 7", "7 55999 55998") == pytest.approx(1 / 3)
    assert rouge.encoded("55999").encode("utf-8")


def test_best_and_mean_of_the_top():
    gold_items = {"q": "a b c d", "r": "a", "s": "a"}
    retrieved = {"q": ["a x", "a b c d", "z"], "r": ["b"], "t": ["a"]}
    scores = rouge_scores("s", gold_items, retrieved, depth=2)
    assert [str(one) for one in scores.measures] == [
        "ROUGE-L",
        "max ROUGE-L@2",
        "mean ROUGE-L@2",
    ]
    third = 1 / 3
    assert scores.values.tolist() == [[third, 1, pytest.approx((third + 1) / 2)], [0] * 3, [0] * 3]
    assert (scores.missing, scores.extra) == (("s",), ("t",))
    assert rouge_scores("s", gold_items, retrieved).values.tolist() == [[third], [0], [0]]
    with pytest.raises(UsageError, match="depth"):
        rouge_scores("s", gold_items, retrieved, depth=0)
    with pytest.raises(UsageError, match="no query"):
        rouge_scores("s", {}, {})
