"""Experiment files: only what is missing or out of date is made, and that always."""

import shutil
from pathlib import Path

import pytest
from experiment_studies import GIVEN, QRELS, TOPICS, Notes, Study, run_lines

from adducir.core.artifacts import replacing_anything
from adducir.core.errors import ArtifactError, InputError
from adducir.experiments.experiment import plan_experiment, run_experiment
from adducir.experiments.step import Context
from adducir.runs.write import metadata_for

KEEP = {"pets": "keep", "BM25": "keep", "QLD": "keep"}
RUNS = {"BM25": "search", "QLD": "search"}
ALL = {"pets": "build", **RUNS}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Study:
    study = Study(tmp_path_factory.mktemp("finished") / "study")
    study.run()
    return study


@pytest.fixture
def study(finished: Study, tmp_path: Path) -> Study:
    return finished.copied(tmp_path / "study")


def test_nothing_is_done_twice_and_the_table_is_the_same(study: Study) -> None:
    assert study.verbs() == KEEP
    names = ("table.json", "table.tex", "per-topic.csv", "report.html", "table.txt", "table.md")
    before = {name: (study.folder / "experiments/pets" / name).read_bytes() for name in names}
    stamps = {path: path.stat().st_mtime_ns for path in study.folder.glob("runs/pets/*")}
    notes = Notes()
    with notes:
        assert study.run().runs == []
    assert notes.lines == ["all 2 runs exist and are kept", "evaluating (runs)"]
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps
    after = {name: (study.folder / "experiments/pets" / name).read_bytes() for name in names}
    assert after == before


@pytest.mark.parametrize(
    "harm",
    [
        lambda run, other: shutil.copyfile(other, run),
        lambda run, other: run.write_text("my notes"),
        lambda run, other: metadata_for(run).unlink(),
        lambda run, other: metadata_for(run).write_text("adducir: [\n"),
        lambda run, other: metadata_for(run).write_bytes(b"\xff\xfe"),
        lambda run, other: (run.unlink(), metadata_for(run).write_text("actor: {team: owls}\n")),
        lambda run, other: (
            (other.rename(victim := run.parents[2] / "victim"), run.unlink())
            and run.symlink_to(victim)
        ),
    ],
    ids=["edited", "notes", "no metadata", "broken metadata", "no text", "no run", "a link"],
)
def test_a_run_that_somebody_else_wrote_is_replaced_by_force_only(study: Study, harm) -> None:
    path = study.path("QLD")
    good = path.read_bytes()
    harm(path, study.path("BM25"))
    files = {one: one.read_bytes() for one in study.folder.rglob("*") if one.is_file()}
    for act in (study.plan().lines, study.run):
        with pytest.raises(ArtifactError):
            act()
    assert {one: one.read_bytes() for one in files} == files
    with replacing_anything():
        assert path in study.run().runs
    assert path.read_bytes() == good
    assert study.verbs() == KEEP


def test_another_run_of_adducirs_is_replaced(study: Study) -> None:
    path = study.path("QLD")
    good = path.read_bytes()
    shutil.copyfile(study.path("BM25"), path)
    shutil.copyfile(metadata_for(study.path("BM25")), metadata_for(path))
    metadata_for(path).write_text(metadata_for(path).read_text().replace("BM25.t.", "QLD.t."))
    assert study.verbs() == KEEP | {"QLD": "search"}
    assert study.run().runs == [path]
    assert path.read_bytes() == good


def test_changed_data_change_what_depends_on_them(study: Study) -> None:
    before = study.run().table
    lines = [f"{qid} 0 {docno} {2 - grade}" for qid, docno, grade in QRELS]
    (study.folder / "data" / "qrels.txt").write_text("\n".join(lines))
    after = study.run()
    assert after.runs == []
    assert after.table.rows[0].cells[0].mean != before.rows[0].cells[0].mean

    # Of topics and corpora their content counts, not bytes or names.
    topics = "".join(f"{qid}\t{query}\n" for qid, query in TOPICS.items())
    path = study.folder / "data" / "topics.tsv"
    path.write_text(topics.replace("cats sleep", "cats  sleep "))
    path.rename(path.with_name("renamed.tsv"))
    assert study.verbs("topics.t.source=data/renamed.tsv") == KEEP
    path.write_text(topics.replace("cats sleep", "cats purr"))
    assert study.verbs() == KEEP | RUNS

    path = study.folder / "data" / "pets.jsonl"
    path.write_text(path.read_text().replace("purr", "meow"))
    assert study.verbs() == ALL
    assert "out of date: different inputs" in study.plan().lines()[0]


