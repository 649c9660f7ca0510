"""The public names' docstrings: their examples run, arguments are explained, signatures show."""

import doctest
import inspect
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import adducir as ad
from adducir.core.recipe import Kind

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
    for parameter in inspect.signature(function).parameters:
        assert f"    {parameter}: " in arguments, f"{name}: {parameter}"


def test_signatures_show_plain_types_and_settings_are_given_by_name() -> None:
    for kind in [each for each in map(ad.__getattr__, ad.__all__) if isinstance(each, type)]:
        signature = inspect.signature(kind)
        assert not re.search("Annotated|FieldInfo| object at ", str(signature))
        if issubclass(kind, Kind):
            assert [*signature.parameters] == [*kind.model_fields]
            assert {one.kind.name for one in signature.parameters.values()} == {"KEYWORD_ONLY"}
            with pytest.raises(ad.AdducirError, match="by name"):
                kind(0.9)


WRONG = [None, 5, 1.5, object(), {"a": 1}, [None], b"bytes"]


@pytest.mark.parametrize("wrong", WRONG, ids=[type(one).__name__ for one in WRONG])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_wrong_object_is_an_error_in_words(name: str, wrong: Any, tmp_path: Path) -> None:
    """Each argument in turn, the others being right."""
    ad.build_index(PETS, tmp_path / "pets", "memory")
    run = ad.Run.of({"1": {"x": 1.0}, "2": {"y": 1.0}}, tag="a")
    qrels = ad.Qrels.of({"1": {"x": 1}, "2": {"x": 1}})
    scores = ad.evaluate([run], qrels, "RR")
    right: dict[str, list[Any]] = {
        "open_corpus": [PETS],
        "load_topics": ["bundled:topics"],
        "load_qrels": ["bundled:qrels"],
        "build_index": [PETS, tmp_path / "new", "memory"],
        "open_index": [tmp_path / "pets"],
        "search": [tmp_path / "pets", {"1": "cats"}, "bm25"],
        "rerank": [run, {"1": "cats", "2": "x"}, PETS, "maxsim:minilm"],
        "load_run": ["no such file"],
        "write_run": [run, tmp_path / "no such folder" / "run.trec"],
        "fuse": [[run, run], "rrf"],
        "evaluate": [run, qrels, "RR"],
        "compare": [scores],
        "build_table": [ad.compare(scores)],
        "experiment": ["no such file"],
    }
    optional = {("search", 2), ("evaluate", 2)}
    for place in range(len(right[name])):
        if wrong is None and (name, place) in optional:
            continue
        arguments = list(right[name])
        arguments[place] = wrong
        with pytest.raises(ad.AdducirError):
            getattr(ad, name)(*arguments)


@pytest.mark.parametrize("wrong", WRONG, ids=[type(one).__name__ for one in WRONG])
def test_methods_refuse_wrong_objects_in_words(wrong: Any, tmp_path: Path) -> None:
    index = ad.build_index(PETS, tmp_path / "pets", "memory")
    run, qrels = ad.Run.of({"1": {"x": 1.0}}, tag="a"), ad.Qrels.of({"1": {"x": 1}})
    scores = ad.evaluate(run, qrels, "RR")
    table = ad.build_table(ad.compare([scores]))
    calls: list[Any] = [
        *(index.search, index.term, index.vector, index.documents.get, qrels.restricted),
        *(scores.mean, scores.values, run.top, table.render, ad.LexicalRetriever(index)),
        lambda value: index.search(["cats"], depth=[value]),
        lambda value: ad.open_corpus(PETS, passages=[value]),
        lambda value: ad.open_corpus(PETS, format=[value]),
        lambda value: ad.load_qrels("bundled:qrels", columns=[value, value]),
        lambda value: ad.fuse([run, run], weights=[value]),
        lambda value: ad.write_run(run, [value]),
        lambda value: ad.build_table(ad.compare([scores]), [value]),
        lambda value: ad.Run(value, "tag"),
        lambda value: ad.LexicalRetriever(index, [value]),
    ]
    for call in calls:
        if isinstance(call, ad.LexicalRetriever) and isinstance(wrong, dict | list | bytes):
            continue  # queries, or what PyTerrier refuses in its own words
        with suppress(ad.AdducirError):  # and no other error; some are valid somewhere
            call(wrong)
