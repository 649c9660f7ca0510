"""Planted quotations are found where they were taken from, and leave nothing in their context."""

import pytest
from quotation_texts import REMARKS, TALE, criticism, tale

from adducir.core.errors import UsageError
from adducir.studies.literary_evidence.blocks import Block, grow_blocks, join_matches
from adducir.studies.literary_evidence.builder import Built, find_quotations
from adducir.studies.literary_evidence.matching import Match
from adducir.studies.literary_evidence.report import as_rows
from adducir.studies.literary_evidence.rules import Rules, rules_of
from adducir.studies.literary_evidence.similarity import normalise, normalised, share_run
from adducir.studies.literary_evidence.sources import Source
from adducir.studies.literary_evidence.windows import Window, error_of, repeats, without_duplicates


def relic(**numbers: int | float) -> Rules:
    """RELiC's rules; the strict ones have their tests in test_quotations_shared_words.py."""
    return rules_of("relic", numbers)


ONE = relic(min_matches=1)


def built(*quoted: str, rules: Rules = ONE) -> Built:
    return find_quotations([tale()], [criticism(*quoted)], rules)


def found(*quoted: str) -> Window:
    """The one window that results, its context checked to be the remarks around it."""
    made = built(*quoted)
    (window,) = made.windows
    assert window.left == tuple(REMARKS[2:6])
    assert window.right == tuple(REMARKS[6:10])
    return window


def test_an_exact_quotation() -> None:
    window = found(TALE[5])
    assert (window.book, window.work, window.start, window.length) == ("tale", "remarks", 5, 1)
    assert (window.place, window.quoted) == (6, TALE[5])


def test_an_edited_quotation() -> None:
    window = found(
        "“Old Margaret counted [her] baskets twice, since she trusted no one, "
        "& herself least of all.”"
    )
    assert (window.start, window.length) == (1, 1)


def test_an_elided_quotation() -> None:
    window = found(
        "“When the schoolmaster passed the church, he found ...", "a candle burning there.”"
    )
    assert (window.start, window.length) == (6, 1)


def test_a_block_that_begins_with_an_ellipsis() -> None:
    """Case A.1 of the paper: too little of the first sentence is left for a fuzzy match."""
    window = found("...wrapped in a cloak the colour of wet slate", TALE[10])
    assert (window.start, window.length) == (9, 2)


def test_a_block_quotation_over_short_sentences() -> None:
    window = found(*TALE[6:11])  # the sexton's death is too short to be sought
    assert (window.start, window.length) == (6, 5)


def test_a_block_whose_punctuation_the_critic_changed() -> None:
    window = found(
        "Her nephew had promised to mend the roof before the autumn rains, and had mended nothing,",
        "he sat on the wall with his long legs dangling.",
        "And whistled at the sea as at a dog.",
    )
    assert (window.start, window.length) == (3, 2)


def test_a_short_end_that_the_critic_joined_on() -> None:
    window = found(TALE[1] + " Then she went in.")
    assert (window.start, window.length) == (1, 2)


def test_a_short_sentence_inside_the_critics_words_is_not_joined_on() -> None:
    made = built("As then she went in dread: " + TALE[3], rules=relic(min_matches=1, run=20))
    (window,) = made.windows
    assert (window.start, window.length) == (3, 1)


def test_the_books_own_words_take_the_place_of_the_critics() -> None:
    made = built("“Nobody in the vilage could remembre a sumer that had asked so litle of them.”")
    (window,) = made.windows
    assert made.books[0].sentences[window.start] == TALE[5]


def test_two_quotations_far_apart_are_two_windows() -> None:
    made = built(TALE[5], *REMARKS[:5], TALE[12])
    assert [(one.start, one.length) for one in made.windows] == [(5, 1), (12, 1)]


def test_sentences_out_of_order_are_no_block() -> None:
    made = built(TALE[12], TALE[5])
    assert [(one.start, one.place) for one in made.windows] == [(5, 7), (12, 6)]


def test_the_edges_of_a_work_have_shorter_contexts() -> None:
    work = Source("w", "w", [TALE[5], REMARKS[0], TALE[12]])
    first, second = find_quotations([tale()], [work], ONE).windows
    assert (first.left, first.right) == ((), (REMARKS[0], TALE[12]))
    assert (second.left, second.right) == ((TALE[5], REMARKS[0]), ())


def test_no_context_no_window() -> None:
    made = find_quotations([tale()], [Source("w", "w", [TALE[5]])], ONE)
    assert (made.windows, made.report.dropped()) == ([], {"bare": 1})


def test_a_quotation_that_is_repeated_in_its_context_is_dropped() -> None:
    made = built(TALE[5], REMARKS[0], "He insists on a summer that had asked so little of them.")
    assert (made.windows, made.report.dropped()) == ([], {"echo": 1})
    far = built(TALE[5], *REMARKS[:4], "He insists on a summer that had asked so little of them.")
    assert len(far.windows) == 1


def test_too_long_a_block_is_dropped() -> None:
    made = built(*TALE[9:15])
    assert (made.windows, made.report.dropped()) == ([], {"long": 1})
    made = built(*TALE[9:14])
    assert [one.length for one in made.windows] == [5]


def test_works_with_too_few_or_too_many_matches_are_dropped() -> None:
    texts = (TALE[5], *REMARKS[:5], TALE[12], *REMARKS[:5], TALE[14])
    assert len(built(*texts, rules=relic()).windows) == 3
    few = built(*texts, rules=relic(min_matches=4))
    assert (few.windows, few.report.dropped()) == ([], {"few": 3})
    many = built(*texts, rules=relic(min_matches=1, max_matches=2))
    assert (many.windows, many.report.dropped()) == ([], {"many": 3})


