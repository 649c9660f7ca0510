"""The public names' docstrings: their examples run, arguments are explained, signatures show."""

import doctest
import inspect
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import polars as pl
import pytest

import adducir as ad
from adducir.core.recipe import Kind
from adducir.statistics import arguments, settings

FUNCTIONS = [name for name in ad.__all__ if inspect.isfunction(getattr(ad, name))]
PETS = [
    {"docno": "x", "text": "cats like fish"},
    {"docno": "y", "text": "dogs like walks"},
    {"docno": "z", "text": "cats and dogs"},
]


@pytest.mark.parametrize("name", ad.__all__)
def test_an_example_of_each_name_runs(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    ad.build_index(PETS, "pets", "memory")
    run = ad.search("pets", {"1": "cats"}, tag="cats")
    told = inspect.getdoc(getattr(ad, name)) or ""
    names = {"ad": ad, "run": run, "pets": PETS}
    test = doctest.DocTestParser().get_doctest(told, names, name, None, 0)
    assert test.examples, f"{name} has no example"
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    messages: list[str] = []
    runner.run(test, out=messages.append)
    assert not runner.failures, "".join(messages)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_argument_is_explained(name: str) -> None:
    function = getattr(ad, name)
    told = inspect.getdoc(function) or ""
    _, _, arguments = told.partition("\nArgs:\n")
    assert "\nRaises:\n" in told
    for parameter in inspect.signature(function.__wrapped__).parameters:
        assert f"    {parameter}: " in arguments, f"{name}: {parameter}"


def test_what_compare_takes_by_name_are_the_settings_of_tests() -> None:
    taken = get_type_hints(arguments.TestingArguments)
    fields = get_type_hints(settings.Testing)
    fields = {name: fields[name] for name in settings.Testing.model_fields}
    assert taken == {**fields, "baseline": str | Sequence[str] | None}
    assert [*inspect.signature(ad.compare).parameters] == ["scores", *fields]


def test_signatures_show_plain_types_and_settings_are_given_by_name() -> None:
    for kind in [each for each in map(ad.__getattr__, ad.__all__) if isinstance(each, type)]:
        signature = inspect.signature(kind)
        assert not re.search("Annotated|FieldInfo| object at ", str(signature))
        if issubclass(kind, Kind):
            assert [*signature.parameters] == [*kind.model_fields]
            assert {one.kind.name for one in signature.parameters.values()} == {"KEYWORD_ONLY"}
            with pytest.raises(ad.AdducirError, match="by name"):
                kind(0.9)


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[Any, dict[str, Any]]:
    """Each public function and method, with right arguments."""
    folder = tmp_path_factory.mktemp("calls")
    index = ad.build_index(PETS, folder / "pets", "memory")
    vectors = ad.build_index(PETS, folder / "vectors", ad.DenseSettings(encoder="minilm"))
    nested, topics = {"1": {"x": 1.0}, "2": {"y": 1.0}}, {"1": "cats", "2": "x"}
    run, qrels = ad.Run.of(nested, tag="a"), ad.Qrels.of({"1": {"x": 1}, "2": {"x": 1}})
    ad.write_run(run, folder / "run.trec")
    scores = ad.evaluate([run], qrels, "RR")
    comparison = ad.compare(scores)
    asked: dict[str, Any] = {"queries": ["cats"], "model": "bm25"}
    return {
        ad.open_corpus: {"source": PETS},
        ad.load_topics: {"source": "bundled:topics"},
        ad.load_qrels: {"source": "bundled:qrels"},
        ad.build_index: {"documents": PETS, "path": folder / "new", "settings": "memory"},
        ad.open_index: {"path": index.path},
        ad.search: {"index": index.path, "topics": topics},
        ad.rerank: {"run": run, "topics": topics, "texts": PETS, "reranker": "maxsim:minilm"},
        ad.load_run: {"path": folder / "run.trec"},
        ad.write_run: {"run": run, "path": folder / "written.trec"},
        ad.fuse: {"runs": [run, run]},
        ad.evaluate: {"run": run, "qrels": qrels, "measures": "RR"},
        ad.compare: {"scores": scores},
        ad.build_table: {"comparison": comparison},
        ad.experiment: {"file": folder / "no such file"},
        **{kind: {} for kind in (ad.BM25, ad.QLD, ad.RM3, ad.LuceneSettings, ad.MemorySettings)},
        ad.TokenWeightSettings: {"weights": "weights.jsonl"},
        ad.DenseSettings: {"encoder": "minilm"},
        ad.LexicalRetriever: {"index": index},
        ad.QueryExpansion: {"index": index},
        ad.DenseRetriever: {"index": vectors},
        ad.Topics.of: {"data": topics},
        ad.Qrels.of: {"data": nested},
        ad.Run.of: {"data": nested, "tag": "a"},
        ad.Run.ranked: {"rows": run.frame, "tag": "a"},
        run.top: {"depth": 1},
        qrels.restricted: {"qids": ["1"]},
        index.search: asked,
        index.score: {**asked, "docnos": [["x"]]},
        index.expand: {**asked, "feedback": "rm3"},
        index.term: {"term": "cat"},
        **{key: {"docno": "x"} for key in (index.vector, index.documents.find)},
        index.search(["cats"]).to_polars: {"qids": ["1"]},
        **{key: {"measure": "RR"} for key in (scores[0].mean, scores[0].values, comparison.best)},
        ad.build_table(comparison).render: {"form": "csv"},
    }


WRONG = [None, 5, -1, 1.5, True, {"a": 1}, [None], b"a", "\0", np.ones(2), pl.DataFrame([1])]
WRONG += [type("BytesPath", (os.PathLike,), {"__fspath__": lambda _: b"x"})(), np.array(3)]
WRONG += [iter([5]), "\ud83d", pl.DataFrame([1]).to_arrow(), Path(), ad.BM25()]


@pytest.mark.parametrize("wrong", [object(), *WRONG], ids=lambda value: type(value).__name__)
def test_every_wrong_argument_is_an_error_in_words(wrong: Any, calls: Any) -> None:
    """Each argument in turn, the others being right; some values are right somewhere."""
    for call, right in calls.items():
        for name, parameter in inspect.signature(call).parameters.items():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            try:
                call(**{**right, name: wrong})
            except ad.AdducirError as error:
                assert not re.search(r" --[a-z]|Union|typing\.|lines, not", str(error))
            else:
                assert type(wrong) is not object, f"{call}: {name}"
