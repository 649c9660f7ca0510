"""Rocchio as Anserini computes it (``RocchioReranker`` of Anserini 1.7), with pyserini's defaults.

Rocchio, "Relevance feedback in information retrieval", in Salton (ed.), The SMART Retrieval System,
1971. The query and each feedback document are vectors of term frequencies, divided by their
Euclidean norm; of documents, terms of 2 to 20 characters that occur in at most a tenth of all
documents. The mean of the ``fb_docs`` best documents is cut to its ``fb_terms`` greatest values
and divided by its norm. The new query is ``alpha * query + beta * mean``, less ``gamma`` times the
same of the last ``bottom_fb_docs`` of the first 50 documents; what is not above 0 is left out. All
of it is single precision; norms are doubles. Of equal values the cut takes the term that is
alphabetically first.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from adducir.indexes.feedback.method import Collection, Document, FeedbackMethod

if TYPE_CHECKING:
    from adducir.indexes.feedback.vectors import Vector

_RANKED = 50  # documents of which the last are taken to be not relevant


class Rocchio(FeedbackMethod):
    """Rocchio."""

    fb_terms: int = Field(default=10, ge=1, description="Feedback terms.")
    alpha: float = Field(default=1.0, ge=0, description="Weight of the query.")
    beta: float = Field(default=0.75, ge=0, description="Weight of the best documents.")
    gamma: float = Field(default=0.0, ge=0, description="Weight of the last documents.")
    bottom_fb_terms: int = Field(default=10, ge=1, description="Terms of the last documents.")
    bottom_fb_docs: int = Field(default=10, ge=1, description="Last documents.")

    @property
    def depth(self) -> int:
        """The best documents, and as far as needed to find the last."""
        return max(self.fb_docs, _RANKED) if self.gamma else self.fb_docs

    def expanded(
        self, query: Mapping[str, int], documents: Sequence[Document], collection: Collection
    ) -> dict[str, float]:
        """The weighted sum; see the module."""
        import numpy as np

        from adducir.indexes.feedback.vectors import divided, l2_norm

        whole = {term: np.float32(count) for term, count in query.items()}
        own = divided(whole, l2_norm(whole)) if whole else {}
        best = _mean(documents[: self.fb_docs], collection, self.fb_terms)
        last: Vector = {}
        if self.gamma:
            tail = documents[::-1][: self.bottom_fb_docs]
            last = _mean(tail, collection, self.bottom_fb_terms)
        alpha, beta, gamma = map(np.float32, (self.alpha, self.beta, self.gamma))
        none = np.float32(0)
        weights = {
            term: alpha * own.get(term, none)
            + beta * best.get(term, none)
            - gamma * last.get(term, none)
            for term in {**own, **best, **last}
        }
        return {term: float(weight) for term, weight in weights.items() if weight > 0}


def _mean(documents: Sequence[Document], collection: Collection, size: int) -> "Vector":
    """The mean of documents' vectors, cut and of norm 1."""
    import numpy as np

    from adducir.indexes.feedback.vectors import cut, divided, is_short_word, l2_norm, tenth

    most = tenth(collection.documents)
    sums: Vector = {}
    for document in documents:
        vector = {
            term: np.float32(frequency)
            for term, frequency in document.terms.items()
            if is_short_word(term) and collection.frequency(term) <= most
        }
        norm = np.float32(l2_norm(vector))
        if norm > np.float32(0.001):
            for term, value in vector.items():
                sums[term] = sums.get(term, np.float32(0)) + value / norm
    mean = {term: value / np.float32(len(documents)) for term, value in sums.items()}
    kept = cut(mean, size)
    return divided(kept, l2_norm(kept)) if kept else {}
