"""Exemplifying units: hand-written cases, duplicates, counts, real answers and books."""

import bz2
import gzip
import json
import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.studies.exemplification.examples import Tally, extract_examples
from adducir.studies.exemplification.markers import Markers
from adducir.studies.exemplification.sentences import Sentences
from adducir.studies.exemplification.texts import ANSWER, BOOK, Text, read_texts
from adducir.studies.exemplification.units import (
    DUPLICATE,
    EMPTY,
    NESTED,
    PARENTHESIS,
    REFERENCE,
    SENTENCE,
    TOO_LONG,
    TOO_SHORT,
    UNBALANCED,
    find_units,
)


def texts(*contents, kind=ANSWER):
    return [Text(f"t{i}", f"g{i}", content, kind, "file") for i, content in enumerate(contents)]


def spans(content, **options):
    """Left, unit and right of each span of a text, joined, and what was dropped."""
    tally = Tally()
    found = extract_examples(texts(content), tally, **options)
    return [(" ".join(s.left), " ".join(s.span), " ".join(s.right)) for s in found], tally.dropped


ONE_UNIT = {
    "a sentence": ("Dogs help. [For example, some guide the blind.] Cats do not."),
    "in the middle": ("Dogs help. [Some, for example, guide the blind.] Cats do not."),
    "at the end": ("Dogs help. [Some guide the blind, for example.] Cats do not."),
    "e.g. in a sentence": ("Some fish adapt. [They live in rivers, e.g. Flounder.] Others die."),
    "e.g. at the start": ("It helps dogs. [E.g. some guide the blind.] Cats do not."),
    "e.g. small at the start": ("It helps the dogs. [e.g. some guide the blind.] Cats do not."),
    "eg without stops": ("It varies. [Take fruit, eg. pears and plums.] Done now."),
    "no capital": ("it helps the dogs. [for example some guide the blind.] cats do not."),
    "parenthesis": ("Some fish adapt well [(e.g. Flounder)], and live. Others die."),
    "parenthesis that ends": ("Some fish adapt [(e.g., Flounder, Eel).] Others die."),
    "parenthesis, for example": ("He saw dogs [(for example terriers)] there. Done."),
    "square brackets": ("He saw dogs [e.g. terriers] there. Done."),
    "nested": ("He saw dogs [(e.g. terriers (small ones), and (too) hounds)] there. Done."),
    "in another parenthesis": ("He (who saw dogs [(e.g. terriers)] there) left. Done."),
    "a parenthesis of sentences": ("He left. [(For example, he ran. He hid (well).)] Done."),
    "a parenthesis without content": ("Hi there. [A dog (for example) barks at men.] Done."),
    "marker later in a parenthesis": ("Hi. He left [(he ran, for example)] at last. Done."),
    "tokenised": ("The act ruled areas [( e.g. , Sea Point , Lansdowne )] of towns . Done ."),
    "alone": ("Look here. [For example: Pears grow well.] They are sweet."),
    "alone before a list": ("Look here.\n\n[For example:\n\n* pears]\n* plums"),
    "abbreviations inside": ("Hi all. [Mr. Smith, e.g., met Dr. Jones and Mrs. Long.] Done now."),
    "twice": ("Hi all. [For example, he ran, or, for example, hid.] Done now."),
    "opening the text": ("[For example, he ran.] Done now."),
    "closing the text": ("He left. [For example, he ran]"),
}


@pytest.mark.parametrize("name", ONE_UNIT)
def test_hand_written_units(name):
    marked = ONE_UNIT[name]
    if name == "square brackets":
        left, unit, right = "He saw dogs", "[e.g. terriers]", "there. Done."
    else:
        left, unit, right = re.fullmatch(r"(.*?)\[(.*)\](.*)", marked, re.DOTALL).groups()
        marked = left + unit + right
    wanted = tuple(" ".join(part.split()) for part in (left, unit, right))
    assert spans(marked) == ([wanted], Counter())


def test_two_parentheses_are_two_units():
    found, dropped = spans("Acids (e.g. sulfuric) and alkalis (e.g. soda) burn. Done.")
    assert found == [
        ("Acids", "(e.g. sulfuric)", "and alkalis (e.g. soda) burn. Done."),
        ("Acids (e.g. sulfuric) and alkalis", "(e.g. soda)", "burn. Done."),
    ]
    assert not dropped


