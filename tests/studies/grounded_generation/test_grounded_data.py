"""Contexts, KILT's passages and gold, MS MARCO NLGen, and the synthetic collection of arguments."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_files import jsonl

from adducir.core.errors import InputError
from adducir.corpora.documents import Document
from adducir.studies.grounded_generation.builders import (
    Page,
    PagePassage,
    cut_page,
    kilt_contexts,
    nlgen_contexts,
    read_kilt,
    read_nlgen,
    read_pages,
)
from adducir.studies.grounded_generation.experiment.data import ArgumentsRecipe, build_bed

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
    "categories": "Pasta",
}


def span(one: PagePassage) -> tuple:
    start, end = "start_paragraph_id start_character", "end_paragraph_id end_character"
    return tuple(tuple(getattr(one, name) for name in side.split()) for side in (start, end))


def page(*paragraphs: str) -> Page:
    return Page("1", "T", ("T\n", *paragraphs))


def test_passages_keep_within_sections_and_count_as_kilt_does(tmp_path) -> None:
    (read,) = read_pages(jsonl(tmp_path / "source.json", [PAGE]))
    found = list(cut_page(read))
    assert [(one.id, one.title) for one in found] == [
        ("4041-1", "Bucatini > Abstract"),
        ("4041-2", "Bucatini > Preparation."),
        ("4041-3", "Bucatini > History."),
    ]
    assert found[0].text == f'{FIRST.strip()} The name comes from "buco".'
    assert span(found[0]) == ((1, 0), (2, 27))
    assert span(found[1]) == ((4, 12), (4, 34))  # behind the mark of the list
    assert PAGE["text"][4][12:34] == found[1].text


def test_long_sections_are_cut_where_sentences_end() -> None:
    text = "one two three. four five six. seven eight nine ten eleven twelve."
    assert [one.text for one in cut_page(page(text), 5)] == [
        "one two three.",
        "four five six. seven eight",  # no sentence ends near the half of nine
        "nine ten eleven twelve.",
    ]


WORDS = st.sampled_from(["w", "end.", 'x!"', "été", "Section::::no", "\t", "9.4"])
PARAGRAPHS = st.lists(st.lists(WORDS, max_size=30).map(" ".join), max_size=6)


@given(PARAGRAPHS, st.integers(1, 9))
def test_every_word_stands_in_one_passage_where_it_says(paragraphs, words) -> None:
    paragraphs = [one.removeprefix("Section::::") for one in paragraphs]
    found = list(cut_page(page(*paragraphs), words))
    assert " ".join(one.text for one in found).split() == " ".join(paragraphs).split()
    assert all(0 < len(one.text.split()) <= words for one in found)
    assert len(found) == -(-sum(len(one.split()) for one in paragraphs) // words)
    for one in found:
        inside = paragraphs[one.start_paragraph_id - 1 : one.end_paragraph_id]
        inside[-1] = inside[-1][: one.end_character]
        inside[0] = inside[0][one.start_character :]
        assert " ".join(inside).split() == one.text.split()


def example(name="6bc2-99d6_3", start=(1, 57), end=(1, 70)):
    names = ["start_paragraph_id", "start_character", "end_paragraph_id", "end_character"]
    place = {"wikipedia_id": "4041", **dict(zip(names, (*start, *end), strict=True))}
    output = [{"answer": "They are hollow.", "provenance": [place]}]
    return {"id": name, "input": "Hi!\nWhat is bucatini?", "output": output}


def test_gold_is_every_passage_that_shares_a_character(tmp_path) -> None:
    passages = list(cut_page(Page("4041", "B", ("B\n", "aa bb cc dd\n", "ee ff\n")), 2))
    assert [span(one) for one in passages] == [
        ((1, 0), (1, 5)),
        ((1, 6), (1, 11)),
        ((2, 0), (2, 5)),
    ]
    wanted = {
        "inside": ((1, 3), (1, 5), "4041-1"),
        "over": ((1, 4), (2, 1), "4041-1 4041-2 4041-3"),
        "gap": ((1, 5), (1, 6), ""),
        "touching": ((1, 5), (1, 7), "4041-2"),
        "title": ((0, 0), (0, 1), ""),
        "empty": ((2, 4), (2, 4), "4041-3"),
    }
    records = (example(name, *places) for name, (*places, _) in wanted.items())
    contexts, counts = kilt_contexts(list(read_kilt(jsonl(tmp_path / "t", records))), passages)
    assert {one.id: " ".join(one.gold) for one in contexts} == {
        name: gold for name, (*_, gold) in wanted.items()
    }
    assert (counts["found"], counts["several"], counts["lost"]) == (4, 1, 2)


def query(number, answers, selected="A thick  pasta.", **more):
    passages = [
        {"is_selected": 0, "passage_text": "No.", "url": "http://a"},
        {"is_selected": 1, "passage_text": selected, "url": "http://b"},
    ]
    row = {"answers": ["short"], "passages": passages, "query": f". what is {number}?"}
    return {**row, "query_id": number, "wellFormedAnswers": answers, **more}


ROWS = [
    query(1102432, "[]"),
    query(7, ["It is a pasta.", "A pasta.", "It is a pasta."]),
    query(8, []),
    query(9, ["No Answer Present."]),
    query(10, ["Été."], "Unknown\u00e9"),
]


def columns(rows) -> dict:
    """Rows as pandas and MS MARCO write them: the columns by name, rows by number."""
    return {
        name: {str(place): row[name] for place, row in enumerate(rows) if name in row}
        for name in sorted({name for row in rows for name in row})
    }


def forms(folder: Path) -> list[Path]:
    texts = {
        "table.json": json.dumps(columns(ROWS)),
        "reversed.json": json.dumps(dict(reversed(columns(ROWS).items())), indent=1),
        "array.json": json.dumps(ROWS),
        "lines.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    return [folder / f"{name}{end}" for name in texts for end in ("", ".gz")]


def test_all_forms_of_nlgen_give_the_same(tmp_path) -> None:
    for path in forms(tmp_path):
        questions, counts = read_nlgen(path)
        assert [(one.id, one.query, one.answers, one.selected) for one in questions] == [
            ("7", ". what is 7?", ("It is a pasta.", "A pasta."), ("A thick pasta.",)),
            ("10", ". what is 10?", ("Été.",), ("Unknown\u00e9",)),
        ]
        assert counts == {"queries": 5, "unanswered": 2, "unanswerable": 1}
    texts = {"p1": "A thick pasta.", "p2": "a thick pasta.", "p3": " A thick\tpasta. "}
    collection = (Document(docno, {"text": text}) for docno, text in texts.items())
    first, second = nlgen_contexts(questions, collection)
    assert (first.input, first.target) == (". what is 7?", "It is a pasta.")
    assert (first.gold, second.gold) == (("p1", "p3"), ())


@pytest.mark.parametrize(
    "row",
    [
        query(1, "none"),
        query(1, [1]),
        query(True, ["a"]),
        query(1, ["a"], query=None),
        query(1, ["a"], passages={}),
        query(1, ["a"], passages=[{"is_selected": 1}]),
        query(1, ["a"], passages=[{"passage_text": "a"}]),
        query(7, ["a"]),
        {name: value for name, value in query(1, ["a"]).items() if name != "passages"},
    ],
)
def test_bad_rows_are_named(tmp_path, row) -> None:
    table = tmp_path / "table.json"
    table.write_text(json.dumps(columns([*ROWS, row]), indent=0), encoding="utf-8")
    for path, line in ((table, None), (jsonl(tmp_path / "x.jsonl", [*ROWS, row]), 6)):
        with pytest.raises(InputError) as caught:
            read_nlgen(path)
        assert caught.value.path == path
        assert caught.value.line == line or (line is None and caught.value.line > 1)


CONCLUSIONS = [f"{word} should be banned now" for word in ("cars", "guns", "zoos", "cars and zoos")]


@pytest.fixture
def arguments(tmp_path: Path) -> Path:
    records = [
        {
            "docno": f"d{number}",
            "conclusion": CONCLUSIONS[number % 4],
            "premise": f"This is the first sentence of {number} and the end. "
            f"And that is the second one of {number} for us all.",
        }
        for number in range(24)
    ]
    records.append({"docno": "alone", "conclusion": "None", "premise": "One two three four five."})
    return jsonl(tmp_path / "arguments.jsonl", [*records, {**records[0], "docno": "again"}])


def test_arguments_have_the_passage_of_their_target_as_gold(arguments: Path) -> None:
    recipe = ArgumentsRecipe(sentences=2, dropped=0.0, shares={"train": 0.5, "test": 0.5})
    bed = build_bed(arguments, recipe)
    assert set(bed.relevant.values()) == {6}
    assert "again" not in bed.passages  # a premise that is another's once more
    contexts = [one for part in bed.contexts.values() for one in part]
    assert len(contexts) == 2 * 24
    for one in contexts:
        assert one.target in bed.passages[one.gold[0]]
        assert one.input == one.group
    groups = [{one.group for one in part} for part in bed.contexts.values()]
    assert not groups[0] & groups[1]


def test_every_content_word_has_a_nonce_word_of_its_own(arguments: Path) -> None:
    bed = build_bed(arguments, ArgumentsRecipe(nonce=1.0, shares={"train": 1.0}))
    inputs = {one.group: one.input.split() for one in bed.contexts["train"]}
    cars, zoos, both = (inputs[CONCLUSIONS[place]] for place in (0, 2, 3))
    assert cars[0] not in ("cars", zoos[0])
    assert (both[0], both[1], both[2]) == (cars[0], "and", zoos[0])  # "and" is frequent
    plain = build_bed(arguments, ArgumentsRecipe(shares={"train": 1.0}))
    assert bed.passages == plain.passages


def test_words_of_targets_are_dropped_by_the_seed(arguments: Path) -> None:
    recipe = ArgumentsRecipe(dropped=0.5, shares={"train": 1.0})
    first, again = (build_bed(arguments, recipe).contexts["train"] for _ in range(2))
    assert first == again
    lengths = [len(one.target.split()) for one in first]
    assert 0.3 < sum(lengths) / (11 * len(lengths)) < 0.7
    other = build_bed(arguments, recipe.model_copy(update={"seed": 1})).contexts["train"]
    assert other != first


def test_what_is_not_an_argument_is_refused(arguments: Path) -> None:
    with arguments.open("a") as file:
        file.write('{"docno": "d", "premise": "p"}\n')
    with pytest.raises(InputError) as caught:
        build_bed(arguments, ArgumentsRecipe())
    assert caught.value.line == 27
    jsonl(arguments, [{"docno": "d", "conclusion": "c", "premise": "p"}])
    with pytest.raises(InputError):
        build_bed(arguments, ArgumentsRecipe())
