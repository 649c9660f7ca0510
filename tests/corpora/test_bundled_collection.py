"""The shape of the bundled collection, read with nothing but the standard library."""

import json
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import pytest

import adducir.corpora

FOLDER = Path(adducir.corpora.__file__).parent / "bundled"
FIELDS = {"docno", "topic", "conclusion", "premise", "stance"}


@pytest.fixture(scope="module")
def arguments() -> list[dict[str, str]]:
    lines = (FOLDER / "arguments.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def topics() -> list[dict[str, str]]:
    root = ElementTree.parse(FOLDER / "topics.xml").getroot()
    return [{part.tag: part.text or "" for part in topic} for topic in root.iter("topic")]


@pytest.fixture(scope="module")
def judgements() -> list[tuple[str, str, int]]:
    rows = [line.split(" ") for line in (FOLDER / "qrels.txt").read_text().splitlines()]
    assert all(len(row) == 4 and row[1] == "0" for row in rows)
    return [(qid, docno, int(grade)) for qid, _, docno, grade in rows]


def test_the_arguments_have_the_fields_of_args_me(arguments):
    assert 280 <= len(arguments) <= 360
    for argument in arguments:
        assert set(argument) == FIELDS
        assert all(isinstance(value, str) for value in argument.values())
        assert argument["stance"] in {"PRO", "CON"}
        assert argument["topic"].strip()
        assert argument["conclusion"].strip()


def test_docnos_are_unique_and_look_like_those_of_args_me(arguments):
    docnos = [argument["docno"] for argument in arguments]
    assert len(set(docnos)) == len(docnos)
    assert all(re.fullmatch(r"S[0-9a-f]{8}-A[0-9a-f]{8}", docno) for docno in docnos)
    assert max(Counter(docno[:14] for docno in docnos).values()) > 1  # truncation would show


def test_arguments_of_a_debate_share_its_part_of_the_docno(arguments):
    debates: dict[str, set[str]] = {}
    for argument in arguments:
        debates.setdefault(argument["docno"].split("-")[0], set()).add(argument["topic"])
    assert all(len(names) == 1 for names in debates.values())
    assert len(debates) == len({argument["topic"] for argument in arguments})


def test_no_text_was_pasted_twice(arguments):
    premises = [argument["premise"] for argument in arguments]
    assert len(set(premises)) == len(premises)


def test_the_texts_are_varied(arguments):
    lengths = [len(argument["premise"].split()) for argument in arguments]
    text = "\n".join(argument["premise"] for argument in arguments)
    assert lengths.count(0) == 1
    assert max(lengths) > 100
    assert 35 <= sum(lengths) / len(lengths) <= 80
    assert "and/or" in text
    assert "café" in text
    assert "'s" in text
    assert re.search(r"\d", text)
    pro = sum(argument["stance"] == "PRO" for argument in arguments)
    assert 0.4 <= pro / len(arguments) <= 0.6


def test_the_topics_have_the_parts_of_touche(topics):
    assert [topic["number"] for topic in topics] == [str(n) for n in range(1, 21)]
    for topic in topics:
        assert set(topic) == {"number", "title", "description", "narrative"}
        assert topic["title"].endswith("?")
        assert all(part.strip() for part in topic.values())


def test_the_judgements_name_topics_and_arguments_that_exist(arguments, topics, judgements):
    docnos = {argument["docno"] for argument in arguments}
    assert {docno for _, docno, _ in judgements} <= docnos
    assert {qid for qid, _, _ in judgements} == {topic["number"] for topic in topics}
    assert len({(qid, docno) for qid, docno, _ in judgements}) == len(judgements)


def test_the_grades_are_those_of_touche(judgements):
    grades = Counter(grade for _, _, grade in judgements)
    assert set(grades) == {-2, 0, 1, 2}
    assert 8 <= grades[-2] <= 15


def test_each_topic_has_relevant_and_other_arguments(judgements):
    sizes = Counter(qid for qid, _, _ in judgements)
    relevant = Counter(qid for qid, _, grade in judgements if grade > 0)
    others = Counter(qid for qid, _, grade in judgements if grade <= 0)
    assert all(10 <= size <= 18 for size in sizes.values())
    assert all(relevant[qid] >= 3 and others[qid] >= 3 for qid in sizes)
    assert len(set(relevant.values())) >= 4


def test_the_judgements_are_incomplete(arguments, judgements):
    """Debates with a highly relevant argument hold others that nobody judged for the topic."""
    for qid in {qid for qid, _, _ in judgements}:
        judged = {docno for topic, docno, _ in judgements if topic == qid}
        best = {docno for topic, docno, grade in judgements if topic == qid and grade == 2}
        debates = {docno.split("-")[0] for docno in best}
        near = {a["docno"] for a in arguments if a["docno"].split("-")[0] in debates}
        assert near - judged, qid


def test_the_readme_states_licence_purpose_and_the_true_counts(arguments, topics, judgements):
    readme = " ".join((FOLDER / "README.md").read_text(encoding="utf-8").split())
    assert "Apache-2.0" in readme
    assert "Do not base findings on it" in readme
    debates = len({argument["topic"] for argument in arguments})
    judged = len({docno for _, docno, _ in judgements})
    assert f"{len(arguments)} arguments in {debates} debates" in readme
    assert f"{len(topics)} topics" in readme
    assert f"{len(judgements)} judgements of {judged} arguments" in readme
    stances = Counter(argument["stance"] for argument in arguments)
    assert f"{stances['PRO']} arguments are PRO, {stances['CON']} CON" in readme
    for grade, count in Counter(grade for _, _, grade in judgements).items():
        assert re.search(rf"\| {grade} \| [^|]+ \| {count} \|", readme)
