"""ColBERT: late interaction (Khattab and Zaharia, SIGIR 2020), here as a reranker.

Query and text are encoded separately, into a vector per token. The score is
s = sum over the query's vectors of the maximum inner product with the text's.

As its files state it (:mod:`adducir.rerankers.late_reading`); as published for ColBERT itself:
queries are ``[CLS] [unused0] q [SEP]``, padded with ``[MASK]`` to 32 tokens, which
are scored like the others but not attended to; longer queries are cut. Texts are ``[CLS] [unused1]
d [SEP]``, at most 220 tokens, without vectors of punctuation. Vectors are projected to 128
dimensions without bias and normalised.

``maxsim`` scores the same way with any encoder, such as MiniLM, without markers, padding or
projection; special tokens do not count, because they are not trained for matching.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from adducir.core.errors import InputError
from adducir.encoders.kinds import Floats
from adducir.models.folders import look, modules_of
from adducir.models.loading import (
    encoder_class,
    explaining,
    load_model,
    load_tokenizer,
    longest_input,
    read_weights,
)
from adducir.models.sources import ModelSource
from adducir.models.work import Numbers, computed, padded, token_ids
from adducir.rerankers.late_reading import PUNCTUATION, LateReading, stated_reading
from adducir.rerankers.recipe import Length, Pair, Pointwise, RerankerRecipe, Scores
from adducir.training.retrievers import RetrieverRecipe

if TYPE_CHECKING:
    import torch

_PROJECTIONS = ("linear.weight", "colbert_linear.weight")


class MaxSimRecipe(RerankerRecipe):
    """ColBERT's score with the token vectors of any encoder.

    Attributes:
        query_length: Maximum tokens of a query.
        document_length: Maximum tokens of a text; by default the encoder's maximum.
        skip_punctuation: Whether to ignore a text's punctuation.
    """

    scores: ClassVar[str] = "sum over the query's tokens of the maximum cosine"
    is_late: ClassVar[bool] = True

    model: Literal["maxsim"] = "maxsim"
    query_length: Length = 128
    document_length: Length | None = None
    skip_punctuation: bool = True

    def reading(self, source: ModelSource) -> LateReading:
        """How both sides are read: what is set here, and for a ColBERT what its files state."""
        return LateReading(
            markers=(None, None),
            lengths=(self.query_length, self.document_length),
            expanded=None,
            skipped=PUNCTUATION if self.skip_punctuation else (),
            stated="",
        )

    def load(self, source: ModelSource) -> "LateInteraction":
        return LateInteraction.load(source, self)


class ColBERTRecipe(MaxSimRecipe, RetrieverRecipe):
    """A ColBERT, pretrained or to be trained; what is not set is as its files state it.

    Attributes:
        base: By default the authors' second version.
        dimensions: Of vectors, if a new projection is trained.
        examples: Training data; a recipe with examples trains a model.
        held_out: The validation data: a share of the queries.
        loss: What is minimised; by default in-batch negatives.
        batches: How batches are formed.
        training: How to train.
        query_length: Tokens of a query, which is padded to this number if queries are expanded.
        document_length: Maximum tokens of a text.
        markers: The tokens before a query and a text.
        expand_queries: Whether queries are padded with masks, which are scored.
        attend_to_masks: Whether other tokens attend to a query's padding.
        skip_punctuation: Whether to ignore a text's punctuation.
    """

    kind: Literal["colbert", "reranker"] = "colbert"  # type: ignore[assignment]
    model: Literal["colbert"] = "colbert"  # type: ignore[assignment]
    base: str = "colbert-ir/colbertv2.0"
    query_length: Length | None = None  # type: ignore[assignment]
    document_length: Length | None = None
    markers: tuple[str, str] | None = None
    expand_queries: bool | None = None
    attend_to_masks: bool | None = None
    skip_punctuation: bool | None = None  # type: ignore[assignment]
    dimensions: Length = 128

    @classmethod
    def fits(cls, source: ModelSource) -> bool:
        return look(source).kind == "colbert"

    def reading(self, source: ModelSource) -> LateReading:
        return self.changed(stated_reading(source))

    def changed(self, reading: LateReading) -> LateReading:
        """A reading with what is set here."""
        length = self.query_length
        if self.expand_queries is not None:
            expanded = reading.expanded or reading.lengths[0] or 32 if self.expand_queries else None
            reading = replace(reading, expanded=expanded)
        if length is not None and reading.expanded is None:
            reading = replace(reading, lengths=(length, reading.lengths[1]))
        elif length is not None:
            reading = replace(reading, expanded=length)
        if self.document_length is not None:
            reading = replace(reading, lengths=(reading.lengths[0], self.document_length))
        if self.markers is not None:
            reading = replace(reading, markers=self.markers)
        if self.attend_to_masks is not None:
            reading = replace(reading, attend=self.attend_to_masks)
        if self.skip_punctuation is not None:
            reading = replace(reading, skipped=PUNCTUATION if self.skip_punctuation else ())
        return reading

    def statement(self, source: ModelSource) -> str:
        return self.reading(source).shown()


@dataclass(frozen=True)
class Tokens:
    """An input: its ids, its side (0: query, 1: text), and its tokens with a query's padding."""

    ids: Numbers
    side: int
    length: int

    def __len__(self) -> int:
        return self.length


