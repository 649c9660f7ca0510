"""Predicts the weight of every word of a corpus, in chunks that can be made anywhere.

The words of a document's text fields get weights passage by passage. Chunks
(:mod:`adducir.models.arrays`) hold:

``values``    float32, a weight for each word, in the order of documents, fields, words
``passages``  int32, how many words each passage owns
``texts``     int32, how many passages each field of each document has
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from adducir.core.artifacts import Manifest, artifact_fingerprint, open_artifact
from adducir.core.chunks import Made
from adducir.core.errors import ArtifactError
from adducir.core.fingerprint import fingerprint
from adducir.corpora.documents import Corpus, Document, refuse_duplicates
from adducir.deepct.model import Floats, TermWeighter, Weighted
from adducir.deepct.recipe import Settings
from adducir.deepct.words import words
from adducir.models.arrays import read_shard
from adducir.models.machine import Precision
from adducir.models.sources import ModelSource
from adducir.models.work import PLAIN, ModelWork, Running

if TYPE_CHECKING:
    import torch

KIND = "term-weights"
CHUNK = 1000
"""Documents in a chunk: what a kill can lose."""

_VERSION = 4
_NAME = "weights-{:06d}.safetensors"


def weights_fingerprint(
    corpus: Corpus, model_fingerprint: str, precision: Precision = "float32"
) -> str:
    inputs = {"corpus": fingerprint(corpus.identity()), "model": model_fingerprint}
    return artifact_fingerprint(KIND, {"precision": precision}, inputs, _VERSION)


def predict_corpus_weights(
    model: Path,
    corpus: Corpus,
    output: Path,
    running: Running = PLAIN,
    *,
    rebuild: bool = False,
) -> Manifest:
    """Predict the weights of all documents, unless ``output`` holds them; killed work goes on.

    ``model`` is the folder of a term weighter, whose text fields documents may lack. No weight
    depends on the padded tokens of a batch (to 1e-5).
    """
    return _Weighting(size=CHUNK, running=running, model=model, corpus=corpus).build(
        output,
        kind=KIND,
        recipe={"precision": running.precision},
        inputs={
            "corpus": fingerprint(corpus.identity()),
            "model": ModelSource(str(model), model).identity(),
        },
        builder_version=_VERSION,
        rebuild=rebuild,
    )


@dataclass(frozen=True, kw_only=True)
class _Weighting(ModelWork):
    model: Path
    corpus: Corpus
    doing: ClassVar[str] = "weighting"
    unit: ClassVar[str] = "documents"

    @property
    def total(self) -> int | None:
        return self.corpus.size_hint()

    def check(self) -> None:
        Settings.load(self.model)
        ModelSource(str(self.model), self.model).local()

    def items(self, *, check: bool) -> Iterator[Document]:
        return refuse_duplicates(self.corpus) if check else iter(self.corpus)

    def describe(self, item: Document) -> tuple[str, bytes]:
        return item.docno, json.dumps(item.fields).encode("ascii")

    def load(
        self, device: "torch.device"
    ) -> Callable[[Sequence[Document]], dict[str, NDArray[Any]]]:
        weighter = TermWeighter.load(self.model).to(device)
        tokens, precision = self.running.tokens, self.running.precision

        def arrays(documents: Sequence[Document]) -> dict[str, NDArray[Any]]:
            names = weighter.settings.text
            texts = [document.fields.get(name, "") for document in documents for name in names]
            found = weighter.weigh(texts, tokens=tokens, precision=precision)
            none = np.zeros(0, dtype=np.float32)
            return {
                "values": np.concatenate([none, *(one.weights for one in found)]),
                "passages": np.array([n for one in found for n in one.owned], dtype=np.int32),
                "texts": np.array([len(one.owned) for one in found], dtype=np.int32),
            }

        return arrays

    def finish(self, folder: Path, made: Made) -> dict[str, Any]:
        found = Counter[str]()
        for path in made.files:
            found.update({name: len(values) for name, values in read_shard(path).items()})
        made.keep(folder, _NAME)
        counts = {"documents": made.items, "shards": len(made.files), "words": found["values"]}
        return counts | {name: found[name] for name in ("passages", "texts")}


def stored_weights(
    folder: Path, settings: Settings, corpus: Corpus
) -> Iterator[tuple[Document, list[Weighted]]]:
    """Each document of the weighted corpus, with the weights of its text fields."""
    files = range(int(open_artifact(folder, KIND).counts["shards"]))
    stored = (text for number in files for text in _texts(folder / _NAME.format(number)))
    for document in corpus:
        found = []
        for name in settings.text:
            inside = words(document.fields.get(name, ""), whole=settings.tokenization == "lucene")
            weights, owned = next(stored, (None, []))
            if weights is None or len(weights) != len(inside):
                raise ArtifactError(
                    f"these weights are not of {corpus.source}: they differ from "
                    f"{document.docno!r} on.",
                    path=folder,
                    hint="Predict the weights of the corpus again.",
                )
            found.append(Weighted(inside, weights, owned))
        yield document, found


def _texts(path: Path) -> Iterator[tuple[Floats, list[int]]]:
    arrays = read_shard(path)
    passages = np.split(arrays["passages"], np.cumsum(arrays["texts"])[:-1])
    weights = np.split(arrays["values"], np.cumsum([some.sum() for some in passages])[:-1])
    for values, owned in zip(weights, passages, strict=True):
        yield values, owned.tolist()
