"""ColBERT: late interaction (Khattab and Zaharia, SIGIR 2020), here as a reranker.

Query and text are encoded separately, into a vector per token. The score is
s = sum over the query's vectors of the maximum inner product with the text's.

As published: queries are ``[CLS] [unused0] q [SEP]``, padded with ``[MASK]`` to 32 tokens, which
are scored like the others but not attended to; longer queries are cut. Texts are ``[CLS] [unused1]
d [SEP]``, at most 220 tokens, without vectors of punctuation. Vectors are projected to 128
dimensions without bias and normalised.

``maxsim`` scores the same way with any encoder, such as MiniLM, without markers, padding or
projection; special tokens do not count, because they are not trained for matching.
"""

import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from adducir.core.errors import InputError
from adducir.encoders.kinds import Floats
from adducir.models.loading import (
    explaining,
    load_config,
    load_model,
    load_tokenizer,
    longest_input,
    read_weights,
    sentence_settings,
)
from adducir.models.sources import ModelSource
from adducir.models.work import Numbers, computed, padded, token_ids
from adducir.rerankers.recipe import Length, Pair, Pointwise, RerankerRecipe, Scores

if TYPE_CHECKING:
    import torch

_PROJECTIONS = ("linear.weight", "colbert_linear.weight")
_PARTS = ("sentence_bert_config.json", "1_Dense/config.json", "2_MultiVectorMask/config.json")
_PUBLISHED = {"parts": ["1_Dense", "2_MultiVectorMask", "3_Normalize"], "bias": False}
_PUBLISHED |= {"activation_function": "torch.nn.modules.linear.Identity"}
_PUBLISHED |= {"skiplist_tasks": ["document"], "keep_only_token_ids": None, "measure": "maxsim"}


class MaxSimRecipe(RerankerRecipe):
    """ColBERT's score with the token vectors of any encoder.

    Attributes:
        query_length: Maximum tokens of a query.
        document_length: Maximum tokens of a text; by default the encoder's maximum.
        skip_punctuation: Whether to ignore a text's punctuation.
    """

    scores: ClassVar[str] = "sum over the query's tokens of the maximum cosine"

    model: Literal["maxsim"] = "maxsim"
    query_length: Length = 128
    document_length: Length | None = None
    skip_punctuation: bool = True

    def load(self, source: ModelSource) -> "LateInteraction":
        return LateInteraction.load(source, self)


class ColBERTRecipe(MaxSimRecipe):
    """A ColBERT.

    Attributes:
        base: By default the authors' second version.
        query_length: Tokens of a query, which is padded to this number.
        document_length: Maximum tokens of a text.
        markers: The tokens before a query and a text.
        attend_to_masks: Whether other tokens attend to a query's padding.
        skip_punctuation: Whether to ignore a text's punctuation.
    """

    model: Literal["colbert"] = "colbert"  # type: ignore[assignment]
    base: str = "colbert-ir/colbertv2.0"
    query_length: Length = 32
    document_length: Length | None = 220
    markers: tuple[str, str] = ("[unused0]", "[unused1]")
    attend_to_masks: bool = False

    @classmethod
    def fits(cls, source: ModelSource) -> bool:
        said = sentence_settings(source.local()).get("model_type")
        return said == "MultiVectorEncoder" or source.has_architecture("ColBERT")

    def refuse_deviations(self, folder: Path) -> None:
        """Refuse a MultiVectorEncoder of sentence-transformers that computes something else."""
        said = sentence_settings(folder, *_PARTS)
        said["measure"] = said.get("similarity_fn_name") or "maxsim"
        said["parts"] = sorted(path.parent.name for path in folder.glob("*/config.json"))
        expansion = {"strategy": "fixed", "length": self.query_length, "token": None}
        wanted = _PUBLISHED | {
            "prompts": dict(zip(("query", "document"), self.markers, strict=True)),
            "query_expansion": {**expansion, "attend": self.attend_to_masks},
            "document_length": self.document_length,
            "skiplist_words": [*string.punctuation] if self.skip_punctuation else [],
        }
        if other := [f"`{key}`" for key, value in wanted.items() if said.get(key) != value]:
            what = f"this MultiVectorEncoder differs from a ColBERT in {', '.join(other)}."
            hint = "A recipe can change markers, lengths, attention and punctuation, nothing else."
            raise InputError(what, path=folder, hint=hint)


