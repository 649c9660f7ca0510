"""``from adducir import ...``: every name is there, typed, and costs nothing until it is used."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import adducir
from adducir import Qrels, Run, Topics
from adducir.study.errors import UsageError


def test_every_public_name_is_there_and_documented() -> None:
    for name in adducir.__all__:
        assert name in dir(adducir)
        assert name == "__version__" or getattr(adducir, name).__doc__
    with pytest.raises(AttributeError, match="nothing"):
        _ = adducir.nothing
    assert len(adducir.__all__) <= 35


def test_the_names_are_those_that_a_type_checker_sees() -> None:
    listed = set(adducir.__all__) - {"__version__"}
    assert listed == set(adducir._HOMES)
    typed = Path(adducir.__file__).read_text().split("if TYPE_CHECKING:")[1].split("_HOMES")[0]
    for name, home in adducir._HOMES.items():
        lines = [line for line in typed.splitlines() if f"adducir.{home} import" in line]
        assert lines
        assert name in lines[0]


def test_every_public_name_stands_in_the_documents() -> None:
    text = (Path(__file__).parents[1] / "docs" / "python.md").read_text()
    table = text.split("## The public names")[1].split("```")[0]
    assert [name for name in adducir.__all__ if f"`{name}`" not in table] == ["__version__"]


def test_importing_the_names_imports_nothing_heavy() -> None:
    code = "import sys, adducir; dir(adducir); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "pandas", "polars", "torch", "pydantic"} & set(run.stdout.split())


def test_a_typed_script_runs(capsys: pytest.CaptureFixture[str]) -> None:
    # The type checker reads the script too, and allows no expression in it to be Any.
    import typed_script

    typed_script.main()
    assert "fused" in capsys.readouterr().out


ROWS = {"qid": ["1", "1", "2"], "docno": ["a", "b", "c"]}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_and_dicts_are_taken_alike(frame: type) -> None:
    nested = {"1": {"a": 2, "b": 1}, "2": {"c": 3}}
    run = Run.of(frame({**ROWS, "score": [2.0, 1.0, 3.0]}), tag="t")
    assert run.frame.equals(Run.of(nested, "t").frame)
    theirs = {"query_id": [1, 1, 2], "doc_id": ["a", "b", "c"]}
    for names in ({**ROWS, "grade": [2, 1, 3]}, {**theirs, "relevance": [2, 1, 3]}):
        assert Qrels.of(frame(names)).frame.equals(Qrels.of(nested).frame)
    assert Qrels.of(frame({**ROWS, "label": [2.0, 1.0, 3.0]})).frame["grade"].to_list() == [2, 1, 3]
    topics = Topics.of(frame({"qid": [1, 2], "query": ["free  buses", ""]}))
    assert topics == Topics.of({"1": "free buses", "2": ""})


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: Run.of({"1": ["a"]}, "t"), "list"),
        (lambda: Run.of({"1": {"a": "high"}}, "t"), "finite|no run"),
        (lambda: Run.of(pd.DataFrame({"qid": ["1"], "score": [1]}), "t"), "docno or doc_id"),
        (lambda: Run.of([("1", "a", 1.0)], "t"), "list"),
        (lambda: Run.of(pl.LazyFrame(ROWS), "t"), "LazyFrame"),
        (lambda: Run.of(pd.DataFrame({**ROWS, "qid": [1.0, 1.0, 2.0], "score": 1}), "t"), "1.0"),
        (lambda: Qrels.of({"1": {"a": 0.5}}), "0.5"),
        (lambda: Qrels.of({"1": {"a": None}}), "None"),
        (lambda: Qrels.of(pd.DataFrame({**ROWS, "docno": "a", "grade": 1})), "twice"),
        (lambda: Topics.of({"1": 5}), "no text"),
        (lambda: Topics.of(pd.DataFrame({"qid": [1, "1"], "query": "a"})), "twice"),
    ],
)
def test_what_cannot_be_taken_is_a_clear_error(make, what) -> None:
    with pytest.raises(UsageError, match=what):
        make()
