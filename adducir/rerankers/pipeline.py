"""Cross-encoders that sentence-transformers computes in several modules or from a chat.

Such are rerankers with a chat template whose roles are query and document (Qwen3-Reranker as a
classifier), with pooling and dense layers (ettin-reranker), or with a language model's logits
(LogitScore). That program reads the pairs, with its prompts and lengths, and computes its modules;
batches, weights and tokenizers are ours. Scores are raw, before its activation.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adducir.encoders.model import check_modules, complete
from adducir.models.folders import SENTENCE_SETTINGS, modules_of, object_in
from adducir.models.loading import explaining
from adducir.models.sources import ModelSource
from adducir.models.work import Numbers, padded
from adducir.rerankers.recipe import Pair, Pointwise

if TYPE_CHECKING:
    import torch

_AT_ONCE = 64
_ROLES = re.compile(r"""(?=.*(["'])query\1)(?=.*(["'])document\2)""", re.DOTALL)
"""A chat template that names both roles; others have only those of conversations."""


def is_pipeline(source: ModelSource) -> bool:
    """Whether a cross-encoder has more than a classifier of plain pairs."""
    folder = source.described()
    modules = modules_of(folder)
    for kind, place in modules:
        paths = sorted(place.glob("sentence_*_config.json"))
        config = object_in(paths[0]) if paths else {}
        if not kind.endswith("Transformer") or "message" in config.get("modality_config", {}):
            return True
    if modules or object_in(folder / SENTENCE_SETTINGS).get("model_type") == "CrossEncoder":
        return False
    stated = object_in(folder / "tokenizer_config.json").get("chat_template")
    path = folder / "chat_template.jinja"
    template = path.read_text(encoding="utf-8") if path.is_file() else str(stated)
    return bool(_ROLES.search(template))


class PipelineInput:
    """A pair's (n,) token ids, and segments if the network has them."""

    def __init__(self, ids: Numbers, types: Numbers | None) -> None:
        self.ids, self.types = ids, types

    def __len__(self) -> int:
        return len(self.ids)


class Pipeline(Pointwise):
    """A CrossEncoder of sentence-transformers; ``prompt`` is its default one."""

    def __init__(self, model: Any) -> None:
        from sentence_transformers.base.modules import Transformer

        self.network = model
        self.first = next(module for module in model.modules() if isinstance(module, Transformer))
        self.tokenizer, self._more = self.first.processor, dict[str, Any]()
        self.is_left = self.first.transformer_task == "text-generation"
        self.prompt = model.prompts.get(model.default_prompt_name) or None
        self.labels = int(model.num_labels)

    @classmethod
    def load(cls, source: ModelSource) -> "Pipeline":
        from sentence_transformers import CrossEncoder

        folder = source.local()
        with explaining("model", folder):
            check_modules(source, messages=True)
            model = CrossEncoder(str(folder), device="cpu", **source.peer_options())
            complete(model, source)
        return cls(model)

    def encode(self, pairs: Sequence[Pair]) -> list[PipelineInput]:
        rows = []
        for start in range(0, len(pairs), _AT_ONCE):
            some = [list(pair) for pair in pairs[start : start + _AT_ONCE]]
            read: Mapping[str, Any] = self.network.preprocess(some, prompt=self.prompt)
            self._more = {key: value for key, value in read.items() if not hasattr(value, "shape")}
            types = read.get("token_type_ids")
            for row, mask in enumerate(read["attention_mask"].bool()):
                ids = read["input_ids"][row][mask].numpy().astype(np.int64)
                row_types = None if types is None else types[row][mask].numpy().astype(np.int64)
                rows.append(PipelineInput(ids, row_types))
        return rows

    def values(self, batch: Sequence[PipelineInput]) -> "torch.Tensor":
        """(n,) the score, or of two classes the log-odds of the second."""
        device = self.network.device
        step = -1 if self.is_left else 1
        filler = self.tokenizer.pad_token_id or 0

        def filled(rows: Sequence[Numbers], value: int) -> "tuple[torch.Tensor, torch.Tensor]":
            ids, mask = padded([row[::step] for row in rows], value, device)
            return (ids.flip(1), mask.flip(1)) if self.is_left else (ids, mask)

        ids, mask = filled([row.ids for row in batch], filler)
        features = {"input_ids": ids, "attention_mask": mask, **self._more}
        types = [row.types for row in batch if row.types is not None]
        if types:
            features["token_type_ids"] = filled(types, 0)[0]
        if self.is_left:
            features["position_ids"] = (mask.cumsum(1) - 1).clamp(min=0)
        scores: torch.Tensor = self.network(features)["scores"].float()
        scores = scores.reshape(len(batch), -1)
        return scores[:, 0] if scores.shape[1] == 1 else scores.log_softmax(dim=-1)[:, -1]
