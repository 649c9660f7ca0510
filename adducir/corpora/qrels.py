"""Relevance judgements (qrels): how well each document answers a topic.

A source is ``bundled:qrels``, an ir_datasets id, or a file, also compressed: TREC's four columns
``qid iteration docno grade``, where the iteration is ignored, as in trec_eval, and ``4.0`` counts
as 4; three columns ``qid docno grade``; a table with a header, as TSV, CSV or Parquet
(BEIR's ``query-id corpus-id score``, PyTerrier's ``qid docno label``); or JSON, ``{qid: {docno:
grade}}``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from adducir.core.errors import InputError, UsageError, gathering
from adducir.core.fingerprint import digest_of
from adducir.core.json_lines import json_unique, json_value
from adducir.core.texts import refuse_text
from adducir.corpora import irds
from adducir.corpora.columns import QRELS, Columns, read_columns
from adducir.corpora.frames import GRADE, repeated_rows, rows_of
from adducir.corpora.sources import BUNDLED, resolve
from adducir.corpora.tables import read_table

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = {"qid": pl.String, "docno": pl.String, "grade": pl.Int64}


@dataclass(frozen=True, eq=False)
class Qrels:
    """Judgements: a frame ``qid``, ``docno``, ``grade`` (Int64), unique pairs in file order."""

    frame: pl.DataFrame
    source: str

    @classmethod
    def of(
        cls,
        data: "pd.DataFrame | pl.DataFrame | Mapping[str, Mapping[str, float]]",
        source: str = "qrels",
    ) -> "Qrels":
        """Make judgements of a frame (qid, docno, grade) or a dict ``{qid: {docno: grade}}``.

        Columns may be called query_id, doc_id and label, relevance or rel; ``source`` is their name
        in messages.
        """
        rows = rows_of(data, GRADE, "qrels")
        grades = rows["grade"].cast(pl.Float64, strict=False)
        is_whole = grades.is_finite() & (grades == grades.floor()) & (grades.abs() < 2**53)
        wrong = rows.filter(~is_whole.fill_null(value=False))
        for qid, docno, grade in wrong.head(1).rows():
            raise UsageError(f"the grade of {docno} for topic {qid} is {grade}, not an integer.")
        for row in repeated_rows(rows)[:1]:
            qid, docno, _ = rows.row(int(row))
            raise UsageError(f"document {docno} is judged twice for topic {qid}.")
        return cls(rows.with_columns(grade=grades.cast(pl.Int64)), source)

    def __len__(self) -> int:
        return self.frame.height

    @cached_property
    def qids(self) -> list[str]:
        return self.frame["qid"].unique(maintain_order=True).to_list()

    def restricted(self, qids: Iterable[str]) -> "Qrels":
        """Only the judgements of these topics, in the same order; unknown qids are ignored."""
        refuse_text(qids, "qids")
        wanted = pl.Series("qid", list(qids), dtype=pl.String)
        return Qrels(self.frame.filter(pl.col("qid").is_in(wanted.implode())), self.source)

    def identity(self) -> dict[str, str]:
        """A digest of the judgements for fingerprints, independent of the source's name."""
        return {"qrels": digest_of([self.frame.write_csv(separator=" ", quote_style="never")])}


def load_qrels(source: str | Path | Sequence[str | Path]) -> Qrels:
    """Read judgements from one or more sources; no document may be judged twice."""
    sources = [source] if isinstance(source, str | Path) else list(source)
    if not sources:
        raise InputError("qrels are missing.")
    with gathering() as each:
        found = [each(partial(resolve, one)) for one in sources]
    with gathering() as each:
        read = [each(partial(_read, one)) for one in found]
    frame = pl.concat([columns.frame for columns in read]).cast({"grade": pl.Int64})
    for row in repeated_rows(frame)[:1]:  # repeats within one file were refused above
        qid, docno, _ = frame.row(int(row))
        is_it = (pl.col("qid") == qid) & (pl.col("docno") == docno)
        places = [
            (one, columns.line(int(at)))
            for one, columns in zip(found, read, strict=True)
            for at in columns.frame.select(is_it.arg_true()).to_series()
        ]
        (other, before), (path, line) = places[:2]
        what = f"document {docno} of topic {qid} is judged twice, first in {other}:{before}."
        raise InputError(what, path=path, line=line, hint="Keep one of the two judgements.")
    return Qrels(frame, " + ".join(map(str, sources)))


def _read(found: Path | str) -> Columns:
    if isinstance(found, str):
        dataset = irds.open_dataset(found, "qrels")
        rows = [
            (qrel.query_id, qrel.doc_id, float(qrel.relevance))
            for qrel in irds.records(dataset, found, "qrels")
        ]
        if not rows:
            raise InputError(f"{found} of ir_datasets does not contain any judgements.")
        schema = SCHEMA | {"grade": pl.Float64}
        return Columns(pl.DataFrame(rows, schema=schema, orient="row"))
    if found.is_dir():
        raise InputError("this is a folder, not a file of qrels.", path=found)
    data, given = read_table(found, "grade")
    judged: Any = given
    if data[:64].lstrip()[:1] == b"{":
        try:
            json_value(data.decode(), found)
        except InputError as error:  # usually documents
            what = "these are not qrels: use TREC's columns or {qid: {docno: grade}}."
            raise InputError(what, path=found, line=1) from error
        judged = json_unique(data.decode(), found)
    if judged is not None:
        try:
            frame = Qrels.of(judged).frame
        except UsageError as error:
            raise InputError(error.what, path=found) from error
        return Columns(frame.cast({"grade": pl.Float64}))
    columns = read_columns(data, QRELS, tuple(SCHEMA))
    if columns.faults:
        fault = columns.faults[0]
        hint = "Did you mean bundled:qrels?" if found in BUNDLED.values() else None
        raise InputError(fault.message, path=found, line=fault.line or None, hint=hint)
    return columns
