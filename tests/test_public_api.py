"""``from adducir import ...``: every name is there, typed, and costs nothing until it is used."""

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import adducir
from adducir import Qrels, Run, Topics, open_corpus
from adducir.core.errors import UsageError
from adducir.corpora.documents import text_of
from adducir.indexes.candidates import CandidateSet
from adducir.indexes.models import BM25
from adducir.indexes.settings import MemorySettings
from adducir.rerankers.rerank import texts_of


def test_every_public_name_is_there_and_documented() -> None:
    for name in adducir.__all__:
        assert name in dir(adducir)
        assert getattr(adducir, name).__doc__
    with pytest.raises(AttributeError, match="nothing"):
        _ = adducir.nothing
    assert len(adducir.__all__) <= 32


def test_every_public_name_stands_in_the_documents() -> None:
    text = (Path(__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")
    examples = "".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    assert [name for name in adducir.__all__ if f"ad.{name}" not in examples] == []


def test_importing_the_names_imports_nothing_heavy() -> None:
    packages = "adducir, adducir.indexes, adducir.runs, adducir.corpora, adducir.experiments"
    code = f"import sys, {packages}; dir(adducir); print(*sys.modules)"
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
        (lambda: Run.of({"1": {"a": "high"}}, "t"), "finite|not a run"),
        (lambda: Run.of(pd.DataFrame({"qid": ["1"], "score": [1]}), "t"), "docno or doc_id"),
        (lambda: Run.of([("1", "a", 1.0)], "t"), "list"),
        (lambda: Run.of(pl.LazyFrame(ROWS), "t"), "LazyFrame"),
        (lambda: Run.of(pd.DataFrame({**ROWS, "qid": [1.0, 1.0, 2.0], "score": 1}), "t"), "1.0"),
        (lambda: Qrels.of({"1": {"a": 0.5}}), "0.5"),
        (lambda: Qrels.of({"1": {"a": None}}), "None"),
        (lambda: Qrels.of(pd.DataFrame({**ROWS, "docno": "a", "grade": 1})), "twice"),
        (lambda: Topics.of({"1": 5}), "must be text"),
        (lambda: Topics.of(pd.DataFrame({"qid": [1, "1"], "query": "a"})), "repeated"),
    ],
)
def test_what_cannot_be_taken_is_a_clear_error(make, what) -> None:
    with pytest.raises(UsageError, match=what):
        make()


def shown() -> dict[str, object]:
    """One object of each kind that shows itself, with names that HTML would take for its own."""
    qrels = Qrels.of({"1": {"<b>": 1}, "2": {"c": 2}, "3": {"d": 1}})
    runs = [
        Run.of({"1": {"<b>": 2.0, "a": 1.0}, "2": {"c": 1.0}, "3": {"d": 1.0}}, tag="<script>"),
        Run.of({"1": {"a": 2.0, "<b>": 1.0}, "2": {"c": 1.0}, "3": {"e": 1.0}}, tag="b & c"),
    ]
    scores = [adducir.evaluate(run, qrels, "RR P@1") for run in runs]
    comparison = adducir.compare(scores, baseline="<script>")
    table = adducir.build_table(comparison)
    return {"run": runs[0], "scores": scores[0], "comparison": comparison, "table": table}


@pytest.mark.parametrize("name", ["run", "scores", "comparison", "table"])
def test_objects_show_themselves_and_turn_into_frames(name: str) -> None:
    one = shown()[name]
    html = one._repr_html_()
    assert html.count("<table") == 1
    assert "<script>" not in html
    assert "<b>" not in html.replace("<b>Bold</b>", "").replace("<b>1.000</b>", "")
    assert "&lt;script&gt;" in html
    polars, pandas = one.to_polars(), one.to_pandas()
    assert isinstance(polars, pl.DataFrame)
    assert isinstance(pandas, pd.DataFrame)
    assert list(pandas.columns) == polars.columns
    assert len(pandas) == len(polars) > 1


def test_the_figures_of_the_frames_are_those_of_the_objects() -> None:
    objects = shown()
    comparison, table = objects["comparison"], objects["table"]
    test = comparison.to_polars().filter(system="b & c", measure="RR").to_dicts()[0]
    assert (test["reference"], test["wins"]) == ("<script>", 0)
    mean = comparison.means.filter(system="b & c", measure="RR")["mean"][0]
    row = table.to_polars().filter(system="b & c", measure="RR").to_dicts()[0]
    assert (row["mean"], row["baseline"], row["p"]) == (mean, "<script>", test["p"])
    assert (row["ci_low"], row["difference"]) == (test["low"], test["difference"])
    assert objects["run"].to_polars()["rank"].to_list() == [0, 1, 0, 0]


@pytest.mark.parametrize(
    "ask",
    [
        lambda: MemorySettings(fields="title"),
        lambda: text_of(next(iter(open_corpus("bundled:arguments"))), "premise"),
        lambda: texts_of(open_corpus("bundled:arguments"), "abc", (), Path("x")),
        lambda: texts_of(open_corpus("bundled:arguments"), [], "premise", Path("x")),
        lambda: CandidateSet.of_texts("Buses should be free"),
        lambda: CandidateSet.of_tokens("Buses"),
        lambda: CandidateSet.of_tokens([["buses"]]).scores("buses", BM25()),
        lambda: Qrels.of({"12": {"d": 1}}).restricted("12"),
    ],
)
def test_a_text_is_not_a_list_of_letters(ask):
    with pytest.raises(UsageError, match="must be a list"):
        ask()
