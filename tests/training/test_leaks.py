"""Which documents leak control names, from every kind of source."""

from pathlib import Path

import pytest

from adducir.core.errors import InputError, UsageError
from adducir.core.files import read_lines
from adducir.training.leaks import NOBODY, Excluded, Without, excluded, pool_docnos, run_docnos


def written(folder: Path, name: str, *lines: str) -> Path:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_qrels_name_all_that_they_judge(tmp_path: Path) -> None:
    path = written(tmp_path, "a.qrels", "1 0 D1 2", "1 0 D2 0", "2 0 D3 -2", "2 0 D1 1")
    found = excluded(Without(qrels=(str(path),)))
    assert found.docnos == {"D1", "D2", "D3"}
    assert found.named == {str(path): 3}


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
    assert pool_docnos(written(tmp_path, "pool.txt", *lines)) == {"D1", "D2"}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["D1", "1 D2"], r"pool.txt:2: there are 2 columns where the lines before have 1"),
        (["1 2 3 4 5"], r"pool.txt:1: there are 5 columns\."),
        (["", " "], r"pool.txt: there are no documents"),
    ],
)
def test_pools_that_are_none(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        pool_docnos(written(tmp_path, "pool.txt", *lines))


RUN = ["1 Q0 D1 1 9 x", "1 Q0 D2 2 8 x", "1 Q0 D3 3 8 x", "1 Q0 D4 4 7 x", "2 Q0 D5 1 1 x"]


@pytest.mark.parametrize(
    ("depth", "docnos"),
    [(1, "D1 D5"), (2, "D1 D2 D3 D5"), (3, "D1 D2 D3 D5"), (4, "D1 D2 D3 D4 D5"), (9, "")],
)
def test_runs_down_to_a_depth_and_its_ties(tmp_path: Path, depth: int, docnos: str) -> None:
    path = written(tmp_path, "run.txt", *RUN)
    assert run_docnos(path, depth) == set((docnos or "D1 D2 D3 D4 D5").split())


def test_scores_make_a_runs_order(tmp_path: Path) -> None:
    path = written(tmp_path, "run.txt", "1 Q0 D1 1 1 x", "1 Q0 D2 2 2 x")
    assert run_docnos(path, 1) == {"D2"}


def test_a_pool_named_as_a_run_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "pool.txt", "1 Q0 D1 0 0 x", "1 Q0 D2 0 0 x", "2 Q0 D1 0 0 x")
    with pytest.raises(InputError, match="Name it under `pools`"):
        run_docnos(path, 1)
    assert run_docnos(path, 2) == {"D1", "D2"}


def test_qrels_named_as_a_run_and_a_run_named_as_qrels(tmp_path: Path) -> None:
    qrels, run = written(tmp_path, "a.qrels", "1 0 D1 1"), written(tmp_path, "run.txt", *RUN)
    with pytest.raises(InputError, match=r"a\.qrels:1: this looks like qrels"):
        excluded(Without(runs=(str(qrels),)))
    with pytest.raises(InputError, match=r"run\.txt:1: this looks like a run"):
        excluded(Without(qrels=(str(run),)))


def test_sources_together(tmp_path: Path) -> None:
    written(tmp_path, "a.qrels", "1 0 D1 1", "1 0 D9 0")
    written(tmp_path, "pool.txt", "D1", "D2")
    written(tmp_path, "one.run", *RUN)
    written(tmp_path, "two.run", "1 Q0 D7 1 3 x")
    without = Without(qrels=("a.qrels",), pools=("pool.txt",), runs=("*.run",), depth=1)
    found = excluded(without, locate=lambda source: str(tmp_path / source))
    assert found.named == {"a.qrels": 2, "pool.txt": 2, "*.run": 3}
    assert found.docnos == {"D1", "D2", "D5", "D7", "D9"}
    assert len(found) == 5
    assert found.found(["D1", "D9", "D8"]) == {"a.qrels": 2, "pool.txt": 1, "*.run": 1}


def test_a_source_of_two_kinds(tmp_path: Path) -> None:
    path = str(written(tmp_path, "run.txt", *RUN))
    assert len(excluded(Without(pools=(path,), runs=(path,), depth=1))) == 5


def test_patterns(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no file is called like '\*\.run'"):
        excluded(Without(runs=(f"{tmp_path}/*.run",)))
    with pytest.raises(InputError, match="Only a file's name may be a pattern"):
        excluded(Without(pools=(f"{tmp_path}/*/pool.txt",)))


def test_missing_files_are_named(tmp_path: Path) -> None:
    for kind in ("qrels", "pools", "runs"):
        with pytest.raises(InputError, match=r"absent\.txt"):
            excluded(Without(**{kind: (str(tmp_path / "absent.txt"),)}))


def test_depth() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        Without(depth=0)


def test_identity_is_of_the_docnos() -> None:
    one = Excluded({"a": frozenset({"D1"}), "b": frozenset({"D2", "D1"})})
    other = Excluded({"c": frozenset({"D2", "D1"})})
    assert one.identity() == other.identity() != NOBODY.identity()
    assert len(NOBODY) == 0


def test_touche(collections: Path) -> None:
    """The real files: counts as their publishers state them, and docnos taken by plain reading."""
    touche = collections / "touche"
    run = touche / "runs/2020/ElrondSimpleRun.txt.gz"
    pools = sorted((touche / "pools").glob("*.txt"))
    found = excluded(
        Without(
            qrels=(
                f"{touche}/qrels/touche2020-task1-relevance-args-me-corpus-version-2020-04-01-"
                "corrected.qrels",
                f"{touche}/qrels/touche-task1-51-100-relevance.qrels",
            ),
            pools=(f"{touche}/pools/pool-50-202?.txt",),
            runs=(str(run),),
            depth=50,
        )
    )
    lines = [line.split() for pool in pools for line in pool.read_text().splitlines()]
    assert len(lines) == 19186 + 26689
    assert found.by_source[f"{touche}/pools/pool-50-202?.txt"] == {line[2] for line in lines}
    assert list(found.named.values())[:2] == [2179, 3399]
    rows = [line.split() for _, line in read_lines(run)]
    best: set[str] = set()
    for qid in {row[0] for row in rows}:
        scores = sorted((float(row[4]) for row in rows if row[0] == qid), reverse=True)
        best |= {row[2] for row in rows if row[0] == qid and float(row[4]) >= scores[:50][-1]}
    assert found.by_source[str(run)] == best
