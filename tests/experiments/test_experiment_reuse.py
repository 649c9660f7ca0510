"""Experiment files: only what is missing or out of date is made, and that always."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from experiment_studies import GIVEN, QRELS, TOPICS, Notes, Study, run_lines

from adducir.core.artifacts import read_manifest
from adducir.core.errors import ArtifactError
from adducir.experiments.context import Context
from adducir.experiments.experiment import run_experiment
from adducir.runs.metadata import metadata_for


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study that was run."""
    study = Study(tmp_path_factory.mktemp("finished") / "study")
    study.run()
    return study


@pytest.fixture
def study(finished: Study, tmp_path: Path) -> Iterator[Study]:
    """A copy of it, to be changed."""
    shutil.copytree(finished.folder, tmp_path / "study")
    copy = object.__new__(Study)
    copy.folder = tmp_path / "study"
    copy.file = copy.folder / "experiments" / "pets.yaml"
    yield copy


KEEP = {"pets": "keep", "BM25": "keep", "QLD": "keep"}


def test_nothing_is_done_twice_and_the_table_is_the_same(study: Study) -> None:
    assert study.verbs() == KEEP
    names = ("table.json", "table.tex", "per-topic.csv", "report.html", "table.txt", "table.md")
    before = {name: (study.folder / "experiments/pets" / name).read_bytes() for name in names}
    stamps = {path: path.stat().st_mtime_ns for path in study.folder.glob("runs/pets/*")}
    notes = Notes()
    with notes:
        outcome = study.run()
    assert outcome.runs == []
    assert notes.lines == ["all 2 runs are there and kept", "evaluating (runs)"]
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps
    after = {name: (study.folder / "experiments/pets" / name).read_bytes() for name in names}
    assert after == before


def test_a_run_edited_by_hand_is_made_again(study: Study) -> None:
    path = study.path("QLD")
    good = path.read_bytes()
    shutil.copyfile(study.path("BM25"), path)
    assert study.verbs() == KEEP | {"QLD": "search"}
    assert any("changed since it was made" in line for line in study.plan().lines())
    assert study.run().runs == [path]
    assert path.read_bytes() == good
    assert study.verbs() == KEEP


def test_a_run_of_another_system_with_its_metadata_is_not_taken_for_it(study: Study) -> None:
    shutil.copyfile(study.path("BM25"), study.path("QLD"))
    shutil.copyfile(metadata_for(study.path("BM25")), metadata_for(study.path("QLD")))
    assert study.verbs() == KEEP | {"QLD": "search"}


@pytest.mark.parametrize(
    "harm",
    [
        lambda path: path.unlink(),
        lambda path: path.write_text(""),
        lambda path: path.write_text("adducir: [\n"),
        lambda path: path.write_text("adducir: 3\nrun file: {}\n"),
        lambda path: path.write_bytes(b"\xff\xfe"),
    ],
)
def test_a_run_without_its_metadata_is_made_again(study: Study, harm) -> None:
    harm(metadata_for(study.path("BM25")))
    assert study.verbs() == KEEP | {"BM25": "search"}
    assert study.run().runs == [study.path("BM25")]
    assert study.verbs() == KEEP


def test_changed_qrels_change_the_figures_and_no_run(study: Study) -> None:
    before = study.run().table
    lines = [f"{qid} 0 {docno} {2 - grade}" for qid, docno, grade in QRELS]
    (study.folder / "data" / "qrels.txt").write_text("\n".join(lines))
    assert study.verbs() == KEEP
    after = study.run()
    assert after.runs == []
    assert after.table.rows[0].cells[0].mean != before.rows[0].cells[0].mean


