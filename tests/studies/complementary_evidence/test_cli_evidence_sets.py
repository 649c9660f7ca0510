"""``adducir complementary-evidence hotpotqa`` and ``adducir complementary-evidence mnli12``."""

import json

import pytest

from adducir.cli.app import main
from adducir.studies.complementary_evidence.record_files import read_questions


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels = "entailment", "neutral", "contradiction"
    pairs = [
        {
            "sentence1": f"Premise {n}",
            "sentence2": " ".join(f"{label}{n}-{w}" for w in range(12)),
            "gold_label": label,
        }
        for n in range(40)
        for label in labels
    ]
    pairs.append({**pairs[0], "gold_label": "-"})
    (tmp_path / "mnli.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    names = "cat dog fish bird cow hen goat yak emu ant".split()  # noqa: SIM905
    questions = [
        {
            "_id": f"q{n}",
            "question": f"What do {name} and {names[n - 1]} eat?",
            "answer": "",
            "type": "bridge",
            "level": "easy",
            "supporting_facts": [[name, 0], [names[n - 1], 0]],
            "context": [[name, [f"The {name} eats."]], [f"Not {name}", ["Nothing."]]],
        }
        for n, name in enumerate(names)
    ]
    questions[3]["supporting_facts"].append(["Nowhere", 0])
    (tmp_path / "hotpot.json").write_text(json.dumps(questions))
    return tmp_path


def counts(capsys) -> dict[str, str]:
    return dict(line.rsplit(maxsplit=1) for line in capsys.readouterr().out.splitlines())


def test_mnli12(folder, capsys):
    assert main(["complementary-evidence", "mnli12", "mnli.jsonl", "--output", "x.jsonl.gz"]) == 0
    out, err = capsys.readouterr()
    rows = dict(line.rsplit(maxsplit=1) for line in out.splitlines())
    assert rows["pairs read"] == "121"
    assert rows["  dropped: no agreed label"] == "1"
    assert rows["questions"] == "40"
    assert "wrote x.jsonl.gz: 40 questions" in err
    questions = list(read_questions(folder / "x.jsonl.gz"))
    assert all(len(question.passages) == 12 for question in questions)
    assert all(len(question.sets) == 9 for question in questions)


def test_mnli12_in_parts(folder, capsys):
    wanted = ["--shares", "0.6,0,0.4", "--negatives", "2", "--seed", "3"]
    assert main(["complementary-evidence", "mnli12", "mnli.jsonl", "-o", "x.jsonl", *wanted]) == 0
    parts = [list(read_questions(folder / f"x.{name}.jsonl")) for name in ("train", "test")]
    assert sum(map(len, parts)) == 40
    assert "premises in train" in capsys.readouterr().out
    assert not (folder / "x.validation.jsonl").exists()
    assert not (folder / "x.jsonl").exists()
    texts = [{p.text for question in part for p in question.passages} for part in parts]
    assert texts[0].isdisjoint(texts[1])
    assert all(len(question.sets) == 3 for question in parts[0])


@pytest.mark.slow
def test_hotpotqa(folder, capsys):
    wanted = ["--output", "x.jsonl", "--passages", "5"]
    assert main(["complementary-evidence", "hotpotqa", "hotpot.json", *wanted]) == 0
    out, err = capsys.readouterr()
    rows = dict(line.rsplit(maxsplit=1) for line in out.splitlines())
    assert rows["questions read"] == "10"
    assert rows["paragraphs searched"] == "20"
    assert rows["  questions with a true paragraph nowhere at hand"] == "1"
    assert rows["questions written"] == "9"
    assert "wrote x.jsonl: 9 questions" in err
    questions = list(read_questions(folder / "x.jsonl"))
    assert all(len(question.passages) == 5 for question in questions)
    assert all(question.missing == (0,) for question in questions)


def test_hotpotqa_as_found_with_more_paragraphs(folder, capsys):
    (folder / "more.jsonl").write_text('{"_id": "1", "title": "Nowhere", "text": "Is it."}\n')
    wanted = ["--gold", "found", "--paragraphs", "more.jsonl", "--passages", "21"]
    assert (
        main(["complementary-evidence", "hotpotqa", "hotpot.json", "-o", "x.jsonl", *wanted]) == 0
    )
    assert counts(capsys)["  questions with a true paragraph nowhere at hand"] == "0"
    questions = list(read_questions(folder / "x.jsonl"))
    assert len(questions) == 10
    assert all(len(question.passages) == 21 for question in questions)


def test_hotpotqas_own_paragraphs(folder, capsys):
    wanted = ["--own", "--gold", "found", "--shares", "0.5,0.5,0"]
    assert (
        main(["complementary-evidence", "hotpotqa", "hotpot.json", "-o", "x.jsonl", *wanted]) == 0
    )
    parts = [list(read_questions(folder / f"x.{name}.jsonl")) for name in ("train", "validation")]
    questions = [question for part in parts for question in part]
    assert {question.missing for question in questions} == {(1,), (2,)}
    assert all(len(question.passages) == 2 for question in questions)
    capsys.readouterr()
    assert (
        main(["complementary-evidence", "hotpotqa", "hotpot.json", "-o", "y.jsonl", "--own"]) == 0
    )
    assert counts(capsys)["questions written"] == "0"


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (["mnli12", "mnli.jsonl", "-o", "mnli.jsonl"], "which this command reads", 2),
        (["mnli12", "mnli.jsonl", "-o", "x", "--shares", "1,2"], "three numbers", 2),
        (["mnli12", "mnli.jsonl", "-o", "x", "--shares", "1,2,3"], "add up to 1", 2),
        (["mnli12", "mnli.jsonl", "mnli.jsonl", "-o", "x"], "two files are named mnli", 2),
        (["mnli12", "hotpot.json", "-o", "x"], "hotpot.json:1", 3),
        (["hotpotqa", "mnli.jsonl", "-o", "x"], "mnli.jsonl:1", 3),
        (["hotpotqa", "no.json", "-o", "x"], "no.json", 3),
        (["hotpotqa", "hotpot.json", "hotpot.json", "-o", "x"], "comes twice", 3),
        (["hotpotqa", "hotpot.json", "-o", "x", "--own", "--paragraphs", "y"], "--own", 2),
        (["hotpotqa", "hotpot.json", "-o", "x", "--passages", "1"], "no place for 2", 2),
    ],
)
def test_nonsense_is_refused(folder, capsys, arguments, words, code):
    assert main(["complementary-evidence", *arguments]) == code
    assert words in capsys.readouterr().err
    assert not (folder / "x").exists()