@dataclass(frozen=True)
class Tokens:
    """An input: its ids, which of them are attended to, and which vectors count."""

    ids: Numbers
    attended: Numbers
    counts: Numbers

    def __len__(self) -> int:
        return len(self.ids)


class LateInteraction(Pointwise):
    """An encoder, a (dimensions, hidden) projection or none, and the score."""

    def __init__(
        self, network: Any, tokenizer: Any, projection: "torch.Tensor | None", recipe: MaxSimRecipe
    ) -> None:
        self.network, self.tokenizer = network, tokenizer
        self.projection, self.recipe = projection, recipe
        sample = tokenizer.backend_tokenizer.encode("a")
        own = np.flatnonzero(np.array(sample.special_tokens_mask) == 0)
        ids = np.array(sample.ids, dtype=np.int64)
        self._opening, self._closing = ids[: own[0]], ids[own[-1] + 1 :]
        markers = recipe.markers if isinstance(recipe, ColBERTRecipe) else ()
        known = tokenizer.get_vocab()
        for token in markers:
            if token not in known:
                raise InputError(
                    f"the vocabulary lacks the marker {token!r}.",
                    path=tokenizer.name_or_path,
                    hint="Name this checkpoint's markers with `markers:` in a recipe; for an "
                    "encoder without markers use maxsim.",
                )
        if markers and tokenizer.mask_token_id is None:
            raise InputError("this tokenizer lacks a mask token, which pads ColBERT's queries.")
        self._markers = [int(known[token]) for token in markers]
        self._skipped = np.zeros(0, dtype=np.int64)
        if recipe.skip_punctuation:  # ASCII's punctuation, as in ColBERT's skip list
            marks = np.concatenate(token_ids(tokenizer, list(string.punctuation), 1))
            self._skipped = marks[marks != tokenizer.unk_token_id]
        longest = longest_input(network.config, tokenizer)
        lengths = recipe.query_length, recipe.document_length or longest
        self._lengths = min(lengths[0], longest), min(lengths[1], longest)
        special = len(self._opening) + len(self._markers[:1]) + len(self._closing)
        self.room_of_queries = self.room(self._lengths[0], special, "query_length", 1)
        of_documents = self.room(self._lengths[1], special, "document_length", 1)
        self._rooms = self.room_of_queries, of_documents

    @classmethod
    def load(cls, source: ModelSource, recipe: MaxSimRecipe) -> "LateInteraction":
        """An encoder with its projection; for maxsim, without one."""
        folder, projection = source.local(), None
        kind = str(sentence_settings(folder).get("model_type", "SentenceTransformer"))
        if isinstance(recipe, ColBERTRecipe):  # weights in ColBERT's or PyLate's layout
            if kind == "MultiVectorEncoder":
                recipe.refuse_deviations(folder)
            with explaining("projection", folder):
                for one in (folder, folder / "1_Dense"):
                    if one.is_dir() and projection is None:
                        weights = read_weights(one, lambda name: name in _PROJECTIONS)
                        projection = next((weight.float() for _, weight in weights), None)
            if projection is None:
                raise InputError(
                    f"{source.name} lacks a projection (linear.weight): it is not a ColBERT.",
                    path=folder,
                    hint=f"For the same score with a plain encoder, use maxsim:{source.name}.",
                )
        else:
            config = load_config(source)
            classes = [*map(str, config.architectures or ())]
            other = [name for name in classes if not name.endswith("Model")]
            if (folder / "modules.json").is_file():  # such as a CrossEncoder
                other = [kind] if kind != "SentenceTransformer" else []
            if other or config.is_encoder_decoder:
                what = (other or classes or ["model with a decoder"])[0]
                raise InputError(
                    f"this should be an encoder of texts, not a {what}.",
                    path=folder,
                    hint="maxsim supports encoders, such as those of sentence-transformers; for a "
                    f"ColBERT use colbert:{source.name}.",
                )
        network: Any = load_model(source)
        hidden = network.config.hidden_size
        if projection is not None and (projection.ndim != 2 or projection.shape[1] != hidden):
            what = f"its projection has the shape {tuple(projection.shape)}, which does not fit "
            raise InputError(f"{what}vectors of {hidden} numbers.", path=folder)
        return cls(network, load_tokenizer(source), projection, recipe)

    def to(self, device: "torch.device") -> None:
        super().to(device)
        if self.projection is not None:
            self.projection = self.projection.to(device)

    def queries(self, texts: Sequence[str]) -> list[Tokens]:
        return self._read(texts, 0)

    def documents(self, texts: Sequence[str]) -> list[Tokens]:
        return self._read(texts, 1)

    def _read(self, texts: Sequence[str], side: int) -> list[Tokens]:
        opening = np.append(self._opening, self._markers[side : side + 1]).astype(np.int64)
        found = []
        for own in token_ids(self.tokenizer, texts, self._rooms[side]):
            ids = np.concatenate((opening, own, self._closing))
            attended, counts = np.ones_like(ids), np.ones_like(ids)
            if not isinstance(self.recipe, ColBERTRecipe):
                counts[: len(self._opening)] = 0
                counts[len(ids) - len(self._closing) :] = 0
            elif side == 0:
                behind = (0, self._lengths[0] - len(ids))
                ids = np.pad(ids, behind, constant_values=self.tokenizer.mask_token_id)
                attended = np.pad(attended, behind, constant_values=self.recipe.attend_to_masks)
                counts = np.pad(counts, behind, constant_values=1)
            if side == 1:
                counts[np.isin(ids, self._skipped)] = 0
            found.append(Tokens(ids, attended, counts))
        return found

    def vectors(self, batch: Sequence[Tokens]) -> "torch.Tensor":
        """(n, longest, dimensions) unit vectors of tokens, including padding."""
        import torch

        device = self.network.device
        ids, _ = padded([one.ids for one in batch], self.tokenizer.pad_token_id or 0, device)
        mask, _ = padded([one.attended for one in batch], 0, device)
        found = self.network(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        if self.projection is not None:
            found = found @ self.projection.T
        return torch.nn.functional.normalize(found, dim=-1)

    def token_vectors(self, read: Sequence[Tokens]) -> list[Floats]:
        """(T, dimensions) vectors of each text's tokens that count."""

        def compute(numbers: Numbers) -> list[Floats]:
            some = [read[number] for number in numbers]
            rows = zip(self.vectors(some).cpu().numpy(), some, strict=True)
            return [row[: len(one)][one.counts > 0] for row, one in rows]

        return computed(self.network, list(map(len, read)), compute, self.running)

    def scores(self, pairs: Sequence[Pair]) -> Scores:
        """Each distinct query and text is encoded once."""
        queries, texts = (list(dict.fromkeys(side)) for side in zip(*pairs, strict=True))
        of_query = dict(zip(queries, self.token_vectors(self.queries(queries)), strict=True))
        of_text = dict(zip(texts, self.token_vectors(self.documents(texts)), strict=True))
        values = []
        for query, text in pairs:
            own, other = of_query[query], of_text[text]
            # A text without counted vectors has the lowest possible score.
            values.append((own @ other.T).max(axis=1).sum() if len(other) else -len(own))
        return np.array(values, dtype=float)
