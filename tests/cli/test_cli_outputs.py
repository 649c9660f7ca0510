"""What commands replace, what `-` and unknown endings mean, and options without effect."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from every_command import COMMANDS, load_command

from adducir.cli.app import main
from adducir.cli.outputs import TABLE
from adducir.core.artifacts import read_manifest
from adducir.runs.read import read_run
from adducir.tables.formats import TABLES

QRELS = "1 0 d1 1\n1 0 d2 0\n2 0 d3 1\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two runs, qrels, a corpus and topics in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("a.trec").write_text("1 Q0 d1 1 9 a\n1 Q0 d2 2 8 a\n2 Q0 d3 1 7 a\n")
    Path("b.trec").write_text("1 Q0 d2 1 3.5 b\n1 Q0 d4 2 1 b\n")
    Path("qrels.txt").write_text(QRELS)
    Path("pets.jsonl").write_text(
        '{"id": "d1", "text": "cats purr"}\n{"id": "d2", "text": "dogs"}\n'
    )
    Path("more.jsonl").write_text('{"id": "d3", "text": "mice"}\n')
    Path("topics.tsv").write_text("1\tcats\n2\tdogs\n")
    Path("others.tsv").write_text("1\tdogs\n")
    return tmp_path


def adducir(*words, code=0):
    assert main([str(word) for word in words]) == code


def indexed(source="pets.jsonl", output="indexes/own", *more, code=0):
    adducir("index", source, "--engine", "memory", "-o", output, *more, code=code)


def searched(output, *more, topics="topics.tsv", code=0):
    adducir("search", "-i", "indexes/own", "-t", topics, "-o", output, *more, code=code)


def test_judgements_are_not_replaced_by_a_run(folder, capsys):
    indexed()
    searched("qrels.txt", code=5)
    assert Path("qrels.txt").read_text() == QRELS
    err = capsys.readouterr().err
    assert "qrels.txt" in err
    assert "--force" in err
    searched("qrels.txt", "--force")
    assert read_run("qrels.txt").qids


def test_an_index_of_the_same_corpus_is_built_anew(folder):
    indexed()
    indexed("pets.jsonl", "indexes/own", "--stemmer", "none")
    with Path("pets.jsonl").open("a") as corpus:
        corpus.write('{"id": "d9", "text": "a pony"}\n')
    indexed()
    assert read_manifest(Path("indexes/own")).counts["documents"] == 3


def test_an_index_of_another_engine_is_replaced_by_force_only(folder):
    indexed()
    adducir("index", "pets.jsonl", "-o", "indexes/own", code=5)
    adducir("index", "pets.jsonl", "-o", "indexes/own", "--force")
    assert read_manifest(Path("indexes/own")).kind == "lucene-index"


def test_what_a_person_keeps_in_a_folder_is_never_replaced(folder):
    Path("thesis").mkdir()
    Path("thesis/chapter.txt").write_text("x")
    indexed("pets.jsonl", "thesis", "--force", code=5)
    assert Path("thesis/chapter.txt").read_text() == "x"


def test_an_experiment_replaces_no_index_of_another_kind(folder, capsys):
    Path("experiments").mkdir()
    Path("experiments/x.yaml").write_text(
        "corpora: {c: {source: more.jsonl}}\nindexes: {own: {corpus: c, engine: memory}}\n"
        "topics: {t: {source: topics.tsv, qrels: qrels.txt}}\nsystems: {BM25: {index: own}}\n"
    )
    adducir("index", "pets.jsonl", "-o", "indexes/own")
    adducir("experiment", "experiments/x.yaml", "--dry-run", code=3)
    assert "--force" in capsys.readouterr().err
    adducir("experiment", "experiments/x.yaml", "--force")
    assert read_manifest(Path("indexes/own")).counts["documents"] == 1
    adducir("experiment", "experiments/x.yaml", "--set", "systems.BM25.k1=1.2")


def test_what_a_person_keeps_beside_an_experiment_needs_force_and_stays(folder):
    Path("experiments/x").mkdir(parents=True)
    Path("experiments/x/notes.md").write_text("mine")
    Path("experiments/x.yaml").write_text(
        "topics: {t: {source: topics.tsv, qrels: qrels.txt}}\nsystems: {A: {run: a.trec}}\n"
    )
    adducir("experiment", "experiments/x.yaml", code=5)
    adducir("experiment", "experiments/x.yaml", "--force")
    adducir("experiment", "experiments/x.yaml")
    assert Path("experiments/x/notes.md").read_text() == "mine"


def test_a_run_that_was_changed_is_not_replaced(folder):
    indexed()
    searched("x.trec")
    searched("x.trec", topics="others.tsv")
    adducir("fuse", "a.trec", "b.trec", "-o", "x.trec")
    with Path("x.trec").open("a") as run:
        run.write("2 Q0 d9 2 0.5 me\n")
    searched("x.trec", code=5)


def evaluated(*more, code=0):
    adducir("evaluate", "a.trec", "-q", "qrels.txt", "-m", "P@1", *more, code=code)


@pytest.mark.parametrize("ending", ["json", "html", "csv", "tex"])
def test_tables_that_say_who_made_them_are_replaced_and_others_by_force_only(folder, ending):
    name, is_known = f"table.{ending}", ending in ("json", "html")
    evaluated("-o", name)
    evaluated("-o", name, code=0 if is_known else 5)
    Path(name).write_text("mine\n")
    evaluated("-o", name, code=5)
    assert Path(name).read_text() == "mine\n"
    evaluated("-o", name, "--force")
    assert Path(name).read_text() != "mine\n"


def test_empty_files_and_no_files_are_written(folder):
    Path("table.csv").write_text("")
    evaluated("-o", "table.csv")
    assert Path("table.csv").read_text().startswith("system,")


def test_parts_are_kept_from_being_replaced_too(folder):
    lines = [
        {"sentence1": f"A premise {n} of many words here", "sentence2": f"A {label} half of it {n}",
         "gold_label": label, "promptID": str(n), "pairID": f"{n}{label}", "genre": "x"}
        for n in range(40) for label in ("entailment", "neutral", "contradiction")
    ]  # fmt: skip
    Path("mnli.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    Path("q.test.jsonl").write_text("mine\n")
    order = ("complementary-evidence", "mnli12", "mnli.jsonl", "--min-words", "2")
    adducir(*order, "-o", "q.jsonl", "--shares", ".8,.1,.1", code=5)
    assert Path("q.test.jsonl").read_text() == "mine\n"
    assert not Path("q.train.jsonl").exists()


def test_a_tuning_replaces_no_folder_of_others(folder):
    indexed()
    order = ("tune", "-t", "topics.tsv", "-q", "qrels.txt", "-i", "indexes/own", "-g", "k1=0.9,1.2")
    order += ("--folds", "2", "-m", "P@1")
    adducir(*order, "-o", "tuned")
    adducir(*order, "-o", "tuned")
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("x")
    adducir(*order, "-o", "mine", code=5)


def test_nothing_is_written_over_what_is_read_even_by_force(folder):
    for output in ("a.trec", "qrels.txt"):
        evaluated("-o", output, "--force", code=2)
    adducir("fuse", "a.trec", "b.trec", "-o", "./b.trec", "--force", code=2)


def run_command(*words):
    return subprocess.run(
        [sys.executable, "-m", "adducir.cli.app", *words],
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.mark.slow
def test_standard_output_holds_the_run_and_nothing_else(folder):
    indexed()
    searched("x.trec")
    for name in ("-", "/dev/stdout"):
        words = ("search", "-i", "indexes/own", "-t", "topics.tsv", "-o", name, "--tag", "x")
        done = run_command(*words, "--feedback", "rm3", "--show-expansion")
        assert [line.split()[5] for line in done.stdout.splitlines()] == ["x", "x"]
        assert "2 topics" in done.stderr
        with Path("redirected").open("wb") as handle:
            subprocess.run(
                [sys.executable, "-m", "adducir.cli.app", *words], stdout=handle, check=True
            )
        assert Path("redirected").read_bytes() == Path("x.trec").read_bytes()
    assert not list(Path().glob("-*"))
    assert not list(Path("/dev").glob("stdout.*"))


def test_standard_output_holds_questions_and_no_report(folder):
    spans = "It rains, for example in Wales. The sun shines elsewhere, they say.\n"
    Path("book.txt").write_text(spans * 3)
    done = run_command("exemplification", "examples", "book.txt", "-o", "-")
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()]
    assert "examples" in done.stderr


def test_a_table_on_standard_output(folder, capsys):
    evaluated()
    shown = capsys.readouterr().out
    evaluated("-o", "-")
    assert capsys.readouterr().out == shown


def test_a_folder_cannot_be_standard_output(folder, capsys):
    indexed("pets.jsonl", "-", code=2)
    assert "cannot be standard output" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["table.docx", "table.docx.gz", "table.trec", "table.pdf"])
def test_unknown_endings_of_tables(folder, capsys, name):
    evaluated("-o", name, code=2)
    err = capsys.readouterr().err
    assert ".txt, .md, .tex, .csv, .json, .html" in err
    assert not Path(name).exists()
    evaluated("-o", name, "--format", "markdown")


@pytest.mark.parametrize("name", ["x.docx", "x.csv", "x.json.gz", "x.zip"])
def test_unknown_endings_of_runs(folder, capsys, name):
    adducir("fuse", "a.trec", "b.trec", "-o", name, code=2)
    assert "no run ends in" in capsys.readouterr().err


def test_endings_are_those_of_the_formats():
    endings = [one.ending for one in TABLES.kinds().values()]
    assert len(set(endings)) == len(endings)
    assert tuple(endings) == TABLE.known_endings()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("evaluate a.trec -q qrels.txt --alpha 0.1", "--alpha means nothing without"),
        ("evaluate a.trec -q qrels.txt --format csv --set decimals=2", "means nothing in CSV"),
        ("evaluate a.trec -q qrels.txt -o x.html --per-topic", "--per-topic means nothing in HTML"),
        ("evaluate a.trec b.trec -q qrels.txt -b a --set confidence=.9", "without --show ci"),
        ("search -i x -t t.tsv -o y --set fb_docs=10", "fb_docs means nothing without --feedback"),
        ("fuse a.trec b.trec -o y --method combsum --set k=60", "`k` is no hyperparameter of"),
        ("index pets.jsonl -o y --engine dense --stemmer porter", "--stemmer"),
        ("index pets.jsonl -o y --engine memory --set vectors=false", "--set vectors"),
        ("index --weights w.jsonl -o y --threads 2", "--threads"),
        ("tune -t x -q y -o z -g k=1 --fuse a.trec --threads 2", "without --index"),
        ("tune -t x -q y -o z -g k=1 --rerank a.trec b.trec --depth 5", "--index or --fuse"),
        ("complementary-evidence hotpotqa x -o y --own --passages 50", "no effect with --own"),
        ("literary-evidence quotations --primary x --secondary y -o z --seed 1", "or --sample"),
        ("experiment x.yaml --dry-run --format csv", "--format means nothing with --dry-run"),
        ("literary-evidence ask book.txt prompt --model bm25 --device cpu", "nothing with"),
        ("rerank -r a.trec -t t -m m -o y -i x --set no_cache=true --set cache=z", "cache means"),
        ("encode -m minilm -o y --spans s --fields text", "--fields"),
    ],
)  # fmt: skip
def test_options_without_effect(folder, capsys, words, message):
    adducir(*words.split(), code=2)
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_that_writes_knows_force(name):
    options = [param.name for param in load_command(name).params]
    assert ("force" in options) == ("output" in options or name == "demo"), options


def test_the_root_is_refused(folder):
    indexed(output="/", code=2)