def test_a_parenthesis_in_a_unit_is_no_other():
    sentence = "For example, fruit (e.g. pears) is sweet."
    assert spans(sentence) == ([("", sentence, "")], Counter({NESTED: 1}))
    clause = "(e.g. fruit (e.g. pears))"
    assert spans(f"Eat {clause} now.") == ([("Eat", clause, "now.")], Counter({NESTED: 1}))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("Eat fruit (e.g. pears and plums. Then sleep.", UNBALANCED),
        ("For example:", EMPTY),
        ("He left (e.g. Fig. 3) early.", REFERENCE),
        ("He left (e.g., Figure 3B) early.", REFERENCE),
        ("He left (e.g. see Table 2) early.", REFERENCE),
        ("He left (for example, Section IV) early.", REFERENCE),
        ("He left early (e.g. p. 17).", REFERENCE),
        ("See, for example, Mill on this.", REFERENCE),
        ("It is known (see, e.g., Smith 2001).", REFERENCE),
    ],
)
def test_what_is_dropped_is_reported(content, reason):
    found, dropped = spans(content)
    assert found == []
    assert dropped == {reason: 1}


@pytest.mark.parametrize(
    "content",
    [
        "For example, figures of speech are hard.",
        "He drew things, e.g. a table with 3 legs.",
        "For example, sections of the wall fell.",
        "As you see, for example, he ran.",
    ],
)
def test_examples_that_only_look_like_references_are_kept(content):
    assert spans(content) == ([("", content, "")], Counter())


@pytest.mark.parametrize(
    "content",
    ["I did it for example's sake.", "The egg broke.", "Foreign, Meg. and so on.", "for examples"],
)
def test_no_marker_no_unit(content):
    assert spans(content) == ([], Counter())


@pytest.mark.parametrize(("words", "taken"), [(1, 1), (2, 1), (3, 0)])
def test_units_can_be_too_short(words, taken):
    found, dropped = spans("Eat (e.g. ripe pears) now.", min_words=words)
    assert (len(found), dropped[TOO_SHORT]) == (taken, 1 - taken)


def test_units_can_be_too_long():
    content = "For example, " + "very " * 255 + "old."
    assert spans(content)[0]
    assert spans(content.replace("old", "very old")) == ([], Counter({TOO_LONG: 1}))
    assert spans(content.replace("old", "very old"), max_words=None)[0]


def test_duplicates_are_dropped_and_equal_units_share_a_candidate():
    answer = "Dogs help. For example, some guide the blind. Fine."
    reposted = "> Dogs help.\n\nFOR EXAMPLE some guide the blind!"
    other = "Pets are useful. For example, some guide the blind."
    tally = Tally()
    found = list(extract_examples(texts(answer, reposted, other), tally))
    assert [span.id for span in found] == ["t0:11", "t2:17"]
    assert [span.candidate for span in found] == ["t0:11", "t0:11"]
    assert (tally.spans, tally.candidates, tally.groups, tally.texts) == (2, 1, 2, 3)
    assert tally.dropped == {DUPLICATE: 1}


def test_offsets_marker_and_counts():
    content = "One two three.\n\nHe ate (e.g. some\npears) now. For example, he ran. Bye."
    tally = Tally()
    text = Text("q-a", "q", content, ANSWER, "x.jsonl", "Why?")
    first, second = extract_examples([text], tally)
    extra = first.extra
    assert content[extra["start"] : extra["end"]] == "(e.g. some\npears)"
    assert first.span == ("(e.g. some pears)",)
    assert first.left == ("One two three.", "He ate")
    assert first.right == ("now.", "For example, he ran.", "Bye.")
    assert first.id == f"q-a:{extra['start']}"
    assert (extra["marker"], extra["form"], extra["question"]) == ("e.g.", PARENTHESIS, "Why?")
    assert (second.extra["marker"], second.extra["form"]) == ("for example", SENTENCE)
    # left 5 + 9 words, units 3 + 4, right 6 + 1
    assert tally.means() == (7.0, 3.5, 3.5)
    assert tally.kinds == {(PARENTHESIS, "e.g."): 1, (SENTENCE, "for example"): 1}
    assert Tally().means() == (0.0, 0.0, 0.0)


