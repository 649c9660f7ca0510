"""KILT's knowledge source cut into passages, and gold passages by provenance."""

import hashlib
import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.cli.app import main
from adducir.core.errors import InputError, UsageError
from adducir.corpora.sources import open_corpus
from adducir.studies.grounded_generation.contexts import read_contexts
from adducir.studies.grounded_generation.kilt import KiltExample, Provenance, read_kilt, with_gold
from adducir.studies.grounded_generation.pages import Page, cut_page, read_pages, read_passages

FIRST = "Bucatini , also known as perciatelli , is a thick pasta. It is hollow.\n"
PAGE = {
    "_id": "4041",
    "wikipedia_id": "4041",
    "wikipedia_title": "Bucatini",
    "text": [
        "Bucatini\n",
        FIRST,
        'The name comes from "buco".\n',
        "Section::::Preparation.\n",
        "BULLET::::- Boil it for 9 minutes.\n",
        "Section::::Preparation.:Sauces.\n",
        "Section::::History.\n",
        "Unknown.\n",
    ],
    "anchors": [{"text": "pasta", "href": "Pasta", "paragraph_id": 1, "start": 47, "end": 52}],
    "categories": "Pasta",
    "history": {"revid": 1},
    "wikidata_info": {},
}


def lines(path: Path, *records) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_passages_keep_within_sections_and_count_as_kilt_does(tmp_path):
    (page,) = read_pages(lines(tmp_path / "source.json", PAGE))
    found = list(cut_page(page))
    assert [(one.id, one.title) for one in found] == [
        ("4041-1", "Bucatini > Abstract"),
        ("4041-2", "Bucatini > Preparation."),
        ("4041-3", "Bucatini > History."),
    ]
    assert found[0].text == f'{FIRST.strip()} The name comes from "buco".'
    assert (found[0].start, found[0].end) == ((1, 0), (2, 27))
    assert found[1].text == "Boil it for 9 minutes."
    assert (found[1].start, found[1].end) == ((4, 12), (4, 34))  # behind the mark of the list
    assert PAGE["text"][4][12:34] == found[1].text


def test_long_sections_are_cut_where_sentences_end():
    text = "one two three. four five six. seven eight nine ten eleven twelve."
    (first, second, third) = cut_page(Page("1", "T", ("T", text)), 5)
    assert [one.text for one in (first, second, third)] == [
        "one two three.",
        "four five six. seven eight",  # no sentence ends near the half of nine
        "nine ten eleven twelve.",
    ]
    with pytest.raises(UsageError, match="1 word"):
        list(cut_page(Page("1", "T", ("T", text)), 0))


WORDS = st.sampled_from(["w", "end.", 'x!"', "été", "Section::::no", "\t", "9.4"])
PARAGRAPHS = st.lists(st.lists(WORDS, max_size=30).map(" ".join), max_size=6)


