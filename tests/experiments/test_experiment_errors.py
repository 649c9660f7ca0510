"""Experiment files: all errors are reported at once, with line or override, before work."""

import re
from pathlib import Path

import pytest
from experiment_studies import GIVEN, Study, run_lines
from some_spans import some_spans

from adducir.core.errors import AdducirError, InputError, MachineError, UsageError
from adducir.core.executors import Execution
from adducir.corpora.spans import write_spans
from adducir.experiments.code import find_code
from adducir.experiments.sections import Graph
from adducir.experiments.step import Context

TASKS = {
    "retrieval": GIVEN,
    "known-item": """\
task: known-item
data: {A: {spans: data/spans.jsonl}}
contexts: {L: {}}
systems: {A: {bm25: {}}, B: {bm25: {k1: 1}}}
comparison: {baseline: A}
""",
    "evidence-sets": """\
task: evidence-sets
data: {A: [{train: data/q.jsonl, test: data/q.jsonl}]}
systems: {A: {selector: bm25}, B: {selector: bm25, size: 3}}
comparison: {baseline: A}
""",
    "grounded-generation": """\
task: grounded-generation
data: {arguments: data/arguments.jsonl}
systems: {A: {bm25: {}}, B: {untrained: {}}}
comparison: {baseline: A}
""",
}


def messages_of(study: Study, *overrides: str) -> list[str]:
    before = sorted(study.folder.rglob("*"))
    with pytest.raises(AdducirError) as caught:
        study.plan(*overrides)
    assert isinstance(caught.value, InputError)
    assert sorted(study.folder.rglob("*")) == before
    text = str(caught.value).replace(f"{study.file}", "pets.yaml")
    return text.replace(str(study.folder), "STUDY").split("\n  ")


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("index: pets, model: qld", "rerank: BM25, by: overlp", "QLD.by`.*reranker 'overlp'"),
        ("index: pets, model: qld", "rerank: BM25, by: 'maxsim:'", "QLD.by`.*base`"),
        ("nDCG@5", "nDCG@2000", "measures.0`.*2000.*1000"),
        ("nDCG@5", "INSQ", "measures.0`.*INSQ"),
        ("data/pets.jsonl", "data/pet.jsonl", "corpora.pets.source`.*STUDY/data/pet.jsonl"),
        ("data/pets.jsonl", "vaswanni", "vaswani"),
        ("data/topics.tsv", "data/qrels.txt", "topics.t"),
        ("data/qrels.txt", "data/a.run", "topics.t.qrels`: STUDY/data/a.run:1"),
        ("fields: [text]", "fields: [txt]", "indexes.pets.fields`.*txt"),
        ("QLD: {", "'Q/D': {", "systems.Q/D`"),
        ("model: qld", "run: data/a.run", "systems.QLD`.*`index`"),
        ("model: qld", "rm3: ~", "systems.QLD.rm3`"),
        ("model: qld", "seeds: 2", "systems.QLD.seeds`"),
        ("index: pets, model: qld", "fuse: [BM25]", "systems.QLD`.*`fuse`"),
        ("index: pets, model: qld", "fuse: [BM25, Q]", "systems.QLD.fuse.1`.*`Q`"),
        (
            "index: pets, model: qld}",
            "fuse: [BM25, B]}\n  B: {fuse: [C, BM25]}\n  C: {fuse: [BM25, QLD]}",
            "systems.QLD.fuse.1`.*QLD -> B -> C -> QLD",
        ),
        (
            "index: pets, model: qld}",
            "index: more}\n  F: {fuse: [BM25, QLD]}\n  R: {rerank: F, by: overlap}",
            "systems.R.rerank`.*`F` searches no or several indexes",
        ),
        (
            "index: pets, model: qld",
            "fuse: [BM25, B], tune: {grid: {weights.BM25: [0], weights.B: [0]}, folds: {k: 2}}}\n"
            "  B: {index: pets",
            "QLD.tune.grid`.*not all 0",
        ),
        ("index: pets, model: qld", "python: 'json:loads', arguments: {x: .inf}", "finite numbers"),
        ("model: qld", "rm3: {}, rocchio: {}", "QLD`.*only one feedback method"),
        ("model: qld", "rm3: 3", "QLD.rm3`.*'key: value' lines"),
        ("model: qld", "rm3: {fb_terms: 0}", "QLD.rm3.fb_terms`"),
        ("model: qld", "tune: ~", "QLD.tune`.*name a `grid` and `folds`"),
        ("model: qld", "tune: {grid: {k1: [1]}, folds: {}}", "QLD.tune.folds.*folds are"),
        (
            "model: qld",
            "tune: {grid: {k1: [1]}, folds: {file: f.json, seed: 1}}",
            "folds.seed`: has no",
        ),
        ("index: pets, model: qld", "rerank: BM25, by: overlap, seeds: ~", "seeds`.*is empty"),
        ("index: pets, model: qld", "rerank: BM25, by: overlap, seeds: []", "`.*one is needed"),
        ("index: pets, model: qld", "rerank: BM25, by: overlap, depth: 5000", "QLD.depth`.*1000"),
        ("QLD:", f"{'Q' * 300}:", "a name may have at most"),
        ("fields: [text]", "engine: dense, encoder: 'no:3'", "indexes.pets.encoder`.*'no'"),
        ("[nDCG@5, P@1, Judged@3]", "[]", "measures`"),
        ("index: pets, model: qld", "rerank: BM25, by: overlap, seeds: [1, 1]", "1 is repeated"),
        ("index: pets, model: qld", "rerank: BM25, by: overlap, seeds: 0", "number from 1 to"),
        ("model: qld", "tune: {grid: {k1: {from: 1}}, folds: {k: 2}}", "grid.*to is missing"),
        ("index: pets, model: qld", "texts: pets, python: 'a:b'", "texts`.*without `input`"),
        ("fields: [text]", "engine: dense, encoder: minilm", "QLD.model`.*ranks by vectors"),
        ("indexes:", "  x: {expand: pets, model: none}\nindexes:", "x.model`.*does not exist"),
        ("{baseline: BM25}", "{baseline: BM25}\ndepth: 0", "depth`"),
        ("{baseline: BM25}", "{baseline: BM25}\ntable: {system_names: {B: x}}", "system_names.B`"),
        ("{baseline: BM25}", "{baseline: BM25}\ntable: {measure_names: {P@: x}}", "names.P@`"),
    ],
)
def test_an_error_has_its_line_and_key(study: Study, old: str, new: str, named: str) -> None:
    study.change(old, new)
    found = messages_of(study)
    assert any(re.search(named, line) for line in found), found
    assert all(re.match(r"pets\.yaml:\d+: ", line) for line in found if "errors in" not in line)


