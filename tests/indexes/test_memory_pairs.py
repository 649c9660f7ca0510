"""Words with weights as an index: it ranks as the same words repeated."""

import json

import pytest
from memory_corpus import ListCorpus

from adducir.indexes import IndexSettings
from adducir.indexes.feedback import RM3
from adducir.indexes.memory.build import build_memory_index
from adducir.indexes.memory.index import MemoryIndex
from adducir.indexes.memory.pairs import build_from_pairs, read_pairs
from adducir.indexes.models import BM25, QLD
from adducir.study.errors import InputError

COUNTS = {
    "d1": {"cats": 3, "Cat": 2, "the": 9, "running": 1},
    "d2": {"dog's": 2, "caf\u00e9": 5, "run": 1},
    "d3": {},
    "d4": {"wi-fi": 2, "dogs": 1, "cat": 1, "runs": 4},
}


def write(path, counts):
    lines = [json.dumps({"docno": d, "weights": w}) for d, w in counts.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("model", [BM25(), BM25(k1=10, b=0.9), QLD()])
@pytest.mark.parametrize("rm3", [None, RM3(fb_terms=5, fb_docs=2)])
def test_pairs_rank_as_repeated_words(tmp_path, model, rm3):
    texts = {d: " ".join(" ".join([w] * n) for w, n in c.items()) for d, c in COUNTS.items()}
    build_memory_index(ListCorpus(texts), tmp_path / "text")
    build_from_pairs(write(tmp_path / "p.jsonl", COUNTS), tmp_path / "pairs", IndexSettings())
    queries = ["cat runs", "dog", "wi fi caf\u00e9", "the"]
    found = [
        MemoryIndex(tmp_path / name).search(queries, model, feedback=rm3, depth=10)
        for name in ("text", "pairs")
    ]
    one, other = (hits.frame([*"abcd"]) for hits in found)
    assert one.rows() == other.rows()
    assert len(one) > 4


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{", "this is not JSON"),
        ("[]", "`docno` or `weights` is missing"),
        ('{"docno": "a b", "weights": {}}', "holds white space"),
        ('{"docno": "a", "weights": {"x": "1"}}', "the weight of 'x' is no number"),
        ('{"docno": "d1", "weights": {}}', "was there before, in line 1"),
    ],
)
def test_faults_name_file_and_line(tmp_path, line, what):
    path = write(tmp_path / "p.jsonl", {"d1": {"a": 1}})
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(InputError) as caught:
        list(read_pairs(path))
    assert what in str(caught.value)
    assert str(caught.value).startswith(f"{path}:2: ")


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "p.jsonl").write_text("")
    with pytest.raises(InputError, match="no documents"):
        list(read_pairs(tmp_path / "p.jsonl"))