@given(PARAGRAPHS, st.integers(1, 9))
def test_every_word_stands_in_one_passage_where_it_says(paragraphs, words):
    paragraphs = [one.removeprefix("Section::::") for one in paragraphs]
    found = list(cut_page(Page("1", "T", ("T\n", *paragraphs)), words))
    assert " ".join(one.text for one in found).split() == " ".join(paragraphs).split()
    assert all(0 < len(one.text.split()) <= words for one in found)
    number = sum(len(one.split()) for one in paragraphs)
    assert len(found) == -(-number // words)
    for one in found:
        inside = paragraphs[one.start_paragraph_id - 1 : one.end_paragraph_id]
        inside[-1] = inside[-1][: one.end_character]
        inside[0] = inside[0][one.start_character :]
        assert " ".join(inside).split() == one.text.split()


def example(name="6bc2-99d6_3", start=(1, 57), end=(1, 70), page="4041", **more):
    place = {
        "wikipedia_id": page,
        "title": "Bucatini",
        "section": "Section::::Abstract.",
        "start_paragraph_id": start[0],
        "start_character": start[1],
        "end_paragraph_id": end[0],
        "end_character": end[1],
        "bleu_score": 1.0,
    }
    outputs = [{"answer": "They are hollow.", "provenance": [place]}]
    return {"id": name, "input": "Hi!\nWhat is bucatini?", "output": outputs, **more}


def test_gold_is_every_passage_that_shares_a_character(tmp_path):
    page = Page("4041", "B", ("B\n", "aa bb cc dd\n", "ee ff\n"))
    passages = list(cut_page(page, 2))
    assert [(one.start, one.end) for one in passages] == [
        ((1, 0), (1, 5)),
        ((1, 6), (1, 11)),
        ((2, 0), (2, 5)),
    ]
    spans = {
        "inside": ((1, 3), (1, 5)),
        "over": ((1, 4), (2, 1)),
        "gap": ((1, 5), (1, 6)),
        "touching": ((1, 5), (1, 7)),
        "title": ((0, 0), (0, 1)),
        "empty": ((2, 4), (2, 4)),
    }
    path = lines(tmp_path / "t.jsonl", *(example(name, *span) for name, span in spans.items()))
    made = with_gold(list(read_kilt(path)), passages)
    assert {one.id: one.gold for one in made.contexts} == {
        "inside": ("4041-1",),
        "over": ("4041-1", "4041-2", "4041-3"),
        "gap": (),
        "touching": ("4041-2",),
        "title": (),
        "empty": ("4041-3",),
    }
    assert (made.counts.found, made.counts.several, made.counts.lost) == (4, 1, 2)


def test_gold_by_brute_force():
    drawn = random.Random(4)
    page = Page("1", "T", ("T", *(" ".join("word" for _ in range(40)) for _ in range(4))))
    passages = list(cut_page(page, 7))
    examples = []
    for number in range(60):
        places = sorted((drawn.randint(1, 4), drawn.randint(0, 199)) for _ in range(2))
        examples.append(KiltExample(f"{number}", "x", "y", (Provenance("1", *places),)))

    def characters(start, end):
        return {
            (paragraph, place)
            for paragraph in range(start[0], end[0] + 1)
            for place in range(
                start[1] if paragraph == start[0] else 0, end[1] if paragraph == end[0] else 200
            )
        }

    for one, made in zip(examples, with_gold(examples, passages).contexts, strict=True):
        (span,) = one.provenance
        if span.start < span.end:
            mine = characters(span.start, span.end)
            assert set(made.gold) == {
                other.id for other in passages if mine & characters(other.start, other.end)
            }


def test_from_the_official_forms_to_contexts(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines(tmp_path / "source.json", PAGE, {**PAGE, "wikipedia_id": "7", "text": ["Empty\n"]})
    several = example("d_11")
    several["output"].insert(0, {"provenance": [{"wikipedia_id": "7"}]})  # no answer: passed by
    lines(
        tmp_path / "wow.jsonl",
        example(),
        several,
        example("page_only", page="4041") | {"output": [{"answer": "a", "provenance": [{}]}]},
        example("other_0", page="5"),
        {"id": "test_1", "input": "no output"},
    )
    assert main(["grounded-generation", "passages", "source.json", "-o", "passages.jsonl.gz"]) == 0
    arguments = ["grounded-generation", "kilt", "wow.jsonl", "--passages", "passages.jsonl.gz"]
    assert main([*arguments, "-o", "contexts.jsonl", "--qrels", "gold.qrels"]) == 0
    gold = "6bc2-99d6_3 0 4041-1 1\nd_11 0 4041-1 1\n"
    assert Path("gold.qrels").read_text(encoding="utf-8") == gold
    printed = capsys.readouterr()
    report = printed.out.splitlines()
    assert hashlib.sha256(Path("wow.jsonl").read_bytes()).hexdigest() in printed.err
    assert [row.split()[-1] for row in report] == ["5", "2", "0", "2", "1"]
    first, *others = read_contexts(Path("contexts.jsonl"))
    assert first.input == "Hi! | What is bucatini?"
    assert (first.target, first.gold, first.group) == (
        "They are hollow.",
        ("4041-1",),
        "6bc2-99d6",
    )
    assert [(one.target, one.gold, one.group) for one in others] == [
        ("They are hollow.", ("4041-1",), "d"),
        ("a", (), None),
        ("They are hollow.", (), "other"),
        ("", (), "test"),
    ]
    corpus = open_corpus("passages.jsonl.gz")
    assert corpus.default_fields == ("title", "text")
    assert [one.docno for one in corpus] == ["4041-1", "4041-2", "4041-3"]


@pytest.mark.parametrize(
    ("read", "record", "what"),
    [
        (read_pages, [1], "JSON object"),
        (read_pages, {**PAGE, "wikipedia_id": "a b"}, "'wikipedia_id'"),
        (read_pages, {**PAGE, "text": "all"}, "list of paragraphs"),
        (read_pages, {**PAGE, "wikipedia_title": None}, "'wikipedia_title'"),
        (read_passages, PAGE, "a passage must have"),
        (read_kilt, [1], "JSON object"),
        (read_kilt, example() | {"id": "a b"}, "'id'"),
        (read_kilt, example() | {"input": 1}, "'input'"),
        (read_kilt, example() | {"output": ["a"]}, "list of objects"),
        (read_kilt, example() | {"output": [{"answer": 1}]}, "'answer'"),
        (read_kilt, example("x", start=("1", 2)), "whole numbers"),
        (read_kilt, example("x", start=(2, 2)), "before its start"),
        (read_kilt, example("0"), "stands in line 1"),
    ],
)
def test_bad_lines_are_named(tmp_path, read, record, what):
    good = {read_pages: PAGE, read_kilt: example("0")}.get(read)
    path = lines(tmp_path / "x.jsonl", *([good] if good else []), record)
    with pytest.raises(InputError, match=what) as caught:
        list(read(path))
    assert caught.value.line == (2 if good else 1)
    assert caught.value.path == path


def test_parts_share_no_dialogue_and_make_the_files_of_the_study(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines(tmp_path / "source.json", PAGE)
    lines(tmp_path / "wow.jsonl", *(example(f"d{n // 3}_{n % 3}") for n in range(90)))
    assert main(["grounded-generation", "passages", "source.json", "-o", "passages.jsonl.gz"]) == 0
    arguments = ["grounded-generation", "kilt", "wow.jsonl", "--passages", "passages.jsonl.gz"]
    wanted = ["-o", "wow.jsonl.gz", "--shares", ".8,.2,0", "--qrels", "wow.qrels"]
    assert main([*arguments, *wanted]) == 0
    parts = {
        name: list(read_contexts(Path(f"wow.{name}.jsonl.gz"))) for name in ("train", "validation")
    }
    assert {one.id for some in parts.values() for one in some} == {
        f"d{n // 3}_{n % 3}" for n in range(90)
    }
    groups = [{one.group for one in some} for some in parts.values()]
    assert groups[0].isdisjoint(groups[1])
    assert len(Path("wow.qrels").read_text(encoding="utf-8").splitlines()) == 90
    report = capsys.readouterr().err
    assert all(f"wow.{name}.jsonl.gz: {len(some)}" in report for name, some in parts.items())
    study = Path(__file__).parents[3] / "experiments" / "hindsight-wow.yaml"
    named = re.findall(r"data/hindsight/(wow\.\S+)", study.read_text(encoding="utf-8"))
    assert named == [f"wow.{name}.jsonl.gz" for name in parts]