def test_all_errors_of_all_kinds_come_at_once(study: Study) -> None:
    study.change("{index: pets, model: qld}", "{index: pest, model: qld}")
    study.change("data/topics.tsv", "data/topic.tsv")
    study.change("description: pets", "descripton: pets")
    study.change("P@1", "P@one")
    study.change("fields: [text]", "stemmer: prter")
    found = messages_of(
        study, "systems.X={}", "comparison.baseline=Y", "comparison.alpha=2", "depth=4"
    )
    # In the order of the file, then in that of the overrides.
    places = [re.search(r"at `(.*?)`", line)[1] for line in found[1:]]
    assert places == [
        *("descripton", "indexes.pets.stemmer", "topics.t.source", "systems.QLD.index"),
        *("measures.0", "measures.1", "systems.X", "comparison.baseline", "comparison.alpha"),
    ]
    assert [line.startswith("in the override `") for line in found[1:]] == [False] * 6 + [True] * 3


def test_a_missing_section_and_a_wrong_value_hide_no_other_mistake(study: Study) -> None:
    study.change("topics:", "topic:")
    study.change("{index: pets, model: qld}", "{index: pest, model: qld, mu: many}")
    study.change("P@1", "P@one")
    places = {re.search(r"at `(.*?)`", line)[1] for line in messages_of(study)[1:]}
    own = {"systems.QLD.mu", "systems.QLD.index", "measures.1"}
    assert places == {"topics", "topic", *own}


@pytest.mark.parametrize(
    ("override", "named"),
    [
        ("corpora.pets.source=nowhere.jsonl", "STUDY/nowhere.jsonl"),
        ("topics.t.qrels=data/pets.jsonl", "`topics.t.qrels`: STUDY/data/pets.jsonl:2"),
        ("systems.BM25.index=pots", "`pots`"),
        ("systems.given={run: data/no.run}", "STUDY/data/no.run"),
        ("table.show=[equivalence_p]", "`equivalence`"),
    ],
)
def test_an_error_that_an_override_causes_names_it(study: Study, override, named) -> None:
    (text,) = messages_of(study, override)
    assert text.startswith(f"pets.yaml: in the override `{override}`: at `")
    assert named in text


