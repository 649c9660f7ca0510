"""The term weighter: an encoder and a linear head that assigns each word of a text a weight.

DeepCT (Dai and Callan, 2020) regresses a word's weight from the contextual vector of its first word
piece: weight = w · T + b. The network is transformers' token classifier with one label, so the
weights load there, too.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adducir.deepct.recipe import TermWeighterSettings
from adducir.deepct.terms import Word, match_key, passages, words
from adducir.models.loading import load_config, load_model, load_tokenizer, loading, longest_input
from adducir.models.running import PLAIN, Running
from adducir.models.sources import ModelSource
from adducir.models.work import Numbers, computed, padded

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float32]
KIND = "AutoModelForTokenClassification"
_REMEMBERED = 1 << 18


class EncodedPassage(NamedTuple):
    """A passage's ids, and where each word begins in them: -1 for a word without pieces."""

    ids: NDArray[np.int64]
    firsts: NDArray[np.int64]


class Cut(NamedTuple):
    """A passage: its text, and words located in it."""

    text: str
    words: list[Word]


class Weighted(NamedTuple):
    """The weights of one text's words, and the number of words per passage."""

    words: list[Word]
    weights: Floats
    owned: list[int]


class PassageReader:
    """Splits texts into passages, and passages into word pieces, without a network."""

    def __init__(self, tokenizer: Any, longest: int, settings: TermWeighterSettings) -> None:
        self.tokenizer, self.longest, self.settings = tokenizer, longest, settings
        self.max_pieces = longest - int(tokenizer.num_special_tokens_to_add(pair=False))
        self._counts: dict[str, int] = {}
        alone, together = self.count_pieces(["a", "a\n\n   a"])
        self._has_blanks = together > 2 * alone

    @classmethod
    def of(cls, source: ModelSource, settings: TermWeighterSettings) -> "PassageReader":
        """A pretrained model's, without loading its weights."""
        tokenizer = load_tokenizer(source)
        return cls(tokenizer, longest_input(load_config(source), tokenizer), settings)

    def count_pieces(self, chunks: list[str]) -> list[int]:
        """The word pieces of chunks of text; the first 262,144 are cached."""
        new = list(dict.fromkeys(chunk for chunk in chunks if chunk not in self._counts))
        encodings = self.tokenizer.backend_tokenizer.encode_batch(new, add_special_tokens=False)
        counts = {chunk: len(encoding) for chunk, encoding in zip(new, encodings, strict=True)}
        if len(self._counts) < _REMEMBERED:
            self._counts |= counts
        return [counts[c] if c in counts else self._counts[c] for c in chunks]

    def cut(self, text: str) -> list[Cut]:
        """The passages of a text; a word belongs to the passage where it begins."""
        settings, count = self.settings, self.count_pieces
        inside = words(text, whole=settings.tokenization == "lucene")
        starts = np.array([word.start for word in inside], dtype=np.int64)
        part, cuts = settings.passages, []
        options: Any = {"length": part.length, "unit": part.unit, "blanks": self._has_blanks}
        for start, end in passages(text, count, **options):
            first, last = np.searchsorted(starts, [start, end])
            moved = [Word(w.start - start, w.end - start, w.text) for w in inside[first:last]]
            cuts.append(Cut(text[start:end], moved))
        return cuts

    def encode(self, cuts: Sequence[Cut], longest: int | None = None) -> list[EncodedPassage]:
        """Token ids of passages, at most ``longest``, and where each word begins in them."""
        longest, rows = min(longest or self.longest, self.longest), []
        encodings = self.tokenizer.backend_tokenizer.encode_batch([cut.text for cut in cuts])
        for encoding, cut in zip(encodings, cuts, strict=True):
            ids = np.array(encoding.ids, dtype=np.int64)
            offsets = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
            special = np.array(encoding.special_tokens_mask, dtype=np.int64)
            if len(ids) > longest:
                kept = np.r_[:longest]
                if special[-1]:  # the closing token stays
                    kept[-1] = len(ids) - 1
                ids, offsets, special = ids[kept], offsets[kept], special[kept]
            places, firsts = np.flatnonzero(special == 0), np.full(len(cut.words), -1)
            if len(places):
                starts, ends = offsets[places].T
                spans = np.array([word[:2] for word in cut.words], dtype=np.int64).reshape(-1, 2)
                index = np.searchsorted(ends, spans[:, 0], side="right")
                clipped = np.minimum(index, len(places) - 1)
                has_piece = (index < len(places)) & (starts[clipped] < spans[:, 1])
                firsts = np.where(has_piece, places[clipped], -1)
            rows.append(EncodedPassage(ids, firsts))
        return rows


class TermWeighter:
    def __init__(self, network: Any, reader: PassageReader) -> None:
        self.network, self.reader, self.settings = network, reader, reader.settings

    @classmethod
    def load(cls, folder: Path) -> "TermWeighter":
        settings = TermWeighterSettings.load(folder)
        source = ModelSource(str(folder), folder)
        with loading(f"the term weighter {folder}"):
            return cls(load_model(source, KIND), PassageReader.of(source, settings))

    def to(self, device: "torch.device") -> "TermWeighter":
        self.network.to(device)
        return self

    def weights(self, encoded: Sequence[EncodedPassage], running: Running = PLAIN) -> list[Floats]:
        """The weight of every word of some passages, 0 for words without pieces."""
        network, filler = self.network, self.reader.tokenizer.pad_token_id or 0

        def compute(numbers: Numbers) -> list[Floats]:
            some = [encoded[number] for number in numbers]
            ids, mask = padded([piece.ids for piece in some], filler, network.device)
            values = network(input_ids=ids, attention_mask=mask).logits[..., 0].float()
            values = values.sigmoid() if self.settings.activation == "sigmoid" else values
            return [
                np.where(piece.firsts >= 0, row[piece.firsts], np.float32(0.0))
                for piece, row in zip(some, values.cpu().numpy(), strict=True)
            ]

        return computed(network, [len(piece.ids) for piece in encoded], compute, running)

    def weigh(self, texts: Sequence[str], running: Running = PLAIN) -> list[Weighted]:
        """The weights of texts' words, for texts of any length."""
        cuts = [self.reader.cut(text) for text in texts]
        encoded = self.reader.encode([passage for some in cuts for passage in some])
        weights_of_passages, weighted = iter(self.weights(encoded, running)), []
        for text, some in zip(texts, cuts, strict=True):
            values = [np.zeros(0, dtype=np.float32), *(next(weights_of_passages) for _ in some)]
            inside = words(text, whole=self.settings.tokenization == "lucene")
            weights = np.concatenate(values)
            if silent := self.settings.silent:  # the model was not trained on them
                weights[[match_key(word.text) in silent for word in inside]] = 0.0
            weighted.append(Weighted(inside, weights, [len(passage.words) for passage in some]))
        return weighted
