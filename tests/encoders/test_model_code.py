"""A model's own Python code: refused, or run where the user allows it, and recorded."""

import json
import shutil

import numpy as np
import pytest
from tiny import as_encoder, tiny_bert

import adducir as ad
from adducir.cli.app import main
from adducir.core.errors import InputError
from adducir.core.planning import allowing_code
from adducir.encoders.kinds import described, encoder_source
from adducir.encoders.model import DualEncoder
from adducir.encoders.settings import EncodingSettings
from adducir.encoders.sparse import load_sparse_encoder
from adducir.models.sources import model_source
from adducir.rerankers.recipe import open_reranker

CODE = """
from pathlib import Path
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification, BertModel

Path(__file__).with_name("has-run").touch()
Path({marker!r}).touch()

class TwiceConfig(BertConfig):
    model_type = "twice"

class TwiceForMaskedLM(BertForMaskedLM):
    config_class = TwiceConfig

class TwiceForSequenceClassification(BertForSequenceClassification):
    config_class = TwiceConfig

class TwiceModel(BertModel):
    config_class = TwiceConfig

    def forward(self, *args, **kwargs):
        found = super().forward(*args, **kwargs)
        found.last_hidden_state = 2 * found.last_hidden_state
        return found
"""
TEXTS = ["the cat runs", "nuclear energy", ""]


@pytest.fixture
def marker(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "has-run"


def with_code(folder, marker, auto, title):
    """A model whose class is in a file beside it."""
    (folder / "modeling_twice.py").write_text(CODE.format(marker=str(marker)))
    path = folder / "config.json"
    classes = {"AutoConfig": "modeling_twice.TwiceConfig", auto: f"modeling_twice.{title}"}
    changed = {"model_type": "twice", "architectures": [title], "auto_map": classes}
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    return folder


@pytest.fixture
def twice(tiny, tmp_path, marker):
    """A model whose own code doubles BERT's states."""
    return with_code(shutil.copytree(tiny, tmp_path / "twice"), marker, "AutoModel", "TwiceModel")


HOW = EncodingSettings(pooling="mean", similarity="dot")


def test_code_is_not_run_unless_it_is_allowed(twice, marker):
    source = encoder_source(str(twice), encoding=HOW)
    with pytest.raises(InputError, match="allow_code"):
        DualEncoder.load(source)
    with pytest.raises(InputError, match="allow_code"):
        DualEncoder.load(encoder_source(str(as_encoder(twice, twice.parent / "st"))))
    assert not marker.exists()


@pytest.mark.parametrize("saved", [False, True], ids=["plain", "sentence-transformers"])
def test_allowed_code_computes_as_in_sentence_transformers(saved, twice, tiny, marker):
    from sentence_transformers import SentenceTransformer

    folder = as_encoder(twice, twice.parent / "st") if saved else twice
    of_bert = DualEncoder.load(encoder_source(str(tiny), encoding=HOW)).encode_documents(TEXTS)
    before = encoder_source(str(folder), encoding=HOW)
    with allowing_code():
        source = encoder_source(str(folder), encoding=HOW)
    found = DualEncoder.load(source).encode_documents(TEXTS)  # the source keeps the permission
    np.testing.assert_allclose(found, 2 * of_bert, atol=1e-5)
    assert marker.exists()
    peer = SentenceTransformer(str(folder), device="cpu", trust_remote_code=True)
    np.testing.assert_allclose(found, peer.encode(TEXTS), atol=1e-5)
    assert "the model's own code (allowed by the user)" in described(source)
    identity = source.query.identity()
    with pytest.raises(InputError, match="allow_code"):
        before.query.identity()
    code = folder / "modeling_twice.py"
    code.write_text(code.read_text().replace("2 *", "3 *"))
    assert source.query.identity() != identity


def test_the_three_doors(twice, marker, capsys):
    corpus = twice.parent / "c.jsonl"
    rows = [{"docno": f"d{n}", "text": text} for n, text in enumerate(TEXTS[:2])]
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows))
    how = ["--engine", "dense", "--encoder", str(twice), "--set", "pooling=mean"]
    how += ["--set", "similarity=dot", "-o", "idx"]
    assert main(["index", str(corpus), *how]) == 3
    assert "--allow-code" in capsys.readouterr().err
    assert not marker.exists()
    assert main(["index", str(corpus), *how, "--allow-code"]) == 0
    assert "own code (allowed by the user)" in capsys.readouterr().err
    assert main(["search", "idx", "the cat"]) == 3
    assert main(["search", "idx", "the cat", "--allow-code"]) == 0
    (twice.parent / "t.tsv").write_text("q1\tthe cat\n")
    (twice.parent / "q.txt").write_text("q1 0 d0 1\n")
    text = """
corpora: {{c: {{source: c.jsonl}}}}
indexes: {{i: {{corpus: c, engine: dense, encoder: {}, pooling: mean, similarity: dot}}}}
topics: {{t: {{source: t.tsv, qrels: q.txt}}}}
systems: {{D: {{index: i}}}}
measures: [RR]
"""
    file = twice.parent / "x.yaml"
    file.write_text(text.format(twice))
    with pytest.raises(InputError, match="allow_code"):
        ad.experiment(file)
    assert ad.experiment(file, allow_code=True).table.to_polars()["system"].to_list() == ["D"]


def test_a_sparse_encoder_and_a_cross_encoder_may_have_code(tiny, tmp_path, marker):
    """What a refusal says to add, --allow-code, is enough for every use."""
    for kind, more in (("ForMaskedLM", {}), ("ForSequenceClassification", {"num_labels": 1})):
        folder = tiny_bert(tmp_path / kind, kind=f"Bert{kind}", **more)
        with_code(folder, marker, f"AutoModel{kind}", f"Twice{kind}")
    how = {"convert_to_sparse_tensor": False}
    with allowing_code():
        sparse = load_sparse_encoder(model_source(str(tmp_path / "ForMaskedLM")))
        reranker = open_reranker(f"cross-encoder:{tmp_path / 'ForSequenceClassification'}")
    plain = load_sparse_encoder(
        model_source(str(tiny_bert(tmp_path / "b", kind="BertForMaskedLM")))
    )
    vectors = [model.encode_document(TEXTS[:2], **how) for model in (sparse, plain)]
    np.testing.assert_allclose(*vectors, atol=1e-5)
    assert len(reranker.score("cats", TEXTS[:2])) == 2
