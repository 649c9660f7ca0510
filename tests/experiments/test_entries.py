"""Entries are opened with values alone: what they link to, and a place for their errors."""

from pathlib import Path
from typing import Any

import pytest
from experiment_studies import Study

from adducir.core.artifacts import MISSING
from adducir.core.config import load, read
from adducir.core.errors import InputError
from adducir.evaluation.measures import parse_measures
from adducir.experiments.known_item.system import (
    ContextRecipe,
    LexicalRanking,
    RankStep,
    SpanDataRecipe,
    open_data,
)
from adducir.experiments.retrieval.corpora import Scoring, SourceCorpus, TopicsRecipe
from adducir.experiments.retrieval.fuse import Fusion
from adducir.experiments.retrieval.indexes import IndexEntry
from adducir.experiments.retrieval.rerank import Reranking
from adducir.experiments.retrieval.runs import Given, RunOpening, RunStep, Surroundings
from adducir.experiments.retrieval.search import IndexSearch
from adducir.experiments.retrieval.task import Retrieval
from adducir.experiments.sections import Graph, Opening, Planner, Reported
from adducir.experiments.step import Context
from adducir.experiments.tasks import Trial


@pytest.fixture
def planner(study: Study) -> Planner:
    return Planner(read(load(study.file), Retrieval), study.folder)


@pytest.fixture
def topics(planner: Planner) -> Any:
    recipe = TopicsRecipe(source="data/topics.tsv", qrels="data/qrels.txt")
    return recipe.open(Opening(planner, "topics", "t"), Scoring(parse_measures("nDCG@5")))


def opening(planner: Planner, name: str, topics: Any, **links: Any) -> RunOpening:
    path = planner.folder / f"{name}.run"
    return RunOpening(
        planner, "systems", name, links=links, data="t", topic_set=topics, path=path, depth=2
    )


def given(planner: Planner, name: str, topics: Any) -> Any:
    system = Given(run=f"data/{name}.run")
    trial = Trial(name, "t")
    values = opening(planner, name, topics)
    step = system.step(RunOpening(**{**vars(values), "path": system.path(trial)}))
    assert step.path == planner.folder / "data" / f"{name}.run"
    return step


def test_a_corpus_and_its_index(planner: Planner) -> None:
    corpus = SourceCorpus(source="data/pets.jsonl").open(Opening(planner, "corpora", "pets"))
    assert (corpus.label, corpus.reads) == ("data/pets.jsonl", [("corpora", "pets")])
    entry = IndexEntry.model_validate({"corpus": "pets", "engine": "memory"})
    step = entry.open(Opening(planner, "indexes", "ix", 3, {"corpus": corpus}))
    assert step.path == planner.folder / "indexes" / "ix.seed3"
    assert step.why() == MISSING
    step.make(Context(threads=1))
    assert step.why() is None
    with pytest.raises(Reported):  # the corpus's own errors are recorded where it is opened
        entry.open(Opening(planner, "indexes", "ix", links={"corpus": None}))
    planner.check()


def test_a_run_and_the_runs_it_is_made_of(planner: Planner, topics: Any) -> None:
    members = {f"fuse.{n}": given(planner, name, topics) for n, name in enumerate("ab")}
    step = Fusion(fuse=("A", "B"), method="combsum").step(opening(planner, "F", topics, **members))
    assert isinstance(step, RunStep)
    step.make(Context(threads=1))
    docnos = step.read().frame.filter(qid="1")["docno"].to_list()
    assert docnos == ["d9", "d1"]  # 99 + 100 and 100 + 99, of which the greater docno is first
    with pytest.raises(Reported):
        Fusion(fuse=("A", "B")).step(opening(planner, "F", None, **members))


def test_errors_stand_at_the_entrys_own_place(planner: Planner, study: Study) -> None:
    with pytest.raises(Reported):
        SourceCorpus(source="nowhere.jsonl").open(Opening(planner, "corpora", "pets"))
    with pytest.raises(InputError, match=r"nowhere\.jsonl") as error:
        planner.check()
    lines = study.file.read_text().splitlines()
    assert lines[error.value.line - 1].startswith("  pets: {source")


def test_conflicts_with_the_rest_of_a_file_are_values() -> None:
    systems = {
        "S": IndexSearch(index="ix"),
        "T": IndexSearch(index="iy"),
        "F": Fusion(fuse=("S", "T")),
    }
    graph = Graph({("systems", "F"): [("systems", "S"), ("systems", "T")]})
    file = Surroundings(systems, {}, ["t"], 50, graph)
    keys = [path for path, _ in Reranking(rerank="F", by="x").conflicts(file)]
    assert keys == [("rerank",), ("depth",)]
    assert not [*Reranking(rerank="F", by="x", depth=50, texts="ix").conflicts(file)]
    assert [link.name for link in Reranking(rerank="S", by="x").inputs(file)] == ["ix", "S"]


def test_a_ranking_of_known_items(tmp_path: Path) -> None:
    lines = [
        f'{{"id": "{n}", "group": "g", "left": ["a {n}"], "span": ["b {n}"], "right": []}}'
        for n in "123"
    ]
    (tmp_path / "spans.jsonl").write_text("\n".join(lines))
    data = open_data(SpanDataRecipe(spans="spans.jsonl"), tmp_path)
    system, trial = LexicalRanking.model_validate({"bm25": {}}), Trial("BM25", "A", None, "L")
    step = RankStep(trial, tmp_path / "ranks", system, data, ContextRecipe(right=0))
    assert step.recipe()["bm25"]["k1"] == 1.5
    assert step.why() == MISSING
