"""SPLADE's maximum before the vocabulary: the weights of sentence-transformers, from its files."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from published import modern_bert
from sentence_transformers import SparseEncoder
from sentence_transformers.base.modules import Router, Transformer
from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding, SpladePooling
from tiny import tiny_bert, tiny_roberta
from transformers import AutoModelForMaskedLM, AutoTokenizer

from adducir.encoders.sparse import MaxPooling, pool_early

TEXTS = ["dogs bark at night", "", "a", "cats and dogs and a very long story about them " * 4, "?!"]
NETWORKS: dict[str, Any] = {
    "bert": partial(tiny_bert, kind="BertForMaskedLM"),
    "roberta": partial(tiny_roberta, positions=514),
    "modernbert": partial(modern_bert, kind="ModernBertForMaskedLM"),
    "distilbert": partial(tiny_bert, kind="DistilBertForMaskedLM"),
}


def saved(folder: Path, kind: str, pooling: SpladePooling, *, free: bool = False) -> Path:
    """A sparse encoder in sentence-transformers' format; ``free``: queries have fixed weights."""
    network = AutoModelForMaskedLM.from_pretrained(NETWORKS[kind](folder / "mlm"))
    tokenizer = AutoTokenizer.from_pretrained(folder / "mlm")
    if not free:  # rows without a token
        network.resize_token_embeddings(len(tokenizer) + 7)
    with torch.no_grad():  # a bias that matters
        for name, parameter in network.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(0, 0.3)
    network.save_pretrained(folder / "mlm")
    modules: list[Any] = [Transformer(str(folder / "mlm"), transformer_task="fill-mask"), pooling]
    if free:
        static = SparseStaticEmbedding(tokenizer, torch.rand(len(tokenizer)), frozen=True)
        modules = [Router.for_query_document([static], modules)]
    SparseEncoder(modules=modules, device="cpu").save(str(folder / "encoder"))
    return folder / "encoder"


def opened(folder: Path) -> SparseEncoder:
    return SparseEncoder(str(folder), device="cpu", local_files_only=True)


def weights(encoder: SparseEncoder) -> list[torch.Tensor]:
    encoders = encoder.encode_query, encoder.encode_document
    return [encode(TEXTS, batch_size=3, convert_to_sparse_tensor=False) for encode in encoders]


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("activation", ["relu", "log1p_relu"])
@pytest.mark.parametrize("free", [False, True])
def test_maxima_are_the_weights_of_sentence_transformers(
    tmp_path: Path, kind: str, activation: Any, free: bool
) -> None:
    folder = saved(tmp_path, kind, SpladePooling("max", activation), free=free)
    theirs, ours = opened(folder), opened(folder)
    assert pool_early(ours)
    assert any(isinstance(part, MaxPooling) for part in ours.modules())
    for one, other in zip(weights(ours), weights(theirs), strict=True):
        assert other.count_nonzero() > 10
        torch.testing.assert_close(one, other, atol=6e-6, rtol=0)


def test_left_padding(tmp_path: Path) -> None:
    folder = saved(tmp_path, "roberta", SpladePooling("max"))
    theirs, ours = opened(folder), opened(folder)
    assert pool_early(ours)
    for encoder in (theirs, ours):
        encoder.tokenizer.padding_side = "left"
    for one, other in zip(weights(ours), weights(theirs), strict=True):
        torch.testing.assert_close(one, other, atol=6e-6, rtol=0)


def test_sums_and_steps_after_the_decoder_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "sum").mkdir()
    (tmp_path / "late").mkdir()
    sums = saved(tmp_path / "sum", "bert", SpladePooling("sum"))
    late = saved(tmp_path / "late", "bert", SpladePooling("max"))

    def cap(network: Any) -> None:
        forward = network.forward

        def capped(*arguments: Any, **named: Any) -> Any:
            output = forward(*arguments, **named)
            output.logits = 2 * torch.tanh(output.logits / 2)  # as in Gemma
            return output

        network.forward = capped

    for folder in (sums, late):
        theirs, ours = opened(folder), opened(folder)
        if folder is late:
            cap(theirs[0].model)
            cap(ours[0].model)
        assert not pool_early(ours)
        for one, other in zip(weights(ours), weights(theirs), strict=True):
            torch.testing.assert_close(one, other, atol=0, rtol=0)
