"""Which documents leak control names, from every kind of source."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from notes import Notes

from adducir.core.errors import InputError
from adducir.core.files import read_lines
from adducir.corpora.sources import open_corpus
from adducir.training.leaks import Excluded, WithoutPart, documents_left

RUN = ["1 Q0 D1 1 9 x", "1 Q0 D2 2 8 x", "1 Q0 D3 3 8 x", "1 Q0 D4 4 7 x", "2 Q0 D5 1 1 x"]


def named(folder: Path, name: str, *lines: str, **depth: int) -> Excluded:
    (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return WithoutPart(**{name: name}, **depth).excluded(folder)


def test_qrels_name_all_that_they_judge(tmp_path: Path) -> None:
    found = named(tmp_path, "qrels", "1 0 D1 2", "1 0 D2 0", "2 0 D3 -2", "2 0 D1 1")
    assert found.by_source == {"qrels": {"D1", "D2", "D3"}}


@pytest.mark.parametrize(
    "lines",
    [
        ["D1", "D2", "", "D1"],
        ["1 D1", "2 D2"],
        ["1 Q0 D1", "2 Q0 D2"],
        ["1 0 D1 0", "2\t0\tD2\t2"],
        ["1\tQ0\tD1\t0\t0\ttrectools", "2\tQ0\tD2\t0\t0\ttrectools"],
    ],
)
def test_pools_in_every_form(tmp_path: Path, lines: list[str]) -> None:
    assert named(tmp_path, "pools", *lines).docnos == {"D1", "D2"}


@pytest.mark.parametrize(
    ("depth", "docnos"),
    [(1, "D1 D5"), (2, "D1 D2 D3 D5"), (3, "D1 D2 D3 D5"), (4, "D1 D2 D3 D4 D5"), (9, "")],
)
def test_runs_down_to_a_depth_and_its_ties(tmp_path: Path, depth: int, docnos: str) -> None:
    found = named(tmp_path, "runs", *RUN, depth=depth)
    assert found.docnos == set((docnos or "D1 D2 D3 D4 D5").split())


def test_scores_make_a_runs_order(tmp_path: Path) -> None:
    lines = "1 Q0 D1 1 1 x", "1 Q0 D2 2 2 x"
    assert named(tmp_path, "runs", *lines, depth=1).docnos == {"D2"}


@pytest.mark.parametrize(
    ("name", "lines", "line"),
    [
        ("pools", ["D1", "1 D2"], 2),
        ("pools", ["1 2 3 4 5"], 1),
        ("pools", ["", " "], None),
        ("runs", ["1 Q0 D1 0 0 x", "1 Q0 D2 0 0 x", "2 Q0 D1 0 0 x"], None),  # a pool
        ("runs", ["1 0 D1 1"], 1),
        ("qrels", RUN, 1),
    ],
)
def test_what_is_of_another_kind_is_refused(tmp_path: Path, name, lines, line) -> None:
    with pytest.raises(InputError) as caught:
        named(tmp_path, name, *lines, depth=1)
    assert (caught.value.path, caught.value.line) == (tmp_path / name, line)


def test_sources_together(tmp_path: Path) -> None:
    named(tmp_path, "qrels", "1 0 D1 1", "1 0 D9 0")
    named(tmp_path, "pools", "D1", "D2")
    named(tmp_path, "runs", "1 Q0 D7 1 3 x")
    (tmp_path / "runs").rename(tmp_path / "two.run")
    (tmp_path / "one.run").write_text("\n".join(RUN))
    sources = {"qrels": "qrels", "pools": ("pools", "one.run"), "runs": "*.run", "depth": 1}
    found = WithoutPart.model_validate(sources).excluded(tmp_path)
    counts = {source: len(docnos) for source, docnos in found.by_source.items()}
    assert counts == {"qrels": 2, "pools": 2, "one.run": 5, "*.run": 3}
    assert found.docnos == {"D1", "D2", "D3", "D4", "D5", "D7", "D9"}
    same = Excluded({"all": found.docnos})
    assert found.identity() == same.identity() != Excluded({}).identity()


@pytest.mark.parametrize(
    "sources",
    [{"runs": "*.run"}, {"pools": "*/pool"}, *({key: "absent"} for key in ("qrels", "pools"))],
)
def test_missing_files(tmp_path: Path, sources) -> None:
    with pytest.raises(InputError):
        WithoutPart.model_validate(sources).excluded(tmp_path)


def test_touche(collections: Path) -> None:
    """The real files: counts as their publishers state them, and docnos taken by plain reading."""
    touche = collections / "touche"
    run = touche / "runs/2020/ElrondSimpleRun.txt.gz"
    pools = sorted((touche / "pools").glob("*.txt"))
    found = WithoutPart(
        qrels=(
            f"{touche}/qrels/touche2020-task1-relevance-args-me-corpus-version-2020-04-01-"
            "corrected.qrels",
            f"{touche}/qrels/touche-task1-51-100-relevance.qrels",
        ),
        pools=f"{touche}/pools/pool-50-202?.txt",
        runs=str(run),
    ).excluded(Path())
    lines = [line.split() for pool in pools for line in pool.read_text().splitlines()]
    assert len(lines) == 19186 + 26689
    assert found.by_source[f"{touche}/pools/pool-50-202?.txt"] == {line[2] for line in lines}
    assert list(map(len, found.by_source.values()))[:2] == [2179, 3399]
    rows = [line.split() for _, line in read_lines(run)]
    best: set[str] = set()
    for qid in {row[0] for row in rows}:
        scores = sorted((float(row[4]) for row in rows if row[0] == qid), reverse=True)
        best |= {row[2] for row in rows if row[0] == qid and float(row[4]) >= scores[:50][-1]}
    assert found.by_source[str(run)] == best


def test_documents_that_the_corpus_lacks_are_counted(tmp_path: Path) -> None:
    """Left-out ones too: under other docnos they would be trained on."""
    rows = [{"docno": f"D{n}", "text": f"text {n}"} for n in range(1, 6)]
    corpus = open_corpus(pl.DataFrame(rows))
    excluded = named(tmp_path, "qrels", "1 0 D1 2", "1 0 D02 0", "2 0 D03 1")
    counts: dict[str, Any] = {}
    with Notes() as noted:
        left = documents_left(
            corpus, excluded, lambda one: one.fields["text"], counts, ["D1", "D4", "D99"]
        )
        assert [one.docno for one in left] == ["D2", "D3", "D4", "D5"]
    assert counts["excluded_by_source"] == {"qrels": 1}
    assert noted.lines == [
        "1 of 3 judged documents is not in the corpus: D99.",
        "qrels: 2 of 3 named documents are not in the corpus: D02, D03.",
    ]
