"""ColBERT and SPLADE: losses of sentence-transformers, and folders that others read alike."""

from contextlib import nullcontext

import numpy as np
import published
import pytest
import torch
from json_files import jsonl
from notes import Notes
from tiny import as_encoder, tiny_bert, tiny_colbert, tiny_decoder, tiny_dpr, tiny_t5, with_modules

from adducir.core.errors import InputError
from adducir.deepct.model import KIND
from adducir.encoders.sparse_training import FlopsPart
from adducir.models.loading import load_model
from adducir.models.sources import ModelSource
from adducir.rerankers.recipe import model_lines, open_reranker
from adducir.training import matrix
from adducir.training.run import train_model
from adducir.training.trainable import open_training

TEXTS = [
    "the cats run fast",
    "nuclear power plants and energy !",
    "a slow dog , a fast cat and an argument for the school uniforms",
    "school uniforms should be banned",
    "cheap clean energy",
    "dogs don t run",
]
QUERIES = [" ".join(text.split()[:2]) for text in TEXTS]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    calm = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    tiny_bert(folder / "mlm", kind="BertForPreTraining", vocab_size=150, **calm)
    pairs = [*enumerate(zip(QUERIES, TEXTS, strict=True))]
    rows = ({"docno": f"d{n}", "text": text} for n, (_, text) in pairs)
    jsonl(folder / "corpus.jsonl", rows)
    (folder / "topics.tsv").write_text("".join(f"q{n}\t{query}\n" for n, (query, _) in pairs))
    (folder / "qrels.txt").write_text("".join(f"q{n} 0 d{n} 1\n" for n, _ in pairs))
    late, of_texts = "query_length: 12\ndimensions: 16\n", "document_length: 12\n"
    kinds = {
        "colbert": late + of_texts,
        "splade": of_texts,
        "cross-encoder": "",
        "dual-encoder": "",
    }
    for kind, more in kinds.items():
        (folder / f"{kind}.yaml").write_text(
            f"kind: {kind}\nbase: mlm\n{more}"
            "examples: {corpus: {source: corpus.jsonl}, topics: topics.tsv, qrels: qrels.txt}\n"
            "held_out: {share: 0}\n"
            "training: {epochs: 2, batch_size: 6, learning_rate: 0.01, patience: null}\n"
        )
    return folder


def opened(study, kind, *changes):
    return open_training(study / f"{kind}.yaml", changes, folder=study)


def trained(study, kind, name, *changes):
    with Notes() as notes:
        train_model(opened(study, kind, *changes), study / name)
    assert notes.lines[0].startswith("base: ")
    return study / name


def loss_of(training, folder, *, done=1.0):
    """The loss of all examples as one batch, with its gradient."""
    training.done, model = done, training.model().train()
    rows = sorted(training.dataset(folder).train, key=lambda row: row["query"].tolist())
    loss = training.loss(model, training.collate(rows))
    loss.backward()
    gradients = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    return loss.item(), gradients


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("colbert", ()),
        ("colbert", ("attend_to_masks=true", "skip_punctuation=false")),
        ("colbert", ("expand_queries=false",)),
        ("splade", ("flops={query: 0.5, document: 0.25}",)),
        ("splade", ("document_only=true", "flops={document: 0.25}")),
    ],
)
def test_losses_equal_those_of_sentence_transformers(kind, changes, study, tmp_path, monkeypatch):
    training = opened(study, kind, *changes)
    ours, gradients = loss_of(training, tmp_path / "rows")
    monkeypatch.setattr(matrix, "PASS_TOKENS", (1, 1))
    by_length, cached = "batches.padding=pieces", "batches.mini_batch_num_tokens=15"
    for pieces in ((cached,), (by_length,), (by_length, cached)):
        in_pieces = opened(study, kind, *changes, *pieces)
        assert (in_pieces.fingerprint != training.fingerprint) and in_pieces.inputs
        loss, same = loss_of(in_pieces, tmp_path / "rows")
        assert loss == pytest.approx(ours, rel=1e-5)
        for one, other in zip(gradients, same, strict=True):
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)
    (tmp_path / "saved").mkdir()
    training.save(training.model(), tmp_path / "saved")
    assert theirs(kind, tmp_path / "saved", training.recipe) == pytest.approx(ours, abs=2e-6)


def test_pieces_have_texts_of_similar_lengths():
    lengths = [100, 90, 80, 79, 50, 40, 39, 10, 9, 1]
    assert matrix.similar(lengths, 1) == [(0, 3), (3, 4), (4, 6), (6, 7), (7, 9), (9, 10)]
    assert matrix.similar(lengths, 300) == [(0, 3), (3, 7), (7, 10)]
    assert matrix.similar(lengths, 10_000) == [(0, 10)]


def theirs(kind, folder, recipe):
    from sentence_transformers import MultiVectorEncoder, SparseEncoder
    from sentence_transformers.multi_vector_encoder.losses import (
        MultiVectorMultipleNegativesRankingLoss,
    )
    from sentence_transformers.sparse_encoder.losses import (
        SparseMultipleNegativesRankingLoss,
        SpladeLoss,
    )

    encoder = {"colbert": MultiVectorEncoder, "splade": SparseEncoder}[kind]
    model = encoder(str(folder), device="cpu").eval()
    sides = [("query", QUERIES), ("document", TEXTS)]
    features = [
        model.preprocess(texts, prompt=model.prompts.get(side), task=side) | {"task": side}
        for side, texts in sides
    ]
    if kind == "colbert":
        return MultiVectorMultipleNegativesRankingLoss(model)(features, None).item()
    ranking = SparseMultipleNegativesRankingLoss(model, scale=1.0)
    weights = {"document_regularizer_weight": recipe.flops.document}
    if not recipe.document_only:
        weights["query_regularizer_weight"] = recipe.flops.query
    parts = SpladeLoss(model, ranking, **weights)(features)
    return sum(parts.values()).item()


