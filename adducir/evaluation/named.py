"""Measures that are known by their names alone, and which way a measure points.

ir_measures' measures are computed from a run and qrels. What packages compute from other things
(the rank of the gold item, a rating, a selected set) has a name, a value for each query, and
takes part in comparisons and tables like any other.
"""

import re

from ir_measures import Measure

_OURS = re.compile(
    r"EM|F1|Cover|Rating|R@\d+|Mass@\d+|ROUGE-L(?:@\d+)?|max@\d+|Novel-F1|Knowledge-F1|R-precision"
    r"|Recall@5|KILT-F1|KILT-ROUGE-L|BLEU-[1-4]"
)
_OURS_FALLING = ("Rank", "Mean rank", "Median rank")
_FALLING = re.compile(
    r"ranks?|.*loss|errors?|latency|latencies|perplexity|ppl|.*entropy|nll|r?mse|mae|mape|[wct]er|"
    r"time|runtime|seconds|ms|cost|distance"
)
_RISING = {"reciprocal", "recip", "biased", "correlation"}


class NamedMeasure(Measure):
    """A measure without parameters that nothing but its name distinguishes.

    It is equal to a measure of ir_measures that is written alike (``R@5``), so that scores can be
    asked for by that text.

    Attributes:
        lower_is_better: Whether the lower value is the better; None where nobody has said.
    """

    def __init__(self, title: str, *, lower_is_better: bool | None = False) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # ir_measures has no types
        self.title = title
        self.lower_is_better = lower_is_better

    def __repr__(self) -> str:
        return self.title


def named(title: str) -> NamedMeasure:
    """A measure by its name, with its direction if it is one of ours."""
    is_ours = title in _OURS_FALLING or _OURS.fullmatch(title)
    return NamedMeasure(title, lower_is_better=title in _OURS_FALLING if is_ours else None)


def usually_falls(title: str) -> bool:
    """Whether lower values are better of most measures of such a name: ``val_loss``, ``meanRank``.

    The words of reciprocal rank, rank-biased overlap and rank correlation are exceptions.
    """
    words = {one.lower() for one in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", title)}
    return not words & _RISING and any(map(_FALLING.fullmatch, words))
