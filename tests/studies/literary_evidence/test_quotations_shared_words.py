"""The strict rules: words in a row, whatever the punctuation, and nothing by coincidence."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quotation_texts import REMARKS, TALE, criticism, tale

from adducir.studies.literary_evidence.alignment import (
    SEED,
    Run,
    Vocabulary,
    chains_of,
    matched,
    seeds_of,
    share_words,
    shared_runs,
)
from adducir.studies.literary_evidence.builder import Built, find_quotations
from adducir.studies.literary_evidence.rules import Rules, rules_of
from adducir.studies.literary_evidence.sources import Source
from adducir.studies.literary_evidence.windows import Window

ONE = Rules(min_matches=1)


def built(*quoted: str, rules: Rules = ONE) -> Built:
    return find_quotations([tale()], [criticism(*quoted)], rules)


def places(made: Built) -> list[tuple[int, int]]:
    return [(one.start, one.length) for one in made.windows]


def found(*quoted: str) -> Window:
    (window,) = built(*quoted).windows
    return window


@pytest.mark.parametrize(
    ("quoted", "place"),
    [
        ([f"“{TALE[5]}”"], (5, 1)),
        (
            ["“Old Margaret counted [her] baskets twice, for she trusted nobody, and herself.”"],
            (1, 1),
        ),
        (
            [
                "“When the schoolmaster passed the church, he found the door ... and a candle "
                "burning there.”"
            ],
            (6, 1),
        ),
        ([f"“{one}”" for one in TALE[6:11]], (6, 5)),
        ([f"“{TALE[1]} Then she went in.”"], (1, 2)),
        # The critic has a comma where the book has a semicolon.
        ([f"“{TALE[3][:-1]}, {TALE[4]}”"], (3, 2)),
        # Inside a long sentence of the critic's own.
        (
            [
                "It is of such a season that he says, with a turn that many have admired, that "
                "“nobody in the village could remember a summer that had asked so little of them,” "
                "and the reader, who knows what is to come, believes him for a page or two."
            ],
            (5, 1),
        ),
        ([TALE[9] + " " + TALE[10]], (9, 2)),  # a block without marks, of twenty words in a row
    ],
)
def test_quotations(quoted: list[str], place: tuple[int, int]) -> None:
    assert places(built(*quoted)) == [place]


@pytest.mark.parametrize(
    "quoted",
    [
        # Retold: other person and tense, and no mark.
        "The schoolmaster has passed the church, and finds the door open and a candle there.",
        "She neither turned her head when he spoke, nor did she stop the low murmur.",
        # Ten words in common, but none eight in a row.
        "“She did not turn at all; when he spoke she went on, nor did she stop it.”",
        # Fifteen characters in common with a neighbour are no quotation.
        "A candle burning is a common symbol in such books, and the door open is another.",
    ],
)
def test_no_quotation(quoted: str) -> None:
    assert places(built(quoted)) == []


def test_a_neighbour_that_shares_some_words_is_no_part() -> None:
    near = "He thought of thieves, as any reader of such tales would have done in his place."
    assert places(built(f"“{TALE[6]}”", near)) == [(6, 1)]
    relic = find_quotations(
        [tale()], [criticism(TALE[6], near)], rules_of("relic", {"min_matches": 1})
    )
    assert places(relic) == [(6, 2)]


def test_the_critics_words_in_the_same_sentence_stay() -> None:
    window = found(
        "He shows us that “nobody in the village could remember a summer that had asked "
        "so little of them,” and he means it in earnest."
    )
    assert window.left[-1] == "He shows us that"
    assert window.right[0] == "and he means it in earnest."
    assert (len(window.left), len(window.right)) == (4, 4)


def test_the_rest_of_a_changed_quotation_does_not_stay() -> None:
    window = found(
        "“When the schoolmaster passed the church, he found the door open and one "
        "poor candle burning there.”"
    )
    assert window.right[0] == REMARKS[6]


def test_a_long_quotation_gives_windows_that_share_their_context() -> None:
    whole = [f"“{one}”" for one in TALE]
    made = built(*whole, rules=Rules(min_matches=1, max_matches=20))
    assert places(made) == [(0, 5), (5, 5), (10, 5)]
    assert {one.left for one in made.windows} == {tuple(REMARKS[2:6])}
    assert {one.right for one in made.windows} == {tuple(REMARKS[6:10])}
    assert places(built(*whole, rules=Rules(min_matches=1, max_matches=20, parts=1))) == [(0, 5)]


def test_a_context_ends_before_it_repeats_the_quotation() -> None:
    again = "He insists on a summer that had asked so little of them."
    made = built(f"“{TALE[5]}”", REMARKS[0], again)
    assert [one.right for one in made.windows] == [(REMARKS[0],)]
    # Few words in common lose nothing: a long quotation stays whole.
    some = "The summer that had asked so much is another."
    assert len(built(f"“{TALE[5]}”", some).windows[0].right) == 4


def test_what_two_books_have_is_no_quotation_of_either() -> None:
    song = (
        "“O the sea gives on a Monday what the sea will ask again, and the low lands weep for it.”"
    )
    books = [Source(name, name, [*TALE[:3], song, f"It was sung in {name}."]) for name in "ab"]
    work = criticism(song, *REMARKS[:5], f"“{TALE[12]}”")
    made = find_quotations([*books, tale()], [work], ONE)
    assert [(one.book, one.start) for one in made.windows] == [("tale", 12)]
    assert made.report.dropped()["shared"] == 1


def test_an_edition_and_a_passing_word_are_no_criticism() -> None:
    assert built(*TALE, rules=ONE).report.dropped()["many"] == 1
    assert built(f"“{TALE[5]}”", rules=Rules()).report.dropped() == {"few": 1}


words = st.lists(st.sampled_from("abc"), max_size=40)


@given(words, words)
def test_runs_are_all_the_longest_ones(book: list[str], work: list[str]) -> None:
    vocabulary = Vocabulary()
    one, other = (vocabulary.numbered([" ".join(text)]) for text in (book, work))
    expected = {
        (i, j)
        for i in range(len(book) - SEED + 1)
        for j in range(len(work) - SEED + 1)
        if book[i : i + SEED] == work[j : j + SEED]
    }
    got = shared_runs(one, seeds_of(one), other, seeds_of(other))
    covered = {(run.book + k, run.work + k) for run in got for k in range(run.length - SEED + 1)}
    assert covered <= expected
    rare = len(expected) <= 8  # common ones are ignored as seeds
    assert not rare or covered == expected


def test_chains_follow_both_texts() -> None:
    rng = random.Random(3)
    runs = sorted(
        (Run(rng.randrange(300), rng.randrange(300), rng.randrange(5, 12)) for _ in range(200)),
        key=lambda run: (run.work, run.book),
    )
    for chain in chains_of(runs):
        assert matched(chain) >= 5
        for before, after in pairwise(chain):
            assert before.book + before.length <= after.book
            assert before.work + before.length <= after.work
            assert after.length > 0


def test_words_in_a_row() -> None:
    assert share_words("a b c d", "x b c d y", 3)
    assert not share_words("a b c d", "x b c y d", 3)
    assert not share_words("a b", "a b", 3)
