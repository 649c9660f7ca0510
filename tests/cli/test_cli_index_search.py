"""``adducir index`` and ``adducir search``, on the bundled collection and on small files."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adducir.cli.app import main
from adducir.core.artifacts import read_manifest
from adducir.indexes.feedback import RM3
from adducir.indexes.lucene import LuceneIndex
from adducir.indexes.models import BM25, MODELS, QLD
from adducir.runs.metadata import read_metadata
from adducir.runs.read import read_run

DOCUMENTS = [
    {"docno": "d1", "title": "Cats", "body": "Cats purr and hunt mice."},
    {"docno": "d2", "title": "Dogs", "body": "Dogs bark; the dog's bone."},
    {"docno": "d3", "title": "", "body": ""},
]


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """A small JSONL corpus in the current folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "pets.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in DOCUMENTS))
    (tmp_path / "topics.tsv").write_text("1\tpurring cats\n2\tthe of\n3\tunicorns\n4\tdogs\n")
    return path


def test_an_index_says_what_it_holds(corpus, capsys):
    assert main(["index", "pets.jsonl", "--output", "indexes/pets", "--fields", "title,body"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "indexes/pets: 3 documents (1 without text, which cannot be found), " in err
    assert "\x1b" not in err
    assert read_manifest(corpus.parent / "indexes" / "pets").recipe["fields"] == ["title", "body"]


def test_all_that_is_said_of_an_index_counts(corpus, capsys):
    (corpus.parent / "stop.txt").write_text("purr\n")
    arguments = ["--fields", "title", "--fields", "body", "--stemmer", "none"]
    more = [
        "--stopwords",
        "stop.txt",
        "--set",
        "positions=false",
        "--set",
        "vectors=false",
        "--set",
        "accurate_length=true",
    ]
    assert main(["index", "pets.jsonl", "-o", "i", *arguments, *more, "--threads", "1"]) == 0
    recipe = read_manifest(corpus.parent / "i").recipe
    assert recipe["fields"] == ["title", "body"]
    assert recipe["analysis"] == {"stemmer": "none", "stopwords": ["purr"]}
    assert (recipe["positions"], recipe["vectors"], recipe["accurate_length"]) == (
        False,
        False,
        True,
    )


def test_an_index_is_built_again_only_if_asked(corpus, capsys):
    arguments = ["index", "pets.jsonl", "-o", "i", "--fields", "title,body"]
    for more, built in ([], True), ([], False), (["--rebuild"], True):
        assert main([*arguments, *more]) == 0
        assert ("indexing:" in capsys.readouterr().err) == built


def test_the_docno_field_and_the_format(corpus, capsys):
    (corpus.parent / "odd.dat").write_text('{"key": "k1", "text": "a cat"}\n')
    arguments = ["index", "odd.dat", "-o", "i", "--format", "jsonl", "--docno-field", "key"]
    assert main(arguments) == 0
    assert LuceneIndex(corpus.parent / "i").docnos.to_list() == ["k1"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"docno": "d1", "title": "again"}', "pets.jsonl:4: the docno 'd1'"),
        ('{"docno": "d4", "title": ', "pets.jsonl:4: "),
        ('{"docno": "d 4", "title": "x"}', "white space"),
    ],
)
def test_a_malformed_record_is_named_and_nothing_is_left(corpus, capsys, line, words):
    with corpus.open("a") as handle:
        handle.write(line + "\n")
    assert main(["index", "pets.jsonl", "-o", "indexes/i", "--fields", "title"]) == 3
    assert words in capsys.readouterr().err
    assert not (corpus.parent / "indexes" / "i").exists()


def test_an_unknown_field_and_source(corpus, capsys):
    assert main(["index", "pets.jsonl", "-o", "i", "--fields", "premise"]) == 3
    assert "The fields are body, title" in capsys.readouterr().err
    assert main(["index", "nothing.jsonl", "-o", "i"]) == 3
    assert "no such file" in capsys.readouterr().err
    assert main(["index", "pets.jsonl", "-o", "i", "--stopwords", "klingon"]) == 2
    assert "no stop list" in capsys.readouterr().err


