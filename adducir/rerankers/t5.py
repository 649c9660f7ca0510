"""T5 rerankers: monoT5, which says true or false, and LiT5-Distill, which writes rankings.

monoT5 (Nogueira et al., Findings of EMNLP 2020) reads ``Query: q Document: d Relevant:``; with z
the decoder's first logits, the score is the log-probability of "true" against only "false",
s = log softmax(z[false], z[true])[true].

LiT5-Distill (Tamber et al., arXiv 2312.16098, 2023) is a Fusion-in-Decoder (Izacard and Grave, EACL
2021): each passage of a window is encoded separately with the query and its number, as ``Search
Query: q Passage: [i] p Relevance Ranking:``; the decoder attends to all of them and writes the
numbers in order. Windows of 20 slide over the candidates from the bottom up in steps of 10; models
of the second version use windows of 100 (``window: 100``). Unlike in the published loop, windows
always reach the top. Scores are 1/rank.

Only the text is cut, because cutting the whole input would remove ``Relevant:``, the question
itself. Padding comes last, masked, because T5's positions are relative: padding before
``Relevant:`` would make scores depend on the batch.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from adducir.core.errors import InputError
from adducir.models.folders import FolderKind, object_in
from adducir.models.loading import load_model, load_tokenizer, longest_input
from adducir.models.machine import computing_in
from adducir.models.sources import ModelSource, known
from adducir.models.work import Numbers, computed, padded, token_ids
from adducir.rerankers.pairs import Encoded, Pair, PairReader, Pointwise, Scores, by_query
from adducir.rerankers.permutations import rank_scores, repaired, windows
from adducir.rerankers.recipe import Length, RerankerRecipe, Windowed

if TYPE_CHECKING:
    import torch


class MonoT5Recipe(RerankerRecipe):
    """A monoT5."""

    reads: ClassVar[tuple[FolderKind, ...]] = ("seq2seq",)
    named: ClassVar[str] = r"mono\w*t5"
    scores: ClassVar[str] = "log-probability of true against false"

    model: Literal["monot5"] = "monot5"
    base: str = "castorini/monot5-3b-msmarco-10k"
    """By default the paper's 3B model for MS MARCO."""
    length: Length = 512
    """Tokens of an input."""
    tokens: tuple[str, str] | None = None
    """Those for "false" and "true"; by default as published for the model (pygaggle's table), or
    T5's; a multilingual T5 of another name must say them."""

    def stated(self, source: ModelSource) -> tuple[tuple[str, str], str]:
        """The two tokens, and what states them; an InputError where nothing does."""
        if self.tokens is not None:
            return self.tokens, "set"
        if published := known(source, "monot5"):
            false, true = published.facts["tokens"]
            return (false, true), published.title
        folder = source.described()
        if object_in(folder / "config.json").get("model_type") != "t5":
            message = "which tokens this multilingual model answers with is not known."
            hint = "Name them with `tokens:` in a recipe: [▁no, ▁yes] for most of mMARCO's."
            raise InputError(message, path=folder, hint=hint)
        return ("▁false", "▁true"), "as published for T5"

    def statement(self, source: ModelSource) -> str:
        (false, true), origin = self.stated(source)
        return f"the token {true!r} against {false!r} ({origin})"

    def load(self, source: ModelSource) -> "MonoT5":
        network, tokenizer = load_model(source, "AutoModelForSeq2SeqLM"), load_tokenizer(source)
        return MonoT5(network, tokenizer, self.stated(source)[0], self.length)


class _T5(Pointwise):
    def __init__(self, network: Any, tokenizer: Any) -> None:
        self.network, self.tokenizer = network, tokenizer
        self._start, self._end = network.config.decoder_start_token_id, tokenizer.eos_token_id
        self._padding = tokenizer.pad_token_id
        if None in (self._start, self._end, self._padding):
            message = (
                "its configuration or tokenizer does not name the tokens start, end and padding."
            )
            raise InputError(message, path=network.name_or_path)


