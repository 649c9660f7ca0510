"""ColBERT: late interaction (Khattab and Zaharia, SIGIR 2020), here as a reranker.

Query and text are encoded apart, into a vector for each token. The score is
s = sum over the query's vectors of the greatest inner product with any of the text's.

As published: queries are ``[CLS] [unused0] q [SEP]``, filled with ``[MASK]`` to 32 tokens, which
are scored as all others are, but are not attended to; a longer query is cut. Texts are ``[CLS]
[unused1] d [SEP]``, at most 220 tokens, and the vectors of punctuation marks do not count. Vectors
are projected to 128 dimensions without bias, and have length 1.

``maxsim`` scores in the same way with any encoder, MiniLM for one: no markers, no filling, no
projection, and the special tokens do not count, since nobody trained them to be matched.

Padding never counts: it is minus infinity before the maximum (see :mod:`adducir.encoders.maxsim`).
"""

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import InputError
from adducir.encoders.maxsim import maxsim
from adducir.models.batches import computed, padded, token_batches
from adducir.models.loading import (
    explaining,
    load_config,
    load_model,
    load_tokenizer,
    longest_input,
    read_weights,
)
from adducir.models.machine import computing_in
from adducir.models.sources import ModelSource
from adducir.rerankers.checkpoints import config_of, has_architecture
from adducir.rerankers.inputs import Ids, token_ids
from adducir.rerankers.recipe import Length, RerankerRecipe
from adducir.rerankers.scoring import Pair, Pointwise, Scored

if TYPE_CHECKING:
    import torch

_SCORES = "sum over the query's tokens of the greatest cosine"
_PROJECTIONS = ("linear.weight", "colbert_linear.weight")
_DENSE = "1_Dense"
_PRODUCTS = 1 << 22


class ColBERTRecipe(RerankerRecipe):
    """A ColBERT.

    Attributes:
        base: By default the authors' second version.
        query_length: Tokens of a query, which is filled to that number.
        document_length: Tokens of a text, at most.
        markers: The tokens that stand before a query and before a text.
        attend_to_masks: Whether the other tokens attend to those that fill a query.
        skip_punctuation: Whether a text's punctuation marks do not count.
    """

    scores: ClassVar[str] = _SCORES

    model: Literal["colbert"] = "colbert"
    base: str = "colbert-ir/colbertv2.0"
    query_length: Length = 32
    document_length: Length = 220
    markers: tuple[str, str] = ("[unused0]", "[unused1]")
    attend_to_masks: bool = False
    skip_punctuation: bool = True

    @classmethod
    def fits(cls, source: ModelSource) -> bool:
        """See :class:`RerankerRecipe`: a model of the authors' class."""
        return has_architecture(source, "ColBERT")

    def load(self, source: ModelSource) -> "LateInteraction":
        keys = {"query_length", "document_length", "markers"}
        keys |= {"attend_to_masks", "skip_punctuation"}
        return LateInteraction.load(source, Reading(**self.model_dump(include=keys)))


class MaxSimRecipe(RerankerRecipe):
    """ColBERT's score with the token vectors of any encoder.

    Attributes:
        query_length: Tokens of a query, at most.
        document_length: Tokens of a text, at most; by default as many as the encoder reads.
        skip_punctuation: Whether a text's punctuation marks do not count.
    """

    scores: ClassVar[str] = _SCORES

    model: Literal["maxsim"] = "maxsim"
    query_length: Length = 128
    document_length: Length | None = None
    skip_punctuation: bool = True

    def load(self, source: ModelSource) -> "LateInteraction":
        keys = {"query_length", "document_length", "skip_punctuation"}
        plain: dict[str, Any] = {"markers": None, "special": False, "fill": False}
        return LateInteraction.load(source, Reading(**self.model_dump(include=keys), **plain))


@dataclass(frozen=True)
class Reading:
    """How texts become tokens; the attributes are the recipes' keys.

    Attributes:
        special: Whether the special tokens count.
        fill: Whether queries are filled with masks.
    """

    query_length: int = 32
    document_length: int | None = 220
    markers: tuple[str, str] | None = ("[unused0]", "[unused1]")
    attend_to_masks: bool = False
    skip_punctuation: bool = True
    special: bool = True
    fill: bool = True


@dataclass(frozen=True)
class Tokens:
    """An input: its ids, which of them are attended to, and which vectors count."""

    ids: Ids
    attended: Ids
    counts: Ids

    def __len__(self) -> int:
        return len(self.ids)


