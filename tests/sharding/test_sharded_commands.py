"""Commands whose work is in shards: their parts, and the command that ends them."""

from pathlib import Path

import pytest
from rerank_texts import QUERIES, TEXTS
from sharded_kinds import classifier

from adducir.cli.app import main
from adducir.runs.read import read_run


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Candidates of eight topics, 14 in a shard, and a tiny reranker."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("adducir.rerankers.work.PAIRS", 14)
    classifier(tmp_path / "model")
    lines = [f'{{"docno": "d{n}", "text": "{text}"}}\n' for n, text in enumerate(TEXTS)]
    Path("corpus.jsonl").write_text("".join(lines))
    Path("topics.tsv").write_text("".join(f"{n}\t{QUERIES[n % 3]} {n}\n" for n in range(8)))
    rows = [f"{n} Q0 d{d} {d + 1} {9 - d} x\n" for n in range(8) for d in range(7)]
    Path("a.trec").write_text("".join(rows))
    assert main(["index", "corpus.jsonl", "-o", "index", "--engine", "memory"]) == 0
    return tmp_path


def words(output, *more):
    source = ("-i", "index") if "--corpus" not in more else ()
    given = ("rerank", "-r", "a.trec", "-t", "topics.tsv", "-m", "model", *source)
    return [*given, "-o", output, "--no-cache", *more]


def test_parts_of_a_run_are_put_together(study, capsys):
    assert main(words("alone.trec", "--tag", "x")) == 0
    assert main(words("b.trec", "--tag", "x", "--part", "2/3", "--corpus", "corpus.jsonl")) == 0
    assert "b.trec: part 2/3 is made, 1 of 4 shards" in capsys.readouterr().err
    for part in ("3/3", "1/3"):
        assert main(words("b.trec", "--tag", "x", "--part", part, "--corpus", "corpus.jsonl")) == 0
    assert main(words("b.trec", "--tag", "x", "--corpus", "corpus.jsonl")) == 0
    assert Path("b.trec").read_bytes() == Path("alone.trec").read_bytes()


@pytest.mark.slow
def test_workers_give_the_same_run(study):
    assert main(words("alone.trec", "--tag", "x")) == 0
    assert main(words("b.trec", "--tag", "x", "--workers", "2")) == 0
    assert Path("b.trec").read_bytes() == Path("alone.trec").read_bytes()


def test_parts_of_a_grid_are_put_together(study):
    Path("judged.qrels").write_text("".join(f"{n} 0 d{n % 7} 1\n" for n in range(8)))
    given = ["tune", "-i", "index", "-t", "topics.tsv", "-q", "judged.qrels", "--folds", "2"]
    given += ["-m", "nDCG@5", "--grid", "k1=0.4,0.8,1.2,1.6", "--grid", "b=0.2,0.4,0.6,0.8"]
    assert main([*given, "-o", "alone"]) == 0
    for part in ("2/2", "1/2"):
        assert main([*given, "-o", "spread", "--part", part]) == 0
        assert not Path("spread").exists()
    assert main([*given, "-o", "spread"]) == 0
    for name in ("grid.csv", "held-out.csv", "folds.json"):
        assert Path("spread", name).read_bytes() == Path("alone", name).read_bytes()
    runs = [read_run(Path(name, "held-out.trec.gz")).frame for name in ("alone", "spread")]
    assert runs[0].equals(runs[1])
    assert not list(Path().glob(".*.parts-*"))


def test_a_run_on_standard_output_leaves_nothing(study, capsysbinary):
    before = set(Path().rglob("*"))
    assert main(words("alone.trec", "--tag", "x")) == 0
    capsysbinary.readouterr()
    assert main(words("-", "--tag", "x")) == 0
    assert capsysbinary.readouterr().out == Path("alone.trec").read_bytes()
    assert main(words("-", "--part", "1/2")) == 2
    made = {path.name for path in set(Path().rglob("*")) - before}
    assert made == {"alone.trec", "alone.trec.ir-metadata.yml", ".alone.trec.lock"}
