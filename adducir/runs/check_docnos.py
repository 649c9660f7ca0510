"""Checks of a run's docnos: unknown, cut short, or read otherwise by some tools."""

from collections.abc import Iterator

import polars as pl

from adducir.runs.findings import Finding, counted
from adducir.runs.run import Run

# White space beyond ASCII: C's scanf does not part columns there, Python's split() does.
_ODD_SPACE = r"[\x1c-\x1f\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"

_SMALL_NUMBER = r"^[0-9]{1,7}$"
_FAR_MORE = 3


def check_docnos(run: Run, known: pl.Series | None, judged: pl.Series | None) -> Iterator[Finding]:
    """Suspicious docnos.

    Args:
        known: The docnos of the collection or index.
        judged: The docnos of the qrels.
    """
    docnos = run.frame["docno"].unique(maintain_order=True)
    odd = docnos.filter(docnos.str.contains(_ODD_SPACE))
    if len(odd):
        yield Finding(
            "warning",
            "odd-docnos",
            f"{counted(len(odd), 'docno')} (such as {odd[0]!r}) hold white space that "
            "Python's split() takes for a blank and trec_eval does not.",
        )
    same = _own_names(run)
    if same:
        yield Finding(
            "warning",
            "query-in-ranking",
            f"{counted(same, 'topic')} rank a document of the topic's own name. Where queries are "
            "taken from the collection (ArguAna, Quora), it must be left out.",
        )
    for names, holder in ((known, "the index"), (judged, "the qrels")):
        if names is None:
            continue
        cut = _truncated(docnos, names)
        if cut is not None:
            yield Finding(
                "error",
                "truncated-docnos",
                f"docnos are cut to {cut[0]} characters: the run has {cut[1]!r}, {holder} have "
                f"{cut[2]!r}. Every measure would be too low.",
            )
            return
    if known is not None:
        unknown = docnos.filter(~docnos.is_in(known.implode()))
        if len(unknown):
            yield Finding(
                "error",
                "unknown-docnos",
                f"{counted(len(unknown), 'document')} of {len(docnos):,} are not in the index, "
                f"such as {', '.join(unknown.head(3))}.",
            )


def _own_names(run: Run) -> int:
    """How many topics rank a document of their own name.

    Where topics and documents are both numbered, some numbers meet by chance; then only far more
    than that shows that queries are documents. By chance a document has its topic's number once in
    as many documents as there are numbers.
    """
    frame = run.frame.select("qid", "docno")
    same: int = frame.filter(pl.col("qid") == pl.col("docno"))["qid"].n_unique()
    if not same or not all(frame[name].str.contains(_SMALL_NUMBER).all() for name in frame.columns):
        return same
    numbers = frame["docno"].cast(pl.Int64).to_numpy()
    by_chance = len(frame) / (int(numbers.max()) + 1)
    return same if same > _FAR_MORE * (by_chance + 1) else 0


def _truncated(docnos: pl.Series, names: pl.Series) -> tuple[int, str, str] | None:
    """Length, docno and whole name, if the longest docnos are unknown beginnings of names.

    One such docno may be chance (d1 and d10), so at least half of the longest ones must be.
    """
    if not len(docnos) or not len(names):
        return None
    length = docnos.str.len_chars().max()
    if not isinstance(length, int):
        return None
    names = names.unique()
    longer = names.filter(names.str.len_chars() > length)
    longest = docnos.filter(docnos.str.len_chars() == length)
    heads = pl.DataFrame({"docno": longer.str.slice(0, length), "name": longer})
    found = (
        longest.to_frame("docno")
        .join(names.to_frame("docno"), on="docno", how="anti")
        .join(heads.group_by("docno").agg(pl.col("name").min()), on="docno")
        .sort("docno")
    )
    if not found.height or 2 * found.height < len(longest):
        return None
    docno, name = found.row(0)
    return length, docno, name
