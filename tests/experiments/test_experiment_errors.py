"""Experiment files: all errors are reported at once, with line or override, before work."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from experiment_studies import GIVEN, Study, run_lines

from adducir.core.errors import AdducirError, InputError, MachineError

Recorded = Callable[..., list[str]]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study(tmp_path / "study")


@pytest.fixture
def given(tmp_path: Path) -> Study:
    return Study(tmp_path / "study", GIVEN)


def messages_of(study: Study, *overrides: str) -> list[str]:
    """The message's lines, with short paths; and nothing was made."""
    before = sorted(study.folder.rglob("*"))
    with pytest.raises(AdducirError) as caught:
        study.plan(*overrides)
    assert isinstance(caught.value, InputError)
    assert sorted(study.folder.rglob("*")) == before
    text = str(caught.value).replace(f"{study.file}", "pets.yaml")
    return text.replace(str(study.folder), "STUDY").split("\n  ")


def lines(study: Study) -> dict[str, int]:
    """The line of each key of the file, by its text."""
    numbered = enumerate(study.file.read_text().splitlines(), 1)
    return {line.split(":")[0].strip(): number for number, line in numbered}


SINGLE = [
    # (what is changed in the file, what is reported, at which key's line)
    (("model: qld", "model: qdl"), "at `systems.QLD.model`: should be one of bm25, qld", "QLD"),
    (("{index: pets}", "{index: pet}"), "there is no index `pet` in this file; did you", "BM25"),
    (("corpus: pets", "corpus: cats"), "there is no corpus `cats` in this file", "pets"),
    (("baseline: BM25", "baseline: BM52"), "`BM52` in this file; did you mean `BM25`?", None),
    (("baseline: BM25", "baseline: [BM25, X]"), "at `comparison.baseline.1`: there is no", None),
    (("nDCG@5", "nDGC@5"), "at `measures.0`: Unknown measure 'nDGC@5'. Did you mean nDCG@5?", None),
    (("nDCG@5", "nDCG@2000"), "nDCG@2000 needs 2000 documents per topic; `depth` is 1000", None),
    (("nDCG@5", "alpha_nDCG@5"), "at `measures.0`: The measure alpha_nDCG", None),
    (("data/pets.jsonl", "data/pet.jsonl"), "STUDY/data/pet.jsonl: there is no such file", None),
    (("data/pets.jsonl", "vaswanni"), "Near it: vaswani", None),
    (("data/pets.jsonl", "''"), "'' names no source", None),
    (("data/pets.jsonl", "data"), "at `corpora.pets.source`", None),
    (("data/pets.jsonl", '"${NO_SUCH}/x"'), "the environment variable NO_SUCH is not set", None),
    (("data/topics.tsv", "data/qrels.txt"), "at `topics.t", None),
    (("data/qrels.txt", "data/a.run"), "at `topics.t.qrels`: STUDY/data/a.run:1", None),
    (("data/qrels.txt", "[]"), "no qrels are named", None),
    (("fields: [text]", "fields: [txt]"), "no document has a field 'txt'. The fields are", "pets"),
    (("fields: [text]", "stopwords: lucen"), "'lucen' is no stop list", "pets"),
    (
        ("fields: [text]", "language: pt_br"),
        "there is no language 'pt_br'; did you mean `pt-br`",
        "pets",
    ),
    (("fields: [text]", "language: de, stemmer: porter"), "German has no stemmer 'po", "pets"),
    (("fields: [text]", "weights: w.jsonl"), "`weights` needs `engine: memory`", "pets"),
    (
        ("fields: [text]", "language: en, weights: w.jsonl, engine: memory"),
        "STUDY/w.jsonl: there is no such file",
        "pets",
    ),
    (("fields: [text]", "field: [text]"), "there is no such key here; did you mean `fields`", None),
    (("QLD: {", "'Q/D': {"), "a name is made of letters", None),
    (("QLD: {", f"'{'Q' * 81}': {{"), "a name has at most 80 bytes", None),
    (("model: qld", "model: qld, k1: 1"), "`k1` means nothing to the model qld", "QLD"),
    (("model: qld", "model: okapi"), "Lucene has no model okapi: `pets` needs `engine: m", "QLD"),
    (("model: qld", "epsilon: 1"), "`epsilon` means nothing to the model bm25", "QLD"),
    (("{baseline: BM25}", "{baseline: BM25}\ndepth: 0"), "at `depth`", "depth"),
    (
        ("model: qld", "run: data/a.run"),
        "`index` (a search), `fuse`, `rerank`, `python` a",
        "QLD",
    ),
    (("model: qld", "k: 3"), "`k` has no effect beside `index`", "QLD"),
    (("model: qld", "rm3: ~"), "`systems.QLD.rm3`: is empty; write `{}` for the default", "QLD"),
    (("index: pets, model: qld", "fuse: [BM25]"), "two systems or more, each once", "QLD"),
    (("index: pets, model: qld", "fuse: [BM25, Q]"), "there is no system `Q`", "QLD"),
    (("{baseline: BM25}", "{test: sign}"), "`comparison.test`: has no effect", None),
    (("{baseline: BM25}", "{baseline: BM25, against: QLD}"), "`comparison.against`", None),
    (("{baseline: BM25}", "{baseline: BM25, seed: -1}"), "should be at least 0", None),
    (("[nDCG@5, P@1, Judged@3]", "[]"), "at `measures`: at least one is needed", "measures"),
]