def test_the_regulariser_rises_quadratically(study, tmp_path):
    training = opened(study, "splade", "flops={query: 0.5, document: 0.25, ramp: 0.5}")
    none, half, full, after = (
        loss_of(training, tmp_path / "rows", done=done)[0] for done in (0, 0.25, 0.5, 0.9)
    )
    assert half - none == pytest.approx((full - none) / 4, rel=1e-4)
    assert full == pytest.approx(after) and full > none
    weights = torch.tensor([[1.0, 0.0], [3.0, 2.0]])
    assert FlopsPart(query=1, document=0, ramp=0).penalty(weights, weights, 0.0) == 2**2 + 1


@pytest.mark.parametrize("base", ["mlm", "encoder", "t5"])
def test_a_trained_colbert_is_read_by_sentence_transformers(base, study):
    from sentence_transformers import MultiVectorEncoder

    if base == "encoder":
        as_encoder(tiny_bert(study / "plain"), study / base)
    elif base == "t5":
        tiny_t5(study / base)
    lora = ("lora={r: 2}",) if base == "encoder" else ()
    folder = trained(study, "colbert", f"colbert-{base}", f"base={base}", *lora)
    model = MultiVectorEncoder(str(folder), device="cpu")
    wanted = model.similarity(model.encode_query(QUERIES), model.encode_document(TEXTS))
    reranker = open_reranker(str(folder))
    found = [reranker.score(query, TEXTS) for query in QUERIES]
    np.testing.assert_allclose(found, wanted.float().cpu().numpy(), atol=1e-5)
    further = opened(study, "colbert", f"base={folder}")
    assert further.late.reading.markers == ((None, None) if base == "t5" else ("[Q] ", "[D] "))
    again = open_reranker(str(folder)).model.projection
    assert torch.equal(further.late.layers[0].linear.weight, again)


def test_a_trained_sparse_encoder_keeps_queries_that_no_network_reads(study):
    from sentence_transformers import SparseEncoder

    folder = trained(study, "splade", "doc", "document_only=true", "lora={r: 2}")
    model = SparseEncoder(str(folder), device="cpu")
    weights = model.encode_query(["cats cats run"], convert_to_sparse_tensor=False)[0]
    assert sorted(weights.tolist())[-3:] == [0, 1, 1]
    documents = model.encode_document(TEXTS, convert_to_sparse_tensor=False)
    with torch.no_grad():
        training = opened(study, "splade", f"base={folder}", "document_only=true")
        (ids,) = training.ids(["cats cats run"], "query")
        assert len(ids) == 3
        kept = training.encoder.encode_document(TEXTS, convert_to_sparse_tensor=False)
    torch.testing.assert_close(kept, documents)


def dense(folder):
    tiny_bert(folder)
    published.st_files(
        folder, "mean_tokens", dense=((32, 16),), normalize=True, prompts={"query": "q: "}
    )


def two_towers(folder):
    tiny_bert(folder / "a")
    tiny_bert(folder / "b")
    types = dict.fromkeys("ab", "sentence_transformers.models.Transformer")
    structure = {"query": ["a"], "document": ["b"]}
    with_modules(folder, ("", "Router"), router_config={"types": types, "structure": structure})


def byte_level_colbert(folder):
    tiny_colbert(published.tiny_roberta(folder.with_name("plain"), kind="RobertaModel"), folder)


def weighter(folder):
    tiny_bert(folder, kind="BertForTokenClassification", num_labels=1)


MODULES = "without its Pooling, Dense, Normalize and its prompts"


@pytest.mark.parametrize(
    ("kind", "build", "said"),
    [
        ("cross-encoder", tiny_colbert, "without the output layers of HF_ColBERT"),
        ("cross-encoder", dense, MODULES),
        ("cross-encoder", weighter, "without the output layers of BertForTokenClassification"),
        ("cross-encoder", two_towers, "two networks"),
        ("cross-encoder", tiny_dpr, "no class ForSequenceClassification of the architecture dpr"),
        ("colbert", dense, MODULES),
        ("colbert", tiny_dpr, "without the projection of DPRContextEncoder"),
        ("colbert", weighter, "cannot be trained from a BertForTokenClassification.*a head.$"),
        ("dual-encoder", tiny_colbert, "cannot be trained from a HF_ColBERT. Set `base`"),
        ("splade document_only=true", tiny_bert, "cannot be trained from a BertModel"),
        ("splade document_only=true flops.query=1", tiny_bert, "no effect"),
        ("colbert markers=[<s>,</s>]", byte_level_colbert, "cannot state"),
        ("colbert markers=[a,b]", tiny_decoder, "markers"),
        ("colbert examples=null", tiny_decoder, "examples"),
    ],
)
def test_what_is_left_out_of_a_base_is_said_or_it_is_refused(
    kind, build, said, study, tiny, tmp_path
):
    base = tmp_path / "base"
    build(*([tiny] if build is tiny_colbert else []), base)
    base /= "DPRContextEncoder" if build is tiny_dpr else ""
    assert any(line.startswith("hidden size 32") for line in model_lines(str(base)))
    refused = pytest.raises(InputError, match=said)
    with nullcontext() if "without" in said else refused:
        training = opened(study, *kind.split(), f"base={base}")
        statement = training.base_statement()  # before any data are read
        network = None if "cannot be trained" in said else training.model()
        assert statement.endswith(said)
    if build is weighter and "without" in said:  # a head of the same name and shape
        head = load_model(ModelSource("", base), KIND).classifier
        assert not torch.allclose(network.classifier.weight, head.weight, atol=1e-3)
