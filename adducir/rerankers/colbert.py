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
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from adducir.core.errors import InputError
from adducir.encoders.kinds import Floats
from adducir.encoders.reading import Reader
from adducir.models.folders import SIDES, FolderKind, Side, look, modules_of, network_of
from adducir.models.loading import explaining, load_tokenizer, longest_input, read_weights
from adducir.models.peers import load_trunk
from adducir.models.sources import ModelSource
from adducir.models.work import Numbers, computed, padded
from adducir.rerankers.late_reading import PUNCTUATION, LateReading, stated_reading
from adducir.rerankers.pairs import Pair, Pointwise, Scores
from adducir.rerankers.recipe import Length, RerankerRecipe, refusal
from adducir.training.retrievers import RetrieverRecipe

if TYPE_CHECKING:
    import torch

_PROJECTIONS = ("linear.weight", "colbert_linear.weight")


class MaxSimRecipe(RerankerRecipe):
    """ColBERT's score with the token vectors of any encoder."""

    reads: ClassVar[tuple[FolderKind, ...]] = ("encoder", "transformer")
    scores: ClassVar[str] = "sum over the query's tokens of the maximum cosine"
    is_late: ClassVar[bool] = True

    model: Literal["maxsim"] = "maxsim"
    query_length: Length = 128
    """Maximum tokens of a query."""
    document_length: Length | None = None
    """Maximum tokens of a text; by default the encoder's maximum."""
    skip_punctuation: bool = True
    """Whether to ignore a text's punctuation."""

    def reading(self, source: ModelSource) -> LateReading:
        """How both sides are read: what is set here, and for a ColBERT what its files state."""
        return LateReading(
            markers=(None, None),
            lengths=(self.query_length, self.document_length),
            expanded=None,
            skipped=PUNCTUATION if self.skip_punctuation else (),
            stated="",
        )

    def statement(self, source: ModelSource) -> str:
        return (
            "long texts cut on the left (the tokenizer's)"
            if network_of(source).cuts_on_left
            else ""
        )

    def load(self, source: ModelSource) -> "LateInteraction":
        return LateInteraction.load(source, self)


class ColBERTRecipe(MaxSimRecipe, RetrieverRecipe):
    """A ColBERT, pretrained or to be trained; what is not set is as its files state it.

    A recipe with ``examples`` trains a model.
    """

    reads: ClassVar[tuple[FolderKind, ...]] = ()
    kind: Literal["colbert", "reranker"] = "colbert"  # type: ignore[assignment]
    model: Literal["colbert"] = "colbert"  # type: ignore[assignment]
    base: str = "colbert-ir/colbertv2.0"
    """By default the authors' second version."""
    query_length: Length | None = None  # type: ignore[assignment]
    """Tokens of a query, which is padded to this number if queries are expanded."""
    document_length: Length | None = None
    markers: tuple[str, str] | None = None
    """The tokens before a query and a text."""
    expand_queries: bool | None = None
    """Whether queries are padded with masks, which are scored."""
    attend_to_masks: bool | None = None
    """Whether other tokens attend to a query's padding."""
    skip_punctuation: bool | None = None  # type: ignore[assignment]
    dimensions: Length = 128
    """Numbers per vector, if a new projection is trained."""

    @classmethod
    def fits(cls, source: ModelSource) -> bool:
        return look(source).kind == "colbert"

    def reading(self, source: ModelSource) -> LateReading:
        return self.changed(stated_reading(source))

    def changed(self, reading: LateReading) -> LateReading:
        """A reading with what is set here."""
        (query, document), expanded = reading.lengths, reading.expanded
        if self.expand_queries is not None:
            expanded = (expanded or query or 32) if self.expand_queries else None
        if self.query_length is not None and expanded is None:
            query = self.query_length
        elif self.query_length is not None:
            expanded = self.query_length
        stated: dict[str, Any] = {"markers": self.markers, "attend": self.attend_to_masks}
        if self.skip_punctuation is not None:
            stated["skipped"] = PUNCTUATION if self.skip_punctuation else ()
        changes = {name: value for name, value in stated.items() if value is not None}
        lengths = query, self.document_length or document
        return replace(reading, lengths=lengths, expanded=expanded, **changes)

    def statement(self, source: ModelSource) -> str:
        return ", ".join(filter(None, (self.reading(source).shown(), super().statement(source))))