def test_all_errors_of_all_kinds_come_at_once(study: Study) -> None:
    study.change("{index: pets, model: qld}", "{index: pest, model: qld}")
    study.change("data/topics.tsv", "data/topic.tsv")
    study.change("description: pets", "descripton: pets")
    study.change("P@1", "P@one")
    study.change("fields: [text]", "stemmer: prter")
    found = messages_of(
        study, "systems.X={}", "comparison.baseline=Y", "comparison.alpha=2", "depth=4"
    )
    assert found[0] == "pets.yaml: 9 errors in this recipe:"
    # In the order of the file, then in that of the overrides.
    places = [re.search(r"at `(.*?)`", line)[1] for line in found[1:]]
    assert places == [
        "descripton",
        "indexes.pets.stemmer",
        "topics.t.source",
        "systems.QLD.index",
        "measures.0",
        "measures.1",
        "systems.X",
        "comparison.baseline",
        "comparison.alpha",
    ]
    assert [line.startswith("in the override `") for line in found[1:]] == [False] * 6 + [True] * 3


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("corpora.pets.source=nowhere.jsonl", "STUDY/nowhere.jsonl: there is no such file"),
        ("topics.t.qrels=data/pets.jsonl", "at `topics.t.qrels`: STUDY/data/pets.jsonl:1"),
        ("measures=[AP, P@0]", "at `measures.1`: The measure P has cutoff=0"),
        ("systems.BM25.index=pots", "there is no index `pots`"),
        ("indexes.pets.fields=[body]", "no document has a field 'body'"),
        ("indexes.pets.stopwords=words.txt", "'words.txt' is no stop list"),
        ("systems.given={run: data/no.run}", "STUDY/data/no.run: no such file"),
        ("table.show=[equivalence_p]", "`equivalence_p` needs `equivalence`"),
        (
            "comparison={comparisons: all-pairs, against: Q, equivalence: 1}",
            "there is no system `Q`",
        ),
    ],
)
def test_an_error_that_an_override_causes_names_it(study: Study, override, message) -> None:
    (text,) = messages_of(study, override)
    assert text.startswith(f"pets.yaml: in the override `{override}`: at `")
    assert message in text


def test_what_an_index_lacks_is_seen_before_it_is_built(study: Study) -> None:
    study.change("{index: pets}", "{index: pets, rm3: {}}")
    found = messages_of(study, "indexes.pets.vectors=false", "indexes.pets.accurate_length=true")
    assert "RM3 reads document vectors, and the index `pets` has `vectors: false`" in found[1]
    assert "only bm25 reads exact lengths, and `pets` has `accurate_length: true`" in found[2]


def test_variables(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    study.change("data/", "${PETS_HERE}/")
    assert messages_of(study)[0].endswith(
        "Put a text that holds ${...} in quotes where it stands in { }."
    )
    for name in ("pets.jsonl", "topics.tsv", "qrels.txt"):
        study.change(f"${{PETS_HERE}}/{name}", f'"${{PETS_HERE}}/{name}"')
    monkeypatch.delenv("PETS_HERE", raising=False)
    assert len(messages_of(study)) == 4
    monkeypatch.setenv("PETS_HERE", "")
    assert "PETS_HERE is" in messages_of(study)[1]
    monkeypatch.setenv("PETS_HERE", str(study.folder / "data"))
    monkeypatch.setenv("PETS_KIND", "pets")
    plan = study.plan("corpora.pets.source=${PETS_HERE}/${PETS_KIND}.jsonl")
    assert plan.lines()[0] == "build  index indexes/pets of ${PETS_HERE}/${PETS_KIND}.jsonl"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_text("mine"), "this was not created by Adducir"),
        (lambda path: (path.mkdir(), (path / "x").touch()), "this was not created by Adducir"),
        (
            lambda path: (path.mkdir(), (path / "manifest.json").write_text("{")),
            "its manifest.json is damaged",
        ),
    ],
)
def test_what_stands_where_an_index_is_to_be_is_seen_first(study: Study, make, message) -> None:
    (study.folder / "indexes").mkdir()
    make(study.folder / "indexes" / "pets")
    (text,) = messages_of(study)
    assert text.startswith("pets.yaml:5: at `indexes.pets`: STUDY/indexes/pets: ")
    assert message in text


