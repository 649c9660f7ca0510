"""Corpora expanded with predicted word weights: repeated words, or (word, count) pairs.

A word with weight w is repeated round(scale * w) times, or round(scale * sqrt(w)); weights below 0
count as 0, and halves are rounded to even, as in numpy.round and the original. A word that occurs
several times in a passage (ignoring case) counts once, with its largest weight; a word in several
passages counts in each, because passages are joined again. A document without remaining words keeps
each of its words once, so that no document is lost.

Documents keep all their fields and gain the field ``weighted``. So an index chooses what to count:
``[conclusion, weighted]`` replaces the text with its weighted words, as in the DeepCT study of
argument retrieval; ``[conclusion, premise, weighted]`` adds them to it.

Weights are predicted in chunks, whose files contain:

``values``    float32, a weight per word, in the order of documents, fields, words
``passages``  int32, how many words each passage owns
``texts``     int32, how many passages each field of each document has
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import Field

from adducir.core.chunks import FinishedChunks
from adducir.core.errors import ArtifactError, InputError
from adducir.core.files import writing_bytes
from adducir.core.fingerprint import digest_of, fingerprint
from adducir.core.manifests import Manifest, open_artifact
from adducir.core.progress import progress
from adducir.core.recipe import Recipe
from adducir.corpora.documents import Corpus, Document, refuse_duplicates
from adducir.deepct.model import TermWeighter, Weighted
from adducir.deepct.recipe import TermWeighterSettings
from adducir.deepct.terms import match_key, words
from adducir.models.artifacts import read_shard
from adducir.models.machine import Precision
from adducir.models.running import PLAIN, Running
from adducir.models.sources import ModelSource
from adducir.models.work import Arrays, ModelWork
from adducir.training.trainable import note_older

if TYPE_CHECKING:
    import torch

KIND = "term-weights"
WEIGHTED = "weighted"
CHUNK = 1000
"""Documents per chunk: the most that a kill can lose."""

_VERSION = 4
_NAME = "weights-{:06d}.safetensors"


def weights_identity(corpus: Corpus, model: str, precision: Precision) -> dict[str, Any]:
    """What :func:`adducir.core.artifacts.build` needs to know of weights by a model's identity."""
    return {
        "kind": KIND,
        "recipe": {"precision": precision},
        "inputs": {"corpus": fingerprint(corpus.identity()), "model": model},
        "builder_version": _VERSION,
    }


def predict_corpus_weights(
    model: Path, corpus: Corpus, output: Path, running: Running = PLAIN, *, rebuild: bool = False
) -> Manifest:
    """Predict all documents' weights unless ``output`` is up to date; killed work resumes.

    ``model`` is a term weighter's folder; documents may lack its text fields.
    """
    note_older(model)
    work = _Weighting(size=CHUNK, running=running, model=model, corpus=corpus)
    identity = ModelSource(str(model), model).identity()
    about = weights_identity(corpus, identity, running.precision)
    return work.build(output, rebuild=rebuild, **about)


@dataclass(frozen=True, kw_only=True)
class DocumentWork(ModelWork):
    """What a model computes of each document of a corpus."""

    corpus: Corpus
    unit: ClassVar[str] = "documents"

    @property
    def total(self) -> int | None:
        return self.corpus.size_hint()

    def items(self, *, check: bool) -> Iterator[Any]:
        return refuse_duplicates(self.corpus) if check else iter(self.corpus)

    def describe(self, item: Any) -> tuple[str, bytes]:
        return item.docno, json.dumps(item.fields).encode("ascii")


@dataclass(frozen=True, kw_only=True)
class _Weighting(DocumentWork):
    model: Path
    doing: ClassVar[str] = "weighting"

    def check(self) -> None:
        TermWeighterSettings.load(self.model)
        ModelSource(str(self.model), self.model).local()

    def load(self, device: "torch.device") -> Callable[[Sequence[Document]], Arrays]:
        weighter = TermWeighter.load(self.model).to(device)

        def arrays(documents: Sequence[Document]) -> Arrays:
            names = weighter.settings.text
            texts = [document.fields.get(name, "") for document in documents for name in names]
            passages = weighter.weigh(texts, self.running)
            none = np.zeros(0, dtype=np.float32)
            return {
                "values": np.concatenate([none, *(passage.weights for passage in passages)]),
                "passages": np.array(
                    [n for passage in passages for n in passage.owned], dtype=np.int32
                ),
                "texts": np.array([len(passage.owned) for passage in passages], dtype=np.int32),
            }

        return arrays

    def finish(self, folder: Path, chunks: FinishedChunks) -> dict[str, Any]:
        tally = Counter[str]()
        for path in chunks.files:
            tally.update({name: len(values) for name, values in read_shard(path).items()})
        chunks.keep(folder, _NAME)
        counts = {"documents": chunks.items, "shards": len(chunks.files), "words": tally["values"]}
        return counts | {name: tally[name] for name in ("passages", "texts")}