@dataclass(frozen=True)
class Tokens:
    """An input: its ids, its side, and its number of tokens with a query's padding."""

    ids: Numbers
    side: Side
    length: int

    def __len__(self) -> int:
        return self.length


class LateInteraction(Pointwise):
    """An encoder, its layers on each token's vector, and the score."""

    def __init__(
        self,
        network: Any,
        tokenizer: Any,
        reading: LateReading,
        layers: "Sequence[torch.nn.Module]" = (),
        *,
        is_colbert: bool = True,
    ) -> None:
        self.network, self.tokenizer, self.layers = network, tokenizer, [*layers]
        self.reading, self.is_colbert = reading, is_colbert
        longest = longest_input(network.config, tokenizer)
        query, document = reading.lengths
        if (reading.expanded or 0) > longest:
            message = f"it reads at most {longest:,} tokens, not {reading.expanded:,}"
            raise InputError(f"{message} (`query_length`).", path=tokenizer.name_or_path)
        if reading.expanded and (reading.is_fixed or query):
            query = max(reading.expanded, 0 if reading.is_fixed else query or 0)
        self.readers: dict[Side, Reader] = {
            side: self._reader(marker, prompt, min(length or longest, longest))
            for side, marker, prompt, length in zip(
                SIDES, reading.markers, reading.prompts, (query, document), strict=True
            )
        }
        self.room_of_queries, _ = (reader.specials()[2] for reader in self.readers.values())
        vocabulary = tokenizer.get_vocab()
        filler = reading.filler or tokenizer.mask_token or tokenizer.eos_token
        if reading.expanded and filler not in vocabulary:
            message = f"the vocabulary lacks the token that pads queries: {filler or 'a mask'}."
            raise InputError(message, path=tokenizer.name_or_path)
        self._filler = vocabulary[filler] if reading.expanded else 0
        # ColBERT's own list has the first piece of each mark; sentence-transformers' the token of
        # that name, which for a vocabulary of words is the same.
        marks = {word: vocabulary[word] for word in reading.skipped if word in vocabulary}
        self.skipped = {
            word: mark for word, mark in marks.items() if mark != tokenizer.unk_token_id
        }

    def _reader(self, marker: str | None, prompt: str, longest: int) -> Reader:
        """The reader of a side's texts; what follows its marker's token is text."""
        if marker is None:
            return Reader(self.tokenizer, longest, prompt)
        vocabulary = self.tokenizer.get_vocab()
        for word in dict.fromkeys((marker, *marker.split()[:1])):
            if word in vocabulary:
                text = marker.removeprefix(word) + prompt
                return Reader(self.tokenizer, longest, text, marker=vocabulary[word])
        if self.reading.stated.startswith("PyLate"):  # it is text there
            return Reader(self.tokenizer, longest, marker + prompt)
        message = f"the vocabulary lacks the marker {marker!r}."
        hint = "Name its markers with `markers:` in a recipe; an encoder without any is a maxsim."
        raise InputError(message, path=self.tokenizer.name_or_path, hint=hint)

    @classmethod
    def load(cls, source: ModelSource, recipe: MaxSimRecipe) -> "LateInteraction":
        """An encoder with its layers; for maxsim, without them."""
        if not recipe.accepts(source):
            raise refusal(source, "an encoder of texts")
        reading, placed, folder = recipe.reading(source), network_of(source), source.described()
        is_colbert, layers = isinstance(recipe, ColBERTRecipe), list[Any]()
        if is_colbert:
            with explaining("projection", folder):
                layers = _layers(source)
            if not layers:
                message = f"{source.name} lacks a projection (linear.weight): it is not a ColBERT."
                hint = f"For the same score with a plain encoder, use maxsim:{source.name}."
                raise InputError(message, path=folder, hint=hint)
        used = _PROJECTIONS if is_colbert else ()
        network = load_trunk(placed, used=used.__contains__)
        width = network.config.hidden_size
        if layers and layers[0].linear.in_features != width:
            message = f"its projection does not fit vectors of {width} numbers."
            raise InputError(message, path=folder)
        return cls(network, load_tokenizer(placed), reading, layers, is_colbert=is_colbert)

    @property
    def projection(self) -> "torch.Tensor | None":
        """The (dimensions, hidden) weights, if its only layer is linear and has no bias."""
        from torch import nn

        if len(self.layers) != 1:
            return None
        layer: Any = self.layers[0]
        is_linear = isinstance(layer.activation_function, nn.Identity) and not layer.use_residual
        weight: torch.Tensor = layer.linear.weight.data
        return weight if is_linear and layer.linear.bias is None else None

    def to(self, device: "torch.device") -> None:
        super().to(device)
        self.layers = [layer.to(device) for layer in self.layers]

    def queries(self, texts: Sequence[str]) -> list[Tokens]:
        least = self.reading.expanded or 0
        every = self.readers["query"].texts(texts)
        return [Tokens(ids, "query", max(least, len(ids))) for ids in every]

    def documents(self, texts: Sequence[str]) -> list[Tokens]:
        every = self.readers["document"].texts(texts)
        return [Tokens(ids, "document", len(ids)) for ids in every]

    def features(  # type: ignore[override]
        self, ids: "torch.Tensor", mask: "torch.Tensor", side: Side
    ) -> "dict[str, torch.Tensor]":
        """What the network reads of padded ids (n, T), and which vectors count.

        The names are those of sentence-transformers; ``counts`` is (n, T).
        """
        import torch
        from torch.nn.functional import pad

        counts, more = mask.bool(), dict[str, torch.Tensor]()
        places = torch.arange(ids.shape[1], device=ids.device)
        if not self.is_colbert:
            before, after, _ = self.readers[side].specials()
            closing = mask.sum(1, keepdim=True) - len(after)
            counts = (places >= len(before)) & (places < closing)
        elif side == "query" and (expanded := self.reading.expanded):
            behind = (0, max(0, expanded - ids.shape[1]))
            ids, mask, counts = (pad(values, behind) for values in (ids, mask, counts))
            places = torch.arange(ids.shape[1], device=ids.device)
            added = ~counts & (places < expanded)
            ids, counts = ids.masked_fill(added, self._filler), counts | added
            mask = mask.masked_fill(added, int(self.reading.attend))
            more["query_expansion_positions"] = added
        if side in self.reading.skips:
            skipped = torch.tensor([*self.skipped.values()], dtype=ids.dtype, device=ids.device)
            counts = counts & ~torch.isin(ids, skipped)
        return {"input_ids": ids, "attention_mask": mask, "counts": counts, **more}

    def read(self, batch: Sequence[Tokens]) -> "dict[str, torch.Tensor]":
        """The features of a side's inputs."""
        filler = self.tokenizer.pad_token_id or 0
        ids, mask = padded([tokens.ids for tokens in batch], filler, self.network.device)
        return self.features(ids, mask, batch[0].side)

    def vectors(self, features: "dict[str, torch.Tensor]") -> "torch.Tensor":
        """(n, T, dimensions) unit vectors of tokens, including padding."""
        from torch.nn.functional import normalize

        ids, mask = features["input_ids"], features["attention_mask"]
        states = self.network(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        for layer in self.layers:
            states = layer({"token_embeddings": states})["token_embeddings"]
        return normalize(states, dim=-1)

    def token_vectors(self, read: Sequence[Tokens]) -> list[Floats]:
        """(T, dimensions) vectors of each text's tokens that count."""

        def compute(numbers: Numbers) -> list[Floats]:
            features = self.read([read[number] for number in numbers])
            rows, counts = self.vectors(features).cpu().numpy(), features["counts"].cpu().numpy()
            return [row[counted] for row, counted in zip(rows, counts, strict=True)]

        return computed(self.network, list(map(len, read)), compute, self.running)

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


def linear_layer(width: int, size: int, weight: "torch.Tensor | None" = None) -> Any:
    """A layer without bias on each token's vector; new without a weight."""
    from sentence_transformers.base.modules.dense import Dense
    from torch import nn

    named: Any = {"module_input_name": "token_embeddings"}
    return Dense(width, size, False, nn.Identity(), weight, **named)


def _layers(source: ModelSource) -> list[Any]:
    """A ColBERT's layers on each token's vector, as modules or as weights beside the network's."""
    from sentence_transformers.base.modules.dense import Dense

    modules, layers = modules_of(source.described()), list[Any]()
    if not modules:
        weights = read_weights(source.local(), _PROJECTIONS.__contains__)
        weight = next((weight.float() for _, weight in weights), None)
        return [] if weight is None else [linear_layer(weight.shape[1], len(weight), weight)]
    defaults = {"module_input_name": "token_embeddings"}
    for place in (place for kind, place in modules if kind.endswith("Dense")):
        layer = Dense.load(str(place), local_files_only=True, init_defaults=defaults)
        layer.module_input_name = layer.module_output_name = "token_embeddings"
        layers.append(layer.float().eval())
    return layers
