"""Words, F1, Novel-F1, common words: hand cases and properties."""

import re
import string
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.core.errors import UsageError
from adducir.studies.grounded_generation.evaluation.answers import Answers, Knowledge
from adducir.studies.grounded_generation.evaluation.overlap import f1, novel_f1
from adducir.studies.grounded_generation.evaluation.texts import Generated, Output, Reference
from adducir.studies.grounded_generation.evaluation.words import common_words, words_of

WORDS = st.lists(st.sampled_from(["the", "A", "cat", "cats", "don't", "9.4", "été", "-", "an"]))
TEXTS = WORDS.map(" ".join)


def test_words_are_those_of_the_papers_lists():
    assert words_of("The U.S. don't, I'm 1") == ("us", "dont", "im", "1")
    assert words_of("An apple--a day") == ("applea", "day")  # KILT deletes marks, parts nothing
    assert words_of("… the —") == ("…", "—")  # only ASCII's marks are punctuation there


@given(st.text())
def test_words_by_the_definition(text):
    kept = "".join(mark for mark in text.lower() if mark not in set(string.punctuation))
    assert list(words_of(text)) == re.sub(r"\b(a|an|the)\b", " ", kept).split()


def test_f1_counts_words_as_often_as_they_occur():
    assert f1("a suicide", "suicide") == 1
    assert f1("suicide", "it was suicide") == 0.5  # P 1, R 1/3
    assert f1("cat cat cat", "cat cat dog") == pytest.approx(2 / 3)
    assert f1("", "") == f1("the", "the") == f1("cat", "") == 0


@given(TEXTS, TEXTS)
def test_f1_by_enumeration(first, second):
    left, right = list(words_of(first)), list(words_of(second))
    rest, same = list(right), 0
    for word in left:
        if word in rest:
            rest.remove(word)
            same += 1
    assert f1(first, second) == pytest.approx(2 * same / (len(left) + len(right)) if same else 0)


def test_novel_f1_by_hand():
    # novel: {bucatini, hollow, spaghetti} and {bucatini, hollow, pasta, tube}: 2 P R / (P + R).
    first = "Bucatini is a hollow spaghetti"
    second = "Bucatini: hollow pasta, like a tube"
    value = novel_f1(first, second, "Do you like noodles?", {"is"})
    assert value == pytest.approx(2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4))
    assert value == novel_f1(second, first, "Do you like noodles?", {"is"})


@given(TEXTS, TEXTS, TEXTS, st.frozensets(st.sampled_from(["cat", "dont", "94"])))
def test_novel_f1_edges(first, second, context, common):
    value = novel_f1(first, second, context, common)
    assert value == novel_f1(second, first, context, common)
    assert novel_f1(context, second, context, common) == 0  # a copy of x
    assert novel_f1(" ".join(common), second, context, common) == 0  # common words alone
    assert novel_f1(first, second, "", ()) == f1(first, second)
    assert 0 <= value <= 1


def test_common_words_to_the_word_that_reaches_the_share():
    texts = ["b b b b", "c c c", "a a", "d"]  # of 10 words; "a" is an article: 8 are left
    assert common_words(texts, 0) == ()
    assert common_words(texts, 0.5) == ("b",)
    assert common_words(texts, 0.51) == ("b", "c")
    assert common_words(texts, 1) == ("b", "c", "d")
    assert common_words(["y x"], 0.5) == ("x",)  # equally frequent: by the alphabet
    assert common_words([], 0.5) == ()
    with pytest.raises(UsageError, match="0 to 1"):
        common_words(texts, 1.1)


@given(st.lists(TEXTS), st.floats(0, 1), st.floats(0, 1))
def test_common_words_grow_with_the_mass(texts, one, other):
    low, high = (common_words(texts, mass) for mass in sorted((one, other)))
    assert high[: len(low)] == low
    counts = Counter(word for text in texts for word in words_of(text))
    reached = sum(counts[word] for word in high)
    assert reached >= max(one, other) * counts.total() - 1e-9


def test_answers_take_the_nearest_and_count_pairs_without_novel_words():
    right = {
        "1": Reference("1", ("red wine", "white wine"), "Which wine?"),
        "2": Reference("2", ("yes",), "yes?"),
        "3": Reference("3", ()),
    }
    found = {
        "1": Generated("1", (Output("white wine"), Output("red wine, yes"))),
        "2": Generated("2", (Output("yes"),)),
        "9": Generated("9", ()),
    }
    measure = Answers((), 2)
    scores = measure.scores("ours", right, found)
    assert [str(one) for one in scores.measures][:3] == ["F1", "Novel-F1", "ROUGE-L"]
    assert [str(one) for one in scores.measures][3] == "max F1@2"
    assert scores.qids == ("1", "2")
    assert scores.extra == ("9",)
    assert scores.values.tolist() == [[1, 1, 1, 1, 1, 1], [1, 0, 1, 1, 0, 1]]
    note = "Novel-F1: 1 of 5 pairs of outputs and answers have no novel word on either side"
    assert measure.notes()[0].startswith(note)


def test_what_was_not_generated_counts_nothing():
    right = {name: Reference(name, ("a dog",)) for name in "12"}
    scores = Answers(()).scores("ours", right, {"1": Generated("1", ())})
    assert scores.missing == ("2",)
    assert not scores.values.any()


def test_knowledge_is_measured_where_a_gold_passage_is_known():
    right = {
        "1": Reference("1", ("x",), gold=("p", "q")),
        "2": Reference("2", ("x",), gold=("lost",)),
        "3": Reference("3", ("x",)),
    }
    measure = Knowledge({"p": "a hollow pasta", "q": "hollow"}, 2)
    found = {"1": Generated("1", (Output("pasta"), Output("hollow")))}
    scores = measure.scores("ours", right, found)
    assert scores.qids == ("1",)
    assert scores.values.tolist() == [[pytest.approx(2 / 3), 1]]
    with pytest.raises(UsageError, match="knowledge"):
        Knowledge({}).scores("ours", right, found)
