"""RELiC's official files, the submission for its hidden test set, and BIRCO's pools."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from quotation_texts import REMARKS, TALE, criticism, tale

from adducir.core.errors import InputError, UsageError
from adducir.corpora.pools import read_pools
from adducir.corpora.relic import (
    RelicBook,
    RelicQuote,
    candidate_starts,
    spans_of_relic,
)
from adducir.corpora.relic_files import read_relic, write_relic
from adducir.corpora.spans import read_spans, write_spans
from adducir.studies.literary_evidence.builder import find_quotations
from adducir.studies.literary_evidence.construction import relic_of, spans_of, split_relic
from adducir.studies.literary_evidence.rules import RELIC, rules_of
from adducir.studies.literary_evidence.submission import read_submission, write_submission


def official() -> dict[str, Any]:
    """A file as the dataset's description has it, one quotation of it hidden."""
    return {
        "the awakening": {
            "quotes": {
                "070789": [["one", "two"], 1, 2, ["three"]],
                "070790": [[], None, 5, ["é “four”"]],
            },
            "sentences": ["s0 ", "s1", "s2", "s3", "s4", "s5"],
            "candidates": {
                "1_sentence": [0, 1, 2, 3, 4, 5],
                "2_sentence": [0, 1, 2, 3, 4],
                "3_sentence": [0, 1, 2, 3],
                "4_sentence": [0, 1, 2],
                "5_sentence": [0, 1],
            },
        },
        "short": {
            "quotes": {},
            "sentences": ["only"],
            "candidates": {f"{n}_sentence": [0] if n == 1 else [] for n in range(1, 6)},
        },
    }


def written(folder: Path, data: Any) -> Path:
    path = folder / "relic.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["again.json", "again.json.gz"])
def test_official_files_go_round(tmp_path: Path, name: str) -> None:
    books = read_relic(written(tmp_path, official()))
    assert books["the awakening"].quotes["070789"] == RelicQuote(["one", "two"], 1, 2, ["three"])
    assert books["the awakening"].passage(1, 2) == ["s1", "s2"]
    assert write_relic(books, tmp_path / name) == 2
    data = (tmp_path / name).read_bytes()
    assert json.loads(gzip.decompress(data) if name.endswith("gz") else data) == official()
    assert read_relic(tmp_path / name) == books


def test_quotations_as_spans() -> None:
    data = official()["the awakening"]
    quotes = {name: RelicQuote(*value) for name, value in data["quotes"].items()}
    first, hidden = spans_of_relic({"the awakening": RelicBook(quotes, data["sentences"])})
    assert (first.id, first.group, first.candidate) == (
        "070789", "the awakening", "the_awakening/1+2",
    )  # fmt: skip
    assert (first.left, first.span, first.right) == (("one", "two"), ("s1", "s2"), ("three",))
    assert first.extra == {"start": 1, "length": 2}
    assert (hidden.candidate, hidden.span) == (None, ("[hidden]",) * 5)


def changed(*keys: Any, to: Any) -> dict[str, Any]:
    data: Any = official()
    place = data
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = to
    whole: dict[str, Any] = data
    return whole


BOOK = "the awakening"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ([], "not a JSON object"),
        ({"x": []}, "book 'x': a book is an object"),
        (changed(BOOK, "sentences", to=["a", 1]), "'sentences' is not a list of texts"),
        (changed(BOOK, "quotes", to=[]), "'quotes' is not an object"),
        (changed(BOOK, "quotes", "070789", to=[[], 1, 2]), "'070789' does not have four parts"),
        (changed(BOOK, "quotes", "070789", 0, to="one"), "context of quotation '070789'"),
        (changed(BOOK, "quotes", "070789", 2, to=6), "has the length 6"),
        (changed(BOOK, "quotes", "070789", 2, to=True), "has the length True"),
        (changed(BOOK, "quotes", "070789", 1, to=5), "begins at 5 and has 2 sentences"),
        (changed(BOOK, "quotes", "070789", 1, to=-1), "begins at -1"),
        (changed(BOOK, "quotes", "a b", to=[[], 1, 2, []]), "the id 'a b'"),
        (changed(BOOK, "candidates", "2_sentence", to=[0, 2, 4]), "not the sentences 0 to 4"),
        (changed(BOOK, "candidates", "two", to=[]), "has the key 'two'"),
        (changed(BOOK, "candidates", to=[]), "'candidates' is not an object"),
        (changed("short", "quotes", "070789", to=[[], 0, 1, []]), "is one of 'the awakening'"),
    ],
)
def test_errors_are_named(tmp_path: Path, data: Any, problem: str) -> None:
    path = written(tmp_path, data)
    with pytest.raises(InputError, match=problem) as error:
        read_relic(path)
    assert error.value.path == path


