"""Masked spans: the data that exemplification and literary evidence retrieval have in common.

A passage (an exemplifying unit, a quotation) is taken out of its text; what stands left and right
of the gap is the query, the passage is the one true answer among many candidates.
"""

from typing import TYPE_CHECKING

from adducir.core.lazy import offering

if TYPE_CHECKING:
    from adducir.datasets.spans.cloze import mask_sentences
    from adducir.datasets.spans.examples import Tally, extract_examples
    from adducir.datasets.spans.record import MaskedSpan, context, read_spans, write_spans
    from adducir.datasets.spans.segmenting import sentence_bounds, sentences_of
    from adducir.datasets.spans.texts import Text, read_texts

__all__ = [
    "MaskedSpan",
    "Tally",
    "Text",
    "context",
    "extract_examples",
    "mask_sentences",
    "read_spans",
    "read_texts",
    "sentence_bounds",
    "sentences_of",
    "write_spans",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = offering(__name__)
