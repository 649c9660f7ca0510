"""``adducir search`` with the variants of BM25 and over all documents, held to rank_bm25."""

import json
from pathlib import Path

import numpy as np
import pytest

from adducir.cli.app import main
from adducir.runs.metadata import read_metadata
from adducir.runs.read import read_run

TEXTS = {
    f"d{n}": " ".join(np.random.default_rng(n).choice([*"abcdefgh"], n % 9 + 1)) for n in range(40)
}
TOPICS = {"1": "a b", "2": "h", "3": "c c g nothing"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("variants")
    lines = (json.dumps({"docno": docno, "text": text}) for docno, text in TEXTS.items())
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    (folder / "topics.tsv").write_text("".join(f"{q}\t{text}\n" for q, text in TOPICS.items()))
    analysis = ["--stemmer", "none", "--stopwords", "none", "--engine", "memory"]
    source, index = str(folder / "corpus.jsonl"), str(folder / "index")
    assert main(["index", source, "--output", index, *analysis]) == 0
    return folder


@pytest.mark.parametrize(
    ("options", "name", "parameters"),
    [
        (["okapi"], "BM25Okapi", {}),
        (["okapi", "--k1", "0.9", "--b", "0.3", "--set", "epsilon=0.1"], "BM25Okapi", None),
        (["bm25l", "--set", "delta=0.7"], "BM25L", {"delta": 0.7}),
        (["bm25+"], "BM25Plus", {}),
    ],
)
def test_scores_of_all_documents(folder: Path, options: list[str], name: str, parameters) -> None:
    peers = pytest.importorskip("rank_bm25", reason="rank_bm25 is not installed")
    if parameters is None:
        parameters = {"k1": 0.9, "b": 0.3, "epsilon": 0.1}
    arguments = ["--index", str(folder / "index"), "--topics", str(folder / "topics.tsv")]
    output = folder / "all.trec"
    arguments += ["--depth", "all", "--output", str(output), "--model", *options]
    assert main(["search", *arguments]) == 0
    peer = getattr(peers, name)([text.split() for text in TEXTS.values()], **parameters)
    run = read_run(output)
    for qid, query in TOPICS.items():
        scores = dict(zip(TEXTS, peer.get_scores(query.split()), strict=True))
        found = dict(run.frame.filter(qid=qid).select("docno", "score").iter_rows())
        words = set(query.split())
        assert set(found) == {docno for docno, text in TEXTS.items() if words & set(text.split())}
        for docno, score in found.items():
            assert score == pytest.approx(scores[docno], rel=1e-6, abs=1e-9)  # single precision
    settings = read_metadata(output)["method"]["retrieval"][0]
    assert (settings["model"], settings["depth"]) == (options[0], "all")


def test_all_documents_are_more_than_some(folder: Path) -> None:
    arguments = ["--index", str(folder / "index"), "--topics", str(folder / "topics.tsv")]
    depths = {}
    for depth in ("3", "all"):
        output = folder / f"{depth}.trec"
        assert main(["search", *arguments, "--depth", depth, "--output", str(output)]) == 0
        depths[depth] = read_run(output).depth
    assert depths["3"] == 3
    assert depths["all"] > 20


def test_tuning_a_variant(folder: Path) -> None:
    (folder / "qrels.txt").write_text("1 0 d1 1\n2 0 d8 1\n3 0 d3 1\n")
    arguments = ["--index", str(folder / "index"), "--topics", str(folder / "topics.tsv")]
    arguments += ["--qrels", str(folder / "qrels.txt"), "--model", "okapi", "--folds", "3"]
    arguments += ["--grid", "epsilon=0,0.25", "--depth", "all", "--measure", "AP"]
    assert main(["tune", *arguments, "--output", str(folder / "tuned")]) == 0
    chosen = json.loads((folder / "tuned" / "tuning.json").read_text())
    assert (chosen["system"]["model"], chosen["system"]["depth"]) == ("okapi", "all")
