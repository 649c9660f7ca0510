"""What is taken out of books and criticism before sentences are compared."""

import pytest

from adducir.corpora.sentences import are_elided
from adducir.studies.literary_evidence.citations import is_citation, without_citations
from adducir.studies.literary_evidence.language import english_share, is_english
from adducir.studies.literary_evidence.pages import without_pages
from adducir.studies.literary_evidence.wrapping import is_heading, paragraphs, rejoin_breaks


@pytest.mark.parametrize(
    "inside",
    [
        "123", "p. 149", "pp. 12-14", "Austen 45", "Hennelly, 1983", "Smith and Jones 1990: 45-6",
        "ibid.", "ibid., p. 3", "see Smith 1999, 45", "vol. ii, ch. 3", "chap. xii.", "1847",
        "Vol. II., p. 5", "Emma, III, 7", "45; 67", "McEwan et al. 1986",
    ],
)  # fmt: skip
def test_citations(inside: str) -> None:
    assert is_citation(inside)
    assert without_citations(f"He waited ({inside}) for her.") == ("He waited for her.", 1)


@pytest.mark.parametrize(
    "inside",
    [
        "Mr. Knightley", "July 18, 1817", "aged 38", "it was 1813", "and so on", "see above",
        "the last of 5", "Jane Austen", "Edward IV", "!", "", "I",
    ],
)  # fmt: skip
def test_brackets_that_cite_nothing_stay(inside: str) -> None:
    assert not is_citation(inside)
    text = f"He waited ({inside}) for her."
    assert without_citations(text) == (text, 0)


def test_note_marks_and_brackets() -> None:
    noted = (
        'So it ended.[12] She wept.[A] "Gone!"3 Then {44} he [Pg 7] left [Footnote 1: See [2].].'
    )
    assert without_citations(noted) == ('So it ended. She wept. "Gone!" Then he left.', 6)
    edited = "[S]he reported [him] that [I] must go in No. 5 and in 1815."
    assert without_citations(edited) == (edited, 0)


def test_the_example_of_the_paper() -> None:
    """Table A1 of the paper, as printed, with the header on a line of its own."""
    raw = (
        "keeps them “less clear-sighted” (p. 149) to Bingley’s feelings for Jane and to the real\n"
        "worth- lessness of Wickham. When Jane’s letter reporting\n"
        "\n196 Mark M. Hennelly, Jr.\n\n"
        "Lydia’s disappearance with Wickham confirms Darcy’s earlier indictment of him, though,\n"
        "Elizabeth’s “eyes were opened to his real character” (p. 277).\n\n"
        "198 Mark M. Hennelly, Jr.\n\nMore.\n\n200 Mark M. Hennelly, Jr.\n\nEnd of it."
    )
    lines, removed = without_pages(raw)
    assert removed == 3
    cleaned = [without_citations(part)[0] for part in paragraphs(lines)]
    assert cleaned == [
        "keeps them “less clear-sighted” to Bingley’s feelings for Jane and to the real "
        "worthlessness of Wickham. When Jane’s letter reporting Lydia’s disappearance with "
        "Wickham confirms Darcy’s earlier indictment of him, though, Elizabeth’s “eyes were "
        "opened to his real character”.",
        "More.",
        "End of it.",
    ]


def test_page_numbers_and_running_heads() -> None:
    text = "One\n\n12\n\ntwo.\n\n- xiv -\n\nThree.\n\n[Pg 9]\n\nTHE NOVEL 45\n\nIn 1815\n\nIV\n"
    assert without_pages(text) == ("One\ntwo.\n\nThree.\n\nIn 1815\n\nIV\n", 4)


def test_heads_and_feet_of_pages_that_form_feeds_part() -> None:
    pages = [f"Of Harbours\n\nPage {n} has text that\n\nThe Press" for n in range(3)]
    text, removed = without_pages("\f".join(pages))
    assert (text, removed) == ("\n".join(f"Page {n} has text that" for n in range(3)), 6)
    twice = "\f".join(pages[:2])
    assert without_pages(twice) == (twice.replace("\f", "\n"), 0)


def test_broken_words_are_fixed_as_the_text_itself_has_them() -> None:
    text = (
        "the drawing-room. In the drawing-\nroom he dis-\ntinguished a worth-\nless self-\nmade "
        "self made man"
    )
    assert rejoin_breaks(text) == (
        "the drawing-room. In the drawing-room he distinguished a worthless self-made self made man"
    )
    assert rejoin_breaks("pre- and post-war") == "pre- and post-war"


def test_paragraphs_are_unwrapped_and_lose_headings_and_emphasis() -> None:
    text = (
        "CHAPTER IV.\n\nIt was in _Emma\nhimself_ that\nsnake_case_name grew.\n \nXII\n\n"
        "Book the First\n\n"
    )
    assert paragraphs(text) == ["It was in Emma himself that snake_case_name grew."]
    assert paragraphs("") == []


def test_headings() -> None:
    shown = [
        "CHAPTER I. The Period",
        "Volume 2",
        "THE END",
        "xii.",
        "3",
        "* * *",
        "PART THE SECOND",
    ]
    assert [one for one in shown if not is_heading(one)] == []
    message = ["“NO!”", "HELP!", "Part of it was true.", "Chapter and verse were quoted.", "A man."]
    assert [one for one in message if is_heading(one)] == []


@pytest.mark.parametrize(
    "text",
    [
        "Il était assis près de la fenêtre et regardait la mer sans dire un mot à personne.",
        "Er saß am Fenster und sah auf das Meer hinaus, ohne ein Wort zu irgendjemand zu sagen.",
        "Stava seduto vicino alla finestra e guardava il mare senza dire una parola a nessuno.",
        "Он сидел у окна и смотрел на море, не говоря никому ни слова, пока не стемнело совсем.",
        "Sedebat ad fenestram et mare spectabat neque ulli homini verbum unum dicebat hodie.",
        "Σὺ δὲ κάθησο",
    ],
)
def test_other_languages_are_not_english(text: str) -> None:
    assert not is_english(text)


def test_english_is() -> None:
    assert is_english(
        "He sat by the window and looked at the sea, and he said not a word to anyone."
    )
    assert is_english("Mrs. Norris, Fanny Price!")  # too short to show, and Latin letters
    assert english_share("") == 0
    assert english_share("The sea, the SEA!") == 0.5


@pytest.mark.parametrize(
    ("before", "after", "elided"),
    [
        ("and so ...", "x", True),
        ("and so . . . ", "x", True),
        ("and so ...” ]", "x", True),
        ("and so …)", "x", True),
        ("and so * * *", "x", True),
        ("and so ..", "x", False),
        ("and so ... on", "x", False),
        ("and so ...]]", "x", True),
        ("and so", "... x", True),
        ("and so", "“ . . . x", False),
        ("and so", "“. . . x", True),
    ],
)
def test_ellipses_between_sentences(before: str, after: str, elided: bool) -> None:
    assert are_elided(before, after) is elided
