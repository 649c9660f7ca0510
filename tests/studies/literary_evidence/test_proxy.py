"""The proxy task: making it, its files, choices and their scores."""

import csv
import json
import re

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from adducir.core.errors import InputError, UsageError
from adducir.studies.literary_evidence.proxy.choices import Choices, choices_of_scores, read_choices
from adducir.studies.literary_evidence.proxy.files import key_of, read_key, write_key, write_task
from adducir.studies.literary_evidence.proxy.scoring import (
    accuracy,
    groups_of,
    judges_agreement,
    majority,
    majority_accuracy,
)
from adducir.studies.literary_evidence.proxy.table import EVERYTHING, Look, proxy_table
from adducir.studies.literary_evidence.proxy.tasks import (
    NO_TEXT,
    NOT_RANKED,
    TOO_FEW,
    Question,
    make_task,
)
from adducir.tables.formats import TABLES, render

TEXTS = {
    "t": "The  gold item,\nas it is",
    "same": "the gold item, as it IS",
    "a": "First other",
    "again": "first OTHER",
    "b": "Second, “other”",
    "c": "Third",
    "empty": " ",
}


def questions(number, **more):
    return [Question(f"q{place}", f"context {place}", "t", **more) for place in range(number)]


def ranked(number, *docnos):
    return {f"q{place}": list(docnos) for place in range(number)}


def test_the_two_best_others_are_offered():
    ranking = ranked(1, "same", "empty", "unknown", "a", "t", "again", "b", "c")
    (item,) = make_task(questions(1), ranking, TEXTS).items
    assert set(item.docnos) == {"t", "a", "b"}  # not the gold item's or the first's own words again
    assert item.docnos[item.gold - 1] == "t"
    assert item.candidates[item.gold - 1] == "The gold item, as it is"
    (wider,) = make_task(questions(1), ranking, TEXTS, others=3).items
    assert set(wider.docnos) == {"t", "a", "b", "c"}


def test_the_order_is_shuffled_by_seed_and_item_alone():
    ranking = ranked(300, "a", "b", "c")
    task = make_task(questions(300), ranking, TEXTS)
    gold_items = [item.gold for item in task.items]
    counts = np.bincount(gold_items, minlength=4)[1:]
    assert counts.sum() == 300
    assert (counts > 70).all()  # 100 each, with a standard deviation of 8
    fewer = make_task(questions(300)[100:], ranking, TEXTS)
    assert fewer.items == task.items[100:]
    assert make_task(questions(300), ranking, TEXTS).mark == task.mark
    other = make_task(questions(300), ranking, TEXTS, seed=1)
    assert [item.gold for item in other.items] != gold_items
    assert other.mark != task.mark


def test_a_sample_keeps_the_order_of_the_questions():
    ranking = ranked(50, "a", "b")
    task = make_task(questions(50), ranking, TEXTS, sample=7, seed=3)
    ids = [int(item.id[1:]) for item in task.items]
    assert len(ids) == 7
    assert ids == sorted(ids)
    assert ids != [
        int(item.id[1:])
        for item in make_task(questions(50), ranking, TEXTS, sample=7, seed=4).items
    ]


def test_questions_without_enough_are_left_out_and_counted():
    arguments = [*questions(3), Question("x", "", "gone")]
    ranking = {"q0": ["a", "b"], "q1": ["a", "again", "t"], "x": ["a", "b"]}
    task = make_task(arguments, ranking, TEXTS)
    assert [item.id for item in task.items] == ["q0"]
    assert task.left_out == {TOO_FEW: 1, NOT_RANKED: 1, NO_TEXT: 1}
    with pytest.raises(UsageError, match="no question can be asked"):
        make_task(arguments[1:], ranking, TEXTS)
    with pytest.raises(UsageError, match="q0 comes twice"):
        make_task([arguments[0], arguments[0]], ranking, TEXTS)
    with pytest.raises(UsageError, match="at least one other"):
        make_task(arguments, ranking, TEXTS, others=0)


@pytest.fixture
def task():
    arguments = [
        Question(f"q{place}", 'He said, "yes":\n[masked]', "t", "1" if place < 2 else "2")
        for place in range(6)
    ]
    return make_task(arguments, ranked(6, "a", "b"), TEXTS)


