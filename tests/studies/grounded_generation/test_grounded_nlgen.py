"""MS MARCO NLGen in the official form: one table in columns."""

import gzip
import json
from pathlib import Path

import pytest

from adducir.cli.app import main
from adducir.core.errors import InputError
from adducir.core.json_lines import is_columns, read_columns
from adducir.corpora.documents import Document
from adducir.studies.grounded_generation.contexts import read_contexts
from adducir.studies.grounded_generation.evaluation.files import read_references
from adducir.studies.grounded_generation.evaluation.texts import Reference
from adducir.studies.grounded_generation.nlgen import read_nlgen, with_gold


def query(number, answers, selected="A thick  pasta.", **more):
    passages = [
        {"is_selected": 0, "passage_text": "No.", "url": "http://a"},
        {"is_selected": 1, "passage_text": selected, "url": "http://b"},
    ]
    return {
        "answers": ["short"],
        "passages": passages,
        "query": f". what is {number}?",
        "query_id": number,
        "query_type": "DESCRIPTION",
        "wellFormedAnswers": answers,
        **more,
    }


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
    table = folder / "table.json"
    table.write_text(json.dumps(columns(ROWS)), encoding="utf-8")
    packed = folder / "table.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(columns(ROWS), indent=1).encode()))
    array = folder / "array.json"
    array.write_text(json.dumps(ROWS), encoding="utf-8")
    one_per_line = folder / "lines.jsonl"
    one_per_line.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return [table, packed, array, one_per_line]


def test_all_forms_give_the_same(tmp_path):
    for path in forms(tmp_path):
        made = read_nlgen(path)
        assert [(one.id, one.query, one.answers, one.selected) for one in made.questions] == [
            ("7", ". what is 7?", ("It is a pasta.", "A pasta."), ("A thick  pasta.",)),
            ("10", ". what is 10?", ("Été.",), ("Unknown\u00e9",)),
        ]
        counts = made.counts
        assert (counts.queries, counts.without_answer, counts.unanswerable, counts.kept) == (
            *(5, 2, 1, 2),
        )


def test_gold_passages_have_the_text_of_a_selected_one(tmp_path):
    questions = read_nlgen(forms(tmp_path)[0]).questions
    collection = [
        Document("p1", {"text": "A thick pasta."}),
        Document("p2", {"text": "a thick pasta."}),
        Document("p3", {"text": " A thick\tpasta. "}),
        Document("p4", {}),
    ]
    first, second = with_gold(questions, iter(collection))
    assert (first.input, first.target) == (". what is 7?", "It is a pasta.")
    assert first.gold == ("p1", "p3")
    assert second.gold == ()


def test_the_command_cuts_and_reports(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    forms(tmp_path)
    Path("collection.tsv").write_text("0\tA thick pasta.\n1\tRice.\n", encoding="utf-8")
    start = ["grounded-generation", "nlgen", "table.json", "--corpus", "collection.tsv"]
    arguments = [*start, "--first", "1", "-o", "validation.jsonl"]
    assert main([*arguments, "--references", "references.jsonl"]) == 0
    assert read_references(Path("references.jsonl"))["7"] == Reference(
        "7", ("It is a pasta.", "A pasta."), ". what is 7?"
    )
    report = capsys.readouterr().out.splitlines()
    assert [row.split()[-1] for row in report] == ["5", "2", "1", "1", "1", "1", "1"]
    assert json.loads(Path("references.jsonl").read_text())["query_id"] == 7  # as MS MARCO has it
    assert main([*start, "--skip", "1", "-o", "test.jsonl", "--qrels", "test.qrels"]) == 0
    assert Path("test.qrels").read_text(encoding="utf-8") == ""
    assert [(one.id, one.gold) for one in read_contexts(Path("validation.jsonl"))] == [
        ("7", ("0",))
    ]
    assert [(one.id, one.gold) for one in read_contexts(Path("test.jsonl"))] == [("10", ())]
    capsys.readouterr()
    assert main([*start, "--skip", "2", "-o", "none.jsonl"]) == 2
    assert "nothing is left" in capsys.readouterr().err


def test_columns_are_read_in_any_order(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(dict(reversed(columns(ROWS).items()))), encoding="utf-8")
    assert [one.id for one in read_nlgen(path).questions] == ["7", "10"]
    path.write_text('{"a": {}, "b": {"0": [1,\n2],\n"1": {}}}\n', encoding="utf-8")
    assert is_columns(path)
    assert [tuple(one) for one in read_columns(path)] == [(1, "b", "0", [1, 2]), (3, "b", "1", {})]


@pytest.mark.parametrize(
    ("row", "what"),
    [
        (query(1, "none"), "row 5: 'wellFormedAnswers'"),
        (query(1, [1]), "row 5: 'wellFormedAnswers'"),
        (query(True, ["a"]), "row 5: 'query_id'"),
        (query(1, ["a"], query=None), "row 5: 'query'"),
        (query(1, ["a"], passages={}), "row 5: a passage"),
        (query(1, ["a"], passages=[{"is_selected": 1}]), "row 5: a passage must have"),
        (query(1, ["a"], passages=[{"passage_text": "a"}]), "row 5: 'is_selected'"),
        (query(7, ["a"]), "row 5: the id '7' comes twice"),
        ({name: value for name, value in query(1, ["a"]).items() if name != "passages"}, "no 'pa"),
    ],
)
def test_bad_rows_are_named(tmp_path, row, what):
    path = tmp_path / "table.json"
    path.write_text(json.dumps(columns([*ROWS, row]), indent=0), encoding="utf-8")
    with pytest.raises(InputError, match=what) as caught:
        read_nlgen(path)
    assert caught.value.path == path
    assert caught.value.line > 1


@pytest.mark.parametrize(
    "text",
    [
        '{"query": {"0": "a"',
        '{"query": {"0": "a"}',
        '{"query": {"0" "a"}}',
        '{"query": {0: "a"}}',
        '{"query": {"0": "a"}} x',
        '{"query": {"0": "a"}, "b": 3}',
        '{"query": {"0": "a',
    ],
)
def test_tables_that_are_none(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        list(read_columns(path))
    assert caught.value.line == 1


def test_lines_without_a_column(tmp_path):
    path = tmp_path / "x.jsonl"
    row = query(1, ["a"])
    del row["query"]
    path.write_text(json.dumps(ROWS[0]) + "\n" + json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="no 'query'") as caught:
        read_nlgen(path)
    assert caught.value.line == 2
