"""What is reported about a search: beside its run, and to the user."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adducir.corpora.topics import Topics
    from adducir.indexes.search import Search


def metadata(found: "Search", topics: "Topics") -> dict[str, Any]:
    """What to record beside the run about how it was made."""
    return {
        "method": {"retrieval": [found.settings]},
        "data": {"topics": {"source": topics.source, "field": topics.field}},
    }


def notes(found: "Search", topics: "Topics", output: Path) -> list[str]:
    """What to show the user about a search."""
    rate = len(topics) / found.seconds if found.seconds else 0.0
    lines = [
        f"{output}: {len(topics):,} topics, {len(found.run):,} hits, {found.seconds:.1f} s "
        f"({rate:,.0f} topics a second)"
    ]
    if found.empty:
        lines.append(f"no term is left of the query after analysis: {_listed(found.empty)}")
    if found.unanswered:
        lines.append(f"no term of the query is in the index: {_listed(found.unanswered)}")
    if found.tied:
        what = "all documents have one score, so that docnos order them"
        lines.append(f"{what}: {_listed(found.tied)}")
    return lines


def _listed(qids: tuple[str, ...]) -> str:
    more = f" and {len(qids) - 10} more" if len(qids) > 10 else ""
    return f"{'topic' if len(qids) == 1 else 'topics'} {', '.join(qids[:10])}{more}"
