"""Exemplifying units and masked sentences: hand-written cases, formats of texts, the commands."""

import bz2
import gzip
import json
import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_files import jsonl

from adducir.core.errors import InputError, UsageError
from adducir.corpora.sentences import sentence_bounds
from adducir.studies.exemplification.extraction import Tally, extract_examples, mask_sentences
from adducir.studies.exemplification.texts import SourceText, read_texts
from adducir.studies.exemplification.units import Sentences, find_units


def texts(*contents, is_book=False):
    return [
        SourceText(f"t{i}", f"g{i}", one, "file", is_book=is_book) for i, one in enumerate(contents)
    ]


def spans(content, **options):
    """Left, unit and right of each span of a text, joined, and what was dropped."""
    tally = Tally()
    found = extract_examples(texts(content), tally, **options)
    return [(" ".join(s.left), " ".join(s.span), " ".join(s.right)) for s in found], tally.dropped


@pytest.mark.parametrize(
    "marked",
    [
        "Dogs help. [For example, some guide the blind.] Cats do not.",
        "Dogs help. [Some, for example, guide the blind.] Cats do not.",
        "Dogs help. [Some guide the blind, for example.] Cats do not.",
        "Some fish adapt. [They live in rivers, e.g. Flounder.] Others die.",
        "It helps the dogs. [e.g. some guide the blind.] Cats do not.",
        "It varies. [Take fruit, eg. pears and plums.] Done now.",
        "it helps the dogs. [for example some guide the blind.] cats do not.",
        "Some fish adapt well [(e.g. Flounder)], and live. Others die.",
        "Some fish adapt [(e.g., Flounder, Eel).] Others die.",
        "He saw dogs [(e.g. terriers (small ones), and (too) hounds)] there. Done.",
        "He (who saw dogs [(e.g. terriers)] there) left. Done.",
        "He left. [(For example, he ran. He hid (well).)] Done.",
        "Hi there. [A dog (for example) barks at men.] Done.",
        "Hi. He left [(he ran, for example)] at last. Done.",
        "The act ruled areas [( e.g. , Sea Point , Lansdowne )] of towns . Done .",
        "Look here. [For example: Pears grow well.] They are sweet.",
        "Look here.\n\n[For example:\n\n* pears]\n* plums",
        "Hi all. [Mr. Smith, e.g., met Dr. Jones and Mrs. Long.] Done now.",
        "Hi all. [For example, he ran, or, for example, hid.] Done now.",
        "[For example, he ran.] Done now.",
        "He left. [For example, he ran]",
        "It is it [For example : if a game asks.] Other.",
        "Fine. [Birds, for example, fly south] This is why. They rest.",
        "It is done so.[For example, ice floats.]Nobody knows why it does.",
        "Some (few). [for example, ice floats (on it).] and so on it goes.",
        "See a([URL_1 ]). [With age, for example, it fades.] More.",
        "> [Why does ice float, for example?]\n> Because it is so. It is light.",
        "I read this.>[Ice floats, for example.] It does not sink.",
        "The order counts in this. [e.g. you have two.] Enough.",
        "They fell [(as Rome did, e.g.).]",
        "[(Rome, for example, fell at last.)]",
        "Old records [(The White Album, for example)] were mixed for mono.",
        "The nations [(as Rome, for example, was)] fell in the end.",
        "[As you see, for example, he ran.]",
        "[He drew things, e.g. a table with 3 legs.]",
        "[For example, figures of speech are hard.]",
    ],
)
def test_hand_written_units(marked):
    last = marked.rindex("[")
    end = marked.index("]", last)
    text = marked[:last] + marked[last + 1 : end] + marked[end + 1 :]
    (unit,) = [one for one in find_units(Sentences(text)) if one.reason is None]
    assert text[unit.start : unit.end] == marked[last + 1 : end]


