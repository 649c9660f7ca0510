"""What is built as RELiC's file, and the submission for its hidden test set."""

import json
from pathlib import Path
from typing import Any

import pytest
from quotation_texts import REMARKS, TALE, criticism, tale

from adducir.core.errors import InputError
from adducir.corpora.relic import (
    RelicBook,
    RelicQuote,
    read_relic,
    write_relic,
)
from adducir.corpora.spans import read_spans, write_spans
from adducir.studies.literary_evidence.builder import find_quotations
from adducir.studies.literary_evidence.construction import relic_of, spans_of, split_relic
from adducir.studies.literary_evidence.rules import RELIC, rules_of
from adducir.studies.literary_evidence.submission import read_submission, write_submission


def test_what_is_built_goes_round(tmp_path: Path) -> None:
    made = find_quotations(
        [tale()],
        [criticism(TALE[5], *REMARKS[:5], *TALE[9:11])],
        rules_of(RELIC, {"min_matches": 1}),
    )
    books = relic_of(made)
    write_relic(books, tmp_path / "relic.json")
    assert read_relic(tmp_path / "relic.json") == books
    assert [(q.start, q.length) for q in books["tale"].quotes.values()] == [(5, 1), (9, 2)]
    spans = spans_of(made)
    assert write_spans(spans, tmp_path / "spans.jsonl.gz") == 2
    assert list(read_spans(tmp_path / "spans.jsonl.gz")) == spans
    assert [span.candidate for span in spans] == ["tale/5+1", "tale/9+2"]
    assert spans[1].span == tuple(TALE[9:11])
    assert spans[0].extra == {
        "start": 5, "length": 1, "work": "remarks", "sentence": 6, "quoted": TALE[5],
    }  # fmt: skip


def test_splits_keep_books_apart() -> None:
    books = {
        f"book {n}": RelicBook(
            {f"{n}-{k}": RelicQuote(["l"], k, 1, []) for k in range(n)}, ["s"] * 9
        )
        for n in range(9)
    }
    parts = split_relic(books, {"train": 0.5, "validation": 0.25, "test": 0.25}, seed=2)
    titles = [title for part in parts.values() for title in part]
    assert sorted(titles) == [f"book {n}" for n in range(1, 9)]  # book 0 has no quotation
    assert list(parts) == ["train", "validation", "test"] and all(parts.values())


def hidden(sentences: int = 103) -> dict[str, RelicBook]:
    quotes = {"7": RelicQuote(["l"], None, 3, ["r"]), "8": RelicQuote(["l"], None, 1, ["r"])}
    return {"b": RelicBook(quotes, ["s"] * sentences)}


def test_submissions_go_round(tmp_path: Path) -> None:
    rankings = {"8": list(range(102, -1, -1)), "7": list(range(100, -1, -1))}
    path = tmp_path / "submission.json"
    assert write_submission(rankings, hidden(), path) == 2
    assert json.loads(path.read_text()) == {
        "7": list(range(100, 0, -1)), "8": list(range(102, 2, -1)),
    }  # fmt: skip
    assert read_submission(path, hidden())["8"][0] == 102


@pytest.mark.parametrize(
    ("rankings", "problem"),
    [
        ({"7": range(100)}, "'8' of 'b' has no ranking"),
        ({"7": range(100), "8": range(100), "9": range(100)}, "no quotation '9'"),
        ({"7": range(99), "8": range(100)}, "has 99 candidates, not 100"),
        ({"7": [5, *range(99)], "8": range(100)}, "has candidate 5 twice"),
        ({"7": range(2, 102), "8": range(100)}, "no candidate 101; the last is 100"),
        ({"7": range(100), "8": range(-1, 99)}, "no candidate -1"),
    ],
)
def test_malformed_submissions(tmp_path: Path, rankings: dict[str, Any], problem: str) -> None:
    path = tmp_path / "submission.json"
    with pytest.raises(InputError, match=problem):
        write_submission(rankings, hidden(), path)
    assert not path.exists()
    path.write_text(json.dumps({name: list(one) for name, one in rankings.items()}))
    with pytest.raises(InputError, match=problem):
        read_submission(path, hidden())


@pytest.mark.parametrize(
    ("text", "problem"),
    [("[1]", "not a JSON object"), ("{", "not JSON"), ('{"7": [1.5], "8": []}', "whole numbers")],
)
def test_submissions_that_are_none(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "submission.json"
    path.write_text(text)
    with pytest.raises(InputError, match=problem):
        read_submission(path, hidden())
