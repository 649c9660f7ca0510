"""``from adducir import ...``: every name is there, typed, and costs nothing until it is used."""

import os
import re
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import adducir
from adducir import Qrels, Run, Topics, load_qrels, load_run, open_corpus
from adducir.core.errors import UsageError
from adducir.corpora.documents import text_of
from adducir.indexes.candidates import CandidateSet
from adducir.indexes.hits import Hits
from adducir.rerankers.rerank import texts_of


def test_every_public_name_is_there() -> None:
    for name in adducir.__all__:
        assert name in dir(adducir)
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
SCORED, GRADED = {**ROWS, "score": [2.0, 1.0, 3.0]}, {**ROWS, "grade": [2, 1, 3]}
RELEVANT = {"1": {"b": 1}}
LETTERS = "must be a list"
WEIGHTED = {"qid": "1", "query": "a", "query_toks": {"a": 2.0}}
TWICE = ["qid", "docno", "docno", "score"]
Scored = namedtuple("Scored", "query_id doc_id score relevance text")


def forms_of(*columns: str) -> dict[str, Callable[[dict[str, Any]], Any]]:
    """The forms of rows, by name; their last column holds the values."""
    *ids, value = columns
    foreign = {"qid": "query_id", "docno": "doc_id", "query": "text", "grade": "relevance"}

    def nested(rows: dict[str, Any]) -> Any:
        tuples = [*zip(*(rows[name] for name in columns), strict=True)]
        if len(columns) == 2:
            return dict(tuples)
        return {qid: {d: v for q, d, v in tuples if q == qid} for qid in rows["qid"]}

    def records(rows: dict[str, Any]) -> Any:
        for values in zip(*(rows[name] for name in columns), strict=True):
            named = {foreign.get(name, name): x for name, x in zip(columns, values, strict=True)}
            yield Scored(**{**dict.fromkeys(Scored._fields), **named})

    def pandas(rows: dict[str, Any]) -> pd.DataFrame:
        return pd.DataFrame({name: rows[name] for name in reversed(columns)})

    def integers(rows: dict[str, Any]) -> pd.DataFrame:
        return pandas(rows).astype({"qid": "int64"})

    return {
        "dict": nested,
        "polars": lambda rows: pl.DataFrame({name: rows[name] for name in columns}),
        "Arrow": lambda rows: pl.DataFrame(rows).to_arrow(),
        "polars, categorical": lambda rows: pl.DataFrame(rows).cast({"qid": pl.Categorical}),
        "pandas": pandas,
        "pandas, categorical": lambda rows: pandas(rows).astype(dict.fromkeys(ids, "category")),
        "pandas, integer qids": integers,
        "pandas, another index": lambda rows: integers(rows).set_index(pd.Index([7, 7, 9])),
        "pandas, indexed": lambda rows: integers(rows).set_index(ids),
        "pandas, indexed by qid": lambda rows: integers(rows).set_index("qid"),
        "Series": lambda rows: pandas(rows).set_index(ids)[value],
        "Series, unnamed": lambda rows: (
            pandas(rows).set_index(ids)[value].rename_axis([None] * len(ids))
        ),
        "named tuples": records,
        "dicts": lambda rows: pandas(rows).to_dict("records"),
    }


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (lambda data: Run.of(data, "t"), SCORED),
        (Qrels.of, GRADED),
        (Topics.of, {"qid": ["1", "2", "3"], "query": ["free buses", "", "c"]}),
        (Hits.of, SCORED),
    ],
    ids=["Run", "Qrels", "Topics", "Hits"],
)
def test_frames_dicts_and_records_are_taken_alike_and_given_back(kind: Any, values: Any) -> None:
    expected = kind(pl.DataFrame(values))
    for name, form in forms_of(*values).items():
        found = kind(form(values))
        assert found.to_polars().equals(expected.to_polars()), name
    assert kind(expected.to_polars()).to_dict() == kind(expected.to_pandas()).to_dict()
    assert kind(expected.to_dict()).to_polars().equals(expected.to_polars())
    assert [*expected.to_pandas().columns] == expected.to_polars().columns


def test_what_a_run_gives_keeps_the_order_of_equal_scores() -> None:
    run = Run.ranked(pl.DataFrame(ROWS | {"score": [1.0, 1.0, 1.0]}), "t", ties="ascending")
    for given in (run.to_dict(), run.to_polars(), run.to_pandas()):
        assert Run.of(given, "t").frame["docno"].equals(run.frame["docno"])
    assert Run.of({"1": {"a": np.int64(1), "b": 0.5}}, "t").frame["score"].to_list() == [1.0, 0.5]