def test_changed_topics_change_runs_and_no_index(study: Study) -> None:
    topics = "".join(f"{qid}\t{query}\n" for qid, query in TOPICS.items())
    path = study.folder / "data" / "topics.tsv"
    # Content counts, not bytes or names.
    path.write_text(topics.replace("cats sleep", "cats  sleep "))
    assert study.verbs() == KEEP
    path.rename(path.with_name("renamed.tsv"))
    assert study.verbs("topics.t.source=data/renamed.tsv") == KEEP
    path.write_text(topics.replace("cats sleep", "cats purr"))
    assert study.verbs() == {"pets": "keep", "BM25": "search", "QLD": "search"}


def test_a_changed_corpus_changes_all(study: Study) -> None:
    path = study.folder / "data" / "pets.jsonl"
    path.write_text(path.read_text().replace("purr", "meow"))
    assert study.verbs() == {"pets": "build", "BM25": "search", "QLD": "search"}
    assert "out of date: different inputs" in study.plan().lines()[0]
    study.run()
    assert study.verbs() == KEEP


@pytest.mark.parametrize(
    ("change", "made"),
    [
        ("systems.BM25.k1=1.2", {"BM25": "search"}),
        ("systems.BM25.k1=0.9", {}),  # as by default
        ("systems.QLD.mu=10", {"QLD": "search"}),
        ("systems.QLD.rm3={}", {"QLD": "search"}),
        ("depth=100", {"BM25": "search", "QLD": "search"}),
        ("measures=[AP]", {}),
        ("comparison={comparisons: all-pairs, test: sign}", {}),
        ("table.decimals=5", {}),
        ("systems.BM25.group=one", {}),
        ("indexes.pets.stemmer=none", {"pets": "build", "BM25": "search", "QLD": "search"}),
        ("indexes.pets.stopwords=none", {"pets": "build", "BM25": "search", "QLD": "search"}),
    ],
)
def test_a_changed_setting_changes_what_depends_on_it(study: Study, change: str, made) -> None:
    assert study.verbs(change) == KEEP | made


def test_why_an_index_is_built_anew_is_said(study: Study) -> None:
    changes = ("indexes.pets.accurate_length=true", "indexes.pets.vectors=false")
    line = study.plan(*changes, "systems.QLD.model=bm25").lines()[0]
    assert line == (
        "build  index indexes/pets of data/pets.jsonl: out of date: different vectors, "
        "accurate length"
    )
    notes = Notes()
    with notes:
        study.run(*changes, "systems.QLD.model=bm25")
    assert notes.lines[:2] == [
        "index indexes/pets: out of date: different vectors, accurate length",
        "indexing (documents)",
    ]


def test_an_index_that_no_run_needs_is_not_built(study: Study) -> None:
    shutil.rmtree(study.folder / "indexes")
    assert study.verbs() == KEEP | {"pets": "skip"}
    outcome = study.run()
    assert outcome.runs == []
    assert not (study.folder / "indexes").exists()
    assert outcome.table.provenance["indexes"]["pets"]["folder"] == "indexes/pets"
    study.path("QLD").unlink()
    assert study.verbs() == {"pets": "build", "BM25": "keep", "QLD": "search"}


def test_a_damaged_index_is_built_anew(study: Study) -> None:
    victim = next((study.folder / "indexes/pets/lucene").glob("*.si"))
    victim.write_bytes(victim.read_bytes()[:-1])
    study.path("QLD").unlink()
    assert study.verbs() == {"pets": "build", "BM25": "keep", "QLD": "search"}
    assert "it is damaged" in study.plan().lines()[0]
    study.run()
    assert study.verbs() == KEEP


def test_a_new_system_is_all_that_is_made(study: Study) -> None:
    study.change("measures:", "  RM3: {index: pets, rm3: true}\nmeasures:")
    assert study.verbs() == KEEP | {"RM3": "search"}
    assert study.run().runs == [study.path("RM3")]


def test_an_index_that_is_used_by_no_system_is_not_looked_at(study: Study) -> None:
    study.change("indexes:\n", "indexes:\n  other: {corpus: pets, fields: [none]}\n")
    assert study.verbs() == KEEP


