"""RM3 as Anserini computes it (``Rm3Reranker`` of Anserini 1.7), with its defaults.

Abdul-Jaleel et al., "UMass at TREC 2004: Novelty and HARD", TREC 2004. Each feedback document gives
the terms that match ``[a-z0-9]+`` (in English only, as with Anserini's ``-rm3.noTermFilter``), have
2 to 20 characters and occur in at most a tenth of all documents; of them, the ``fb_terms`` most
frequent, divided by their sum and times the document's score. The sums over documents are cut to
``fb_terms`` again and divided by their sum: the relevance model. The query's own terms, divided by
their sum, and the relevance model are mixed by ``original_query_weight``. All of it is single
precision; sums for division are doubles.

Where values are equal, both cuts take the term that is alphabetically first. Where every feedback
document scores 0, Anserini divides by 0 and fails; here such documents add nothing.

Both engines have RM3 as compiled code that gives the same (:mod:`adducir.indexes.memory.rm3`, and
Anserini's own class for Lucene).
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from adducir.indexes.feedback.method import Collection, Document, FeedbackMethod

if TYPE_CHECKING:
    from adducir.indexes.feedback.vectors import Vector

_WORD = re.compile("[a-z0-9]+")


class RM3(FeedbackMethod):
    """RM3."""

    fb_terms: int = Field(default=10, ge=1, description="Feedback terms.")
    original_query_weight: float = Field(
        default=0.5, ge=0, le=1, description="Weight of the query itself, 0 to 1."
    )

    def expanded(
        self, query: Mapping[str, int], documents: Sequence[Document], collection: Collection
    ) -> dict[str, float]:
        """The mixture; see the module."""
        import numpy as np

        from adducir.indexes.feedback.vectors import divided, l1_norm

        whole = {term: np.float32(count) for term, count in query.items()}
        own = divided(whole, l1_norm(whole)) if whole else {}
        relevance = self._relevance(documents, collection)
        share, none = np.float32(self.original_query_weight), np.float32(0)
        rest = 1.0 - float(share)
        return {
            term: float(
                np.float32(
                    float(share * own.get(term, none)) + rest * float(relevance.get(term, none))
                )
            )
            for term in {**own, **relevance}
        }

    def _relevance(self, documents: Sequence[Document], collection: Collection) -> "Vector":
        import numpy as np

        from adducir.indexes.feedback.vectors import cut, divided, is_short_word, l1_norm, tenth

        most, word = tenth(collection.documents), _WORD if collection.has_plain_feedback else None
        sums: Vector = {}
        for document in documents:
            words = {
                term: np.float32(frequency)
                for term, frequency in document.terms.items()
                if is_short_word(term, word) and collection.frequency(term) <= most
            }
            vector = cut(words, self.fb_terms)
            norm = np.float32(l1_norm(vector))
            if norm > np.float32(0.001):
                for term, value in vector.items():
                    added = value / norm * np.float32(document.score)
                    sums[term] = sums.get(term, np.float32(0)) + added
        model = cut(sums, self.fb_terms)
        total = l1_norm(model)
        return divided(model, total) if total else {}
