"""What a report quotes of documents: words of the query, words with weights."""

from adducir.tables.report.quoted import WORD, Part, quoted


def test_words_of_the_query_are_marked_and_weighted_ones_underlined() -> None:
    text = "Well-known cats run; the CATS!"
    assert WORD.findall(text) == ["Well", "known", "cats", "run", "the", "CATS"]
    found = list(quoted(text, "do cats run?", [0, 26, 100, 140, 0, 3]))
    assert "".join(part.text for part in found) == text
    assert [part for part in found if part.element] == [
        Part("u", "w2", "0.26", "known"),
        Part("mark", "w4", "1", "cats"),
        Part("u", "w4", "1.4", "run"),  # too short to be marked
        Part("mark", "w1", "0.03", "CATS"),
    ]


def test_without_weights_the_query_alone_is_marked() -> None:
    found = [part for part in quoted("Über naïve Katzen", "naïve katzen") if part.element]
    assert found == [Part("mark", "", "", "naïve"), Part("mark", "", "", "Katzen")]
    assert list(quoted("", "naïve")) == [Part("", "", "", "")]
