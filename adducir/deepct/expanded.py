"""A corpus with a field more: its words repeated by their weights.

The documents keep all their fields, in their order, and get the field ``weighted``. So an index
chooses what it counts: ``[conclusion, weighted]`` replaces the text by its weighted words, as the
DeepCT study of argument retrieval does; ``[conclusion, premise, weighted]`` adds them to it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adducir.core.errors import InputError
from adducir.corpora.digests import digest_of
from adducir.corpora.documents import Corpus, Document, Place
from adducir.deepct.rendering import Rendering, is_lost, weighted_text
from adducir.deepct.settings import Settings
from adducir.deepct.weighting import TermWeights

WEIGHTED = "weighted"
"""The name of the field."""


@dataclass(frozen=True)
class ExpandedCorpus:
    """The documents of a corpus with their weighted words; see the module's text.

    Attributes:
        weights: The artifact with its weights, which need not be there until documents are read.
    """

    base: Corpus
    weights: Path
    weights_fingerprint: str
    settings: Settings
    rendering: Rendering

    @property
    def source(self) -> str:
        """The source of the corpus that is expanded."""
        return self.base.source

    @property
    def default_fields(self) -> tuple[str, ...]:
        """The corpus's own, the weighted ones replaced by ``weighted``."""
        kept = [name for name in self.base.default_fields if name not in self.settings.text]
        return (*kept, WEIGHTED)

    def __iter__(self) -> Iterator[Document]:
        stored = TermWeights(self.weights, self.settings)
        for document, found in stored.of(self.base):
            if WEIGHTED in document.fields:
                raise InputError(
                    f"the document {document.docno!r} has a field {WEIGHTED!r} already.",
                    path=self.source,
                    hint="Expand the corpus as it was.",
                )
            text = weighted_text(found, self.rendering)
            yield Document(document.docno, {**document.fields, WEIGHTED: text})

    def identity(self) -> dict[str, Any]:
        """The weights, hence the corpus and the model, and the rendering."""
        return {
            "source": "expanded",
            "weights": self.weights_fingerprint,
            "rendering": self.rendering.model_dump(mode="json"),
            "stop_words": digest_of(self.settings.stop_words),
        }

    def size_hint(self) -> int | None:
        """As many as the corpus has."""
        return self.base.size_hint()

    def places(self, docno: str) -> list[Place]:
        """Where the documents of the corpus stand."""
        return self.base.places(docno)

    def lost(self) -> int:
        """How many documents keep their words once, because no weight is great enough."""
        stored = TermWeights(self.weights, self.settings)
        return sum(is_lost(found, self.rendering) for _, found in stored.of(self.base))
