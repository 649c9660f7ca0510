"""Learned sparse encoders: weights of tokens, pooled before the vocabulary's logits are stored.

SPLADE's weight of a token (Formal et al., SIGIR 2021) is the maximum over a text's positions of
``log(1 + relu(logit))``. Bias, ReLU and logarithm never change an order, so that the maximum of the
products comes first, in pieces of the vocabulary that fit the processor's cache, and the rest once
per text instead of once per position: the same weights, several times as fast. A sum over positions
(SPLADE's first version) cannot be rearranged.

The logits are those of a masked language model, or of a decoder whose files or user state its
attention: bidirectional as in SPLADE-Code (2026), or causal.
"""

from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SparseEncoder
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sparse_encoder.modules import SparseAutoEncoder, SpladePooling

from adducir.core.errors import InputError
from adducir.encoders.statement import check_sparse
from adducir.models.folders import (
    SENTENCE_SETTINGS,
    Attention,
    modules_of,
    network_settings,
    object_in,
)
from adducir.models.loading import explaining, load_model, longest_input
from adducir.models.peers import as_module, check_modules, folder_of, load_peer
from adducir.models.sources import ModelSource

_COLUMNS, _DEVICE_COLUMNS = 640, 4096  # of the vocabulary at a time
_PROBE = "the quick brown fox, 42 times"
_CLOSE = 2e-5


def load_sparse_encoder(source: ModelSource, attention: Attention | None = None) -> SparseEncoder:
    """A learned sparse encoder; a plain language model's logits are pooled as in SPLADE."""
    if check_sparse(source, attention) is None:
        model = load_peer(source, "SparseEncoder")
    else:
        folder = folder_of(source)
        with explaining("model", folder):
            check_modules(folder)
            settings = object_in(folder / SENTENCE_SETTINGS)
            named: Any = {key: settings.get(key) for key in ("prompts", "default_prompt_name")}
            modules = _decoder_and_pooling(source, folder, attention)
            model = SparseEncoder(modules=modules, device="cpu", **named)
    for module in model.modules():
        if isinstance(module, Transformer):  # whatever counts its positions
            limit = longest_input(module.model.config, module.tokenizer)
            module.max_seq_length = min(limit, module.max_seq_length or limit)
    return model


def _decoder_and_pooling(
    source: ModelSource, folder: Path, attention: Attention | None
) -> list[torch.nn.Module]:
    """A decoder's logits (sentence-transformers has no task for all of them) and their pooling."""
    (_, place), *others = modules_of(folder) or [("Transformer", folder)]
    if [kind.rpartition(".")[2] for kind, _ in others] not in ([], ["SpladePooling"]):
        message = f"its modules after the network are not supported: {', '.join(dict(others))}."
        raise InputError(message, path=folder / "modules.json")
    placed = replace(source, folder=place)
    network = load_model(placed, "AutoModelForCausalLM", attention=attention)
    module = as_module(placed, network, "logits")
    longest = network_settings(place).get("max_seq_length")
    module.max_seq_length = longest or module.max_seq_length
    pooling = [SpladePooling.load(str(path)) for _, path in others]
    return [module, *(pooling or [SpladePooling("max")])]


def dimension_names(model: SparseEncoder) -> dict[int, str]:
    """The token of each dimension; none for an autoencoder's (CSR), which are not tokens."""
    if any(isinstance(module, SparseAutoEncoder) for module in model.modules()):
        return {}
    return {number: token for token, number in model.tokenizer.get_vocab().items()}


class MaxPooling(SpladePooling):
    """SPLADE's maximum from the states before the decoder, a linear layer to the vocabulary."""

    def __init__(self, pooling: SpladePooling, decoder: torch.nn.Linear) -> None:
        super().__init__("max", pooling.activation_function, decoder.out_features)
        self.decoder = decoder

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        states = features["token_embeddings"].to(self.decoder.weight.dtype)
        if "cu_seq_lens_q" in features:  # texts in a row, without padding
            states, sizes = states.flatten(0, -2), features["cu_seq_lens_q"].diff()
        else:
            mask = features["attention_mask"].bool()
            states, sizes = states[mask], mask.sum(dim=1)
        weights = self._greatest(states, sizes.tolist()).relu().log1p()
        if self.activation_function == "log1p_relu":
            weights = weights.log1p()
        features["sentence_embedding"] = weights
        return features

    def _greatest(self, states: torch.Tensor, sizes: list[int]) -> torch.Tensor:
        """(texts, vocabulary) the largest logit over each text's positions."""
        weight, bias = self.decoder.weight, self.decoder.bias
        greatest = states.new_full((len(sizes), len(weight)), -torch.inf)
        width = _COLUMNS if states.device.type == "cpu" else _DEVICE_COLUMNS
        for first in range(0, len(weight), width):
            products = states @ weight[first : first + width].T
            for row, part in zip(greatest, products.split_with_sizes(sizes), strict=True):
                if len(part):
                    torch.amax(part, dim=0, out=row[first : first + width])
        return greatest if bias is None else greatest + bias


def pool_early(encoder: SparseEncoder) -> bool:
    """Let an encoder take the maximum early, where it can; returns whether it does.

    Its decoder must be the network's last step: if a probe's weights change, all stays as it was.
    """
    before = _probe(encoder)
    undo: list[tuple[Any, str, Any]] = []
    for sequence in [part for part in encoder.modules() if isinstance(part, torch.nn.Sequential)]:
        children: list[tuple[str, Any]] = list(sequence.named_children())
        for (_, first), (name, pooling) in pairwise(children):
            network: Any = getattr(first, "model", None)
            decoder = None
            if isinstance(pooling, SpladePooling) and pooling.pooling_strategy == "max":
                with suppress(AttributeError, NotImplementedError):
                    decoder = network.get_output_embeddings()
            if not isinstance(decoder, torch.nn.Linear):
                continue
            undo.append((sequence, name, pooling))
            setattr(sequence, name, MaxPooling(pooling, decoder).eval())
            for parent in list(network.modules()):
                for key, child in list(parent.named_children()):
                    if child is decoder:
                        undo.append((parent, key, decoder))
                        setattr(parent, key, torch.nn.Identity())
    after: list[torch.Tensor] = []
    with suppress(RuntimeError):  # what follows the decoder needs logits
        after = _probe(encoder) if undo else []
    is_same = bool(after) and all(
        old.shape == new.shape and torch.allclose(old, new, atol=_CLOSE, rtol=0)
        for old, new in zip(before, after, strict=True)
    )
    if not is_same:
        for parent, key, part in undo:
            setattr(parent, key, part)
    return is_same


def _probe(encoder: SparseEncoder) -> list[torch.Tensor]:
    return [
        encode([_PROBE], convert_to_sparse_tensor=False, show_progress_bar=False)
        for encode in (encoder.encode_query, encoder.encode_document)
    ]