def test_what_an_index_lacks_is_seen_before_it_is_built(study: Study) -> None:
    study.change("{index: pets}", "{index: pets, rm3: {}}")
    found = messages_of(study, "indexes.pets.vectors=false", "indexes.pets.accurate_length=true")
    assert "systems.BM25.rm3" in found[1]
    assert "systems.QLD.model" in found[2]


def test_variables(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pets.jsonl", "topics.tsv", "qrels.txt"):
        study.change(f"data/{name}", f'"${{PETS_HERE}}/{name}"')
    monkeypatch.delenv("PETS_HERE", raising=False)
    assert len(messages_of(study)) == 4
    monkeypatch.setenv("PETS_HERE", str(study.folder / "data"))
    assert study.plan().lines()[0] == "build  index indexes/pets of ${PETS_HERE}/pets.jsonl"


def test_what_stands_where_an_index_or_a_table_is_to_be(study: Study) -> None:
    (study.folder / "indexes" / "pets").mkdir(parents=True)
    assert study.verbs()["pets"] == "build"  # an empty folder may take it
    for content in ("mine", "{"):
        (study.folder / "indexes" / "pets" / "manifest.json").write_text(content)
        (text,) = messages_of(study)
        assert text.startswith("pets.yaml:5: at `indexes.pets`: STUDY/indexes/pets")
    study.file = study.file.rename(study.file.with_suffix(""))
    assert any("ending" in line for line in messages_of(study))


def test_topics_and_qrels_that_do_not_belong_together(study: Study) -> None:
    study.write("qrels.txt", "q1 0 d1 1", "q2 0 d2 1")
    assert "'1' and 'q1'" in messages_of(study)[0]
    study.write("qrels.txt", "1 0 d1 1")
    assert "at `topics.t.qrels`" in messages_of(study)[0]  # a test over one topic
    assert study.plan("comparison=null").goals
    study.write("qrels.txt", "1 0 d1 1", "2 0 d2 5000")
    assert "`topics.t.qrels`" in messages_of(study, "measures=[\"nDCG(dcg='exp-log2')@5\"]")[0]


def test_names_that_would_share_a_file(given: Study) -> None:
    given.change("  A+B:", "  a+b: {fuse: [A, B], k: 9}\n  A+B:")
    assert "systems.A+B`" in messages_of(given)[0]


def test_given_runs(given: Study) -> None:
    given.change("systems:\n", "  u: {source: data/topics.tsv, qrels: data/qrels.txt}\nsystems:\n")
    given.change("B: {run: data/b.run}", "B: {run: {t: data/b.run, v: data/b.run}}")
    found = messages_of(given)
    assert "at `systems.A.run`" in found[1]
    assert {"systems.B.run.v" in found[2], "`u`" in found[3]} == {True}


def test_given_runs_that_cannot_be_used(given: Study) -> None:
    given.write("a.run", "1 0 d1 1", "2 0 d1 1")
    given.write("b.run", *run_lines({"x1": "d1"}))
    found = messages_of(given)
    assert "at `systems.A.run`: STUDY/data/a.run:1" in found[1]
    assert "at `systems.B.run`: STUDY/data/b.run: " in found[2]
    given.write("a.run", *run_lines({"1": "d1"}))
    given.write("b.run", *run_lines({"1": "d1"}))
    given.run()
    given.change("A: {run: data/a.run}", "A: {run: runs/pets/A+B.t.trec.gz}")
    assert "systems.A+B`" in messages_of(given)[0]


def test_what_the_machine_lacks_is_its_error_alone(
    given: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise MachineError("the network cannot be reached.")

    monkeypatch.setattr("adducir.corpora.topics.load_topics", unreachable)
    with pytest.raises(MachineError, match="network"):
        given.plan()
    given.change("nDCG@3", "nDCG3")
    with pytest.raises(InputError, match="2 errors"):
        given.plan()


def test_data_sets_are_not_downloaded_for_a_file_with_errors(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("requests.get", lambda *_, **__: 1 / 0)
    study.change("data/topics.tsv", "argsme/2020-04-01/touche-2020-task-1")
    (text,) = messages_of(study, "depth=x")
    assert "depth" in text


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("comparison", "key"),
    [
        ("{baseline: NOBODY}", "comparison.baseline"),
        ("{baseline: A, equivalence: 0.1, against: NOBODY}", "comparison.against"),
        ("{baseline: A, non_inferiority: true}", "comparison.non_inferiority"),
        ("{}", "comparison"),
        ("{baseline: A, alpha: 2}", "comparison.alpha"),
    ],
)
def test_all_tasks_refuse_the_same_mistakes_at_the_dry_run(
    task: str, comparison: str, key: str, tmp_path: Path
) -> None:
    study = Study(tmp_path, TASKS[task])
    study.change("comparison: {baseline: A}", f"comparison: {comparison}")
    with pytest.raises(InputError, match=f"at `{key}`"):
        study.plan(dry_run=True)


ARGUMENTS, SPANS = "data: {arguments: data/arguments.jsonl}", "spans: data/spans.jsonl"


@pytest.mark.parametrize(
    ("task", "old", "new", "named"),
    [
        ("known-item", "A: {bm25: {}}", "A: {bm25: {}, contexts: [M]}", "unknown context 'M'"),
        ("known-item", "systems: {A", "random: true\nsystems: {random: {bm25: {}}, A", "'random'"),
        ("known-item", SPANS, f"{SPANS}, pools: data", "data.A`: one of `spans`"),
        ("known-item", SPANS, "pools: data, candidates: data/x", "candidates`: has no effect"),
        ("known-item", SPANS, "pools: data, groups: [a]", "`pools` lacks groups"),
        ("known-item", SPANS, f"{SPANS}, shares: {{train: 1}}", "A.shares`: has no effect"),
        ("known-item", SPANS, f"{SPANS}, seed: 1", "`seed` has no effect without"),
        ("known-item", "{A: {bm25: {}}", "{A: {train: []}", "systems.A`: `train` must name"),
        ("known-item", "data/spans.jsonl", "data/pets.jsonl", "data/pets.jsonl:1"),
        ("known-item", SPANS, f"{SPANS}, groups: [x]", "unknown group 'x'; the groups are book0"),
        ("known-item", SPANS, f"{SPANS}, sentences: [9]", "none of its 5 contexts matches"),
        ("evidence-sets", "size: 3", "set: [size=a]", "systems.B"),
        ("grounded-generation", ARGUMENTS, "data: {}", "`passages` and `arguments` is needed"),
        ("grounded-generation", ARGUMENTS, "data: {passages: p, bed: {}}", "`bed` has no effect"),
        ("grounded-generation", ARGUMENTS, "data: {passages: p}", "to `test` on are needed"),
        ("grounded-generation", ".jsonl}", ".jsonl, test: x}", "`test` has no effect"),
        ("grounded-generation", ARGUMENTS, f"{ARGUMENTS}\nk: [2, 2]", "`k` has duplicates"),
        ("grounded-generation", "{}}}", "{}}, C: {generator: no}}", "systems.C"),
    ],
)
def test_what_a_task_alone_refuses(task, old, new, named, tmp_path: Path) -> None:
    study = Study(tmp_path, TASKS[task])
    study.change(old, new)
    write_spans(some_spans(5), tmp_path / "data" / "spans.jsonl")
    with pytest.raises(InputError, match=re.escape(named)):
        study.plan(dry_run=True)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("transform", "neither `module:function` nor `file.py:function`"),
        ("../outside.py:transform", "not in the study's folder"),
        ("none.py:transform", "none.py: no such file"),
        ("broken.py:transform", "broken.py:2: this is not Python"),
        ("right.py:transfrom", "does not define the function transfrom; did you mean `transform`"),
        ("no-module:transform", "not a valid module name"),
        ("no_such_module_anywhere:transform", "neither in the study's folder nor installed"),
    ],
)
def test_code_that_cannot_be_found(code: str, told: str, tmp_path: Path) -> None:
    Path(tmp_path, "broken.py").write_text("def transform(run):\n  return (\n")
    Path(tmp_path, "right.py").write_text("def transform(run):\n  return run\n")
    with pytest.raises(InputError) as caught:
        find_code(code, tmp_path)
    assert told in str(caught.value)


def test_numbers_that_mean_nothing_are_refused(given: Study) -> None:
    for wrong in ({"threads": 0}, {"batch_tokens": -5}):
        with pytest.raises(UsageError, match="or more"):
            Context(**wrong)
    with pytest.raises(UsageError, match="or more"):
        Execution(workers=0)


def test_links_give_order_and_circles():
    a, b, c, d, x = (("systems", name) for name in "abcdx")
    graph = Graph({a: [b, c], b: [c], c: [("indexes", "i")], d: [x, d], x: [d]})
    assert [*graph.ancestors[a]] == [b, c, ("indexes", "i")]
    assert [graph.levels[entry] for entry in (a, b, c)] == [2, 1, 0]
    assert sorted(graph.circles) in ([[d, d]], [[d, x, d]])
    assert graph.is_circular(d)
    assert not graph.is_circular(a)
    assert [len(circle) for circle in Graph({a: [b], b: [c], c: [a], d: [a]}).circles] == [4]
