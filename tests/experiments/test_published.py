"""Real collections, from their files to figures that others have published or computed."""

import json
from pathlib import Path

import polars as pl
import pytest

from adducir.corpora.qrels import load_qrels
from adducir.corpora.sources import open_corpus
from adducir.corpora.topics import load_topics
from adducir.experiments.experiment import Outcome, plan_experiment, run_experiment
from adducir.indexes import IndexSettings, LuceneIndex, build_index
from adducir.indexes.models import BM25

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
    """``experiments/cacm.yaml``, run as a user runs it."""
    folder = tmp_path_factory.mktemp("cacm")
    plan = plan_experiment(EXPERIMENTS / "cacm.yaml", folder=folder)
    return run_experiment(plan), folder


def test_cacm_index_has_the_published_statistics(cacm: tuple[Outcome, Path]) -> None:
    counts = LuceneIndex(cacm[1] / "indexes/cacm").manifest.counts
    assert counts["documents"] == counts["indexed"] == 3204
    assert (counts["terms"], counts["tokens"]) == (14_363, 320_968)


@pytest.mark.parametrize("system", PUBLISHED)
def test_cacm_reproduces_anserinis_figures(cacm: tuple[Outcome, Path], system: str) -> None:
    found = means(cacm[0])
    published = (found[system, "original", "AP"], found[system, "original", "P@30"])
    assert tuple(round(value, 4) for value in published) == PUBLISHED[system]


def test_cacm_with_padded_ids_finds_more(cacm: tuple[Outcome, Path]) -> None:
    found = means(cacm[0])
    for system in PUBLISHED:
        assert found[system, "padded", "AP"] > found[system, "original", "AP"]


def test_cacm_topic_sets_of_the_same_topics_share_their_runs(cacm: tuple[Outcome, Path]) -> None:
    assert sorted(path.name for path in (cacm[1] / "runs/cacm").glob("*.gz")) == sorted(
        f"{system}.original.trec.gz" for system in PUBLISHED
    )


@pytest.mark.slow
def test_argsme_subset_by_overrides_of_the_study(collections: Path, tmp_path: Path) -> None:
    touche = collections / "touche"
    qrels = "touche2020-task1-relevance-args-me-corpus-version-2020-04-01-corrected.qrels"
    overrides = (
        f"corpora.argsme.source={touche}/argsme-subset.jsonl",
        f"topics.2020.source={touche}/topics/topics-task-1-2020.xml",
        f"topics.2020.qrels={touche}/qrels/{qrels}",
        f"topics.2021.source={touche}/topics/topics-task-1-2021-only-titles.xml",
        f"topics.2021.qrels={touche}/qrels/touche-task1-51-100-relevance.qrels",
        f"systems.Best participant by nDCG.run={participants(touche, 'OpenNlp')}",
        f"systems.Best participant by Bpref.run={participants(touche, 'Simple')}",
        # A corner of each grid, for the whole of it takes minutes.
        "systems.BM25 (tuned).tune.grid.k1=[0.6, 1.2]",
        "systems.DirichletLM (tuned).tune.grid.mu=[0, 500, 1000]",
        "systems.BM25+RM3 (tuned).tune.grid={fb_terms: 8, original_query_weight: [0.4, 0.8]}",
        "systems.DirichletLM+RM3 (tuned).tune.grid={fb_docs: 8, original_query_weight: [0.4, 0.8]}",
    )
    plan = plan_experiment(EXPERIMENTS / "touche-lexical.yaml", overrides, folder=tmp_path)
    outcome = run_experiment(plan)
    found = means(outcome)
    untuned = ("BM25", "BM25+RM3", "DirichletLM", "DirichletLM+RM3")
    systems = (*untuned, *(f"{name} (tuned)" for name in untuned))
    given = {"Best participant by nDCG", "Best participant by Bpref"}
    assert {key[0] for key in found} == set(systems) | given
    settings = outcome.table.provenance["chosen settings, by fold"]
    assert {name: set(folds) for name, folds in settings.items()} == {
        f"{name} (tuned)": {"2020", "2021"} for name in untuned
    }
    # With mu 0 every document scores 0: no fold chooses it.
    assert all(one["mu"] > 0 for one in settings["DirichletLM (tuned)"].values())
    for system in systems:
        assert 0.7 < found[system, "2020", "nDCG(judged_only=True)@5"] < 1
        assert 0 < found[system, "2020", "Judged@5"] < 1
    manifest = LuceneIndex(tmp_path / "indexes/argsme").manifest
    assert manifest.counts["documents"] == 4967


def participants(touche: Path, run: str) -> str:
    """The runs of a participant, a file for each year."""
    runs = {year: f"{touche}/runs/{year}/Elrond{run}Run.txt.gz" for year in ("2020", "2021")}
    return json.dumps(runs)


def test_a_participant_has_a_run_for_each_year(collections: Path, tmp_path: Path) -> None:
    touche = collections / "touche"
    qrels = "touche2020-task1-relevance-args-me-corpus-version-2020-04-01-corrected.qrels"
    file = tmp_path / "experiments" / "participants.yaml"
    file.parent.mkdir()
    file.write_text(
        f"""topics:
  "2020":
    source: {touche}/topics/topics-task-1-2020.xml
    qrels: {touche}/qrels/{qrels}
  "2021":
    source: {touche}/topics/topics-task-1-2021-only-titles.xml
    qrels: {touche}/qrels/touche-task1-51-100-relevance.qrels
systems:
  OpenNlp: {{run: {participants(touche, "OpenNlp")}}}
  Simple: {{run: {participants(touche, "Simple")}}}
measures: [nDCG@5]
comparison: {{baseline: OpenNlp}}
""",
        encoding="utf-8",
    )
    found = means(run_experiment(plan_experiment(file)))
    # As the collection's provenance has them, recomputed by trec_eval's rules.
    assert found["OpenNlp", "2020", "nDCG@5"] == pytest.approx(0.6197, abs=1e-4)
    assert found["OpenNlp", "2021", "nDCG@5"] == pytest.approx(0.6745, abs=1e-4)
    assert found["Simple", "2020", "nDCG@5"] == pytest.approx(0.3966, abs=1e-4)
    assert found["Simple", "2021", "nDCG@5"] == pytest.approx(0.6742, abs=1e-4)


@pytest.mark.slow
def test_argsme_bm25_figure_on_topics_2020(collections: Path, tmp_path: Path) -> None:
    # An independent trial gave .863 for BM25 (k1 .9, b .4) on these documents.
    touche = collections / "touche"
    corpus = open_corpus(touche / "argsme-subset.jsonl")
    build_index(corpus, tmp_path / "index", IndexSettings(fields=("conclusion", "premise")))
    topics = load_topics(touche / "topics/topics-task-1-2020.xml")
    hits = LuceneIndex(tmp_path / "index").search(topics.queries, BM25(k1=0.9, b=0.4))
    assert len(topics) == 49
    assert all(hits.counts > 5)
    name = "touche2020-task1-relevance-args-me-corpus-version-2020-04-01-corrected.qrels"
    qrels = load_qrels(touche / "qrels" / name)

    from adducir.evaluation.evaluator import evaluate
    from adducir.runs.run import Run

    run = Run(hits.frame(topics.qids), tag="bm25")
    scores = evaluate(run, qrels, "nDCG(judged_only=True)@5", negative="trec_eval")
    assert scores.mean("nDCG(judged_only=True)@5") == pytest.approx(0.863, abs=0.02)
