"""Commands about human judgements and ranks."""

import csv
import json

import pytest

from adducir.cli.app import main
from adducir.corpora.spans import MaskedSpan, write_spans
from adducir.evaluation.gold_ranks import CUTOFFS, TIES
from adducir.statistics.agreement.counts import LEVELS
from adducir.statistics.agreement.intervals import DEFAULT_SAMPLES
from adducir.statistics.agreement.summary import Drawing, agreement_of
from adducir.studies.exemplification.ratings_files import read_ratings

RATINGS = """item,rater,system,rating,rank
i1,anna,a,5,1
i1,anna,b,4,1
i1,ben,a,4,1
i1,ben,b,2,2
i2,anna,a,3,2
i2,anna,b,3,1
i2,ben,a,4,1
i2,ben,b,1,2
i3,anna,a,5,1
i3,anna,b,2,2
i3,ben,a,4,1
i3,ben,b,2,2
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def called(capsys, *arguments, code=0):
    """Run a command and return what it says."""
    assert main(list(arguments)) == code
    return capsys.readouterr()


def means_of(text):
    table = json.loads(text)
    return {
        (row["system"], column["group"], column["measure"]): cell["mean"]
        for row in table["rows"]
        for column, cell in zip(table["columns"], row["cells"], strict=True)
    }


def test_choices_and_defaults_are_those_of_the_packages():
    from every_command import load_command

    for command, name, choices in (
        ("exemplification agreement", "level", LEVELS),
        ("literary-evidence ranks", "ties", TIES),
    ):
        param = next(param for param in load_command(command).params if param.name == name)
        assert param.type_descriptor.annotation.__args__ == choices
    shown = {param.name: param for param in load_command("literary-evidence ranks").params}
    assert shown["cutoffs"].show_default == ",".join(map(str, CUTOFFS))
    for name in ("exemplification agreement", "literary-evidence proxy-score"):
        params = {param.name: param.default for param in load_command(name).params}
        assert params["samples"] == DEFAULT_SAMPLES
        assert (params["seed"], params["confidence"]) == (Drawing().seed, Drawing().level)


def test_agreement_prints_the_packages_figures(folder, capsys):
    path = folder / "ratings.csv"
    path.write_text(RATINGS)
    out, _ = called(
        capsys,
        "exemplification",
        "agreement",
        "ratings.csv",
        "--level",
        "interval",
        "--format",
        "json",
    )
    found = means_of(out)
    expected = agreement_of(read_ratings(path), "rating", "interval", system="a")
    assert found["a", "Rating", "alpha"] == expected.alpha
    assert found["a", "Rating", "alpha low"] == expected.alpha_interval.low
    assert found["a", "Rating", "kappa"] == expected.kappa.kappa
    assert found["a", "Rank", "Mean rank"] == pytest.approx((1 + 1.5 + 1) / 3)
    out, _ = called(
        capsys, "exemplification", "agreement", "ratings.csv", "--mean-ranks", "--format", "json"
    )
    assert means_of(out)["a", "Rank", "Mean rank"] == pytest.approx((1.25 + 1.5 + 1) / 3)


def test_agreement_tests_against_a_baseline(folder, capsys):
    (folder / "ratings.csv").write_text(RATINGS)
    out, _ = called(
        capsys, "exemplification", "agreement", "ratings.csv", "--baseline", "b", "--test", "sign"
    )
    assert "Sign test" in out
    assert "against b" in out
    called(capsys, "exemplification", "agreement", "ratings.csv", "--test", "sign", code=2)
    _, err = called(
        capsys, "exemplification", "agreement", "ratings.csv", "--baseline", "x", code=2
    )
    assert "'x' is not among the systems" in err


def test_agreement_names_the_line_of_an_error(folder, capsys):
    (folder / "ratings.csv").write_text(RATINGS + "i4,anna,a,good,1\n")
    _, err = called(capsys, "exemplification", "agreement", "ratings.csv", code=3)
    assert "ratings.csv:14: the rating 'good' is no number" in err
    (folder / "no.csv").write_text("item,rater,system,rating\ni,r,s,1\n")
    _, err = called(capsys, "exemplification", "agreement", "no.csv", "--mean-ranks", code=2)
    assert "without ranks" in err
    called(capsys, "exemplification", "agreement", "ratings.csv", "--output", "ratings.csv", code=2)


def test_ranks_of_two_files(folder, capsys):
    head = "qid\trank\tcandidates\tlength\n"
    lines = "".join(f"q{n}\t{{}}\t10\t{n % 2}\n" for n in range(6))
    (folder / "bm25.tsv").write_text(head + lines.format(*[9, 8, 7, 9, 10, 6]))
    (folder / "dense.tsv").write_text(head + lines.format(*[1, 2, 1, 3, 2, 4]))
    files = ("bm25.tsv", "dense.tsv")
    arguments = ("--baseline", "bm25", "--cutoffs", "1,3", "--random", "--format", "json")
    out, _ = called(capsys, "literary-evidence", "ranks", *files, *arguments)
    found = means_of(out)
    assert found["dense", "", "R@1"] == pytest.approx(2 / 6)
    assert found["dense", "", "Rank"] == pytest.approx(13 / 6)
    assert found["random", "", "Rank"] == 5.5
    out, _ = called(
        capsys,
        "literary-evidence",
        "ranks",
        *files,
        "--by",
        "length",
        "--cutoffs",
        "1",
        "--format",
        "json",
    )
    assert means_of(out)["dense", "length 1", "Rank"] == 3
    _, err = called(capsys, "literary-evidence", "ranks", "bm25.tsv", "bm25.tsv", code=2)
    assert "as a file before it" in err
    _, err = called(capsys, "literary-evidence", "ranks", *files, "--cutoffs", "ten", code=2)
    assert "--cutoffs takes whole numbers" in err
    _, err = called(capsys, "literary-evidence", "ranks", *files, "--test", "sign", code=2)
    assert "means nothing without --baseline" in err


TEXTS = {"t1": "The gold item of one", "t2": "The gold item of two", "a": "Other", "b": "Another"}


@pytest.fixture
def collection(folder):
    """Two topics, four passages, a run of all four."""
    passages = (json.dumps({"docno": docno, "text": text}) for docno, text in TEXTS.items())
    (folder / "passages.jsonl").write_text("\n".join(passages))
    topics = [{"qid": f"q{n}", "text": f"So it says: [masked] {n}", "length": n} for n in (1, 2)]
    (folder / "topics.jsonl").write_text("\n".join(map(json.dumps, topics)))
    (folder / "qrels.txt").write_text("q1 0 t1 1\nq1 0 a 0\nq2 0 t2 1\n")
    for name, scores in {"bm25": "4321", "dense": "2431"}.items():
        lines = (
            f"q{n} Q0 {docno} 0 {score} {name}\n"
            for n in (1, 2)
            for docno, score in zip(("a", f"t{n}", "b", f"t{3 - n}"), scores, strict=True)
        )
        (folder / f"{name}.trec").write_text("".join(lines))
    return folder


MAKE = (
    *(
        "literary-evidence",
        "proxy-make",
        "--force",
        "--run",
        "bm25.trec",
        "--corpus",
        "passages.jsonl",
    ),
    *("--output", "task.csv", "--key", "key.csv"),
)
TOPICS = ("--topics", "topics.jsonl", "--qrels", "qrels.txt")


def test_the_proxy_task_from_topics_to_table(collection, capsys):
    _, err = called(capsys, *MAKE, *TOPICS, "--group-field", "length")
    assert "2 items with 3 candidates each" in err
    task = (collection / "task.csv").read_text()
    assert "t1" not in task
    with (collection / "task.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    for row in rows:  # anna alone finds the gold item of the first
        wanted = "The gold item of one" if row["item"] == "q1" else "Other"
        shown = [row[f"candidate_{n}"] for n in (1, 2, 3)]
        row["choice"] = str(shown.index(wanted) + 1)
    with (collection / "anna.csv").open("w", newline="") as handle:
        writer = csv.DictWriter(handle, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    score = ("literary-evidence", "proxy-score", "--key", "key.csv")
    out, _ = called(
        capsys, *score, "anna.csv", "--run", "dense.trec", "--by-group", "--format", "json"
    )
    found = means_of(out)
    assert found["anna", "all items", "Accuracy"] == 0.5
    assert found["anna", "1", "Accuracy"] == 1
    assert found["dense", "all items", "Right"] == 2
    _, err = called(capsys, *score, code=2)
    assert "nothing to score" in err
    called(capsys, *MAKE, *TOPICS, "--seed", "5", "--num-distractors", "1")
    _, err = called(capsys, *score, "anna.csv", code=3)
    assert "anna.csv:2: this is a choice of the task" in err


def test_the_proxy_task_of_masked_spans(collection, capsys):
    spans = [MaskedSpan("q1", "emma", ("Left of it.",), ("x",), ("Right of it.",), "t1")]
    write_spans(spans, collection / "spans.jsonl")
    called(capsys, *MAKE, "--spans", "spans.jsonl")
    assert "Left of it. [masked] Right of it." in (collection / "task.csv").read_text()
    assert "q1" in (collection / "key.csv").read_text()
    assert "emma" in (collection / "key.csv").read_text()
    _, err = called(capsys, *MAKE, *TOPICS, "--spans", "spans.jsonl", code=2)
    assert "--topics means nothing with --spans" in err
    write_spans([MaskedSpan("q1", "emma", (), ("x",), ())], collection / "spans.jsonl")
    _, err = called(capsys, *MAKE, "--spans", "spans.jsonl", code=3)
    assert "names no candidate" in err


def test_what_the_proxy_task_needs(collection, capsys):
    _, err = called(capsys, *MAKE, code=2)
    assert "Give --topics and --qrels, or --spans" in err
    _, err = called(capsys, *MAKE, *TOPICS, "--key", "task.csv", code=2)
    assert "are one file" in err
    _, err = called(capsys, *MAKE, *TOPICS, "--output", "task.txt", code=2)
    assert "the ending .txt is not known here. Use one of .csv, .jsonl" in err
    called(capsys, *MAKE, *TOPICS, "--output", "qrels.txt", code=2)
    (collection / "qrels.txt").write_text("q1 0 t1 1\nq1 0 a 1\nq2 0 t2 1\n")
    _, err = called(capsys, *MAKE, *TOPICS, code=3)
    assert "topic q1 has 2 relevant documents" in err
    assert not (collection / "task.csv").exists()


def test_real_pools_of_literary_evidence(collections, folder, capsys):
    source = collections / "relic"
    pools = {}
    for line in (source / "qrels.txt").read_text().splitlines():
        qid, _, docno, _ = line.split()
        pools.setdefault(qid, []).append(docno)
    rows = (
        f"{qid} Q0 {docno} 0 {-place} pool\n"
        for qid, docnos in pools.items()
        for place, docno in enumerate(docnos)
    )
    (folder / "pool.trec").write_text("".join(rows))
    _, err = called(
        capsys,
        *(
            "literary-evidence",
            "proxy-make",
            "--force",
            "--run",
            "pool.trec",
            "--corpus",
            str(source / "corpus.jsonl"),
        ),
        *("--topics", str(source / "queries.jsonl"), "--qrels", str(source / "qrels.txt")),
        *("--output", "task.jsonl", "--key", "key.csv"),
    )
    assert "100 items with 3 candidates each" in err
    for line in (folder / "task.jsonl").read_text(encoding="utf-8").splitlines():
        assert len(set(json.loads(line)["candidates"])) == 3
