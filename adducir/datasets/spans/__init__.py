"""Masked spans: the data that exemplification and literary evidence retrieval have in common.

A passage (an exemplifying unit, a quotation) is taken out of its text; what stands left and right
of the gap is the query, the passage is the one true answer among many candidates.
"""

from adducir.core.lazy import offering

_HOMES = {
    "MaskedSpan": "record",
    "context": "record",
    "read_spans": "record",
    "write_spans": "record",
    "sentence_bounds": "segmenting",
    "sentences_of": "segmenting",
    "extract_examples": "examples",
    "mask_sentences": "cloze",
    "Tally": "examples",
    "Text": "texts",
    "read_texts": "texts",
}

__getattr__ = offering(__name__, _HOMES)


def __dir__() -> list[str]:
    """The names that can be imported from here."""
    return sorted(_HOMES)
