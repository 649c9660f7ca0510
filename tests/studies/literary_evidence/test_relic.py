"""RELiC's official files and BIRCO's pools."""

import csv
import gzip
import json

import pytest
from json_files import jsonl

from adducir.cli.app import main
from adducir.core.errors import InputError
from adducir.studies.literary_evidence.relic import (
    RelicQuote,
    candidate_starts,
    pool_tasks,
    read_relic,
    spans_of_relic,
    write_relic,
)

BOOK = "the awakening"


def official():
    """A file as the dataset's description has it, one quotation of it hidden."""
    starts = [[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4], [0, 1, 2, 3], [0, 1, 2], [0, 1]]
    return {
        BOOK: {
            "quotes": {
                "070789": [["one", "two"], 1, 2, ["three"]],
                "070790": [[], None, 5, ["é “four”"]],
            },
            "sentences": ["s0 ", "s1", "s2", "s3", "s4", "s5"],
            "candidates": {f"{n}_sentence": some for n, some in enumerate(starts, 1)},
        },
        "short": {
            "quotes": {},
            "sentences": ["only"],
            "candidates": {f"{n}_sentence": [0] if n == 1 else [] for n in range(1, 6)},
        },
    }


def written(folder, data):
    path = folder / "relic.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["again.json", "again.json.gz"])
def test_official_files_go_round(tmp_path, name):
    books = read_relic(written(tmp_path, official()))
    assert books[BOOK].quotes["070789"] == RelicQuote(["one", "two"], 1, 2, ["three"])
    assert write_relic(books, tmp_path / name) == 2
    data = (tmp_path / name).read_bytes()
    assert json.loads(gzip.decompress(data) if name.endswith("gz") else data) == official()
    assert read_relic(tmp_path / name) == books


def test_quotations_as_spans(tmp_path):
    books = read_relic(written(tmp_path, official()))
    first, hidden = spans_of_relic(books, {"070789": {"work": "x"}})
    assert (first.id, first.group, first.candidate) == ("070789", BOOK, "the_awakening/1+2")
    assert (first.left, first.span, first.right) == (("one", "two"), ("s1", "s2"), ("three",))
    assert first.extra == {"start": 1, "length": 2, "work": "x"}
    assert (hidden.candidate, hidden.span) == (None, ("[hidden]",) * 5)
    assert [len(candidate_starts(7, n)) for n in (1, 2, 5, 7, 8)] == [7, 6, 3, 1, 0]


@pytest.mark.parametrize(
    ("keys", "value", "named"),
    [
        ([], [], "dict"),
        (["x"], [], "x"),
        ([BOOK, "sentences"], ["a", 1], "sentences.1"),
        ([BOOK, "quotes"], [], "quotes"),
        ([BOOK, "quotes", "070789"], [[], 1, 2], "070789"),
        ([BOOK, "quotes", "070789", 0], "one", "070789.0"),
        ([BOOK, "quotes", "070789", 1], 5, "'070789' begins at 5"),
        ([BOOK, "quotes", "070789", 1], -1, "070789.1"),
        ([BOOK, "quotes", "070789", 2], 6, "070789.2"),
        ([BOOK, "quotes", "070789", 2], True, "070789.2"),
        ([BOOK, "quotes", "a b"], [[], 1, 2, []], "white space"),
        ([BOOK, "candidates", "2_sentence"], [0, 2, 4], "2_sentence"),
        ([BOOK, "candidates", "two"], [], "two"),
        ([BOOK, "candidates"], [], "candidates"),
        (["short", "quotes", "070789"], [[], 0, 1, []], "070789"),
    ],
)
def test_errors_name_the_book_and_the_quotation(tmp_path, keys, value, named):
    data = {"root": official()}
    place = data
    for one, after in zip(["root", *keys], [*keys, None], strict=True):
        if after is None:
            place[one] = value
        else:
            place = place[one]
    with pytest.raises(InputError, match=named) as error:
        read_relic(written(tmp_path, data["root"]))
    assert error.value.path == tmp_path / "relic.json"