def test_units_in_square_brackets_and_several_in_a_sentence():
    found, dropped = spans("Eat [e.g. figs]. Acids (e.g. sulfuric) and alkalis (e.g. soda) burn.")
    assert found == [
        ("Eat", "[e.g. figs].", "Acids (e.g. sulfuric) and alkalis (e.g. soda) burn."),
        ("Eat [e.g. figs]. Acids", "(e.g. sulfuric)", "and alkalis (e.g. soda) burn."),
        ("Eat [e.g. figs]. Acids (e.g. sulfuric) and alkalis", "(e.g. soda)", "burn."),
    ]
    assert not dropped
    sentence = "For example, fruit (e.g. pears) is sweet."
    assert spans(sentence) == ([("", sentence, "")], Counter({"inside another unit": 1}))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("Eat fruit (e.g. pears and plums. Then sleep.", "parenthesis not closed"),
        ("For example:", "nothing but the marker"),
        *((f"He left (e.g. {place}) early.", "points to a figure, table, page or book")
          for place in ("Fig. 3", "see Table 2", "Section IV", "p. 17")),
        ("See, for example, Mill on this.", "points to a figure, table, page or book"),
        ("It is known (see, e.g., Smith 2001).", "points to a figure, table, page or book"),
        ("For example, " + "very " * 256 + "old.", "too long"),
        ("I did it for example's sake. The egg broke. Foreign, Meg. for examples", None),
    ],
)  # fmt: skip
def test_what_is_dropped_is_reported(content, reason):
    assert spans(content) == ([], Counter({reason: 1} if reason else {}))


def test_the_papers_rules():
    for text in (
        "It is so.For example, ice floats.Nobody knows.",
        "Old records (The B, for example) are.",
    ):
        (old,) = [one for one in find_units(Sentences(text), strict=False) if not one.reason]
        (new,) = find_units(Sentences(text))
        assert old.form == "sentence"
        assert (old.start, old.end) != (new.start, new.end)


def test_units_need_words():
    assert len(spans("Eat (e.g. ripe pears) now.", min_words=2)[0]) == 1
    assert spans("Eat (e.g. ripe pears) now.", min_words=3) == ([], {"too short": 1})


def test_duplicates_are_dropped_and_equal_units_share_a_candidate():
    answer = "Dogs help. For example, some guide the blind. Fine."
    reposted = "> Dogs help.\n\nFOR EXAMPLE some guide the blind!"
    other = "Pets are useful. For example, some guide the blind."
    tally = Tally()
    found = list(extract_examples(texts(answer, reposted, other), tally))
    assert [span.id for span in found] == ["t0:11", "t2:17"]
    assert [span.candidate for span in found] == ["t0:11", "t0:11"]
    assert (tally.spans, tally.candidates, len(tally.groups), tally.texts) == (2, 1, 2, 3)
    assert tally.dropped == {"duplicate": 1}


def test_offsets_marker_and_counts():
    content = "One two three.\n\nHe ate (e.g. some\npears) now. For example, he ran. Bye."
    tally = Tally()
    first, second = extract_examples([SourceText("q-a", "q", content, "x.jsonl", "Why?")], tally)
    extra = first.extra
    assert content[extra["start"] : extra["end"]] == "(e.g. some\npears)"
    assert first.span == ("(e.g. some pears)",)
    assert first.left == ("One two three.", "He ate")
    assert first.right == ("now.", "For example, he ran.", "Bye.")
    assert first.id == f"q-a:{extra['start']}"
    assert (extra["marker"], extra["form"], extra["question"]) == ("e.g.", "parenthesis", "Why?")
    assert (second.extra["marker"], second.extra["form"]) == ("for example", "sentence")
    assert tally.words == {"left": 5 + 9, "span": 3 + 4, "right": 6 + 1}


def test_contexts_are_whole_sentences_up_to_a_number_of_words():
    content = "One two. Three four. Five six. For example, he ran. Seven. Eight nine. Ten."
    found = {words: spans(content, words=words)[0][0] for words in (0, 1, 3)}
    assert found[0][::2] == ("", "")
    assert found[1][::2] == ("Five six.", "Seven.")
    assert found[3][::2] == ("Three four. Five six.", "Seven. Eight nine.")


def test_italics_of_books_go_and_other_underscores_stay():
    content = "He _ran_. That is, _e.g._, a _good_ snake_case.\n\nIt_s fine _so_."
    (book,) = extract_examples(texts(content, is_book=True), Tally())
    assert (book.left, book.right) == (("He ran.",), ("It_s fine so.",))
    assert book.span == ("That is, e.g., a good snake_case.",)
    answer = "See _URL_0_. For example, _URL_1_ helps."
    assert spans(answer)[0][0][1] == "For example, _URL_1_ helps."


PIECES = ("for example", "e.g.", "(e.g. ", "(for example ", ")", "(", "]", "[", ". ", " ", "A b")
PIECES += ("\n\n", "see ", "Fig. 3", "\n* ", "E.g", "eg", "é", "_")