class LateInteraction(Pointwise):
    """An encoder, its layers on each token's vector, and the score.

    A ColBERT's only layer, without bias, is the (dimensions, hidden) ``projection``.
    """

    def __init__(
        self,
        network: Any,
        tokenizer: Any,
        projection: "torch.Tensor | None",
        reading: LateReading,
        layers: "Sequence[torch.nn.Module]" = (),
        *,
        is_colbert: bool = True,
    ) -> None:
        self.network, self.tokenizer, self.layers = network, tokenizer, [*layers]
        self.projection, self.reading, self.is_colbert = projection, reading, is_colbert
        sample = tokenizer.backend_tokenizer.encode("a")
        positions = np.flatnonzero(np.array(sample.special_tokens_mask) == 0)
        ids = np.array(sample.ids, dtype=np.int64)
        self._opening, self._closing = ids[: positions[0]], ids[positions[-1] + 1 :]
        markers = [self._marker(reading, side) for side in (0, 1)]
        self._markers = [number for number, _ in markers]
        self._prompts = [prompt for _, prompt in markers]
        vocabulary = tokenizer.get_vocab()
        fillers = (
            [reading.filler] if reading.filler else [tokenizer.mask_token, tokenizer.eos_token]
        )
        filler = next(filter(None, fillers), None)
        if reading.expanded and filler not in vocabulary:
            message = f"the vocabulary lacks the token that pads queries: {filler or 'a mask'}."
            raise InputError(message, path=tokenizer.name_or_path)
        self._filler = vocabulary[filler] if reading.expanded else 0
        # ColBERT's own list has the first piece of each mark; sentence-transformers' the token of
        # that name, which for a vocabulary of words is the same.
        unknown = tokenizer.unk_token_id
        marks = {word: vocabulary[word] for word in reading.skipped if word in vocabulary}
        self._skipped = {word: mark for word, mark in marks.items() if mark != unknown}
        longest = longest_input(network.config, tokenizer)
        query, document = reading.lengths
        if reading.expanded and (reading.is_fixed or query):
            query = max(reading.expanded, 0 if reading.is_fixed else query or 0)
        self.lengths = min(query or longest, longest), min(document or longest, longest)
        room = [
            self.room(
                length, len(self._opening) + (marker is not None) + len(self._closing), key, 1
            )
            for length, marker, key in zip(
                self.lengths, self._markers, ("query_length", "document_length"), strict=True
            )
        ]
        self.room_of_queries, self._rooms = room[0], room

    def _marker(self, reading: LateReading, side: int) -> tuple[int | None, str]:
        """The id of a side's marker, and the text that follows it before each text."""
        marker, prompt = reading.markers[side], reading.prompts[side]
        if marker is None:
            return None, prompt
        vocabulary = self.tokenizer.get_vocab()
        for word in dict.fromkeys((marker, *marker.split()[:1])):
            if word in vocabulary:
                return int(vocabulary[word]), marker.removeprefix(word) + prompt
        if reading.stated.startswith("PyLate"):  # it is text there
            return None, marker + prompt
        raise InputError(
            f"the vocabulary lacks the marker {marker!r}.",
            path=self.tokenizer.name_or_path,
            hint="Name this checkpoint's markers with `markers:` in a recipe; for an encoder "
            "without markers use maxsim.",
        )

    @classmethod
    def load(cls, source: ModelSource, recipe: MaxSimRecipe) -> "LateInteraction":
        """An encoder with its layers; for maxsim, without them."""
        folder, seen = source.described(), look(source)
        if not isinstance(recipe, ColBERTRecipe):
            if seen.kind not in ("encoder", "transformer"):
                message = f"this should be an encoder of texts, not a {seen.title}."
                raise InputError(message, path=folder, hint=seen.use)
            reading = recipe.reading(source)
            place = next(
                (p for kind, p in modules_of(folder) if kind.endswith("Transformer")), None
            )
            placed = replace(source, folder=place) if place else source
            network: Any = load_model(placed, encoder_class(placed))
            return cls(network, load_tokenizer(placed), None, reading, is_colbert=False)
        reading, modules = recipe.reading(source), modules_of(folder)
        layers, projection = list[Any](), None
        with explaining("projection", folder):
            if modules:
                source = replace(source, folder=modules[0][1])
                places = [place for kind, place in modules if kind.endswith("Dense")]
                layers = [_dense(place) for place in places]
            else:
                weights = read_weights(source.local(), _PROJECTIONS.__contains__)
                projection = next((weight.float() for _, weight in weights), None)
        if projection is None and not layers:
            raise InputError(
                f"{source.name} lacks a projection (linear.weight): it is not a ColBERT.",
                path=folder,
                hint=f"For the same score with a plain encoder, use maxsim:{source.name}.",
            )
        if len(layers) == 1 and _is_plain(layers[0]):
            projection, layers = layers[0].linear.weight.data, []
        network = load_model(source, encoder_class(source), used=_PROJECTIONS.__contains__)
        hidden = network.config.hidden_size
        if projection is not None and (projection.ndim != 2 or projection.shape[1] != hidden):
            message = f"its projection has the shape {tuple(projection.shape)}, which does not fit "
            raise InputError(f"{message}vectors of {hidden} numbers.", path=folder)
        return cls(network, load_tokenizer(source), projection, reading, layers)

    def to(self, device: "torch.device") -> None:
        super().to(device)
        if self.projection is not None:
            self.projection = self.projection.to(device)
        self.layers = [layer.to(device) for layer in self.layers]

    def queries(self, texts: Sequence[str]) -> list[Tokens]:
        return self._read(texts, 0)

    def documents(self, texts: Sequence[str]) -> list[Tokens]:
        return self._read(texts, 1)

    def _read(self, texts: Sequence[str], side: int) -> list[Tokens]:
        least = self.reading.expanded or 0 if side == 0 else 0
        every = self.token_ids(texts, side)
        return [Tokens(ids, side, max(least, len(ids))) for ids in every]

    def token_ids(self, texts: Sequence[str], side: int) -> list[Numbers]:
        """Ids with marker and special tokens, before a query's padding."""
        marker = [number for number in self._markers[side : side + 1] if number is not None]
        opening = np.append(self._opening, marker).astype(np.int64)
        prompted = [self._prompts[side] + text for text in texts]
        inner = token_ids(self.tokenizer, prompted, self._rooms[side])
        return [np.concatenate((opening, ids, self._closing)) for ids in inner]

    def features(
        self, ids: "torch.Tensor", mask: "torch.Tensor", side: int
    ) -> "dict[str, torch.Tensor]":
        """What the network reads of padded ids (n, T), and which vectors count.

        The names are those of sentence-transformers; ``counts`` is (n, T).
        """
        import torch
        from torch.nn.functional import pad

        counts, more = mask.bool(), dict[str, torch.Tensor]()
        places = torch.arange(ids.shape[1], device=ids.device)
        if not self.is_colbert:
            closing = mask.sum(1, keepdim=True) - len(self._closing)
            counts = (places >= len(self._opening)) & (places < closing)
        elif side == 0 and (expanded := self.reading.expanded):
            behind = (0, max(0, expanded - ids.shape[1]))
            ids, mask, counts = (pad(values, behind) for values in (ids, mask, counts))
            places = torch.arange(ids.shape[1], device=ids.device)
            added = ~counts & (places < expanded)
            ids, counts = ids.masked_fill(added, self._filler), counts | added
            mask = mask.masked_fill(added, int(self.reading.attend))
            more["query_expansion_positions"] = added
        if self.reading.skips[side]:
            skipped = torch.tensor([*self._skipped.values()], dtype=ids.dtype, device=ids.device)
            counts = counts & ~torch.isin(ids, skipped)
        return {"input_ids": ids, "attention_mask": mask, "counts": counts, **more}

    def read(self, batch: Sequence[Tokens]) -> "dict[str, torch.Tensor]":
        """The features of a side's inputs."""
        filler = self.tokenizer.pad_token_id or 0
        ids, mask = padded([tokens.ids for tokens in batch], filler, self.network.device)
        return self.features(ids, mask, batch[0].side)

    def vectors(self, features: "dict[str, torch.Tensor]") -> "torch.Tensor":
        """(n, T, dimensions) unit vectors of tokens, including padding."""
        import torch

        ids, mask = features["input_ids"], features["attention_mask"]
        states = self.network(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        if self.projection is not None:
            states = states @ self.projection.T
        for layer in self.layers:
            states = layer({"token_embeddings": states})["token_embeddings"]
        return torch.nn.functional.normalize(states, dim=-1)

    def token_vectors(self, read: Sequence[Tokens]) -> list[Floats]:
        """(T, dimensions) vectors of each text's tokens that count."""

        def compute(numbers: Numbers) -> list[Floats]:
            features = self.read([read[number] for number in numbers])
            rows, counts = self.vectors(features).cpu().numpy(), features["counts"].cpu().numpy()
            return [row[counted] for row, counted in zip(rows, counts, strict=True)]

        return computed(self.network, list(map(len, read)), compute, self.running)

    def stated_by_pylate(self) -> dict[str, Any]:
        """The settings that PyLate reads from a model's folder."""
        reading = self.reading
        sides = ("query", "document")
        return {
            "model_type": "ColBERT",
            "prompts": dict(zip(sides, reading.prompts, strict=True)),
            "default_prompt_name": None,
            "similarity_fn_name": "meanmaxsim" if reading.is_mean else "MaxSim",
            "query_prefix": reading.markers[0] or "",
            "document_prefix": reading.markers[1] or "",
            "query_length": self.lengths[0],
            "document_length": self.lengths[1],
            "attend_to_expansion_tokens": reading.attend,
            "skiplist_words": [*self._skipped],
            "do_query_expansion": reading.expanded is not None,
        }

    def scores(self, pairs: Sequence[Pair]) -> Scores:
        """Each distinct query and text is encoded once."""
        queries, texts = (list(dict.fromkeys(side)) for side in zip(*pairs, strict=True))
        of_query = dict(zip(queries, self.token_vectors(self.queries(queries)), strict=True))
        of_text = dict(zip(texts, self.token_vectors(self.documents(texts)), strict=True))
        is_mean = self.reading.is_mean
        values = [
            pair_score(of_query[query], of_text[text], is_mean=is_mean) for query, text in pairs
        ]
        return np.array(values, dtype=float)


def pair_score(query: Floats, text: Floats, *, is_mean: bool = False) -> float:
    """The score of two texts' vectors; one without counted vectors has the lowest possible."""
    value = float((query @ text.T).max(axis=1).sum()) if len(text) else -len(query)
    return value / max(1, len(query)) if is_mean else value


def _dense(place: Path) -> Any:
    """A dense layer of sentence-transformers or PyLate on each token's vector."""
    from sentence_transformers.base.modules.dense import Dense

    defaults = {"module_input_name": "token_embeddings"}
    layer = Dense.load(str(place), local_files_only=True, init_defaults=defaults)
    layer.module_input_name = layer.module_output_name = "token_embeddings"
    return layer.float().eval()


def _is_plain(layer: Any) -> bool:
    from torch import nn

    is_identity = isinstance(layer.activation_function, nn.Identity)
    return is_identity and layer.linear.bias is None and not layer.use_residual