def test_a_folder_that_is_not_ours_is_left_alone(corpus, capsys):
    (corpus.parent / "mine").mkdir()
    (corpus.parent / "mine" / "thesis.tex").write_text("x")
    assert main(["index", "pets.jsonl", "-o", "mine", "--fields", "title"]) == 5
    assert (corpus.parent / "mine" / "thesis.tex").read_text() == "x"


@pytest.fixture
def pets(corpus, capsys):
    """The folder of the corpus, indexed in ``i``."""
    assert main(["index", "pets.jsonl", "-o", "i", "--fields", "title,body"]) == 0
    capsys.readouterr()
    return corpus.parent


def test_topics_without_hits_are_kept_and_reported(pets, capsys):
    arguments = [
        "--index",
        str(pets / "i"),
        "--topics",
        "topics.tsv",
        "--output",
        "runs/bm25.trec.gz",
    ]
    assert main(["search", *arguments]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "runs/bm25.trec.gz: 4 topics, 2 hits" in err
    assert "no term is left of the query after analysis: topic 2" in err
    assert "no term of the query is in the index: topic 3" in err
    facts = read_metadata("runs/bm25.trec.gz")
    assert facts["run file"]["topics without documents"] == ["2", "3"]
    assert facts["method"]["retrieval"][0]["model"] == "bm25"
    assert facts["data"]["topics"] == {"source": "topics.tsv", "field": "query"}
    assert read_run("runs/bm25.trec.gz").tag == "bm25"


def test_a_tag_of_ones_own(pets, capsys):
    arguments = ["--index", str(pets / "i"), "--topics", "topics.tsv"]
    assert main(["search", *arguments, "--output", "my run.trec", "--tag", "mine"]) == 0
    assert read_run("my run.trec").tag == "mine"
    assert main(["search", *arguments, "--output", "my run.trec"]) == 0
    assert read_run("my run.trec").tag == "my_run"


def scores_of(path):
    return read_run(path).frame.rows()


@pytest.mark.parametrize(
    ("options", "model", "feedback"),
    [
        ([], BM25(), None),
        (["--k1", "1.5", "--b", "0.7"], BM25(k1=1.5, b=0.7), None),
        (["--model", "qld"], QLD(), None),
        (["--model", "qld", "--set", "mu=50"], QLD(mu=50), None),
        (["--feedback", "rm3"], BM25(), RM3()),
        (
            [
                "--feedback=rm3",
                "--set",
                "fb_terms=5",
                "--set",
                "fb_docs=3",
                "--set",
                "original_query_weight=0.7",
            ],
            BM25(),
            RM3(fb_terms=5, fb_docs=3, original_query_weight=0.7),
        ),
    ],
)
def test_every_setting_reaches_the_index(arguments_index, tmp_path, options, model, feedback):
    output = tmp_path / "x.trec"
    arguments = ["--index", str(arguments_index), "--topics", "bundled:topics", "--depth", "20"]
    assert main(["search", *arguments, "--output", str(output), *options]) == 0
    from adducir.corpora.topics import load_topics

    topics = load_topics("bundled:topics")
    hits = LuceneIndex(arguments_index).search(topics.queries, model, feedback=feedback, depth=20)
    expected = hits.frame(topics.qids)
    got = read_run(output)
    assert got.frame["docno"].to_list() == expected["docno"].to_list()
    assert got.depth == 20
    settings = read_metadata(output)["method"]["retrieval"][0]
    assert MODELS.settings(model, "model").items() <= settings.items()
    made = None if feedback is None else {"method": "rm3", **feedback.model_dump()}
    assert settings["feedback"] == made


def test_the_topics_field(arguments_index, tmp_path, capsys):
    arguments = ["--index", str(arguments_index), "--topics", "bundled:topics"]
    for field in "title", "description", "title+description":
        output = str(tmp_path / f"{field}.trec")
        assert main(["search", *arguments, "--topic-field", field, "--output", output]) == 0
    title, description = (read_run(tmp_path / f"{name}.trec") for name in ("title", "description"))
    assert not title.frame.equals(description.frame)
    nowhere = ["--topic-field", "nonsense", "--output", str(tmp_path / "x.trec")]
    assert main(["search", *arguments, *nowhere]) == 3
    assert "description" in capsys.readouterr().err


def test_the_terms_that_rm3_added(arguments_index, tmp_path, capsys):
    arguments = ["--index", str(arguments_index), "--topics", "bundled:topics", "--feedback", "rm3"]
    output = ["--output", str(tmp_path / "x.trec"), "--show-expansion"]
    assert main(["search", *arguments, *output]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 20
    analysis = LuceneIndex(arguments_index).analysis
    for line in lines:
        _, query, added = line.split("\t")
        weights = dict(one.rsplit(":", 1) for one in added.split())
        assert not set(weights) & set(analysis.terms([query])[0])
        values = [float(weight) for weight in weights.values()]
        assert values == sorted(values, reverse=True)
    assert any(line.split("\t")[2] for line in lines)


@pytest.mark.parametrize(
    ("option", "needs"),
    [
        (["--set", "mu=3"], "--set mu means nothing without --model qld"),
        (["--model", "qld", "--k1", "1"], "--k1 means nothing without --model bm25"),
        (["--model", "qld", "--b", "1"], "--b means nothing without --model bm25"),
        (["--set", "epsilon=3"], "--set epsilon means nothing without --model okapi"),
        (
            ["--model", "atire", "--set", "delta=1"],
            "--set delta means nothing without --model bm25l or",
        ),
        (["--model", "okapi"], "an index of Lucene, which has no model 'okapi'"),
        (["--depth", "every"], "neither a number from 1 up nor 'all'"),
        (["--set", "fb_terms=3"], "--set fb_terms means nothing without --feedback rm3"),
        (["--set", "fb_docs=3"], "--set fb_docs means nothing without --feedback rm3"),
        (["--set", "original_query_weight=.3"], "_weight means nothing without --feedback rm3"),
        (["--show-expansion"], "--show-expansion means nothing without --feedback"),
        (["--b", "3"], "bm25: at `b`: should be at most 1"),
        (["--feedback", "rm3", "--set", "fb_docs=0"], "should be at least 1"),
        (["--model", "bm52"], "did you mean `bm25`"),
        (["--feedback", "rn3"], "did you mean `rm3`"),
        (["--depth", "0"], "--depth"),
    ],
)
def test_senseless_searches_are_refused(pets, capsys, option, needs):
    arguments = ["--index", str(pets / "i"), "--topics", "topics.tsv", "--output", "x.trec"]
    assert main(["search", *arguments, *option]) == 2
    assert needs in capsys.readouterr().err
    assert not (pets / "x.trec").exists()


def test_a_folder_that_is_no_index(pets, capsys):
    (pets / "empty").mkdir()
    for folder in "empty", "nowhere":
        arguments = ["--index", folder, "--topics", "topics.tsv", "--output", "x.trec"]
        assert main(["search", *arguments]) == 5
        assert "adducir index" in capsys.readouterr().err


def test_rm3_needs_vectors(pets, capsys):
    assert (
        main(["index", "pets.jsonl", "-o", "j", "--set", "vectors=false", "--fields", "title"]) == 0
    )
    arguments = [
        "--index",
        str(pets / "j"),
        "--topics",
        "topics.tsv",
        "--output",
        "x.trec",
        "--feedback",
        "rm3",
    ]
    assert main(["search", *arguments]) == 2
    assert "vectors=false" in capsys.readouterr().err


def test_from_an_index_to_a_table(two_runs, capsys):
    runs = list(map(str, two_runs))
    assert main(["evaluate", *runs, "-q", "bundled:qrels", "--baseline", "bm25"]) == 0
    out = capsys.readouterr().out
    assert "bm25" in out
    assert "qld" in out
    assert "20 topics." in out


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_ctrl_c_during_a_build_leaves_nothing_half_made(tmp_path):
    text = " ".join(f"word{number}" for number in range(200))
    with (tmp_path / "many.jsonl").open("w") as handle:
        for number in range(60_000):
            handle.write(json.dumps({"docno": f"d{number}", "text": f"{number} {text}"}) + "\n")
    with subprocess.Popen(
        [Path(sys.executable).with_name("adducir"), "index", "many.jsonl", "-o", "i"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        until = time.monotonic() + 30
        while not list(tmp_path.glob(".i.building-*/lucene/*")) and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        errors = process.stderr.read()
    assert process.returncode == 130
    assert errors.endswith("adducir: interrupted.\n")
    assert not list(tmp_path.glob("i")) + list(tmp_path.glob(".i.building-*"))


def test_memory_engine_builds_and_refuses_what_it_has_not(tmp_path, capsys):
    (tmp_path / "c.jsonl").write_text('{"id": "a", "text": "one dog"}\n{"id": "b", "text": ""}\n')
    command = ["index", str(tmp_path / "c.jsonl"), "-o", str(tmp_path / "i"), "--engine", "memory"]
    assert main([*command, "--set", "vectors=false"]) == 2
    assert not (tmp_path / "i").exists()
    assert main(command) == 0
    assert "2 documents (1 without text" in capsys.readouterr().err
    assert (tmp_path / "i" / "postings.docs.npy").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["lucene", "memory"])
def test_a_language(tmp_path, monkeypatch, capsys, engine):
    monkeypatch.chdir(tmp_path)
    texts = {"d1": "Die Häuser der Stadt", "d2": "Der Hund", "d3": "Das Haus"}
    lines = [json.dumps({"docno": docno, "text": text}) for docno, text in texts.items()]
    Path("de.jsonl").write_text("\n".join(lines))
    Path("t.tsv").write_text("1\tHaus\n2\tder die das\n")
    index = ["index", "de.jsonl", "-o", "i", "--engine", engine, "--language"]
    assert main([*index, "de"]) == 0
    assert main(["search", "-i", "i", "-t", "t.tsv", "-o", "x.trec"]) == 0
    assert "no term is left of the query after analysis: topic 2" in capsys.readouterr().err
    assert [row[1] for row in scores_of("x.trec")] == ["d3", "d1"]
    assert main([*index, "ger"]) == 2
    assert "there is no language 'ger'" in capsys.readouterr().err
    assert main([*index, "de", "--stemmer", "porter"]) == 2
    assert "German has no stemmer 'porter'" in capsys.readouterr().err


def test_token_weights(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = ['{"id": "d1", "vector": {"cat": 2, "##s": 0.5}}', '{"id": "d2", "vector": {"##s": 3}}']
    Path("w.jsonl").write_text("\n".join(lines))
    Path("q.jsonl").write_text('{"qid": "1", "vector": {"cat": 1, "##s": 0.5}}')
    assert main(["index", "--weights", "w.jsonl", "-o", "i"]) == 0
    assert "i: 2 documents, 2 terms" in capsys.readouterr().err
    assert main(["search", "-i", "i", "-t", "q.jsonl", "-o", "x.trec"]) == 0
    assert [row[:3] for row in scores_of("x.trec")] == [("1", "d1", 2.25), ("1", "d2", 1.5)]
    assert read_metadata("x.trec")["method"]["retrieval"][0]["model"] == "impact"
    Path("t.tsv").write_text("1\t##s ##s\n")
    assert main(["search", "-i", "i", "-t", "t.tsv", "-o", "y.trec"]) == 0
    assert [row[1:3] for row in scores_of("y.trec")] == [("d2", 6.0), ("d1", 1.0)]
    for arguments, what in (
        (["-o", "j"], "name a SOURCE, or --weights"),
        (["--weights", "w.jsonl", "-o", "j", "--engine", "lucene"], "--weights"),
        (
            ["--weights", "w.jsonl", "-o", "j", "--set", "vectors=false"],
            "--set vectors has no effect",
        ),
    ):
        assert main(["index", *arguments]) == 2
        assert what in capsys.readouterr().err
    assert main(["index", "--weights", "no.jsonl", "-o", "j"]) == 3