def test_contexts_are_whole_sentences_up_to_a_number_of_words():
    content = "One two. Three four. Five six. For example, he ran. Seven. Eight nine. Ten."
    found = {words: spans(content, words=words)[0][0] for words in (0, 1, 3, None)}
    assert found[0][::2] == ("", "")
    assert found[1][::2] == ("Five six.", "Seven.")
    assert found[3][::2] == ("Three four. Five six.", "Seven. Eight nine.")
    assert found[None][::2] == ("One two. Three four. Five six.", "Seven. Eight nine. Ten.")


def test_italics_of_books_go_and_other_underscores_stay():
    content = "He _ran_. That is, _e.g._, a _good_ snake_case.\n\nIt_s fine _so_."
    (book,) = extract_examples(texts(content, kind=BOOK))
    assert (book.left, book.right) == (("He ran.",), ("It_s fine so.",))
    assert book.span == ("That is, e.g., a good snake_case.",)
    assert (
        spans("See _URL_0_. For example, _URL_1_ helps.")[0][0][1] == "For example, _URL_1_ helps."
    )


PIECES = ("for example", "e.g.", "(e.g. ", "(for example ", ")", "(", "]", "[", ". ", " ", "A b")
PIECES += ("\n\n", "see ", "Fig. 3", "\n* ", "E.g", "eg", "é", "_")


@given(
    st.lists(
        st.sampled_from(PIECES),
        max_size=14,
    )
)
def test_units_never_overlap_and_lose_no_text(parts):
    content = "".join(parts)
    units = list(find_units(Sentences(content)))
    kept = [unit for unit in units if unit.reason is None]
    assert all(a.end <= b.start for a, b in pairwise(kept))
    assert {unit.marker for unit in units} <= set(Markers(content).all)
    for span in extract_examples(texts(content), words=None):
        whole = " ".join((*span.left, *span.span, *span.right))
        assert "".join(whole.split()) == "".join(content.split())


ELI5 = {"q_id": "q1", "title": "Why?", "answers": {"a_id": ["a", "b"], "text": ["Text.", " "]}}
KILT = {"id": "q1", "input": "Why?", "output": [{"answer": "Text."}, {"provenance": []}]}
QA = {"q_id": "q1", "question": "Why?", "answers": ["Text.", "More."]}
ROLE = {"q_id": "q1", "a_id": "7", "question": "Why?", "answer_paragraph": "Text."}


@pytest.mark.parametrize(
    ("record", "names"),
    [(ELI5, ["q1-a"]), (KILT, ["q1-0"]), (QA, ["q1-0", "q1-1"]), (ROLE, ["q1-7"])],
)
def test_formats_of_answers(tmp_path, record, names):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(record).encode()))
    found = list(read_texts([path]))
    assert [text.id for text in found] == names
    assert found[0] == Text(names[0], "q1", "Text.", ANSWER, "a.jsonl.gz", "Why?")


def nq(long=(2, 7), short=(), yes="NONE", tokens="x y <P> It <i> fell </P> z", **more):
    start, end = long
    answer = {"start_token": start, "end_token": end, "candidate_index": 0}
    annotation = {"long_answer": answer, "short_answers": list(short), "yes_no_answer": yes}
    record = {"example_id": 9, "question_text": "what?", "annotations": [annotation], **more}
    return record | ({"document_text": tokens} if isinstance(tokens, str) else tokens)


def test_long_answers_of_natural_questions(tmp_path):
    path = tmp_path / "nq.jsonl"
    full = {
        "document_tokens": [{"token": t, "html_token": "<" in t} for t in ("<P>", "Up", "</P>")]
    }
    records = [
        nq(),
        nq(long=(-1, -1)),
        nq(short=[{"start_token": 3, "end_token": 4}]),
        nq(yes="YES"),
        nq(tokens="x y <Table> It fell </Table> z"),
        nq(long=(0, 3), tokens=full, example_id=10),
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    skipped = Counter()
    found = list(read_texts([path], skipped=skipped))
    assert [(text.id, text.content, text.question) for text in found] == [
        ("9", "It fell", "what?"),
        ("10", "Up", "what?"),
    ]
    assert sorted(skipped.values()) == [1, 1, 2]


def test_a_folder_stands_for_its_books(tmp_path):
    from adducir.core.errors import InputError

    with pytest.raises(InputError, match=r"no \.txt"):
        list(read_texts([tmp_path]))
    (tmp_path / "b c.txt").write_text(
        "\ufeff*** START OF X ***\r\n\r\nIt is.\r\n*** END OF X ***\r\n"
    )
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"Plain."))
    (tmp_path / "c.md").write_text("no")
    found = list(read_texts([tmp_path]))
    assert [(text.id, text.content, text.offset) for text in found] == [
        ("a", "Plain.", 0),
        ("b_c", "It is.", len("*** START OF X ***\n\n")),
    ]
    with pytest.raises(InputError, match="already"):
        list(read_texts([tmp_path, tmp_path / "a.txt.gz"]))


