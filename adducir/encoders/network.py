"""The network of a tower: a transformer, pooling, and what a sentence encoder puts behind it."""

from typing import Any, Literal

import torch

Pooling = Literal["first", "mean", "max", "mean_sqrt", "last", "own"]
"""How the vectors of a text's tokens become one: that of the first token ([CLS], <s>); their mean,
their maximum, their sum over the root of their number; that of the last token; or the vector that
the network itself gives (DPR)."""

AnyPooling = Pooling | Literal["pooler"]
"""The same, or BERT's pooler: a dense layer with tanh on the vector of the first token, which
transformers calls ``pooler_output``. A tower has it as ``first`` with that layer behind."""


class Network(torch.nn.Module):
    """Token ids in, one vector a text out.

    Args:
        dense: Layers behind the pooling, of those sentence encoders that have some.
        normalise: Whether vectors get length 1, so that inner products are cosines.
    """

    def __init__(
        self,
        transformer: Any,
        pooling: Pooling,
        dense: "list[torch.nn.Module] | None" = None,
        *,
        normalise: bool = False,
    ) -> None:
        super().__init__()
        self.transformer = transformer
        self.dense = torch.nn.ModuleList(dense or [])
        self.pooling = pooling
        self.normalise = normalise

    @property
    def device(self) -> torch.device:
        """Where it runs."""
        device: torch.device = self.transformer.device
        return device

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Vectors of texts.

        Args:
            ids: (n, T) token ids, padded on the right.
            mask: (n, T) 1 for what is no padding.

        Returns:
            (n, D) float32.
        """
        found = self.transformer(input_ids=ids, attention_mask=mask)
        if self.pooling == "own":
            vectors = full(found.pooler_output)
        else:
            vectors = pool(full(found.last_hidden_state), mask, self.pooling)
        for layer in self.dense:
            vectors = layer(vectors)
        vectors = full(vectors)
        return torch.nn.functional.normalize(vectors, dim=-1) if self.normalise else vectors


def full(values: torch.Tensor) -> torch.Tensor:
    """Values in single precision, out of half; double stays as it is."""
    return values if values.dtype == torch.float64 else values.float()


def pool(hidden: torch.Tensor, mask: torch.Tensor, pooling: Pooling) -> torch.Tensor:
    """One vector of those of a text's tokens.

    Args:
        hidden: (n, T, D).
        mask: (n, T) 1 for what is no padding, which is on the right.
        pooling: See :data:`Pooling`; not ``own``.

    Returns:
        (n, D)
    """
    if pooling == "first":
        return hidden[:, 0]
    if pooling == "last":
        ends = mask.sum(dim=1).clamp(min=1) - 1
        return hidden[torch.arange(len(hidden), device=hidden.device), ends]
    shown = mask.unsqueeze(-1).to(hidden.dtype)
    if pooling == "max":
        return hidden.masked_fill(shown == 0, float("-inf")).amax(dim=1)
    count = shown.sum(dim=1).clamp(min=1)
    return (hidden * shown).sum(dim=1) / (count.sqrt() if pooling == "mean_sqrt" else count)


def pooler_of(transformer: Any) -> "torch.nn.Module | None":
    """BERT's pooler as a layer of its own, taken out of a transformer; None where it has none."""
    pooler = getattr(transformer, "pooler", None)
    dense = getattr(pooler, "dense", None)
    if not isinstance(dense, torch.nn.Linear):
        return None
    if not isinstance(getattr(pooler, "activation", None), torch.nn.Tanh):
        return None
    transformer.pooler = None
    return torch.nn.Sequential(dense, torch.nn.Tanh())
