"""Measures that are known by their names alone.

ir_measures' measures are computed from a run and qrels. What packages compute from other things
(the rank of the gold item, a rating, a selected set) has a name, a value for each query, and
takes part in comparisons and tables like any other.
"""

from ir_measures import Measure


class NamedMeasure(Measure):
    """A measure without parameters that nothing but its name distinguishes.

    It is equal to a measure of ir_measures that is written alike (``R@5``), so that scores can be
    asked for by that text.
    """

    def __init__(self, title: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # ir_measures has no types
        self.title = title

    def __repr__(self) -> str:
        return self.title
