"""LiT5-Distill: lists of passages put in order by a T5 (Tamber et al., arXiv 2312.16098, 2023).

Fusion-in-Decoder (Izacard and Grave, EACL 2021): each passage of a window is encoded by itself with
the query and its number, as ``Search Query: q Passage: [i] p Relevance Ranking:``; the decoder
attends to all of them at once and writes the numbers in order. Windows of 20 go over the candidates
from the bottom up by 10; models of the second version take 100 at once (``window: 100``).

Differing from the published loop: windows reach the top whatever the number of candidates is, and
a long passage is cut where it stands, so that ``Relevance Ranking:`` stays. There is no score; the
run gets 1/rank.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from adducir.core.errors import InputError
from adducir.models.loading import load_model, load_tokenizer
from adducir.models.machine import computing_in
from adducir.models.sources import ModelSource
from adducir.models.work import computed, padded
from adducir.rerankers.inputs import Ids, fitted, t5_ids, token_ids
from adducir.rerankers.recipe import (
    Length,
    Pair,
    Pointwise,
    RerankerRecipe,
    Scores,
    has_architecture,
)

_NUMBER = re.compile(r"[0-9]+")
_DIGITS = 9


class LiT5Recipe(RerankerRecipe):
    """A LiT5-Distill.

    Attributes:
        base: By default the base size of the first version.
        window: Passages that are put in order at once.
        stride: How far a window is above the one before it.
        length: Tokens of one passage's input.
        answer_length: Tokens of the answer, at most.
    """

    is_listwise: ClassVar[bool] = True
    scores: ClassVar[str] = "1 / rank"

    classes: ClassVar[tuple[str, ...]] = ("ForConditionalGeneration", "FiD")
    model: Literal["lit5"] = "lit5"
    base: str = "castorini/LiT5-Distill-base"
    window: Length = 20
    stride: Length = 10
    length: Length = 150
    answer_length: Length = 140

    @model_validator(mode="after")
    def _overlaps(self) -> "LiT5Recipe":
        if self.stride > self.window:
            raise ValueError("`stride` must not be more than `window`: passages would be left out")
        return self

    @classmethod
    def fits(cls, source: ModelSource) -> bool:
        return "lit5" in Path(source.name).name.lower() and has_architecture(source, *cls.classes)

    def load(self, source: ModelSource) -> "LiT5":
        # The published checkpoints name their class FiD; the weights are T5's. Any other T5 would
        # write something else, which leaves every list as it was.
        if not (has_architecture(source, "FiD") or self.fits(source)):
            raise InputError(
                "this model does not say that it is a LiT5.",
                path=source.local(),
                hint="If it is one, give it `architectures: [FiD]` in its config.json, as the "
                "published models have it, or a name with LiT5 in it.",
            )
        network = load_model(source, "T5ForConditionalGeneration")
        return LiT5(network, load_tokenizer(source), self)


class LiT5(Pointwise):
    def __init__(self, network: Any, tokenizer: Any, recipe: LiT5Recipe) -> None:
        from transformers import GenerationConfig

        self.network, self.tokenizer, self.recipe = network, tokenizer, recipe
        start, self._end, self._padding = t5_ids(network, tokenizer)
        # Not what the checkpoint's own file says: that may be damaged, or ask for another decoding.
        self._plain = GenerationConfig(  # type: ignore[no-untyped-call]
            decoder_start_token_id=start,
            eos_token_id=self._end,
            pad_token_id=self._padding,
            max_length=recipe.answer_length,
            do_sample=False,
            num_beams=1,
        )
        # generate() takes from the model's own what an argument leaves open.
        network.generation_config = self._plain

    def read(self, query: str, texts: Sequence[str]) -> list[Ids]:
        """Token ids of a window's passages, numbered from 1."""
        tokenizer, most = self.tokenizer, self.recipe.length
        opening, closing = token_ids(tokenizer, ["Search Query:", "Relevance Ranking:"], most)
        closing = np.append(closing, self._end)
        (query_ids,) = token_ids(tokenizer, [query], most)
        labels = [f"Passage: [{number}]" for number in range(1, len(texts) + 1)]
        found = []
        both = (token_ids(tokenizer, some, most) for some in (labels, texts))
        for label, text in zip(*both, strict=True):
            room = most - len(opening) - len(label) - len(closing)
            cut, passage = fitted(query_ids, text, max(0, room))
            found.append(np.concatenate((opening, cut, label, passage, closing)))
        return found

    def answer(self, query: str, texts: Sequence[str]) -> str:
        import torch
        from transformers.modeling_outputs import BaseModelOutput

        ids, mask = padded(self.read(query, texts), self._padding, self.network.device)
        encoder = self.network.get_encoder()

        def compute(rows: NDArray[np.int64]) -> Any:
            return encoder(input_ids=ids[rows], attention_mask=mask[rows]).last_hidden_state

        lengths = [ids.shape[1]] * len(ids)
        states = torch.cat(computed(self.network, lengths, compute, self.running)).unsqueeze(0)
        with torch.inference_mode(), computing_in(self.running.precision, self.network):
            written = self.network.generate(
                encoder_outputs=BaseModelOutput(last_hidden_state=states),
                attention_mask=mask.reshape(1, -1),
                generation_config=self._plain,
            )
        return self.tokenizer.decode(written[0], skip_special_tokens=True)

    def scores(self, pairs: Sequence[Pair]) -> Scores:
        """1 / rank among the texts of a query."""
        found = np.zeros(len(pairs))
        for query in dict.fromkeys(query for query, _ in pairs):
            own = [number for number, pair in enumerate(pairs) if pair[0] == query]
            order = self.order(query, [pairs[number][1] for number in own])
            found[np.array(own)[order]] = 1.0 / np.arange(1, len(own) + 1)
        return found

    def order(self, query: str, texts: Sequence[str]) -> NDArray[np.int64]:
        order = np.arange(len(texts))
        for first, end in windows(len(texts), self.recipe.window, self.recipe.stride):
            inside = order[first:end]
            answer = self.answer(query, [texts[number] for number in inside])
            order[first:end] = inside[repaired(answer, len(inside))]
        return order


def windows(count: int, window: int, stride: int) -> list[tuple[int, int]]:
    """The windows over so many texts, from the bottom to the top; the last may be shorter.

    Each begins ``stride`` above the one before it, so that a good text can rise all the way.
    """
    found, end = list[tuple[int, int]](), count
    while end > 0 and (not found or found[-1][0] > 0):
        found.append((max(0, end - window), end))
        end -= stride
    return found


def repaired(answer: str, count: int) -> NDArray[np.int64]:
    """The order that an answer such as ``3 > 1 > 2`` gives to so many texts, from 0.

    All but new numbers in range is ignored; texts that are not named follow in their old order.
    """
    named = (int(digits) - 1 for digits in _NUMBER.findall(answer) if len(digits) <= _DIGITS)
    order = dict.fromkeys(number for number in named if 0 <= number < count)
    return np.array([*order, *(number for number in range(count) if number not in order)], np.int64)