class MonoT5(_T5):
    def __init__(self, network: Any, tokenizer: Any, tokens: tuple[str, str], length: int) -> None:
        super().__init__(network, tokenizer)
        vocabulary = tokenizer.get_vocab()
        for token in tokens:
            if token not in vocabulary:
                message, path = f"the vocabulary lacks the token {token!r}.", tokenizer.name_or_path
                hint = "Name this checkpoint's two tokens with `tokens:` in a recipe."
                raise InputError(message, path=path, hint=hint)
        self._answers = [vocabulary[token] for token in tokens]
        parts = token_ids(tokenizer, ["Query:", "Document:", "Relevant:"], length)
        parts[2] = np.append(parts[2], self._end)
        longest = longest_input(network.config, tokenizer, length)
        self._reader = PairReader(tokenizer, parts, longest)

    def encode(self, pairs: Sequence[Pair]) -> list[Encoded]:
        return self._reader.read(pairs)

    def values(self, batch: Sequence[Encoded]) -> "torch.Tensor":
        """(n,) log-probabilities of "true" against "false"."""
        features = self.features(batch)
        start = features["input_ids"].new_full((len(batch), 1), self._start)
        output = self.network(**features, decoder_input_ids=start)
        answers: torch.Tensor = output.logits[:, 0, self._answers].float()
        return answers.log_softmax(dim=-1)[:, 1]


class LiT5Recipe(Windowed):
    """A LiT5-Distill."""

    reads: ClassVar[tuple[FolderKind, ...]] = ("seq2seq",)
    named: ClassVar[str] = "lit5"

    model: Literal["lit5"] = "lit5"
    base: str = "castorini/LiT5-Distill-base"
    """By default the first version in base size."""
    length: Length = 150
    """Tokens of one passage's input."""
    # A passage's number takes at most 7: "[", three digits, "]", a blank and ">".
    answer_length: Length = Field(default_factory=lambda data: 7 * max(20, data.get("window", 0)))
    """Maximum tokens of the answer; by default 140, or 7 per passage of a window."""

    def load(self, source: ModelSource) -> "LiT5":
        # The published checkpoints name their class FiD; the weights are T5's. Any other T5 would
        # write something else, which would leave every list unchanged.
        if not (source.has_architecture("FiD") or self.fits(source)):
            raise InputError(
                "this model is not recognised as a LiT5.",
                path=source.local(),
                hint="If it is one, set `architectures: [FiD]` in its config.json, as in the "
                "published models, or use a name with LiT5 in it.",
            )
        network = load_model(source, "T5ForConditionalGeneration")
        return LiT5(network, load_tokenizer(source), self)


class LiT5(_T5):
    def __init__(self, network: Any, tokenizer: Any, recipe: LiT5Recipe) -> None:
        from transformers import GenerationConfig

        super().__init__(network, tokenizer)
        self.recipe = recipe
        # Not the checkpoint's own file, which may be damaged or set another decoding.
        self._plain = GenerationConfig(  # type: ignore[no-untyped-call]
            decoder_start_token_id=self._start,
            eos_token_id=self._end,
            pad_token_id=self._padding,
            max_length=recipe.answer_length,
            do_sample=False,
            num_beams=1,
        )
        # generate() falls back to the model's own settings.
        network.generation_config = self._plain
        self.read("", [""] * recipe.window)  # refuses too short a length

    def read(self, query: str, texts: Sequence[str]) -> list[Numbers]:
        """Token ids of a window's passages, numbered from 1."""
        most = self.recipe.length
        labels = [f"Passage: [{number}]" for number in range(1, len(texts) + 1)]
        named = ["Search Query:", "Relevance Ranking:", *labels]
        opening, closing, *labels_ids = token_ids(self.tokenizer, named, most)
        closing, rows = np.append(closing, self._end), list[Numbers]()
        for label, text in zip(labels_ids, texts, strict=True):
            reader = PairReader(self.tokenizer, (opening, label, closing), most)
            rows += [encoded.ids for encoded in reader.read([(query, text)])]
        return rows

    def answer(self, query: str, texts: Sequence[str]) -> str:
        import torch
        from transformers.modeling_outputs import BaseModelOutput

        ids, mask = padded(self.read(query, texts), self._padding, self.network.device)
        encoder = self.network.get_encoder()

        def compute(rows: Numbers) -> Any:
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
        scores = np.zeros(len(pairs))
        for query, numbers in by_query(pairs).items():
            scores[numbers] = rank_scores(self.order(query, [pairs[n][1] for n in numbers]))
        return scores

    def order(self, query: str, texts: Sequence[str]) -> NDArray[np.int64]:
        order = np.arange(len(texts))
        for first, end in windows(len(texts), self.recipe.window, self.recipe.stride):
            inside = order[first:end]
            answer = self.answer(query, [texts[number] for number in inside])
            order[first:end] = inside[repaired(answer, len(inside))]
        return order