class LateInteraction(Pointwise):
    """An encoder, a projection or none, and the score.

    Args:
        network: An encoder of transformers.
        projection: (dimensions, hidden) weights, or None.

    Raises:
        InputError: The vocabulary lacks a marker, or has no token to fill queries with.
    """

    def __init__(
        self, network: Any, tokenizer: Any, projection: "torch.Tensor | None", reading: Reading
    ) -> None:
        self.network = network
        self.tokenizer = tokenizer
        self.projection = projection
        self.reading = reading
        self._opening, self._closing = _specials(tokenizer)
        self._markers = [_marker(tokenizer, one) for one in reading.markers or ()]
        self._punctuation = _punctuation(tokenizer) if reading.skip_punctuation else np.zeros(0)
        longest = longest_input(network.config, tokenizer)
        self._lengths = (
            min(reading.query_length, longest),
            min(reading.document_length or longest, longest),
        )
        if reading.fill and tokenizer.mask_token_id is None:
            raise InputError("this tokenizer has no mask token, which fills ColBERT's queries.")

    @classmethod
    def load(cls, source: ModelSource, reading: Reading) -> "LateInteraction":
        """An encoder with its projection.

        Raises:
            InputError: It is to have markers, as ColBERT has, but has no projection; or it is to
                have none, and is not an encoder of texts.
            MachineError: It cannot be fetched.
        """
        if reading.markers is None:
            _refuse_no_encoder(source)
        projection = None if reading.markers is None else _projection(source)
        network: Any = load_model(source)
        hidden = network.config.hidden_size
        if projection is not None and (projection.ndim != 2 or projection.shape[1] != hidden):
            raise InputError(
                f"its projection has the shape {tuple(projection.shape)}, which does not fit "
                f"vectors of {hidden} numbers.",
                path=source.folder,
            )
        return cls(network, load_tokenizer(source), projection, reading)

    def to(self, device: "torch.device") -> None:
        """Move network and projection to a device."""
        super().to(device)
        if self.projection is not None:
            self.projection = self.projection.to(device)

    @property
    def room_of_queries(self) -> int:
        """The tokens of a query's own text that are read, at most."""
        markers = len(self._markers[:1])
        return max(1, self._lengths[0] - len(self._opening) - markers - len(self._closing))

    def queries(self, texts: Sequence[str]) -> list[Tokens]:
        """Queries as the network reads them."""
        length = self._lengths[0]
        found = []
        for ids in self._read(texts, length, 0):
            filled = length - len(ids) if self.reading.fill else 0
            ones, more = np.ones_like(ids), np.full(filled, int(self.reading.attend_to_masks))
            masks = np.full(filled, self.tokenizer.mask_token_id if filled else 0)
            counts = np.append(self._counted(ids), np.ones(filled, dtype=np.int64))
            found.append(Tokens(np.append(ids, masks), np.append(ones, more), counts))
        return found

    def documents(self, texts: Sequence[str]) -> list[Tokens]:
        """Texts as the network reads them."""
        found = []
        for ids in self._read(texts, self._lengths[1], 1):
            counts = self._counted(ids) * ~np.isin(ids, self._punctuation)
            found.append(Tokens(ids, np.ones_like(ids), counts))
        return found

    def _read(self, texts: Sequence[str], length: int, side: int) -> Iterator[Ids]:
        opening = np.append(self._opening, self._markers[side : side + 1]).astype(np.int64)
        room = length - len(opening) - len(self._closing)
        for ids in token_ids(self.tokenizer, texts, room):
            yield np.concatenate((opening, ids, self._closing))

    def _counted(self, ids: Ids) -> Ids:
        counts = np.ones_like(ids)
        if not self.reading.special:
            counts[: len(self._opening)] = 0
            counts[len(ids) - len(self._closing) :] = 0
        return counts

    def vectors(self, batch: Sequence[Tokens]) -> "torch.Tensor":
        """(n, longest, dimensions) unit vectors of tokens, those of padding included."""
        import torch

        device = self.network.device
        ids, _ = padded([one.ids for one in batch], self.tokenizer.pad_token_id or 0, device)
        mask, _ = padded([one.attended for one in batch], 0, device)
        found = self.network(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        if self.projection is not None:
            found = found @ self.projection.T
        return torch.nn.functional.normalize(found, dim=-1)

    def scored(self, pairs: Sequence[Pair]) -> Iterator[Scored]:
        """Scores by batches of texts; each different query and text is encoded once."""
        import torch

        queries = list(dict.fromkeys(query for query, _ in pairs))
        texts = list(dict.fromkeys(text for _, text in pairs))
        rows = {query: row for row, query in enumerate(queries)}
        pairs_of: dict[str, list[int]] = {text: [] for text in texts}
        for number, (_, text) in enumerate(pairs):
            pairs_of[text].append(number)
        encoded = self.documents(texts)
        self.network.eval()
        query_vectors, query_mask = self._queries(queries)

        def compute(numbers: NDArray[np.int64]) -> Scored:
            with torch.inference_mode(), computing_in(self.precision, self.network):
                vectors, mask = self.encoded([encoded[number] for number in numbers])
            known = [pairs_of[texts[number]] for number in numbers]
            which = np.array([number for some in known for number in some])
            left = torch.tensor([rows[pairs[number][0]] for number in which])
            right = torch.from_numpy(np.repeat(np.arange(len(known)), list(map(len, known))))
            values = self._products(query_vectors, query_mask, vectors, mask, left, right)
            return which, values

        for _, found in computed(
            token_batches([len(one) for one in encoded], self.tokens, self.network.device), compute
        ):
            yield found

    def _queries(self, texts: Sequence[str]) -> "tuple[torch.Tensor, torch.Tensor]":
        """The vectors of all queries (n, longest, dimensions), and which of them count."""
        import torch

        encoded = self.queries(texts)
        longest = max((len(one) for one in encoded), default=0)
        parts: list[Any] = [None] * len(encoded)

        def compute(numbers: NDArray[np.int64]) -> Any:
            with torch.inference_mode(), computing_in(self.precision, self.network):
                return self.encoded([encoded[number] for number in numbers])

        batches = token_batches([len(one) for one in encoded], self.tokens, self.network.device)
        for numbers, (vectors, mask) in computed(batches, compute):
            more = longest - vectors.shape[1]
            vectors = torch.nn.functional.pad(vectors, (0, 0, 0, more))
            mask = torch.nn.functional.pad(mask, (0, more))
            for row, number in enumerate(numbers):
                parts[number] = vectors[row], mask[row]
        if not parts:
            return torch.zeros(0, 0, 1), torch.zeros(0, 0)
        return torch.stack([one for one, _ in parts]), torch.stack([one for _, one in parts])

    def encoded(self, batch: Sequence[Tokens]) -> "tuple[torch.Tensor, torch.Tensor]":
        """What :meth:`vectors` gives, and (n, longest) which of them count."""
        mask, _ = padded([one.counts for one in batch], 0, self.network.device)
        return self.vectors(batch), mask

    def _products(
        self,
        queries: "torch.Tensor",
        query_mask: "torch.Tensor",
        texts: "torch.Tensor",
        text_mask: "torch.Tensor",
        left: "torch.Tensor",
        right: "torch.Tensor",
    ) -> NDArray[np.float64]:
        """(n,) scores of the pairs of rows ``left`` and ``right``, some at a time."""
        import torch

        some = max(1, _PRODUCTS // max(1, queries.shape[1] * texts.shape[1]))
        parts = []
        with torch.inference_mode():
            for first in range(0, len(left), some):
                q, t = left[first : first + some], right[first : first + some]
                found = maxsim(queries[q], texts[t], query_mask[q], text_mask[t])
                # A text without a vector that counts is as far from the query as can be.
                lowest = -query_mask[q].sum(dim=-1).float()
                parts.append(torch.where(torch.isinf(found), lowest, found))
            values: NDArray[np.float64] = torch.cat(parts).double().cpu().numpy()
        return values


def _refuse_no_encoder(source: ModelSource) -> None:
    """Refuse a model that was trained for something else than vectors of texts.

    Raises:
        InputError: Its class has a head (of a language model, say) or a decoder.
    """
    classes = [str(name) for name in config_of(source).get("architectures") or ()]
    is_sentence_encoder = (source.local() / "modules.json").is_file()
    other = [name for name in classes if not name.endswith("Model")]
    if (other and not is_sentence_encoder) or load_config(source).is_encoder_decoder:
        what = (other or classes or ["model with a decoder"])[0]
        raise InputError(
            f"this is not an encoder of texts, but a {what}.",
            path=source.local(),
            hint="maxsim takes encoders, such as those of sentence-transformers. A ColBERT is "
            f"colbert:{source.name}. An encoder without its head is what AutoModel saves.",
        )


def _specials(tokenizer: Any) -> tuple[Ids, Ids]:
    """The special tokens before and behind a text."""
    sample = tokenizer.backend_tokenizer.encode("a")
    ids = np.array(sample.ids, dtype=np.int64)
    own = np.flatnonzero(np.array(sample.special_tokens_mask) == 0)
    return ids[: own[0]], ids[own[-1] + 1 :]


def _marker(tokenizer: Any, token: str) -> int:
    known = tokenizer.get_vocab()
    if token not in known:
        raise InputError(
            f"the vocabulary has no marker {token!r}.",
            hint="Name this checkpoint's markers, with `markers:` in a recipe; "
            "for an encoder without markers the model is maxsim.",
        )
    return int(known[token])


def _punctuation(tokenizer: Any) -> Ids:
    """The ids of ASCII's punctuation marks, as ColBERT's skip list has them."""
    found = token_ids(tokenizer, list(string.punctuation), 1)
    unknown = tokenizer.unk_token_id
    return np.array([one[0] for one in found if len(one) and one[0] != unknown], dtype=np.int64)


def _projection(source: ModelSource) -> "torch.Tensor":
    """The projection's weights: ColBERT's own layout, or that of PyLate."""
    folder = source.local()
    with explaining("projection", folder):
        for one in (folder, folder / _DENSE):
            if one.is_dir():
                for _, weights in read_weights(one, lambda name: name in _PROJECTIONS):
                    return weights.float()
    raise InputError(
        f"{source.name} has no projection (linear.weight), so that it is no ColBERT.",
        path=folder,
        hint=f"For the same score with a plain encoder, name maxsim:{source.name}.",
    )