def test_a_copy_of_a_work_adds_nothing() -> None:
    again = criticism(TALE[5].replace("village", "town"), name="second edition")
    made = find_quotations([tale()], [criticism(TALE[5]), again], ONE)
    assert [one.work for one in made.windows] == ["remarks"]
    assert made.report.dropped() == {"duplicate": 1}


def test_foreign_works_and_anthologies_are_not_searched() -> None:
    french = "Il était assis près de la fenêtre et regardait la mer sans rien dire à personne."
    foreign = Source("foreign", "Essai", [french] * 20 + [TALE[5]])
    anthology = criticism(TALE[5], name="a", title="An Anthology of the Coast")
    made = find_quotations([tale()], [foreign, anthology], ONE)
    assert made.windows == []
    assert made.report.refused == {"foreign": "foreign", "a": "anthology"}


def test_a_foreign_context_is_dropped() -> None:
    french = "Il était assis près de la fenêtre et regardait la mer sans rien dire à personne."
    made = built(*[french] * 4, TALE[5], *[french] * 4)
    assert (made.windows, made.report.dropped()) == ([], {"language": 1})


def test_books_are_reported_apart() -> None:
    other = Source("other", "Other", [*REMARKS[:3], TALE[5].replace("village", "whole country")])
    made = find_quotations([tale(), other], [criticism(TALE[5], name="w")], ONE)
    assert [(one.book, one.start) for one in made.windows if one.start == 5] == [("tale", 5)]


def test_the_report() -> None:
    made = built(TALE[5], *REMARKS[:5], *TALE[9:11])
    (report,) = made.report.books
    assert (report.sentences, report.sought, report.matches, report.quotations) == (16, 14, 3, 2)
    assert (report.windows, report.works, report.lengths) == (2, {"remarks": 2}, {1: 1, 2: 1})
    head, row, total = as_rows(made.report.books)
    assert head == ["book", "sentences", "sought", "matches", "quotations", "windows", "works"]
    assert row == ["tale", "16", "14", "3", "2", "2", "1"]
    assert total[1:] == row[1:]


def test_nothing_from_nothing() -> None:
    made = find_quotations([], [criticism()], ONE)
    assert (made.windows, made.report.windows) == ([], 0)
    assert find_quotations([tale()], [], ONE).windows == []


def test_joining() -> None:
    matches = [Match(0, 1, 0, 5, 99), Match(1, 3, 0, 6, 90), Match(3, 4, 1, 7, 99)]
    assert join_matches(matches) == [Block(0, 3, 5, 7, 0, 2), Block(3, 4, 7, 8, 1, 1)]
    assert join_matches([]) == []


def test_growth_needs_fifteen_characters() -> None:
    work = normalised(["xabcdefghijklmnopx", TALE[5], "zz"])
    for shared, start in (("abcdefghijklmn", 1), ("abcdefghijklmno", 0)):
        book = normalised([f"qq{shared}qq", TALE[5], "none"])
        (block,) = grow_blocks([Block(1, 2, 1, 2, 0)], work, [book], relic())
        assert (block.start, block.first) == (start, start)
        assert (block.end, block.last) == (2, 2)


def test_growth_stops_at_another_block() -> None:
    texts = normalised(TALE)
    blocks = grow_blocks([Block(5, 6, 5, 6, 0), Block(7, 8, 12, 13, 0)], texts, [texts], relic())
    assert [(one.first, one.last) for one in blocks] == [(0, 7), (7, 8)]


def test_duplicates_need_the_same_quotation() -> None:
    one = Window("b", "w", ("A b c d.",), 3, 1, ("E f g.",), 9, "q")
    moved = Window("b", "v", ("A b c d!",), 3, 1, ("E f g",), 2, "q")
    longer = Window("b", "v", ("A b c d!",), 3, 2, ("E f g",), 2, "q")
    assert without_duplicates([one, moved, longer], 80) == ([one, longer], 1)


def test_errors_of_windows() -> None:
    texts = normalised(TALE)
    window = Window("b", "w", tuple(REMARKS[:4]), 5, 1, tuple(REMARKS[4:8]), 4, "")
    assert error_of(window, texts, relic()) is None
    assert error_of(window, texts, relic(max_sentences=1, echo=4)) == "echo"
    edited = Window(
        "b",
        "w",
        ("Nobody in the town remembered any summer that asked so little.",),
        5,
        1,
        (),
        4,
        "",
    )
    assert repeats(edited, texts, relic(min_similarity=75))


@pytest.mark.parametrize(
    "wrong",
    [
        {"words": 0},
        {"min_similarity": 0.0},
        {"min_similarity": 101.0},
        {"min_matches": 9, "max_matches": 8},
        {"echo": 0},
        {"name": "x"},
    ],
)
def test_rules_that_cannot_be(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="rules" if "name" in wrong else next(iter(wrong))):
        Rules(**wrong)


def test_no_quotation_stays_in_its_own_context() -> None:
    quoted = [text for at, one in enumerate(TALE) for text in (one, *REMARKS[at % 4 : at % 4 + 5])]
    made = built(*quoted)
    assert made.windows
    for window in made.windows:
        whole = normalise(" ".join(TALE[window.start : window.start + window.length]))
        assert not share_run(normalise(" ".join(window.left)), whole, ONE.echo)
        assert not share_run(normalise(" ".join(window.right)), whole, ONE.echo)