@pytest.mark.parametrize("name", ["task.csv", "task.jsonl", "task.csv.gz"])
def test_judges_see_neither_the_gold_nor_docnos(task, tmp_path, name):
    write_task(task, tmp_path / name)
    write_key(task, tmp_path / "key.csv")
    assert read_key(tmp_path / "key.csv") == key_of(task)
    if name == "task.csv":
        rows = list(csv.DictReader((tmp_path / name).open(encoding="utf-8", newline="")))
        assert rows[0]["context"] == 'He said, "yes":\n[masked]'
        assert rows[0]["choice"] == ""
        assert set(rows[0]) == {
            *("item", "context", "candidate_1", "candidate_2", "candidate_3", "choice", "task")
        }
    if name == "task.jsonl":
        first = json.loads((tmp_path / name).read_text(encoding="utf-8").splitlines()[0])
        assert set(first) == {"item", "context", "candidates", "choice", "task"}
        assert first["choice"] is None
    with pytest.raises(InputError, match="nothing was chosen"):
        read_choices(tmp_path / name, key_of(task), "anna")


def test_other_names_say_no_format(task, tmp_path):
    with pytest.raises(UsageError, match="says no format"):
        write_task(task, tmp_path / "task.txt")


def test_choices_are_read_from_the_filled_task(task, tmp_path):
    key = key_of(task)
    for ending in ("csv", "jsonl"):
        path = tmp_path / f"anna.{ending}"
        write_task(task, path)
        filled = path.read_text().replace("null", "2").replace(f",,{task.mark}", f",2,{task.mark}")
        path.write_text(filled)
        (choices,) = read_choices(path, key, "anna")
        assert choices.name == "anna"
        assert choices.chosen.tolist() == [2] * 6
    path = tmp_path / "all.csv"
    path.write_text("rater,item,choice\nanna,q1,3\nben,q0,1\nben,q1,\n")
    anna, ben = read_choices(path, key, "all")
    assert (anna.name, anna.chosen.tolist()) == ("anna", [0, 3, 0, 0, 0, 0])
    assert (ben.name, ben.chosen.tolist()) == ("ben", [1, 0, 0, 0, 0, 0])


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("item,choice\nq0,4\n", 2, "'4' is none of 1 to 3"),
        ("item,choice\nq0,0\n", 2, "'0' is none of 1 to 3"),
        ("item,choice\nq0,b\n", 2, "'b' is none of"),
        ("item,choice\nq9,1\n", 2, "no item 'q9'"),
        ("item,choice\nq0,1\nq0,2\n", 3, "twice for q0, first in line 2"),
        ("item,choice,task\nq0,1,000\n", 2, "of the task 000"),
        ("item\nq0\n", 1, "no 'choice'"),
        ('{"item": "q0", "choice": 1}\n{"item": "q1"}\n', 2, "no 'choice'"),
        ('{"item": "q0", "choice": 1}\n{"item"\n', 2, "not JSON"),
    ],
)
def test_broken_choices_are_named_with_their_line(task, tmp_path, text, line, message):
    path = tmp_path / "choices.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read_choices(path, key_of(task), "anna")
    assert (caught.value.path, caught.value.line) == (path, line)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("item,gold,docno_1,docno_2,task\n", None, "no answer in it"),
        ("item,gold,docno_1,docno_2,task\nq,3,a,b,m\n", 2, "gold item '3' of 2 candidates"),
        ("item,gold,docno_1,docno_2,task\nq,1,a,,m\n", 2, "no answer of a key"),
        ("item,gold,docno_1,docno_2,task\nq,1,a,b,m\nq,1,a,b,m\n", 3, "comes twice"),
        ("item,gold,docno_1,docno_2,task\nq,1,a,b,m\nr,1,a,b,n\n", 3, "key of another task"),
    ],
)
def test_a_broken_key_is_named_with_its_line(tmp_path, text, line, message):
    path = tmp_path / "key.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read_key(path)
    assert (caught.value.path, caught.value.line) == (path, line)


def test_a_model_chooses_by_score_with_ties_against_it(task):
    key = key_of(task)
    a, t, b = "a", "t", "b"
    scores = {
        "q0": {t: 2.0, a: 1.0, b: 1.5},  # right
        "q1": {t: 2.0, a: 2.0, b: 1.0},  # a tie
        "q2": {t: -9.0, a: -10.0},  # b has no score
        "q3": {a: -10.0, "other": 5.0},  # the gold item has none
        "q4": {"other": 1.0},  # nothing
    }
    choices, partial = choices_of_scores("dense", scores, key)
    docnos = [
        answer.docnos[number - 1] if number else None
        for answer, number in zip(key.answers.values(), choices.chosen, strict=True)
    ]
    assert docnos == [t, a, t, a, None, None]
    assert partial == 2
    found = accuracy(choices, key)
    assert (found.answered, found.right, found.share) == (4, 2, 0.5)
    with pytest.raises(UsageError, match="no candidate of the task"):
        choices_of_scores("other", {"q0": {"z": 1.0}}, key)


