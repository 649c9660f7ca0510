"""Predicts the weight of every word of a corpus, in shards that can be made anywhere.

A document's text fields are each cut into passages; the words of all passages get weights from the
model. A word that stands in two passages, because they overlap, has the greater of its weights and
belongs to the first. Shards (:mod:`adducir.models.arrays`) hold:

``values``    float32, a weight for each word, in the order of documents, fields, words
``passages``  int32, how many words each passage owns
``texts``     int32, how many passages each field of each document has
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adducir.core.artifacts import Manifest, artifact_fingerprint, open_artifact
from adducir.core.chunks import Made, build_in_chunks
from adducir.core.errors import ArtifactError
from adducir.core.executors import HERE, Execution, Place
from adducir.core.fingerprint import fingerprint
from adducir.corpora.documents import Corpus, Document, refuse_duplicates
from adducir.deepct.model import TermWeighter
from adducir.deepct.passages import CountPieces, passages, remembering
from adducir.deepct.settings import Settings
from adducir.deepct.words import Word, match_key, words
from adducir.models.arrays import read_shard, write_shard
from adducir.models.artifacts import model_versions
from adducir.models.batches import batch_rule
from adducir.models.machine import (
    Precision,
    device_kind,
    device_of_worker,
    settle_threads,
    using_threads,
)
from adducir.models.sources import ModelSource

KIND = "term-weights"
SHARD = 1000
"""Documents in a shard: what a kill can lose."""

_BUILDER_VERSION = 3
_NAME = "weights-{:06d}.safetensors"


class Weighted(NamedTuple):
    """The weights of one text.

    Attributes:
        owned: How many of the words each passage owns, in order.
    """

    words: list[Word]
    weights: NDArray[np.float32]
    owned: list[int]


@dataclass(frozen=True)
class _Cut:
    """A text cut into passages: for each its text, its words, and the first one's number."""

    words: list[Word]
    parts: list[tuple[str, list[Word], int]]
    owned: list[int]


def predict_weights(
    weighter: TermWeighter,
    texts: Sequence[str],
    *,
    tokens: int | None = None,
    precision: Precision = "float32",
    count_pieces: CountPieces | None = None,
) -> list[Weighted]:
    """Predict the weights of the words of texts of any length.

    Args:
        texts: The texts; one without a word has no weights.
        tokens: Padded tokens in a batch; no weight depends on it.
        count_pieces: Counts word pieces; by default the model's own tokenizer.
    """
    cuts = [_cut(weighter, text, count_pieces or weighter.count_pieces) for text in texts]
    flat = [part for cut in cuts for part in cut.parts]
    encoded = weighter.encode([text for text, _, _ in flat], [inside for _, inside, _ in flat])
    found = iter(weighter.weights(encoded, tokens=tokens, precision=precision))
    return [_silenced(_united(cut, found), weighter.settings) for cut in cuts]


def _cut(weighter: TermWeighter, text: str, count_pieces: CountPieces) -> _Cut:
    settings = weighter.settings
    inside = words(text, whole=settings.keys == "words")
    starts = np.array([word.start for word in inside], dtype=np.int64)
    part = settings.passages
    parts, owned, done = [], [], 0
    for _, start, end in passages(
        text, count_pieces, length=part.length, overlap=part.overlap, unit=part.unit
    ):
        first, last = np.searchsorted(starts, [start, end])
        moved = [Word(w.start - start, w.end - start, w.text) for w in inside[first:last]]
        parts.append((text[start:end], moved, int(first)))
        owned.append(int(last) - done)
        done = int(last)
    return _Cut(inside, parts, owned)


def _united(cut: _Cut, found: Iterator[NDArray[np.float32]]) -> Weighted:
    """The weights of a text of those of its passages, taken from an iterator."""
    weights = np.full(len(cut.words), -np.inf, dtype=np.float32)
    for _, inside, first in cut.parts:
        here = slice(first, first + len(inside))
        weights[here] = np.maximum(weights[here], next(found))
    return Weighted(cut.words, weights, cut.owned)


def _silenced(text: Weighted, settings: Settings) -> Weighted:
    """The same with weight 0 for words that nothing was learned about."""
    if not settings.stop_words:
        return text
    is_silent = [match_key(word.text) in settings.silent for word in text.words]
    weights = np.where(np.array(is_silent, dtype=bool), np.float32(0.0), text.weights)
    return text._replace(weights=weights)


def weights_inputs(corpus: Corpus, model_fingerprint: str) -> dict[str, str]:
    """The inputs of the artifact that :func:`predict_corpus_weights` makes."""
    return {"corpus": fingerprint(corpus.identity()), "model": model_fingerprint}


def weights_fingerprint(
    corpus: Corpus, model_fingerprint: str, precision: Precision = "float32"
) -> str:
    """The fingerprint of the artifact that :func:`predict_corpus_weights` makes."""
    inputs = weights_inputs(corpus, model_fingerprint)
    return artifact_fingerprint(KIND, {"precision": precision}, inputs, _BUILDER_VERSION)