@pytest.mark.parametrize(
    ("line", "form", "what"),
    [
        ("{", None, "not JSON"),
        ("[3]", None, "JSON object is wanted"),
        ("3", None, "not a JSON object"),
        ('{"question": "x"}', None, "lacks an id"),
        ('{"id": "x"}', None, "lacks an answer"),
        ('{"id": "x", "answers": [{}]}', None, "list of texts"),
        ('{"id": "x", "output": 3}', None, "kilt"),
        ('{"id": "x", "answers": {"a_id": ["1"], "text": []}}', None, "eli5"),
        ('{"id": "x", "annotations": [{}]}', None, "nq"),
        ('{"id": "x", "output": [3]}', "kilt", "kilt"),
    ],
)
def test_a_wrong_record_is_named(tmp_path, line, form, what):
    from adducir.core.errors import InputError

    path = tmp_path / "a.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match=what) as caught:
        list(read_texts([path], form))
    assert caught.value.where == f"{path}:1"


EDGES = {
    "no full stop": "It changes the program of it For example : if a game asks. Other.",
    "no full stop behind": "Birds, for example, fly south This is why. They rest.",
    "no blank": "It is done so.For example, ice floats.Nobody knows why it does.",
    "bracket and small letter": "Some (few). for example, ice floats (on it). and so on it goes.",
    "link": "See [here]( URL_1 ). With age, for example, it fades. More.",
    "quoted line": "> Why does ice float, for example?\n> Because it is so. It is light.",
    "glued quotation": "I read this.>Ice floats, for example. It does not sink.",
    "two in a row": "The order counts in this. e.g. you have two. Enough.",
}
HELD = {
    "no full stop": "For example : if a game asks.",
    "no full stop behind": "Birds, for example, fly south",
    "no blank": "For example, ice floats.",
    "bracket and small letter": "for example, ice floats (on it).",
    "link": "With age, for example, it fades.",
    "quoted line": "Why does ice float, for example?",
    "glued quotation": "Ice floats, for example.",
    "two in a row": "e.g. you have two.",
}


@pytest.mark.parametrize("name", EDGES)
def test_edges_that_no_blank_or_capital_shows(name):
    text = EDGES[name]
    (unit,) = [one for one in find_units(Sentences(text)) if one.reason is None]
    assert text[unit.start : unit.end] == HELD[name]


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("Old records (The White Album, for example) were mixed for mono.", None),
        ("The nations (as Rome, for example, was) fell in the end.", None),
        ("They fell (as Rome did, e.g.).", "(as Rome did, e.g.)."),
        ("(Rome, for example, fell at last.)", "(Rome, for example, fell at last.)"),
        (
            "It holds (for example) of Rome as of Troy.",
            "It holds (for example) of Rome as of Troy.",
        ),
    ],
)
def test_a_marker_in_a_parenthesis_masks_no_claim(text, unit):
    (found,) = [one for one in find_units(Sentences(text)) if one.reason is None]
    expected = unit or text[text.index("(") : text.index(")") + 1]
    assert text[found.start : found.end] == expected


def test_the_papers_rules_stay():
    for text in (*list(EDGES.values())[1:3], "Old records (The Album, for example) were mono."):
        old = [one for one in find_units(Sentences(text), rules="paper") if one.reason is None]
        assert [one.form for one in old] == [SENTENCE]
        (new,) = find_units(Sentences(text))
        assert (old[0].start, old[0].end) != (new.start, new.end)


