"""monoT5: a sequence-to-sequence model that says "true" or "false" (Nogueira et al., 2020).

Document Ranking with a Pretrained Sequence-to-Sequence Model, Findings of EMNLP 2020. The input is
``Query: q Document: d Relevant:``; with z the decoder's first logits, the score is the
log-probability of "true" against "false" alone, s = log softmax(z[false], z[true])[true].

A long document is cut where it stands: whoever cuts the whole input cuts off ``Relevant:``, and
asks nothing. And padding comes last, masked: T5's positions are relative, so that padding before
``Relevant:`` would let a score depend on the batch.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from adducir.core.errors import InputError
from adducir.models.loading import load_model, load_tokenizer, longest_input
from adducir.models.sources import ModelSource
from adducir.models.work import padded
from adducir.rerankers.inputs import Ids, fitted_pairs, t5_ids, token_ids
from adducir.rerankers.recipe import Length, Pair, Pointwise, RerankerRecipe, has_architecture

if TYPE_CHECKING:
    import torch

TOKENS = (
    ("ptt5", ("▁não", "▁sim")),
    ("mt5-3b", ("▁", "▁true")),
    ("mt5-13b", ("▁", "▁true")),
    ("/mt5", ("▁no", "▁yes")),
    ("", ("▁false", "▁true")),
)
"""The tokens for "false" and "true" by what stands in ``/NAME``; the first that fits.

From the table of pygaggle (castorini/pygaggle, rerank/transformer.py). NAME is the last part of
the checkpoint's name, so that ``/mt5`` is not in that of ``castorini/monot5-base-msmarco``.
"""


class MonoT5Recipe(RerankerRecipe):
    """A monoT5.

    Attributes:
        base: By default the model of the paper's size 3B for MS MARCO.
        length: Tokens of an input.
        tokens: Those for "false" and "true"; by default known by the model's name.
    """

    classes: ClassVar[tuple[str, ...]] = ("ForConditionalGeneration",)
    scores: ClassVar[str] = "log-probability of true against false"

    model: Literal["monot5"] = "monot5"
    base: str = "castorini/monot5-3b-msmarco-10k"
    length: Length = 512
    tokens: tuple[str, str] | None = None

    @classmethod
    def fits(cls, source: ModelSource) -> bool:
        name = Path(source.name).name.lower()
        return bool(re.search(r"mono\w*t5", name)) and has_architecture(source, *cls.classes)

    def load(self, source: ModelSource) -> "MonoT5":
        network, tokenizer = load_model(source, "AutoModelForSeq2SeqLM"), load_tokenizer(source)
        return MonoT5(network, tokenizer, self.tokens or tokens_of(source.name), self.length)


class MonoT5(Pointwise):
    def __init__(self, network: Any, tokenizer: Any, tokens: tuple[str, str], length: int) -> None:
        self.network, self.tokenizer = network, tokenizer
        known = tokenizer.get_vocab()
        for token in tokens:
            if token not in known:
                raise InputError(
                    f"the vocabulary has no token {token!r}.",
                    hint="Name this checkpoint's two tokens, with `tokens:` in a recipe.",
                )
        self._answers = [known[token] for token in tokens]
        parts = token_ids(tokenizer, ["Query:", "Document:", "Relevant:"], length)
        self._query, self._document, relevant = parts
        self._first, end, self._padding = t5_ids(network, tokenizer)
        self._end = np.append(relevant, end)
        prompt = sum(map(len, (self._query, self._document, self._end)))
        self._room = longest_input(network.config, tokenizer, length) - prompt

    def encode(self, pairs: Sequence[Pair]) -> list[Ids]:
        return [
            np.concatenate((self._query, query, self._document, text, self._end))
            for query, text in fitted_pairs(self.tokenizer, pairs, self._room)
        ]

    def values(self, batch: Sequence[Ids]) -> "torch.Tensor":
        """(n,) log-probabilities of "true" against "false"."""
        import torch

        device = self.network.device
        ids, mask = padded(batch, self._padding, device)
        start = torch.full((len(batch), 1), self._first, dtype=torch.long, device=device)
        found = self.network(input_ids=ids, attention_mask=mask, decoder_input_ids=start)
        answers: torch.Tensor = found.logits[:, 0, self._answers].float()
        return answers.log_softmax(dim=-1)[:, 1]


def tokens_of(name: str) -> tuple[str, str]:
    last = f"/{Path(name).name.lower()}"
    return next(tokens for part, tokens in TOKENS if part in last)