def predict_corpus_weights(
    model: Path,
    corpus: Corpus,
    output: Path,
    *,
    device: str = "auto",
    threads: int | None = None,
    tokens: int | None = None,
    precision: Precision = "float32",
    shard: int = SHARD,
    rebuild: bool = False,
    execution: Execution = HERE,
) -> Manifest:
    """Predict the weights of all documents, unless ``output`` holds them already.

    Work that was killed resumes: shards that were made are not made again.

    Args:
        model: The folder of a term weighter.
        corpus: The documents; they may lack some of the model's text fields.
        device: See :func:`adducir.models.machine.choose_device`.
        tokens: Padded tokens in a batch.
        shard: Documents in a shard; no weight depends on it (to 1e-5).
        execution: Who makes the shards.

    Raises:
        InputError: The model or a document cannot be read.
        ArtifactError: ``output`` holds something that is not ours to replace.
        IncompleteError: Some shards cannot be made; the others are kept.
    """
    with using_threads(threads):
        return build_in_chunks(
            output,
            WeightingWork(model, corpus, precision, shard, device, threads, tokens),
            kind=KIND,
            recipe={"precision": precision},
            inputs=weights_inputs(corpus, ModelSource(str(model), model).identity()),
            builder_version=_BUILDER_VERSION,
            versions=model_versions(),
            rebuild=rebuild,
            execution=execution,
        )


@dataclass(frozen=True)
class WeightingWork:
    """The weights of a corpus's words; see :mod:`adducir.core.chunks`.

    Attributes:
        model: The folder of a term weighter.
        threads: Of each worker that has a process of its own.
    """

    model: Path
    corpus: Corpus
    precision: Precision
    size: int = SHARD
    device: str = "auto"
    threads: int | None = None
    tokens: int | None = None
    doing: str = "weighting"
    unit: str = "documents"

    @property
    def total(self) -> int | None:
        return self.corpus.size_hint()

    def identity(self) -> Mapping[str, Any]:
        return {"batches": batch_rule(self.tokens), "versions": model_versions()}

    def check(self) -> None:
        Settings.load(self.model)
        ModelSource(str(self.model), self.model).local()

    def items(self, *, check: bool) -> Iterator[Document]:
        return refuse_duplicates(self.corpus) if check else iter(self.corpus)

    def describe(self, item: Document) -> tuple[str, bytes]:
        return item.docno, json.dumps(item.fields).encode("ascii")

    def builder(self, place: Place) -> "_Builder":
        return _Builder(self, place)

    def finish(self, folder: Path, made: Made) -> dict[str, Any]:
        totals = dict.fromkeys(("words", "passages", "texts"), 0)
        for path in made.files:
            arrays = read_shard(path)
            for key, name in (("words", "values"), ("passages",) * 2, ("texts",) * 2):
                totals[key] += len(arrays[name])
        made.keep(folder, _NAME)
        return {"documents": made.items, "shards": len(made.files), **totals}


class _Builder:
    """A term weighter that makes shards of weights."""

    def __init__(self, work: WeightingWork, place: Place) -> None:
        settle_threads(work.threads, place)
        device = device_of_worker(work.device, place)
        self.device = device_kind(device)
        self._weighter = TermWeighter.load(work.model).to(device)
        self._options: dict[str, Any] = {
            "tokens": work.tokens,
            "precision": work.precision,
            "count_pieces": remembering(self._weighter.count_pieces),
        }

    def make(self, items: Sequence[Document], path: Path) -> None:
        fields = self._weighter.settings.text
        texts = [document.fields.get(name, "") for document in items for name in fields]
        found = predict_weights(self._weighter, texts, **self._options)
        none = np.zeros(0, dtype=np.float32)
        arrays = {
            "values": np.concatenate([none, *(one.weights for one in found)]),
            "passages": np.array([size for one in found for size in one.owned], dtype=np.int32),
            "texts": np.array([len(one.owned) for one in found], dtype=np.int32),
        }
        write_shard(path, arrays)


class TermWeights:
    """The weights of a corpus, read in its order.

    Raises:
        ArtifactError: The folder holds no such artifact.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder = folder
        self._settings = settings
        self._whole = settings.keys == "words"
        manifest = open_artifact(folder, KIND)
        self._shards = int(manifest.counts["shards"])
        self.counts = manifest.counts

    def of(self, corpus: Corpus) -> Iterator[tuple[Document, list[Weighted]]]:
        """Each document of the weighted corpus, with the weights of its text fields.

        Raises:
            ArtifactError: The corpus is not the one whose weights were predicted.
        """
        stored = self._texts()
        for document in corpus:
            found = []
            for name in self._settings.text:
                inside = words(document.fields.get(name, ""), whole=self._whole)
                weights, owned = next(stored, (None, []))
                if weights is None or len(weights) != len(inside):
                    raise ArtifactError(
                        f"these weights are not of {corpus.source}: they differ from "
                        f"{document.docno!r} on.",
                        path=self._folder,
                        hint="Predict the weights of the corpus again.",
                    )
                found.append(_silenced(Weighted(inside, weights, owned), self._settings))
            yield document, found

    def _texts(self) -> Iterator[tuple[NDArray[np.float32], list[int]]]:
        for number in range(self._shards):
            arrays = read_shard(self._folder / _NAME.format(number))
            ends = np.cumsum(arrays["texts"])
            sizes = arrays["passages"]
            word = 0
            for first, last in zip(ends - arrays["texts"], ends, strict=True):
                owned = sizes[first:last].tolist()
                count = sum(owned)
                yield arrays["values"][word : word + count], owned
                word += count
