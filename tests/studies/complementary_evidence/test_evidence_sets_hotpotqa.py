"""HotpotQA's native files, small and broken ones and the real ones."""

import bz2
import gzip
import json
from pathlib import Path

import pytest

from adducir.core.errors import InputError
from adducir.studies.complementary_evidence.hotpotqa import (
    Paragraph,
    own_passages,
    paragraphs_of,
    paragraphs_of_corpus,
    read_hotpotqa,
)

RECORD = {
    "_id": "5a7a",
    "question": "Which firm audits the park?",
    "answer": "Ernst & Young",
    "type": "bridge",
    "level": "hard",
    "supporting_facts": [["InfoPark, Kochi", 0], ["InfoPark, Kochi", 3], ["Ernst &amp; Young", 1]],
    "context": [
        ["Other", ["One.", " Two."]],
        ["Ernst &amp; Young", ["A firm. ", " It audits."]],
        ["InfoPark, Kochi", ["A park."]],
    ],
    "_source": "ignored",
}


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "hotpot.json"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_question_by_hand(tmp_path: Path) -> None:
    (question,) = read_hotpotqa(written(tmp_path, json.dumps([RECORD])))
    assert question.id == "5a7a"
    assert (question.answer, question.kind, question.level) == ("Ernst & Young", "bridge", "hard")
    assert question.facts[2] == ("Ernst & Young", 1)
    assert question.gold_titles == ("InfoPark, Kochi", "Ernst & Young")
    assert question.context[0] == Paragraph("Other", ("One.", " Two."))
    assert paragraphs_of([question])["Ernst & Young"] == "A firm. It audits."
    whole = own_passages(question)
    assert [passage.id for passage in whole.passages] == [
        "Other",
        "Ernst_&_Young",
        "InfoPark,_Kochi",
    ]
    assert whole.gold == (frozenset({1, 2}),)
    assert whole.missing == (0,)


def test_a_context_may_lack_true_paragraphs(tmp_path: Path) -> None:
    record = {**RECORD, "context": RECORD["context"][:2]}
    (question,) = read_hotpotqa(written(tmp_path, json.dumps(record)))
    whole = own_passages(question)
    assert whole.gold == (frozenset({1}),)
    assert whole.missing == (1,)
    assert whole.complete == ()


def test_the_hidden_test_set_has_neither_answers_nor_facts(tmp_path: Path) -> None:
    record = {key: RECORD[key] for key in ("_id", "question", "context")}
    (question,) = read_hotpotqa(written(tmp_path, json.dumps([record])))
    assert question.answer is None
    assert own_passages(question).gold == ()


def test_a_title_that_comes_twice_counts_once(tmp_path: Path) -> None:
    record = {**RECORD, "context": [["A", ["First."]], ["A", ["Second."]]]}
    (question,) = read_hotpotqa(written(tmp_path, json.dumps([record])))
    assert [passage.text for passage in own_passages(question).passages] == ["First."]


def test_paragraphs_of_a_corpus(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"_id": "12", "title": "Ernst &amp; Young", "text": "A firm."}\n')
    assert list(paragraphs_of_corpus(path)) == [("Ernst & Young", "A firm.")]
    path.write_text('{"_id": "12", "text": "A firm."}\n')
    with pytest.raises(InputError, match=r"document 12 of .* has no title"):
        list(paragraphs_of_corpus(path))


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([{**RECORD, "_id": "a"}, {**RECORD, "_id": "b"}]),
        json.dumps([{**RECORD, "_id": "a"}, {**RECORD, "_id": "b"}], indent=2) + "\n",
        json.dumps({**RECORD, "_id": "a"}) + "\r\n\r\n" + json.dumps({**RECORD, "_id": "b"}) + "\n",
        "\ufeff" + json.dumps({**RECORD, "_id": "a"}) + json.dumps({**RECORD, "_id": "b"}),
    ],
)
def test_arrays_and_lines(tmp_path: Path, text: str) -> None:
    found = [question.id for question in read_hotpotqa(written(tmp_path, text))]
    assert found == ["a", "b"]


def abstracts(folder: Path, texts: dict[str, list]) -> Path:
    """The official abstracts' form: folders of bzip2 files of JSON lines."""
    for number, (title, text) in enumerate(texts.items()):
        path = folder / "abstracts" / ("AA", "BB")[number % 2] / f"wiki_{number:02}.bz2"
        path.parent.mkdir(parents=True, exist_ok=True)
        record = {"id": str(number), "url": f"https://x?curid={number}", "title": title}
        record |= {"text": text, "charoffset": [[[0, 1]]], "text_with_links": text}
        path.write_bytes(bz2.compress(json.dumps(record).encode() + b"\n"))
    return folder / "abstracts"


