"""What was tried, for the summary at the end of a run; the figures of docs/reliability.md."""

from collections import Counter

COUNTS: Counter[str] = Counter()


def count(what: str, number: int = 1) -> None:
    """Count what was tried."""
    COUNTS[what] += number