def test_rebuild_makes_all_anew(study: Study) -> None:
    assert study.verbs(rebuild=True) == {"pets": "build", "BM25": "search", "QLD": "search"}
    manifest = study.folder / "indexes/pets" / "manifest.json"
    written = manifest.stat().st_mtime_ns
    outcome = run_experiment(study.plan(rebuild=True), context=Context(threads=1))
    assert len(outcome.runs) == 2
    assert manifest.stat().st_mtime_ns > written
    assert len(run_experiment(study.plan(), context=Context(threads=1), rebuild=True).runs) == 2


def test_an_index_that_another_experiment_replaces_is_not_searched(study: Study) -> None:
    study.path("QLD").unlink()
    plan = study.plan()
    study.run("indexes.pets.stemmer=none")
    study.path("QLD").unlink()
    study.path("BM25").unlink()
    (study.folder / "data" / "pets.jsonl").write_text('{"docno": "x", "text": "new"}\n')
    with pytest.raises(ArtifactError, match="not what was planned"):
        run_experiment(plan, context=Context(threads=1))
    assert not study.path("QLD").exists()


def test_fusions_depend_on_the_content_of_their_members(tmp_path: Path) -> None:
    study = Study(tmp_path / "study", GIVEN)
    assert study.verbs() == {"a.run": "read", "b.run": "read", "A+B": "fuse"}
    study.run()
    assert study.verbs()["A+B"] == "keep"
    (study.folder / "data/a.run").rename(study.folder / "data/c.run")
    moved = ("systems.A.run=data/c.run",)
    assert study.verbs(*moved)["A+B"] == "keep"
    assert study.verbs(*moved, "systems.A+B.k=10")["A+B"] == "fuse"
    assert study.verbs(*moved, "systems.A+B.weights=[1, 2]")["A+B"] == "fuse"
    assert study.verbs(*moved, "systems.A+B.method=combsum")["A+B"] == "fuse"
    study.write("c.run", *run_lines({"1": "d8"}))
    assert study.verbs(*moved)["A+B"] == "fuse"


def test_a_fusion_of_searches_is_the_same_from_memory_and_from_files(study: Study) -> None:
    study.change("measures:", "  sum: {fuse: [BM25, QLD], method: combsum}\nmeasures:")
    study.run()
    first = study.path("sum").read_bytes()
    study.path("sum").unlink()
    assert study.run().runs == [study.path("sum")]
    assert study.path("sum").read_bytes() == first
    for path in (study.folder / "runs/pets").iterdir():
        path.unlink()
    assert len(study.run().runs) == 3
    assert study.path("sum").read_bytes() == first


def test_topic_sets_of_equal_topics_share_their_runs(study: Study) -> None:
    more = "  again: {source: data/topics.tsv, qrels: data/qrels.txt}\nsystems:"
    study.change("systems:", more)
    assert study.verbs() == KEEP
    outcome = study.run()
    assert outcome.runs == []
    cells = outcome.table.rows[0].cells
    assert [cell.mean for cell in cells[:3]] == [cell.mean for cell in cells[3:]]


def test_the_metadata_of_a_search(finished: Study) -> None:
    facts = yaml.safe_load(metadata_for(finished.path("QLD")).read_text())
    (search,) = facts["method"]["retrieval"]
    manifest = read_manifest(finished.folder / "indexes/pets")
    assert search["index"] == {"name": "pets", "fingerprint": manifest.fingerprint}
    assert (search["model"], search["mu"], search["depth"]) == ("qld", 1000.0, 1000)
    assert facts["data"]["corpus"] == {"source": "data/pets.jsonl", "fields": ["text"]}
    assert facts["data"]["topics"]["source"] == "data/topics.tsv"
    assert facts["data"]["topics"]["field"] == "query"
    assert facts["resources"]["runtime"]["wallclock"].endswith(" s")
    assert set(facts["platform"]["software"]["engines"]) == {"anserini", "java"}
    assert str(finished.folder) not in metadata_for(finished.path("QLD")).read_text()