@given(st.lists(st.sampled_from(PIECES), max_size=14))
def test_units_never_overlap_and_lose_no_text(parts):
    content = "".join(parts)
    kept = [unit for unit in find_units(Sentences(content)) if unit.reason is None]
    assert all(a.end <= b.start for a, b in pairwise(kept))
    for span in extract_examples(texts(content), Tally(), words=10**9):
        whole = " ".join((*span.left, *span.span, *span.right))
        assert "".join(whole.split()) == "".join(content.split())


@given(st.text(st.sampled_from("Ab. \n(e"), max_size=60), st.integers(0, 60))
def test_sentences_by_place_are_those_of_the_whole_text(text, place):
    sentences = Sentences(text)
    every = sentence_bounds(text)
    place = min(place, len(text))
    before = [(a, min(b, place)) for a, b in every if text[a : min(b, place)].strip() and a < place]
    after = [(max(a, place), b) for a, b in every if b > place and text[max(a, place) : b].strip()]
    assert list(sentences.before(place))[::-1] == before
    assert list(sentences.after(place)) == after
    assert all(sentences.at(place) == (a, b) for a, b in every if a < place < b)


ELI5 = {"q_id": "q1", "title": "Why?", "answers": {"a_id": ["a", "b"], "text": ["Text.", " "]}}
KILT = {"id": "q1", "input": "Why?", "output": [{"answer": "Text."}, {"provenance": []}]}
QA = {"q_id": "q1", "question": "Why?", "answers": ["Text.", "More."]}
ROLE = {"q_id": "q1", "a_id": "7", "question": "Why?", "answer_paragraph": "Text."}


def read_as(tmp_path, name, content, form=None):
    (tmp_path / name).write_bytes(content)
    return list(read_texts([tmp_path / name], form))


@pytest.mark.parametrize(
    ("record", "names"),
    [(ELI5, ["q1-a"]), (KILT, ["q1-0"]), (QA, ["q1-0", "q1-1"]), (ROLE, ["q1-7"])],
)
def test_formats_of_answers_in_lines_and_arrays(tmp_path, record, names):
    found = read_as(tmp_path, "a.jsonl.gz", gzip.compress(json.dumps(record).encode()))
    assert [text.id for text in found] == names
    assert found[0] == SourceText(names[0], "q1", "Text.", "a.jsonl.gz", "Why?")
    array = json.dumps([record, {**record, next(k for k in record if k[-2:] == "id"): "q2"}])
    for name in ("a.json", "a.txt", "a", "a.dat"):
        for ending, pack in (("", bytes), (".bz2", bz2.compress)):
            some = read_as(tmp_path, name + ending, pack(array.encode()))
            assert [text.id for text in some[: len(names)]] == names
            assert {text.group for text in some} == {"q1", "q2"}


def nq(long=(2, 7), short=(), yes="NONE", tokens="x y <P> It <i> fell </P> z", **more):
    start, end = long
    answer = {"start_token": start, "end_token": end, "candidate_index": 0}
    annotation = {"long_answer": answer, "short_answers": list(short), "yes_no_answer": yes}
    record = {"example_id": 9, "question_text": "what?", "annotations": [annotation], **more}
    return record | ({"document_text": tokens} if isinstance(tokens, str) else tokens)


def test_long_answers_of_natural_questions(tmp_path):
    full = {"document_tokens": [{"token": t, "html_token": "<" in t} for t in ("<P>", "Up")]}
    records = [
        nq(),
        nq(long=(-1, -1)),
        nq(short=[{"start_token": 3, "end_token": 4}]),
        nq(yes="YES"),
        nq(tokens="x y <Table> It fell </Table> z"),
        nq(long=(0, 3), tokens=full, example_id=10),
    ]
    skipped = Counter()
    found = list(read_texts([jsonl(tmp_path / "nq.jsonl", records)], skipped=skipped))
    assert [(text.id, text.content) for text in found] == [("9", "It fell"), ("10", "Up")]
    assert sorted(skipped.values()) == [1, 1, 2]