def test_broken_json_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "relic.json"
    path.write_text('{\n"a": {,\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"relic\.json:2: this is not JSON"):
        read_relic(path)


def test_what_could_not_be_read_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    with pytest.raises(InputError, match="cannot be written: quotation '1' begins at 7"):
        write_relic({"b": RelicBook({"1": RelicQuote([], 7, 1, [])}, ["a"])}, path)
    assert not path.exists()


def test_candidates_are_all_passages() -> None:
    assert [len(candidate_starts(7, n)) for n in (1, 2, 5, 7, 8)] == [7, 6, 3, 1, 0]
    with pytest.raises(UsageError):
        candidate_starts(7, 0)
    with pytest.raises(UsageError, match="no 2 sentences from sentence 0"):
        RelicBook({}, ["one"]).passage(0, 2)


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


def pool_folder(folder: Path, query: str = "He said: [masked sentence(s)] Then; he left.") -> Path:
    (folder / "queries.jsonl").write_text(json.dumps({"qid": "q_1", "text": query}) + "\n")
    (folder / "corpus.jsonl").write_text(
        '{"docid": "c_1", "text": "It was. It is;"}\n{"docid": "c_2", "text": "No."}\n'
    )
    (folder / "qrels.txt").write_text("q_1 0 c_2 0\nq_1 0 c_1 1\n")
    return folder


def test_pools(tmp_path: Path) -> None:
    pools = read_pools(pool_folder(tmp_path))
    (span,) = pools.spans
    assert (span.left, span.span, span.right) == (
        ("He said:",), ("It was.", "It is;"), ("Then;", "he left."),
    )  # fmt: skip
    assert (span.id, span.group, span.candidate) == ("q_1", "q_1", "c_1")
    assert pools.candidates == {"q_1": ["c_2", "c_1"]}
    assert pools.texts == {"c_1": "It was. It is;", "c_2": "No."}


def test_errors_of_pools(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"queries\.jsonl:1: .* 0 times"):
        read_pools(pool_folder(tmp_path, "Nothing is masked."))
    pool_folder(tmp_path)
    (tmp_path / "qrels.txt").write_text("q_1 0 c_2 0\n")
    with pytest.raises(InputError, match=r"queries\.jsonl:1: .* 0 relevant"):
        read_pools(tmp_path)
    (tmp_path / "qrels.txt").write_text("q_1 0 c_9 1\n")
    with pytest.raises(InputError, match="'c_9' of topic 'q_1' is not in"):
        read_pools(tmp_path)
    pool_folder(tmp_path)
    (tmp_path / "corpus.jsonl").write_text('{"docid": "c_1", "title": "x"}\n')
    with pytest.raises(InputError, match=r"corpus\.jsonl:1: .*no text"):
        read_pools(tmp_path)


def test_the_real_pools(collections: Path) -> None:
    pools = read_pools(collections / "relic")
    assert (len(pools.spans), len(pools.texts)) == (100, 5023)
    assert {len(pool) for pool in pools.candidates.values()} == {50, 51}
    assert all(span.candidate in pools.candidates[span.id] for span in pools.spans)
    # RELiC's windows have four sentences on each side; ours are cut as its are, nearly.
    sides = [len(side) for span in pools.spans for side in (span.left, span.right)]
    assert 3.8 < sum(sides) / len(sides) < 4.2
    assert {len(span.span) for span in pools.spans} <= {1, 2, 3, 4, 5, 6}
