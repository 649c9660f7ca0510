"""BART and T5: an encoder reads input and passage, a decoder writes the target.

The encoder reads ``x [DOC] z`` (RAG-Sequence, Lewis et al., NeurIPS 2020; as Hindsight, Paranjape
et al., ICLR 2022): x and z are truncated separately, a long x keeps its end, and no special tokens
are put around them. log P(y|x,z) is the sum over the target's tokens, including special ones.
Padding is masked on both sides, so that no value depends on the batch.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from adducir.core.errors import InputError
from adducir.core.many_texts import read_texts
from adducir.models.loading import load_model, load_tokenizer
from adducir.models.sources import ModelSource
from adducir.models.work import in_order, padded
from adducir.studies.grounded_generation.generators.generator import Generator, Numbers

if TYPE_CHECKING:
    from adducir.studies.grounded_generation.generators.kinds import Decoding

_OPEN = ("no_repeat_ngram_size", "length_penalty", "early_stopping")  # the checkpoint's, if None
_IGNORED = -100  # padding among labels, as in transformers


@dataclass(frozen=True)
class _Read:
    inputs: list[Numbers]
    targets: list[Numbers]
    passages: Sequence[Numbers]


class Seq2Seq(Generator):
    """A transformers model of a given class; lengths are those of input, passage and target."""

    def __init__(
        self, source: ModelSource, kind: str, lengths: tuple[int, int, int], separator: str
    ) -> None:
        super().__init__()
        self.network: Any = load_model(source, kind)
        self.tokenizer, self.lengths = load_tokenizer(source), lengths
        (self.separator,) = self._ids([f" {separator} " if separator else " "])
        longest = getattr(self.network.config, "max_position_embeddings", None)
        most = lengths[0] + len(self.separator) + lengths[1]
        self.pair_length = most + lengths[2]
        if longest is not None and max(most, lengths[2]) > longest:
            raise InputError(
                f"input, separator and passage have {most} tokens together, the target "
                f"{lengths[2]}; the model reads {longest}.",
                hint="Lower `input_length`, `passage_length` or `output_length`.",
            )
        # By default, texts are generated with the checkpoint's own settings.
        self._settings = copy(self.network.generation_config)

    def _ids(self, texts: Sequence[str], *, special: bool = False) -> list[Numbers]:
        encoded = self.tokenizer.backend_tokenizer.encode_batch(
            list(texts), add_special_tokens=special
        )
        return [np.array(encoding.ids, dtype=np.int64) for encoding in encoded]

    def read(self, inputs: Sequence[str], targets: Sequence[str], passages: Sequence[str]) -> _Read:
        of_input, of_passage, of_target = self.lengths
        x = [ids[-of_input:] for ids in self._ids(inputs)]
        y = [
            ids if len(ids) <= of_target else np.append(ids[: of_target - 1], ids[-1])
            for ids in self._ids(targets, special=True)
        ]
        cut = lambda some: [ids[:of_passage] for ids in self._ids(some)]  # noqa: E731
        return _Read(x, y, read_texts(passages, cut))

    def _inputs(self, read: _Read, contexts: Numbers, passages: Numbers) -> list[Numbers]:
        return [
            np.concatenate((read.inputs[context], self.separator, read.passages[passage]))
            for context, passage in zip(contexts, passages, strict=True)
        ]

    def log_likelihood(self, read: _Read, contexts: Numbers, passages: Numbers) -> torch.Tensor:
        rows = np.repeat(contexts, passages.shape[1])
        ids, mask = self._padded(self._inputs(read, rows, passages.ravel()))
        labels, is_label = self._padded([read.targets[context] for context in rows])
        hidden = labels.masked_fill(is_label == 0, _IGNORED)
        before = self.network.prepare_decoder_input_ids_from_labels(labels=hidden)
        logits = self.network(
            input_ids=ids, attention_mask=mask, decoder_input_ids=before, use_cache=False
        ).logits
        log_scores = logits.float() if logits.dtype == torch.bfloat16 else logits
        chosen = log_scores.gather(-1, labels.unsqueeze(-1)).squeeze(-1) - log_scores.logsumexp(
            dim=-1
        )
        return (chosen * is_label).sum(dim=-1).reshape(passages.shape)

    def _padded(self, inputs: list[Numbers]) -> tuple[torch.Tensor, torch.Tensor]:
        return padded(inputs, self.network.config.pad_token_id, self.network.device)

    def write(self, read: Any, pairs: Numbers, plan: "Decoding", tokens: int | None) -> list[str]:
        """By beam search; the checkpoint's settings apply where ``plan`` sets none."""
        options = {name: value for name in _OPEN if (value := getattr(plan, name)) is not None}
        inputs = self._inputs(read, *pairs.T)
        self.network.eval()

        def compute(numbers: Numbers) -> Any:
            ids, mask = self._padded([inputs[number] for number in numbers])
            with torch.inference_mode():
                written = self.network.generate(
                    input_ids=ids,
                    attention_mask=mask,
                    generation_config=self._settings,
                    num_beams=plan.beams,
                    max_length=plan.max_length,
                    min_length=plan.min_length,
                    do_sample=False,
                    **options,
                )
            return self.tokenizer.batch_decode(written, skip_special_tokens=True)

        lengths = [len(ids) * plan.beams for ids in inputs]
        written = in_order(lengths, compute, tokens=tokens, device=self.network.device)
        return [text.strip() for text in written]
