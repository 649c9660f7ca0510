"""A transformer of the author, for cacm-open.yaml: neighbouring query words count more."""

import math
import re
from itertools import pairwise

import pandas as pd
import pyterrier as pt

_WORD = re.compile(r"[a-z0-9]+")


def proximity(weight: float) -> pt.Transformer:
    """Add to each score ``weight`` times the logarithm of 1 + how often query words are neighbours.

    Words of a query that stand side by side in a document, in either order, are counted, as in the
    unordered windows of the sequential dependence model (Metzler and Croft, SIGIR 2005).
    """

    def score(row: "pd.Series[float]") -> float:
        wanted = set(_WORD.findall(str(row["query"]).lower()))
        words = _WORD.findall(str(row["text"]).lower())
        pairs = sum(one != two and {one, two} <= wanted for one, two in pairwise(words))
        return float(row["score"]) + weight * math.log1p(pairs)

    return pt.apply.doc_score(score)