def read_as(tmp_path, name, content, form=None):
    path = tmp_path / name
    path.write_bytes(content)
    return list(read_texts([path], form))


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.txt", "a", "a.dat"])
@pytest.mark.parametrize("record", [ELI5, KILT, QA])
def test_an_array_of_records_is_read_as_lines_are(tmp_path, record, name, pack):
    ending = {bytes: "", gzip.compress: ".gz", bz2.compress: ".bz2"}[pack]
    records = [record, {**record, next(k for k in record if k.endswith("id")): "q2"}]
    lines = "".join(json.dumps(one) + "\n" for one in records).encode()
    expected = [text[:4] for text in read_as(tmp_path, "b.jsonl", lines)]
    array = pack(json.dumps(records, indent=1).encode())
    assert [text[:4] for text in read_as(tmp_path, name + ending, array)] == expected
    assert len({text[1] for text in expected}) == 2


@pytest.mark.parametrize("form", [None, "book"])
@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b'["for example this."]', "JSON"),
        (b'\xef\xbb\xbf \n{"for example": ["this."]}', "JSON|lacks an id"),
        (b"<!DOCTYPE html><p>For example, this.</p>", "markup"),
        (b"<TEI>For example, this.</TEI>", "markup"),
        (b"id\ttext\n1\tFor example, this.\n2\tNo.\n", "table"),
    ],
)
def test_no_book_is_made_of_what_is_none(tmp_path, content, what, form):
    from adducir.core.errors import InputError

    with pytest.raises(InputError, match=what):
        read_as(tmp_path, "a.txt", content, form)


@pytest.mark.parametrize(
    "opening", ["[Illustration]", "[1] A note.", "{From a letter.}", "< less", "A\tb.\nC\td e\tf"]
)
def test_books_may_open_with_brackets(tmp_path, opening):
    (text,) = read_as(tmp_path, "a.txt", f"{opening}\n\nFor example, this.".encode())
    assert text.content.startswith(opening)


def test_a_name_that_shows_nothing_is_no_book(tmp_path):
    from adducir.core.errors import InputError

    with pytest.raises(InputError, match="neither its name") as caught:
        read_as(tmp_path, "a.csv", b"For example, this.")
    assert "--format" in caught.value.hint
    assert len(read_as(tmp_path, "a.csv", b"For example, this.", "book")) == 1


def test_a_book_that_declares_ascii_and_is_none_is_refused(tmp_path):
    from adducir.core.errors import InputError

    content = "Character set encoding: ASCII\n\nA café, for example.".encode("cp1252")
    with pytest.raises(InputError, match="not UTF-8") as caught:
        read_as(tmp_path, "a.txt", content)
    assert caught.value.where.endswith("a.txt:3")


def test_kilt_without_outputs_is_recognised(tmp_path):
    from adducir.core.errors import InputError

    blind = {"id": "q0", "input": "Why?", "meta": {}}
    both = f"{json.dumps(blind)}\n{json.dumps(KILT)}\n".encode()
    assert [text.id for text in read_as(tmp_path, "a.jsonl", both)] == ["q1-0"]
    with pytest.raises(InputError, match="no answers here: none of the 2 records") as caught:
        read_as(tmp_path, "b.jsonl", f"{json.dumps(blind)}\n".encode() * 2)
    assert "KILT" in caught.value.hint


def test_examples_of_real_answers(collections):
    path = collections / "eli5" / "lfqa_discourse.role_annotation.jsonl"
    tally = Tally()
    found = list(extract_examples(read_texts([path]), tally))
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    by_id = {"_".join(f"{r['q_id']}-{r['a_id']}".split()): r["answer_paragraph"] for r in records}
    for span in found:
        text = by_id[span.id.rsplit(":", 1)[0]]
        masked = text[span.extra["start"] : span.extra["end"]]
        assert " ".join(masked.split()) == " ".join(" ".join(span.span).split())
        assert re.search(r"for\s+example|\be\.?\s?g\b", masked, re.IGNORECASE)
    # Every sentence with a marker that people called an example is taken; all 34 of them.
    units = {" ".join(" ".join(span.span).split()) for span in found}
    wanted = [
        " ".join(sentence.split())
        for record in records
        for sentence, role in zip(
            record["answer_sentences"], record["role_annotation"], strict=True
        )
        if role == "Answer - Example" and re.search(r"for example|\be\. ?g\b", sentence, re.I)
    ]
    assert len(wanted) == 34
    assert [w for w in wanted if not any(w in unit or unit in w for unit in units)] == []
