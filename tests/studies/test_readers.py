"""The studies' files of JSON lines: they go round, and an error names the wrong line."""

import json

import pytest

from adducir.core.errors import InputError
from adducir.studies.complementary_evidence.builders import read_hotpotqa, read_mnli
from adducir.studies.complementary_evidence.questions import (
    EvidencePassage,
    EvidenceQuestion,
    LabelledSet,
    SelectedSet,
    read_questions,
    read_selected,
    write_questions,
    write_selected,
)
from adducir.studies.exemplification.texts import read_texts
from adducir.studies.grounded_generation.builders import read_kilt, read_pages, read_passages
from adducir.studies.grounded_generation.texts import (
    GroundedContext,
    read_contexts,
    read_generated,
    read_references,
    write_contexts,
)

CONTEXT = {"id": "1", "input": "x"}
PLACE = {"start_paragraph_id": 1, "start_character": 2, "end_paragraph_id": 1, "end_character": 3}
PAGE = {"wikipedia_id": "7", "wikipedia_title": "Pasta", "text": ["Pasta\n", "It is hollow.\n"]}
PASSAGE = {"id": "7-1", "title": "Pasta", "text": "It", "wikipedia_id": "7", **PLACE}
KILT = {"id": "1", "input": "x", "output": [{"answer": "y", "provenance": [PLACE]}]}
BACK = {**PLACE, "wikipedia_id": "7", "end_character": 1}
PASSAGES = [{"id": "a", "title": "", "text": "x"}, {"id": "b", "title": "", "text": "y"}]
QUESTION = {"id": "1", "question": "?", "passages": PASSAGES, "gold": [[0, 1]]}
HOTPOT = {"_id": "1", "question": "?", "context": [["A", ["x"]]], "supporting_facts": [["A", 0]]}
MNLI = {"gold_label": "neutral", "sentence1": "P", "sentence2": "H", "pairID": "1n"}
QA = {"id": "1", "question": "?", "answer": "Text."}


HALF = [GroundedContext("1", "half of a surrogate pair: \ud800")]
TWO = EvidencePassage("a", "Title", "x"), EvidencePassage("b", "", "y")
SETS = LabelledSet((0, 1), True), LabelledSet((1,), False)
WHOLE = [
    (write_questions, read_questions, [
        EvidenceQuestion("1", "Wer fraß 🐟?", TWO, ((0, 1), (1,)), SETS, (0, 1)),
        EvidenceQuestion("2", "Nothing known", TWO[:1])]),
    (write_selected, read_selected, [
        SelectedSet("1", ("b", "a"), 0.1 + 0.2), SelectedSet("2", ())]),
    (write_contexts, read_contexts, [
        GroundedContext("1", "Who was Vivaldi?", "A composer.", ("d4", "d5"), "music"),
        GroundedContext("2", "And then?")]),
]  # fmt: skip


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz"])
@pytest.mark.parametrize(("write", "read", "records"), WHOLE)
def test_what_is_written_is_read(tmp_path, write, read, records, name):
    assert write(records, tmp_path / name) == 2
    assert list(read(tmp_path / name)) == records
    assert (tmp_path / name).read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")
    for writer, wrong in ((write, records[:1] * 2), (write_contexts, HALF)):
        with pytest.raises(InputError):
            writer(wrong, tmp_path / "new.jsonl")
        assert not (tmp_path / "new.jsonl").exists()


def changed(record, *changes):
    return [{**record, "id": "2", **change} for change in changes]


BAD = [
    (read_contexts, CONTEXT, [
        [1], CONTEXT, *changed(CONTEXT, {"question": "y"}, {"gold": "d1"}, {"gold": ["d 1"]})]),
    (read_pages, PAGE, [[1], {**PAGE, "text": "all"}]),
    (read_passages, PASSAGE, [PAGE]),
    (read_kilt, KILT, [
        KILT, *changed(KILT, {"id": "a b"}, {"output": ["a"]}, {"output": [{"provenance": [BACK]}]},
                       {"output": [{"provenance": [{**PLACE, "start_paragraph_id": "1"}]}]})]),
    (read_generated, {"id": "1", "outputs": []}, [
        [1], {"id": "1", "outputs": []}, {"id": "a b", "outputs": []}, {"id": "2", "output": []},
        {"id": "2", "outputs": [{"docno": "d"}]}, {"query_id": 2, "answers": ["a", "b"]}]),
    (read_references, CONTEXT, [CONTEXT, {"id": "2"}, *changed(CONTEXT, {"gold": [1]})]),
    (read_questions, QUESTION, [
        "{", [1], QUESTION,
        *changed(QUESTION, {"gold": [[0, 2]]}, {"gold": [[0, 0]]}, {"gold": [[0, "1"]]},
                 {"gold": 7}, {"missing": [-1]}, {"sets": [{"members": [1, 1], "label": True}]},
                 {"sets": [{"members": [1]}]}, {"colour": 1},
                 {"passages": [{"id": "a", "title": 3, "text": "x"}]},
                 {"passages": [{"id": "a b", "title": "", "text": ""}]})]),
    (read_selected, {"id": "1", "chosen": []}, [
        "{", [1], {"id": "2"}, {"id": "2", "chosen": ["a", "a"]}, {"chosen": []}]),
    (read_hotpotqa, HOTPOT, [
        HOTPOT, *({**HOTPOT, "_id": "2", **change} for change in (
            {"_id": None}, {"context": None}, {"context": [["A", [1]]]},
            {"supporting_facts": [["A"]]}))]),
    (read_mnli, MNLI, ["{", {"premise": "P", "label": 1}, {**MNLI, "gold_label": "maybe"}]),
    (lambda path: read_texts([path]), QA, [
        "{", "3", {"id": "x"}, {"id": "x", "output": 3}, {"id": "x", "annotations": [{}]}]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("read", "good", "bad"), [(read, good, bad) for read, good, some in BAD for bad in some]
)
def test_a_wrong_line_is_named(tmp_path, read, good, bad):
    path = tmp_path / "x.jsonl"
    lines = (one if isinstance(one, str) else json.dumps(one) for one in (good, bad))
    path.write_text("\n\n".join(lines))
    with pytest.raises(InputError) as caught:
        list(read(path))
    assert (caught.value.path, caught.value.line) == (path, 3)
