"""A retrieval model and a feedback method of other packages, one file each, are searched with."""

import json
import math
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from plugin_package import install
from test_plugins_used import python

from adducir.runs.metadata import read_metadata
from adducir.runs.read import read_run

PIVOTED = '''
"""Pivoted tf-idf, of an author who is not of Adducir."""
import numpy as np
from pydantic import Field
from adducir.indexes.models import Model

class Pivoted(Model):
    """A term's dampened frequency times its idf, over the pivoted length."""
    slope: float = Field(default=0.2, ge=0, le=1, description="Weight of the length.")

    def term_factors(self, statistics):
        return np.log((statistics.documents + 1) / statistics.frequencies)

    def length_factors(self, statistics):
        average = statistics.tokens / statistics.documents
        return 1 - self.slope + self.slope * statistics.lengths / average

    def impacts(self, terms, tfs, lengths):
        return terms * (1 + np.log(tfs)) / lengths
'''
SHARED = '''
"""Terms that all feedback documents share, of an author who is not of Adducir."""
from pydantic import Field
from adducir.indexes.feedback import FeedbackMethod

class Shared(FeedbackMethod):
    """Adds what all feedback documents hold and at most half of all documents."""
    share: float = Field(default=0.5, ge=0, description="Weight of each new term.")

    def expanded(self, query, documents, collection):
        terms = set.intersection(*(set(one.terms) for one in documents)) if documents else set()
        rare = {one for one in terms if 2 * collection.frequency(one) <= collection.documents}
        return {one: self.share for one in rare} | {one: float(n) for one, n in query.items()}
'''
TEXTS = {
    "d1": "cats chase mice and birds",
    "d2": "cats chase birds birds birds",
    "d3": "dogs chase cats",
    "d4": "mice fear dogs",
    "d5": "birds sing songs all day long",
    "d6": "songs of birds",
}


def adducir(study: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return python(study, "-m", "adducir.cli.app", *arguments)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    lines = (json.dumps({"docno": docno, "text": text}) for docno, text in TEXTS.items())
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines))
    (tmp_path / "topics.tsv").write_text("1\tcats\n2\tsongs mice\n")
    (tmp_path / "qrels.txt").write_text("1 0 d2 1\n2 0 d6 1\n")
    install(tmp_path / "site", "pivoted", PIVOTED, {"adducir.models": {"pivoted": "Pivoted"}})
    install(tmp_path / "site", "shared", SHARED, {"adducir.feedback": {"shared": "Shared"}})
    plain = ["--stemmer", "none", "--stopwords", "none"]
    for engine in ("memory", "lucene"):
        done = adducir(tmp_path, "index", "corpus.jsonl", "-o", engine, "--engine", engine, *plain)
        assert done.returncode == 0, done.stderr
    return tmp_path


def search(study: Path, engine: str, *options: str) -> "dict[str, dict[str, float]]":
    done = adducir(
        study, "search", "-i", engine, "-t", "topics.tsv", "-o", "x.run", "--force", *options
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, float]] = {}
    for qid, docno, score in read_run(study / "x.run").frame.iter_rows():
        found.setdefault(qid, {})[docno] = score
    return found


def test_a_model_is_searched_with_and_tuned(study: Path) -> None:
    shown = adducir(study, "search", "--help").stdout
    assert "pivoted" in shown
    assert "slope" in shown
    found = search(study, "memory", "--model", "pivoted", "--set", "slope=0.4")
    counts = {docno: Counter(text.split()) for docno, text in TEXTS.items()}
    average = sum(map(Counter.total, counts.values())) / len(counts)
    for docno, score in found["1"].items():
        length = 1 - 0.4 + 0.4 * counts[docno].total() / average
        assert score == pytest.approx(math.log(7 / 3) / length, rel=1e-6)
    settings = read_metadata(study / "x.run")["method"]["retrieval"][0]
    assert (settings["model"], settings["slope"]) == ("pivoted", 0.4)
    assert (settings["package"], settings["version"]) == ("pivoted", "1.2")
    refused = adducir(
        study, "search", "-i", "lucene", "-t", "topics.tsv", "-o", "y.run", "--model", "pivoted"
    )
    assert refused.returncode == 2
    assert "no model 'pivoted'" in " ".join(refused.stderr.split())
    grid = ["--grid", "slope=0:1:0.5", "--folds", "2", "--measure", "AP", "-q", "qrels.txt"]
    tuned = ["-i", "memory", "-t", "topics.tsv", "--model", "pivoted", *grid, "-o", "tuned"]
    done = adducir(study, "tune", *tuned)
    assert done.returncode == 0, done.stderr
    facts = json.loads((study / "tuned" / "tuning.json").read_text())
    assert (facts["system"]["model"], facts["grid"]) == ("pivoted", {"slope": [0, 0.5, 1]})


@pytest.mark.slow
def test_a_feedback_method_works_on_both_engines_and_is_tuned(study: Path) -> None:
    options = ["--feedback", "shared", "--set", "share=2", "--set", "fb_docs=2", "--show-expansion"]
    done = adducir(study, "search", "-i", "memory", "-t", "topics.tsv", "-o", "y.run", *options)
    # d3 and d1 are the shortest with "cats", and share "chase".
    assert done.stdout.splitlines()[0] == "1\tcats\tchase:2.0000"
    memory, lucene = (search(study, engine, *options[:-1]) for engine in ("memory", "lucene"))
    assert memory == lucene
    assert memory != search(study, "memory")
    settings = read_metadata(study / "y.run")["method"]["retrieval"][0]["feedback"]
    assert settings["method"] == "shared"
    assert (settings["share"], settings["package"], settings["version"]) == (2.0, "shared", "1.2")
    wrong = adducir(
        study, "search", "-i", "memory", "-t", "topics.tsv", "-o", "z", "--set", "share=1"
    )
    assert wrong.returncode == 2
    assert "--set share means nothing without --feedback shared" in " ".join(wrong.stderr.split())
    grid = ["--grid", "share=0.5,2", "--folds", "2", "--measure", "AP", "-q", "qrels.txt"]
    tuned = ["-i", "lucene", "-t", "topics.tsv", "--feedback", "shared", *grid, "-o", "tuned"]
    done = adducir(study, "tune", *tuned)
    assert done.returncode == 0, done.stderr
    facts = json.loads((study / "tuned" / "tuning.json").read_text())
    assert (facts["system"]["feedback"], facts["grid"]) == ("shared", {"share": [0.5, 2]})
