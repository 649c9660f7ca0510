"""BM25F: fields of a document that count differently, as Lucene's CombinedFieldQuery has them.

Robertson, Zaragoza and Taylor, "Simple BM25 extension to multiple weighted fields", CIKM 2004:
before BM25's saturation, a term's frequencies in the fields are added up, each times its field's
weight, and so are the fields' lengths. Adding up scores of the fields, as Anserini's and pyserini's
``fields`` do, counts a term of two fields twice instead.

Lucene settles the rest: a term is in as many documents as in the field where it is in most; the
documents that count are those of the field that most have; a document's length is the weighted sum
of the fields' lengths, each from its byte, rounded, and put into a byte again; weights are 1 or
more.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from adducir.core.errors import UsageError
from adducir.core.texts import nearest
from adducir.indexes.models import BM25, Model

FieldWeights = Mapping[str, float]


def checked_fields(
    weights: FieldWeights,
    fields: Sequence[str],
    model: Model,
    index: Path,
    *,
    exact_lengths: bool,
    has_feedback: bool,
) -> BM25:
    """The model, where all can be searched by weighted fields.

    Args:
        weights: The weight of each field.
        fields: The fields that the index keeps by themselves.
        exact_lengths: Whether BM25 is to read exact lengths.
        has_feedback: Whether queries are to be expanded.

    Raises:
        UsageError: It cannot.
    """
    if not fields:
        raise UsageError(
            f"{index} holds its fields joined, so they cannot have weights.",
            hint="Build it again with --set separate_fields=true.",
        )
    if not weights:
        raise UsageError("no field has a weight.", hint=f"The fields are {', '.join(fields)}.")
    for field, weight in weights.items():
        if field not in fields:
            raise UsageError(
                f"{index} holds no field {field!r}{nearest(field, fields) or '.'}",
                hint=f"Its fields are {', '.join(fields)}.",
            )
        if not (math.isfinite(weight) and weight >= 1):
            raise UsageError(
                f"the weight of the field {field!r} must be 1 or more, not {weight}.",
                hint="Give the least field 1, and greater weights to the others.",
            )
    if type(model) is not BM25:
        raise UsageError("field weights are for the model bm25.")
    if exact_lengths:
        raise UsageError(f"field weights read lengths in one byte, and {index} holds exact ones.")
    if has_feedback:
        raise UsageError("feedback knows no fields.", hint="Search without one of the two.")
    return model