PETS = [{"docno": "a", "text": "cats"}, {"docno": "b", "text": "dogs"}]
CATS = {"qid": ["1"], "query": ["cats"]}
TAKEN: dict[str, tuple[dict[str, Any], Callable[[Any], Any]]] = {
    "search topics": (CATS, lambda topics: adducir.search("pets", topics).to_dict()),
    "retriever": (CATS, lambda topics: [*adducir.LexicalRetriever("pets")(topics)["score"]]),
    "rerank topics": (
        CATS,
        lambda topics: adducir.rerank(
            {"1": {"a": 1.0}}, topics, PETS, "maxsim:minilm", tag="t"
        ).to_dict(),
    ),
    "rerank run": (
        {"qid": ["1"], "docno": ["a"], "score": [1.0]},
        lambda run: adducir.rerank(run, {"1": "cats"}, PETS, "maxsim:minilm", tag="t").to_dict(),
    ),
    "fuse": (SCORED, lambda run: adducir.fuse([run, {"1": {"b": 1.0}}]).to_dict()),
    "evaluate run": (SCORED, lambda run: adducir.evaluate(run, RELEVANT, "RR").mean("RR")),
    "all runs": (SCORED, lambda run: adducir.evaluate(iter([run]), RELEVANT, "RR")[0].mean("RR")),
    "evaluate qrels": (GRADED, lambda qrels: adducir.evaluate(RELEVANT, qrels, "RR").mean("RR")),
    "write_run": (
        SCORED,
        lambda run: (adducir.write_run(run, "w.trec"), Path("w.trec").read_text())[1],
    ),
}
FORMATS = {
    "query": "{qid}\t{query}",
    "score": "{qid} Q0 {docno} 1 {score} w",
    "grade": "{qid} 0 {docno} {grade}",
}


@pytest.mark.parametrize("name", TAKEN)
def test_every_function_takes_files_frames_dicts_and_objects(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    adducir.build_index(PETS, "pets", "memory")
    rows, call = TAKEN[name]
    value = [*rows][-1]
    lines = [dict(zip(rows, each, strict=True)) for each in zip(*rows.values(), strict=True)]
    Path("w.txt").write_text("".join(FORMATS[value].format(**line) + "\n" for line in lines))
    kind: Any = {"query": Topics, "grade": Qrels, "score": Run}[value]
    forms = forms_of(*rows)
    taken = [forms[form](rows) for form in ("dict", "polars", "pandas", "Arrow")]
    if name != "retriever":  # records are PyTerrier's there
        taken += [forms["named tuples"](rows), forms["dicts"](rows)]
    objects = kind.of(taken[0], "w")
    place = type("Place", (os.PathLike,), {"__fspath__": lambda _: "w.txt"})()
    results = [call(form) for form in [*taken, objects, "w.txt", Path("w.txt"), place]]
    assert all(result == results[0] for result in results)
    with pytest.raises(UsageError, match="a file, a data frame"):
        call(5)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: Run.of({"1": ["a"]}, "t"), "list"),
        (lambda: Run.of({"1": {"a": "high"}}, "t"), "high"),
        (lambda: Run.of({"1": {"a": date(2020, 1, 1)}}, "t"), "must be a number"),
        (lambda: Run.of({"1": {"\ud83d": 1.0}}, "t"), "not UTF-8"),
        (lambda: Run.of("a.trec", "t"), "load_run"),
        (lambda: Topics(["1"], ["a", "b"], "t"), "1 qid for 2"),
        (lambda: Qrels(pl.DataFrame(ROWS), "t"), "columns of qrels"),
        (lambda: Run.of(pd.DataFrame({"qid": ["1"], "score": [1]}), "t"), "docno or doc_id"),
        (lambda: Run.of([("1", "a", 1.0)], "t"), "list"),
        (lambda: Run.of(pl.LazyFrame(ROWS), "t"), "LazyFrame"),
        (lambda: Run.of(pd.DataFrame({**ROWS, "qid": [1.0, 1.0, 2.0], "score": 1}), "t"), "1.0"),
        (lambda: Qrels.of({"1": {"a": 0.5}}), "0.5"),
        (lambda: Qrels.of({"1": {"a": None}}), "None"),
        (lambda: Qrels.of(pd.DataFrame({**ROWS, "docno": "a", "grade": 1})), "repeated"),
        (lambda: Topics.of({"1": 5}), "must be text"),
        (lambda: adducir.compare(adducir.evaluate({}, RELEVANT), testing=5), "must be Testing"),
        (lambda: Topics.of({"1": "\ud83d"}), "not UTF-8"),
        (lambda: Topics.of({"a b": "x"}), "white space"),
        (lambda: Topics.of([WEIGHTED], word_weights=True), "the topics have query_toks"),
        (lambda: load_qrels("bundled:qrels", columns=["qid"]), "qid,-,docno,grade"),
        (lambda: load_run(__file__, columns=np.array(["qid"])), "qid,-,docno,score"),
        (lambda: Topics.of(pl.Series(["x"])), "data frame"),
        (lambda: Run.of({"1": {"a": 1.0}, 1: {"b": 1.0}}, "t"), "repeated"),
        (lambda: Run.of(pd.Series([1.0], index=["1"]), "t"), "qid and docno"),
        (lambda: Run.of(pd.DataFrame([["1", "a", "b", 1.0]], columns=TWICE), "t"), "one column"),
        (lambda: Run.of(pd.DataFrame({**ROWS, "score": [1.0, float("nan"), 1.0]}), "t"), "finite"),
        (lambda: Run.of(pd.DataFrame({**ROWS, "docno": "a", "score": 1.0}), "t"), "twice"),
        (lambda: Topics.of(pd.DataFrame({"qid": [1, "1"], "query": "a"})), "repeated"),
        (lambda: text_of(next(iter(open_corpus("bundled:arguments"))), "premise"), LETTERS),
        (lambda: texts_of(open_corpus("bundled:arguments"), "abc", (), Path("x")), LETTERS),
        (lambda: texts_of(open_corpus("bundled:arguments"), [], "premise", Path("x")), LETTERS),
        (lambda: CandidateSet.of_texts("Buses should be free"), LETTERS),
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