def judges_of(task, *patterns):
    """Judges from texts: + right, - the next option, ~ the one after, . no answer."""
    gold_items = [item.gold for item in task.items]
    found = []
    for number, pattern in enumerate(patterns):
        chosen = [
            0 if sign == "." else (gold - 1 + "+-~".index(sign)) % 3 + 1
            for sign, gold in zip(pattern, gold_items, strict=True)
        ]
        found.append(Choices(f"judge{number}", np.array(chosen)))
    return found


def test_accuracies_by_hand(task):
    key = key_of(task)
    judges = judges_of(task, "++-+.+", "++-~-.", "+-~++.")
    assert [accuracy(one, key).right for one in judges] == [4, 2, 3]
    assert [accuracy(one, key).answered for one in judges] == [5, 5, 5]
    assert groups_of(key) == ["1", "2"]
    assert accuracy(judges[2], key, group="1").share == 0.5
    # The items' answers: +++ ++- --~ +~+ .-+ +..; the fifth has no majority.
    found = majority_accuracy(judges, key)
    assert (found.answered, found.right) == (6, 4)
    assert majority(judges).chosen[4] == 0
    assert (found.low, found.high) == pytest.approx(proportion_confint(4, 6, method="wilson"))


def test_agreement_of_judges(task):
    key = key_of(task)
    judges = judges_of(task, "+++-~.", "+++--+", "++-~~+")
    found = judges_agreement(judges, key)
    assert (found.kappa.units, found.kappa.raters, found.left_out) == (5, 3, 1)
    assert found.kappa.all_agree == pytest.approx(2 / 5)
    assert found.kappa.none_agree == 0
    assert found.kappa.categories == 3
    observed = (1 + 1 + 1 / 3 * 3) / 5
    assert found.kappa.observed == pytest.approx(observed)
    assert found.kappa.free == pytest.approx((observed - 1 / 3) / (2 / 3))


def test_the_table_by_groups(task):
    key = key_of(task)
    judges = judges_of(task, "++-+.+", "++-~-+")
    model = Choices("dense", judges_of(task, "++++--")[0].chosen)
    table = proxy_table(key, judges, [model], Look(by_group=True))
    cells = {
        (row.system, column.group, column.measure): cell.mean for row, column, cell in table.cells()
    }
    assert [row.system for row in table.rows] == ["chance", "judge0", "judge1", "majority", "dense"]
    assert cells["chance", "2", "Accuracy"] == 1 / 3
    assert cells["dense", EVERYTHING, "Accuracy"] == 4 / 6
    assert cells["dense", "1", "Accuracy"] == 1
    assert cells["dense", "2", "Accuracy"] == 0.5
    assert cells["majority", EVERYTHING, "Right"] == 3
    for name in TABLES:
        assert "Accuracy" in render(table, name)
    with pytest.raises(UsageError, match="no choices"):
        proxy_table(key, [])
    with pytest.raises(UsageError, match="twice"):
        proxy_table(key, judges, [judges[0]])


def test_groups_must_be_there_to_be_shown():
    task = make_task(questions(2), ranked(2, "a", "b"), TEXTS)
    with pytest.raises(UsageError, match="no groups"):
        proxy_table(key_of(task), judges_of(task, "++"), (), Look(by_group=True))


def test_formulas_of_a_task_are_harmless_and_read_as_they_were(tmp_path):
    texts = {"=t": "=1+1", "-a": "@SUM(A1)\rx", "+b": "'=2"}
    arguments = [Question("=q", "-2+3+cmd|' /C calc'!A0", "=t")]
    task = make_task(arguments, {"=q": ["-a", "+b"]}, texts)
    write_task(task, tmp_path / "task.csv")
    write_key(task, tmp_path / "key.csv")
    for name in ("task.csv", "key.csv"):
        with (tmp_path / name).open(encoding="utf-8", newline="") as handle:
            for row in csv.reader(handle):
                assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row)
    key = read_key(tmp_path / "key.csv")
    assert key == key_of(task)
    filled = (tmp_path / "task.csv").read_text(encoding="utf-8").replace(",,", ",2,")
    (tmp_path / "anna.csv").write_text(filled, encoding="utf-8")
    (choices,) = read_choices(tmp_path / "anna.csv", key, "anna")
    assert choices.chosen.tolist() == [2]