def pool_folder(folder):
    query = {"qid": "q_1", "text": "He said: [masked sentence(s)] Then; he left."}
    (folder / "queries.jsonl").write_text(json.dumps(query) + "\n")
    (folder / "corpus.jsonl").write_text(
        '{"docid": "c_1", "text": "It was. It is;"}\n{"docid": "c_2", "text": "No."}\n'
    )
    (folder / "qrels.txt").write_text("q_1 0 c_2 0\nq_1 0 c_1 1\n")
    return folder


def test_pools(tmp_path):
    (task,) = pool_tasks(pool_folder(tmp_path))
    (span,) = task.spans
    assert (span.left, span.span) == (("He said:",), ("It was.", "It is;"))
    assert span.right == ("Then;", "he left.")
    assert (span.id, span.group, span.candidate) == ("q_1", "q_1", "c_1")
    assert (task.docnos, task.texts, task.gold) == (["c_2", "c_1"], ["No.", "It was. It is;"], [1])


def test_the_real_pools(collections):
    tasks = [*pool_tasks(collections / "relic")]
    spans = [span for task in tasks for span in task.spans]
    assert len(spans) == len(tasks) == 100
    assert {len(task.texts) for task in tasks} == {50, 51}
    assert all(task.docnos[task.gold[0]] == task.spans[0].candidate for task in tasks)
    # RELiC's windows have four sentences on each side; ours are cut nearly as its are.
    sides = [len(side) for span in spans for side in (span.left, span.right)]
    assert 3.8 < sum(sides) / len(sides) < 4.2
    assert {len(span.span) for span in spans} <= {1, 2, 3, 4, 5, 6}


def test_the_table_of_a_collection(tmp_path, capsys):
    """Table 1, A.3 and Figure 2 of the paper, by hand; a hidden quotation has no words."""
    path = written(tmp_path, official() | {"other": official()[BOOK] | {"quotes": {}}})
    books = json.loads(path.read_text())
    books["other"]["quotes"] = {"1": [["a b c"], 0, 1, []], "2": [["a"], 0, 2, ["b"]]}
    books["other"]["sentences"][0] = "one two"
    path.write_text(json.dumps(books))
    span = {"group": "other", "left": ["a"], "span": ["x"], "right": []}
    rows = [
        {"id": name, **span, "extra": {"work": work}}
        for name, work in (("1", "w"), ("2", "w"), ("070789", "v"))
    ]
    spans = jsonl(tmp_path / "windows.jsonl", rows)
    found = {}
    for options in ([], ["--books"]):
        argv = ["literary-evidence", "statistics", str(path), "--spans", str(spans), *options]
        assert main([*argv, "--format", "csv"]) == 0
        for row in csv.DictReader(capsys.readouterr().out.splitlines()):
            key = row["system"], row["group"], row["measure"]
            found[key] = float(row["mean"]) if row["mean"] else None
    whole = {name: found["relic", "", name] for name in ("Books", "Windows", "Works")}
    assert whole == {"Books": 3, "Windows": 4, "Works": 2}
    assert found["relic", "", "Words of context"] == (3 + 2 + 3 + 2) / 4
    assert found["relic", "", "Words of quotation"] == (2 + 3 + 2) / 3
    assert found["relic", "", "Share quoted"] == pytest.approx((2 / 6 + 2 / 6 + 0) / 3)
    assert found["relic", "", "Windows per work"] == 1.5
    assert found["relic", "", "Works per book"] == pytest.approx(2 / 3)
    shares = [found["relic", "Sentences of quotation", f"{n}"] for n in range(1, 6)]
    assert shares == [0.25, 0.5, 0, 0, 0.25]
    assert found["other", "", "Windows"] == 2
    assert ("short", "", "Words of context") not in found
    assert found["all", "", "Share quoted"] == found["relic", "", "Share quoted"]