def test_the_official_abstracts(tmp_path: Path) -> None:
    texts = {"Ernst &amp; Young": ["A firm. ", " It audits."], "Empty": [""], "Other": ["One."]}
    folder = abstracts(tmp_path, texts)
    expected = {"Ernst & Young": "A firm. It audits.", "Empty": "", "Other": "One."}
    assert dict(paragraphs_of_corpus(folder)) == expected
    assert dict(paragraphs_of_corpus(folder / "BB")) == {"Empty": ""}
    one = folder / "AA" / "wiki_00.bz2"
    assert dict(paragraphs_of_corpus(one)) == {"Ernst & Young": "A firm. It audits."}
    # The same as of a question's own context, so that the two are one paragraph.
    (question,) = read_hotpotqa(written(tmp_path, json.dumps(RECORD)))
    assert paragraphs_of([question])["Ernst & Young"] == expected["Ernst & Young"]


def test_broken_abstracts_are_named(tmp_path: Path) -> None:
    folder = abstracts(tmp_path, {"A": ["One."], "B": [["One."], ["Two."]]})
    with pytest.raises(InputError, match=r"document 1 of .* has no 'text'"):
        list(paragraphs_of_corpus(folder))
    path = folder / "AA" / "wiki_00.bz2"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(InputError, match="the bzip2 stream ends early") as error:
        list(paragraphs_of_corpus(folder))
    assert error.value.path == path


def test_an_id_may_be_named_so(tmp_path: Path) -> None:
    record = {"id" if key == "_id" else key: value for key, value in RECORD.items()}
    (question,) = read_hotpotqa(written(tmp_path, json.dumps(record)))
    assert question.id == "5a7a"


def test_gzip(tmp_path: Path) -> None:
    path = tmp_path / "hotpot.json.gz"
    path.write_bytes(gzip.compress(json.dumps([RECORD]).encode()))
    assert [question.id for question in read_hotpotqa(path)] == ["5a7a"]


def test_an_empty_array_and_an_empty_file(tmp_path: Path) -> None:
    assert list(read_hotpotqa(written(tmp_path, "[ ]"))) == []
    assert list(read_hotpotqa(written(tmp_path, "\n"))) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"_id": None}, "'_id' must be text"),
        ({"_id": "5a 7a"}, "'_id' must be text"),
        ({"_id": "5a7a"}, "stands in line 2 already"),
        ({"question": 3}, "no 'question' that is text"),
        ({"answer": 3}, "'answer', 'type' and 'level'"),
        ({"context": None}, "context must be a list, not NoneType"),
        ({"context": {"title": []}}, "context must be a list, not dict"),
        ({"context": [["A", "text"]]}, r"\[title, \[sentence"),
        ({"context": [["A", [1]]]}, r"\[title, \[sentence"),
        ({"context": [[" ", ["x"]]]}, r"\[title, \[sentence"),
        ({"supporting_facts": [["A"]]}, r"must be \[title, sentence\]"),
        ({"supporting_facts": [["A", "0"]]}, r"must be \[title, sentence\]"),
        ({"supporting_facts": [["A", -1]]}, r"must be \[title, sentence\]"),
        ({"supporting_facts": [["A", True]]}, r"must be \[title, sentence\]"),
    ],
)
def test_a_broken_question_is_named(tmp_path: Path, change: dict, words: str) -> None:
    records = [RECORD, {**RECORD, "_id": "other", **change}]
    path = written(tmp_path, "[\n" + ",\n".join(json.dumps(one) for one in records) + "\n]")
    with pytest.raises(InputError, match=words) as error:
        list(read_hotpotqa(path))
    assert error.value.where == f"{path}:3"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[\n{}, {", 2),
        ("{\n}\n[1", 3),
        ("[\n3]", 2),
        ('"words"', 1),
        ("[RECORD\n", 2),
        ("[RECORD RECORD]", 1),
        ("[RECORD,\n]", 2),
        ("[RECORD]\n\n[]", 3),
        ("[", 1),
        ("[,]", 1),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, text: str, line: int) -> None:
    record = json.dumps(RECORD)
    text = text.replace("{}", record).replace("{\n}", record + "\n").replace("RECORD", record)
    path = written(tmp_path, text)
    with pytest.raises(InputError) as error:
        list(read_hotpotqa(path))
    assert error.value.where == f"{path}:{line}"


def test_the_real_file(collections: Path) -> None:
    path = collections / "hotpotqa" / "hotpotqa.subset.jsonl"
    questions = list(read_hotpotqa(path))
    raw = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [question.id for question in questions] == [one["_id"] for one in raw]
    whole = [own_passages(question) for question in questions]
    # Counted apart with a few lines of Python over the raw records.
    assert len(questions) == 900
    assert all(len(question.gold_titles) == 2 for question in questions)
    lacking = [one.missing[0] for one in whole]
    assert [lacking.count(n) for n in range(3)] == [551, 271, 78]
    for one, record in zip(whole, raw, strict=True):
        assert len(one.passages) == len(record["context"])
        sentences = [s for _, paragraph in record["context"] for s in paragraph]
        assert sum(len("".join(s.split())) for s in sentences) == sum(
            len("".join(passage.text.split())) for passage in one.passages
        )