def stored_weights(
    folder: Path, settings: TermWeighterSettings, corpus: Corpus
) -> Iterator[tuple[Document, list[Weighted]]]:
    """Each document of the weighted corpus, with the weights of its text fields."""

    def texts() -> Iterator[tuple[NDArray[np.float32], list[int]]]:
        for number in range(open_artifact(folder, KIND).count("shards")):
            arrays = read_shard(folder / _NAME.format(number))
            passages = np.split(arrays["passages"], np.cumsum(arrays["texts"])[:-1])
            ends = np.cumsum([some.sum() for some in passages])
            for values, owned in zip(np.split(arrays["values"], ends[:-1]), passages, strict=True):
                yield values, owned.tolist()

    stored = texts()
    for document in corpus:
        passages = []
        for name in settings.text:
            inside = words(document.fields.get(name, ""), whole=settings.tokenization == "lucene")
            weights, owned = next(stored, (None, []))
            if weights is None or len(weights) != len(inside):
                raise ArtifactError(
                    f"these weights do not belong to {corpus.source}: they differ from "
                    f"{document.docno!r} on.",
                    path=folder,
                    hint="Predict the weights of the corpus again.",
                )
            passages.append(Weighted(inside, weights, owned))
        yield document, passages


class Rendering(Recipe):
    """How weights become counts."""

    scale: Annotated[float, Field(gt=0)] = 100.0
    """The count of a word of weight 1."""
    transform: Literal["linear", "sqrt"] = "linear"
    """How weights are transformed first."""

    def repetitions(self, weights: NDArray[np.float32]) -> NDArray[np.int64]:
        positive = np.maximum(weights.astype(np.float64), 0.0)
        if self.transform == "sqrt":
            positive = np.sqrt(positive)
        return np.rint(self.scale * positive).astype(np.int64)

    def is_lost(self, texts: Sequence[Weighted]) -> bool:
        has_words = any(text.words for text in texts)
        return has_words and not any(self.repetitions(text.weights).any() for text in texts)

    def counts(self, texts: Sequence[Weighted]) -> Iterator[dict[str, int]]:
        """For each passage, the count of each lower-case word, in order of first appearance."""
        if self.is_lost(texts):
            yield {word.text.lower(): 1 for text in texts for word in text.words}
            return
        for text in texts:
            counts, start = self.repetitions(text.weights).tolist(), 0
            for size in text.owned:
                repetitions: dict[str, int] = {}
                window = slice(start, start + size)
                for word, count in zip(text.words[window], counts[window], strict=True):
                    key = word.text.lower()
                    if count > repetitions.get(key, 0):  # seen words keep their position
                        repetitions[key] = count
                yield repetitions
                start += size


@dataclass(frozen=True)
class AddedField:
    """A corpus's documents with one more field."""

    added: ClassVar[str]

    base: Corpus

    @property
    def source(self) -> str:
        return self.base.source

    def size_hint(self) -> int | None:
        return self.base.size_hint()

    def places(self, docno: str) -> list[tuple[Path, int]]:
        return self.base.places(docno)

    def with_field(self, document: Document, text: str) -> Document:
        if self.added in document.fields:
            raise InputError(
                f"the document {document.docno!r} already has a field {self.added!r}.",
                path=self.source,
                hint="Expand the original corpus.",
            )
        return Document(document.docno, {**document.fields, self.added: text})


@dataclass(frozen=True)
class ExpandedCorpus(AddedField):
    """A corpus's documents with weighted words; weights are opened when it is read."""

    added: ClassVar[str] = WEIGHTED

    weights: Path
    weights_fingerprint: str
    settings: TermWeighterSettings
    rendering: Rendering

    @property
    def default_fields(self) -> tuple[str, ...]:
        kept = [name for name in self.base.default_fields if name not in self.settings.text]
        return (*kept, WEIGHTED)

    def __iter__(self) -> Iterator[Document]:
        for document, passages in stored_weights(self.weights, self.settings, self.base):
            yield self._expanded(document, passages)

    def _expanded(self, document: Document, passages: Sequence[Weighted]) -> Document:
        counts = self.rendering.counts(passages)
        words_of = ([word] * count for repetitions in counts for word, count in repetitions.items())
        return self.with_field(document, " ".join(" ".join(some) for some in words_of))

    def identity(self) -> dict[str, Any]:
        return {
            "source": "expanded",
            "weights": self.weights_fingerprint,
            "rendering": self.rendering.model_dump(mode="json"),
            "stop_words": digest_of(self.settings.stop_words),
        }

    def write(
        self, output: Path, *, pairs: bool = False, keep: Sequence[str] = ()
    ) -> tuple[int, int]:
        """Write JSON lines: documents, or ``{"docno": …, "weights": {…}}`` with word counts.

        Words of the fields ``keep`` count as often as they occur, besides the weighted ones.
        Returns the number of documents, and of those that keep each word once.
        """
        count = lost = 0
        with (
            progress().doing("expanding", self.size_hint(), "documents"),
            writing_bytes(output) as file,
        ):
            for document, passages in stored_weights(self.weights, self.settings, self.base):
                if pairs:
                    total = Counter[str]()
                    for counts in self.rendering.counts(passages):
                        total.update(counts)
                    for text in (document.fields.get(name, "") for name in keep):
                        total.update(match_key(word.text) for word in words(text))
                    line: dict[str, Any] = {"docno": document.docno, "weights": total}
                else:
                    line = {"docno": document.docno, **self._expanded(document, passages).fields}
                file.write(orjson.dumps(line) + b"\n")
                count, lost = count + 1, lost + self.rendering.is_lost(passages)
                progress().advance(1)
        return count, lost