def test_a_folder_stands_for_its_books(tmp_path):
    with pytest.raises(InputError):
        list(read_texts([tmp_path]))
    (tmp_path / "A").mkdir()
    (tmp_path / "A/b c.txt").write_text(
        "\ufeff*** START OF X ***\r\n\r\nIt is.\r\n*** END OF X ***\r\n"
    )
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"Plain."))
    (tmp_path / "c.md").write_text("no")
    found = list(read_texts([tmp_path]))
    assert [(text.id, text.content, text.offset) for text in found] == [
        ("A/b_c", "It is.", len("*** START OF X ***\n\n")),
        ("a", "Plain.", 0),
    ]
    with pytest.raises(InputError):  # named twice
        list(read_texts([tmp_path, tmp_path / "a.txt.gz"]))


def test_what_is_not_a_book_is_not_read_as_one(tmp_path):
    for content in (b'["for example this."]', b"<TEI>For example.</TEI>", b"i\tt\n1\tF\n2\tN\n"):
        with pytest.raises(InputError):
            read_as(tmp_path, "a.txt", content, "book")
    for opening in ("[Illustration]", "[1] A note.", "{From a letter.}", "< less", "A\tb.\nC\td e"):
        (text,) = read_as(tmp_path, "a.txt", f"{opening}\n\nFor example, this.".encode())
        assert text.content.startswith(opening)
    with pytest.raises(InputError) as caught:
        read_as(tmp_path, "a.csv", b"For example, this.")
    assert "`format`" in caught.value.hint
    assert len(read_as(tmp_path, "a.csv", b"For example, this.", "book")) == 1


def test_kilt_without_outputs_is_recognised(tmp_path):
    blind = {"id": "q0", "input": "Why?", "meta": {}}
    both = f"{json.dumps(blind)}\n{json.dumps(KILT)}\n".encode()
    assert [text.id for text in read_as(tmp_path, "a.jsonl", both)] == ["q1-0"]
    with pytest.raises(InputError, match="KILT"):
        read_as(tmp_path, "b.jsonl", f"{json.dumps(blind)}\n".encode() * 2)


def masks(count, **options):
    content = " ".join(f"Sentence number {n} has these eight words." for n in range(count))
    return list(mask_sentences(texts(content), **{"min_words": 1, **options}))


def number_of(span):
    return int(span.span[0].split()[2])


def test_masks_stand_evenly_and_keep_their_place():
    found = masks(30, every=10)
    assert [number_of(span) for span in found] == [5, 15, 25]
    for span in found:
        at = number_of(span)
        assert span.left[-1] == f"Sentence number {at - 1} has these eight words."
        assert span.right[0] == f"Sentence number {at + 1} has these eight words."
        assert span.id == f"t0:{span.extra['start']}"
    short = {count: [number_of(span) for span in masks(count)] for count in range(5)}
    assert short == {0: [], 1: [], 2: [], 3: [1], 4: [1]}
    assert [len(span.span) for span in masks(40, every=6, longest=3)] == [1, 2, 3, 1, 2, 3]


def test_words_bound_masks_and_contexts():
    assert masks(30, min_words=8) == masks(30, max_words=6) == []
    assert len(masks(30, max_words=7, longest=2)) == 3
    assert [len(span.left) for span in masks(30, words=10)] == [2, 2, 2]
    with pytest.raises(UsageError):
        masks(20, min_words=70)


@given(st.integers(0, 60), st.integers(2, 12), st.integers(1, 5))
def test_masks_never_meet_and_have_context(count, every, longest):
    if every <= longest:
        with pytest.raises(UsageError):
            masks(count, every=every, longest=longest)
        return
    ends = 0
    for span in masks(count, every=every, longest=longest):
        assert span.extra["start"] >= ends
        ends = span.extra["end"]
        assert span.left
        assert span.right
        assert 1 <= len(span.span) <= longest


def test_examples_of_real_answers(collections):
    path = collections / "eli5" / "lfqa_discourse.role_annotation.jsonl"
    found = list(extract_examples(read_texts([path]), Tally()))
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    by_id = {"_".join(f"{r['q_id']}-{r['a_id']}".split()): r["answer_paragraph"] for r in records}
    for span in found:
        text = by_id[span.id.rsplit(":", 1)[0]]
        masked = text[span.extra["start"] : span.extra["end"]]
        assert " ".join(masked.split()) == " ".join(span.text.split())
        assert re.search(r"for\s+example|\be\.?\s?g\b", masked, re.IGNORECASE)
    # Every sentence with a marker that people called an example is taken; all 34 of them.
    units = {" ".join(span.text.split()) for span in found}
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
