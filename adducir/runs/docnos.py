"""Whether qrels and documents have the same docnos: CACM-1 is not CACM-0001.

A judged document that a collection writes otherwise counts as not retrieved, in silence, and lowers
most figures a little. Docnos are compared without case, punctuation and leading zeros.
"""

import re
from collections.abc import Collection

import polars as pl

from adducir.core.texts import counted, listed


def spelt_otherwise(judged: pl.Series, docnos: pl.Series) -> pl.DataFrame:
    """Frame (docno, spelling): judged docnos that are absent but for their spelling.

    ``spelling`` is the docno with the same letters and numbers that is not judged itself.
    """
    judged, docnos = judged.unique(maintain_order=True), docnos.unique(maintain_order=True)
    absent = judged.filter(~judged.is_in(docnos.implode()))
    others = docnos.filter(~docnos.is_in(judged.implode()))
    if not len(absent) or not len(others):
        return pl.DataFrame(schema={"docno": pl.String, "spelling": pl.String})
    spelling = _keyed(others, "spelling").unique("key", keep="first", maintain_order=True)
    spelt = _keyed(absent, "docno").join(spelling, on="key", maintain_order="left")
    return spelt.select("docno", "spelling")


def _keyed(names: pl.Series, column: str) -> pl.DataFrame:
    key = pl.col(column).str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]+", " ")
    return (
        names.alias(column)
        .to_frame()
        .with_columns(key=key.str.replace_all(r"(^|\D)0+(\d)", "${1}${2}").str.strip_chars())
    )


def absent(names: Collection[str], total: int, kind: str, holder: str) -> str:
    """A sentence about ``names``, of ``total`` documents of a ``kind``, that a corpus lacks."""
    verb = "is" if len(names) == 1 else "are"
    return (
        f"{len(names):,} of {counted(total, f'{kind} document')} {verb} not in {holder}: "
        f"{listed(sorted(names), 3)}."
    )


def misspelt(judged: pl.Series, docnos: pl.Series, holder: str) -> str:
    """A sentence about judged documents that ``holder`` spells otherwise; empty if none."""
    pairs = spelt_otherwise(judged, docnos)
    if not pairs.height:
        return ""
    shown = ", ".join(f"{docno} ({spelling})" for docno, spelling in pairs.head(3).iter_rows())
    return (
        f"{pairs.height:,} of {counted(judged.n_unique(), 'judged document')} "
        f"{'is' if pairs.height == 1 else 'are'} spelt otherwise in {holder}, and so not found: "
        f"{shown}."
    )


def passage_parts(docnos: pl.Series, separator: str = "") -> pl.DataFrame:
    """Frame (document, number); the number is null where a docno does not name a passage."""
    signs = re.escape(separator) if separator else "#|%p"
    parts = docnos.str.extract_groups(rf"^(.+)(?:{signs})([0-9]{{1,18}})(?:_[0-9]+)?$").struct
    number = parts[1].cast(pl.Int64)
    return pl.DataFrame({"document": parts[0].fill_null(docnos), "number": number})


def of_passages(docnos: pl.Series, documents: pl.Series) -> str:
    """A passage's docno whose document is one of ``documents``, or nothing."""
    parts = passage_parts(docnos).with_columns(docno=docnos)
    has_document = pl.col("document").is_in(documents.unique().implode())
    passages = parts.filter(pl.col("number").is_not_null() & has_document)["docno"]
    return str(passages[0]) if len(passages) else ""


def unfolded(passage: str, run: str) -> str:
    """What to do about a run of passages whose documents are judged."""
    return (
        f"the run ranks passages, such as {passage}, but documents are judged. Fold it: "
        f"adducir filter {run} --fold maxp -o FOLDED"
    )