def test_an_empty_folder_may_take_an_index(study: Study) -> None:
    (study.folder / "indexes" / "pets").mkdir(parents=True)
    assert study.verbs()["pets"] == "build"


def test_an_experiment_file_where_its_output_is_to_be(study: Study) -> None:
    study.file = study.file.rename(study.file.with_suffix(""))
    (text,) = messages_of(study)
    assert "the experiment file's name needs an ending, such as .yaml" in text


def test_a_broken_corpus_is_seen_first_where_its_fields_are_looked_for(study: Study) -> None:
    (study.folder / "data/pets.jsonl").write_text('{"docno": 1}\n{"docno"\n')
    (text,) = messages_of(study)
    assert "at `indexes.pets.fields`: STUDY/data/pets.jsonl:2" in text


def test_topics_and_qrels_that_do_not_belong_together(study: Study) -> None:
    study.write("qrels.txt", "q1 0 d1 1", "q2 0 d2 1")
    (text,) = messages_of(study)
    assert "topics and qrels have no qid in common (such as '1' and 'q1')" in text


def test_a_test_over_one_topic(study: Study) -> None:
    study.write("qrels.txt", "1 0 d1 1")
    (text,) = messages_of(study)
    assert "at `topics.t.qrels`: a test needs judgements of two topics or more" in text
    assert study.plan("comparison=null").goals


def test_grades_that_a_measure_does_not_know(study: Study) -> None:
    study.write("qrels.txt", "1 0 d1 1", "2 0 d2 5000")
    (text,) = messages_of(study, "measures=[\"nDCG(dcg='exp-log2')@5\"]")
    assert "at `topics.t.qrels`" in text


def test_clashing_names(given: Study) -> None:
    given.change("  A+B:", "  a+b: {fuse: [A, B]}\n  A+B:")
    (text,) = messages_of(given)
    assert "at `systems.A+B`: its files would have the names of those of `a+b`" in text
    given.change("  a+b:", "  A+B.u:")
    given.change(
        "systems:\n", "  u.t: {source: data/topics.tsv, qrels: data/qrels.txt}\nsystems:\n"
    )
    given.change("A: {run: data/a.run}", "A: {run: {t: data/a.run, u.t: data/a.run}}")
    given.change("B: {run: data/b.run}", "B: {run: {t: data/b.run, u.t: data/b.run}}")
    (text,) = messages_of(given)
    assert "its run on `u.t` would have the file of that of `A+B.u` on `t`" in text


def test_given_runs(given: Study) -> None:
    given.change("systems:\n", "  u: {source: data/topics.tsv, qrels: data/qrels.txt}\nsystems:\n")
    given.change("B: {run: data/b.run}", "B: {run: {t: data/b.run, v: data/b.run}}")
    found = messages_of(given)
    assert "at `systems.A.run`: with several topic sets, name a run for each" in found[1]
    assert "at `systems.B.run.v`: there is no topic set `v` in this file" in found[2]
    assert "at `systems.B.run`: there is no run for the topic set `u`" in found[3]


def test_given_runs_that_cannot_be_used(given: Study) -> None:
    given.write("a.run", "1 0 d1 1", "2 0 d1 1")
    given.write("b.run", *run_lines({"x1": "d1"}))
    found = messages_of(given)
    assert "at `systems.A.run`: STUDY/data/a.run:1" in found[1]
    assert "STUDY/data/b.run: none of its topics is judged in `t` (such as 'x1'" in found[2]


def test_a_given_run_that_the_experiment_would_overwrite(given: Study) -> None:
    given.run()
    given.change("A: {run: data/a.run}", "A: {run: runs/pets/A+B.t.trec.gz}")
    with pytest.raises(InputError, match=r"is where the run of `A\+B` is written"):
        given.plan()


def test_what_the_machine_lacks_is_its_error_alone(
    given: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise MachineError("the network cannot be reached.")

    monkeypatch.setattr("adducir.experiments.retrieval.topics.load_topics", unreachable)
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


def test_printed_names(study: Study) -> None:
    names = "{measure_names: {ndcg_cut_5: N, P@: x}, system_names: {BM52: B}}"
    study.change("{baseline: BM25}", f"{{baseline: BM25}}\ntable: {names}")
    found = messages_of(study)
    assert "at `table.system_names.BM52`: there is no system `BM52` in this file; did" in found[1]
    assert "at `table.measure_names.P@`: 'P@' cannot be read as a measure" in found[2]
