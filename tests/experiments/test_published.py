"""CACM from its files to published figures; files of studies say what their authors published."""

from pathlib import Path

import polars as pl
import pytest

from adducir.core.config import load, validate
from adducir.deepct.recipe import DeepCTRecipe
from adducir.experiments.experiment import Outcome, plan_experiment, run_experiment
from adducir.experiments.retrieval.rerank import Reranking
from adducir.experiments.retrieval.runs import Given
from adducir.experiments.retrieval.search import IndexSearch
from adducir.experiments.retrieval.task import Retrieval
from adducir.indexes.lucene import LuceneIndex
from adducir.rerankers.recipe import read_recipe

EXPERIMENTS = Path(__file__).parents[2] / "experiments"

# Anserini's regression for CACM (MAP, P@30), trec_eval -c on the original qrels.
PUBLISHED = {
    "BM25": (0.3123, 0.1942),
    "BM25+RM3": (0.3648, 0.2224),
    "QLD": (0.3265, 0.1942),
    "QLD+RM3": (0.3629, 0.2250),
}


def means(outcome: Outcome) -> dict[tuple[str, str, str], float]:
    """The mean of each system, topic set and measure, from the CSV that users get."""
    table = pl.read_csv(outcome.files["csv"], schema_overrides={"group": pl.String})
    rows = table.select("system", "group", "measure", "mean").rows()
    return {(system, group or "", measure): mean for system, group, measure, mean in rows}


@pytest.fixture(scope="module")
def cacm(collections: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, Path]:
    folder = tmp_path_factory.mktemp("cacm")
    plan = plan_experiment(EXPERIMENTS / "cacm.yaml", folder=folder)
    return run_experiment(plan), folder


@pytest.mark.slow
def test_cacm_index_has_the_published_statistics(cacm: tuple[Outcome, Path]) -> None:
    counts = LuceneIndex(cacm[1] / "indexes/cacm").manifest.counts
    assert counts["documents"] == counts["indexed"] == 3204
    assert (counts["terms"], counts["tokens"]) == (14_363, 320_968)


@pytest.mark.slow
@pytest.mark.parametrize("system", PUBLISHED)
def test_cacm_reproduces_anserinis_figures(cacm: tuple[Outcome, Path], system: str) -> None:
    found = means(cacm[0])
    published = (found[system, "original", "AP"], found[system, "original", "P@30"])
    assert tuple(round(value, 4) for value in published) == PUBLISHED[system]


@pytest.mark.slow
def test_cacm_with_padded_ids_finds_more(cacm: tuple[Outcome, Path]) -> None:
    found = means(cacm[0])
    for system in PUBLISHED:
        assert found[system, "padded", "AP"] > found[system, "original", "AP"]


ROOT = Path(__file__).parents[2]
# notebooks/grid_searches of webis-de/argmining24-deepct-lexical-argument-retrieval, without k3.
BM25 = {"k1": [0.6, 1.2, 1.6, 2.2, 2.8, 3.4, 4.0, 4.4], "b": [0.15, 0.35, 0.55, 0.75]}
DLM = {"mu": list(range(0, 10000, 250))}
RM3 = {
    "fb_terms": list(range(4, 16, 2)),
    "fb_docs": list(range(4, 10, 2)),
    "original_query_weight": [0.2, 0.4, 0.6, 0.8, 1.0],
}
DEFAULTS = {"BM25": {"k1": 1.2, "b": 0.75}, "QLD": {"mu": 2500}}


def study(name: str) -> Retrieval:
    return validate(load(ROOT / "experiments" / name), Retrieval)


@pytest.mark.parametrize(
    ("name", "tuned", "untuned"), [("touche.yaml", 28, 3), ("touche-lexical.yaml", 4, 4)]
)
def test_grids_objective_and_defaults_are_the_authors(name: str, tuned: int, untuned: int) -> None:
    searches = [one for one in study(name).systems.values() if isinstance(one, IndexSearch)]
    assert [one.tune is None for one in searches].count(True) == untuned
    assert len(searches) == tuned + untuned
    for system in searches:
        model, feedback = system.kinds
        defaults = DEFAULTS[type(model).__name__]
        if system.tune is None:
            assert defaults.items() <= dict(model).items()
            continue
        expected = RM3 if feedback else BM25 if "k1" in type(model).model_fields else DLM
        values = system.tune.values
        assert values.keys() == expected.keys()
        for key, some in expected.items():
            assert [float(value) for value in values[key]] == pytest.approx(some)
        assert (system.tune.objective, system.tune.folds) == ("nDCG@5", "topics")
        assert system.fixed == (defaults if feedback else {})


def test_rows_of_the_best_participants_and_of_rerankers() -> None:
    recipe = study("touche.yaml")
    best = [one.run for one in recipe.systems.values() if isinstance(one, Given)]
    assert [set(files) for files in best if isinstance(files, dict)] == [{"2020", "2021"}] * 2
    reranked = [one for one in recipe.systems.values() if isinstance(one, Reranking)]
    assert {(one.rerank, one.depth) for one in reranked} == {("BM25", 1000)}
    bases = {read_recipe(ROOT / str(one.reranker)).base for one in reranked}
    assert bases >= {"castorini/monobert-large-msmarco", "castorini/monot5-3b-msmarco"}


def test_deepct_is_trained_as_the_paper_says_and_as_the_code_does() -> None:
    paths = sorted((ROOT / "deepct").glob("argsme-*.yaml"))
    assert len(paths) == 6
    code = ("passages.length=300", "passages.unit=words", "training_length=128")
    for path in paths:
        recipe = validate(load(path), DeepCTRecipe)
        training = recipe.training
        assert (training.epochs, training.batch_size, training.learning_rate) == (3, 16, 2e-5)
        assert (recipe.passages.length, recipe.passages.unit) == (500, "pieces")
        assert (recipe.held_out.share, recipe.stopwords) == (0, "nltk")
        assert recipe.training_length is None
        assert validate(load(path), DeepCTRecipe, code).training_length == 128