@pytest.mark.parametrize(
    ("change", "made"),
    [
        ("systems.BM25.k1=1.2", {"BM25": "search"}),
        ("systems.BM25.k1=0.9", {}),  # as by default
        ("systems.QLD.rm3={}", {"QLD": "search"}),
        ("depth=100", RUNS),
        ("measures=[AP]", {}),
        ("comparison={comparisons: all-pairs, test: sign}", {}),
        ("systems.BM25.group=one", {}),
        ("indexes.pets.stemmer=none", ALL),
        ("indexes.pets.vectors=false", ALL),
    ],
)
def test_a_changed_setting_changes_what_depends_on_it(study: Study, change: str, made) -> None:
    assert study.verbs(change) == KEEP | made


def test_an_index_is_built_where_a_run_needs_it(study: Study) -> None:
    victim = next((study.folder / "indexes/pets/lucene").glob("*.si"))
    victim.write_bytes(victim.read_bytes()[:-1])
    study.path("QLD").unlink()
    assert study.verbs() == {"pets": "build", "BM25": "keep", "QLD": "search"}
    assert "it is damaged" in study.plan().lines()[0]
    study.run()
    assert study.verbs() == KEEP
    shutil.rmtree(study.folder / "indexes")
    assert study.verbs() == KEEP | {"pets": "skip"}
    assert study.run().runs == []
    assert not (study.folder / "indexes").exists()
    # One that no system uses is checked, and not built.
    study.change("indexes:\n", "indexes:\n  other: {corpus: pets, fields: [text]}\n")
    assert study.verbs() == KEEP | {"pets": "skip"}
    with pytest.raises(InputError, match=r"indexes\.other\.fields"):
        study.plan("indexes.other.fields=[none]")


def test_rebuild_makes_all_anew(study: Study) -> None:
    assert study.verbs(rebuild=True) == ALL
    manifest = study.folder / "indexes/pets" / "manifest.json"
    written = manifest.stat().st_mtime_ns
    assert len(run_experiment(study.plan(rebuild=True), context=Context(threads=1)).runs) == 2
    assert manifest.stat().st_mtime_ns > written


def test_an_index_that_another_experiment_replaces_is_not_searched(study: Study) -> None:
    study.path("QLD").unlink()
    plan = study.plan()
    study.run("indexes.pets.stemmer=none")
    study.path("QLD").unlink()
    (study.folder / "data" / "pets.jsonl").write_text('{"docno": "x", "text": "new"}\n')
    with pytest.raises(ArtifactError) as refused:
        run_experiment(plan, context=Context(threads=1))
    assert refused.value.path == study.folder / "indexes" / "pets"
    assert not study.path("QLD").exists()


def test_a_report_is_not_of_an_index_that_another_experiment_replaced(study: Study) -> None:
    other = study.file.with_name("other.yaml")
    other.write_text(study.file.read_text().replace("fields: [text]", "stemmer: none"))
    for file, has_index in ((study.file, True), (other, True), (study.file, False)):
        material = run_experiment(plan_experiment(file)).table.material
        assert (material.costs["BM25"].index_bytes is not None) is has_index


def test_fusions_depend_on_the_content_of_their_members(tmp_path: Path) -> None:
    study = Study(tmp_path / "study", GIVEN)
    assert study.verbs() == {"a.run": "read", "b.run": "read", "A+B": "fuse"}
    study.run()
    assert study.verbs()["A+B"] == "keep"
    (study.folder / "data/a.run").rename(study.folder / "data/c.run")
    moved = ("systems.A.run=data/c.run",)
    assert study.verbs(*moved)["A+B"] == "keep"
    for change in ("k=10", "weights=[1, 2]", "method=combsum"):
        assert study.verbs(*moved, f"systems.A+B.{change}")["A+B"] == "fuse"
    study.write("c.run", *run_lines({"1": "d8"}))
    assert study.verbs(*moved)["A+B"] == "fuse"


def test_topic_sets_of_equal_topics_share_their_runs(study: Study) -> None:
    more = "  again: {source: data/topics.tsv, qrels: data/qrels.txt}\nsystems:"
    study.change("systems:", more)
    outcome = study.run()
    assert outcome.runs == []
    cells = outcome.table.rows[0].cells
    assert [cell.mean for cell in cells[:3]] == [cell.mean for cell in cells[3:]]
