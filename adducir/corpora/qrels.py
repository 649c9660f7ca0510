"""Relevance judgements (qrels): which document answers which topic how well.

A source is ``bundled:qrels``, an ir_datasets id, or a file in TREC's format (plain or gzipped):
four columns ``qid iteration docno grade`` separated by blanks or tabs. The iteration is read
over, as trec_eval does. Grades are whole numbers; ``4.0`` counts as 4.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from adducir.core.absent import gathering
from adducir.core.errors import InputError, UsageError
from adducir.core.texts import refuse_text
from adducir.corpora import irds
from adducir.corpora.digests import digest_of
from adducir.corpora.frames import GRADE, rows_of
from adducir.corpora.qrels_files import has_duplicates, read_qrels, refuse_duplicates
from adducir.corpora.sources import resolve

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = {"qid": pl.String, "docno": pl.String, "grade": pl.Int64}


@dataclass(frozen=True, eq=False)
class Qrels:
    """Judgements, each pair of qid and docno once.

    Attributes:
        frame: Columns ``qid`` (String), ``docno`` (String), ``grade`` (Int64), in file order.
    """

    frame: pl.DataFrame
    source: str

    @classmethod
    def of(
        cls,
        data: "pd.DataFrame | pl.DataFrame | Mapping[str, Mapping[str, float]]",
        source: str = "qrels",
    ) -> "Qrels":
        """Make judgements of what a program holds already.

        Args:
            data: A frame of pandas or polars with the columns qid, docno and grade (or query_id,
                doc_id; label, relevance or rel), or a dict ``{qid: {docno: grade}}``.
            source: What they are called in messages.

        Raises:
            UsageError: A column is missing, a grade is no whole number, or a pair is judged twice.
        """
        rows = rows_of(data, GRADE, "qrels")
        grades = rows["grade"].cast(pl.Float64, strict=False)
        wrong = rows.filter(grades.is_null() | (grades != grades.floor()) | grades.is_infinite())
        if wrong.height:
            qid, docno, grade = wrong.row(0)
            raise UsageError(f"the grade of {docno} for topic {qid} is {grade}, no whole number.")
        frame = rows.with_columns(grade=grades.cast(pl.Int64))
        pairs = frame.select("qid", "docno")
        if pairs.is_duplicated().any():
            qid, docno = pairs.filter(pairs.is_duplicated()).row(0)
            raise UsageError(f"document {docno} is judged twice for topic {qid}.")
        return cls(frame, source)

    def __len__(self) -> int:
        return self.frame.height

    @cached_property
    def qids(self) -> list[str]:
        """The topics in the order in which they first appear."""
        return self.frame["qid"].unique(maintain_order=True).to_list()

    def restricted(self, qids: Iterable[str]) -> "Qrels":
        """The judgements of these topics only, in the same order; unknown qids are ignored."""
        refuse_text(qids, "qids")
        wanted = pl.Series("qid", list(qids), dtype=pl.String)
        return Qrels(self.frame.filter(pl.col("qid").is_in(wanted.implode())), self.source)

    def identity(self) -> dict[str, str]:
        """A digest of the judgements, for fingerprints; the source's name is not in it."""
        return {"qrels": digest_of([self.frame.write_csv(separator=" ", quote_style="never")])}

    def to_ir_measures(self) -> "pd.DataFrame":
        """A pandas frame with the columns query_id, doc_id, relevance."""
        import pandas as pd

        return pd.DataFrame(
            {
                "query_id": self.frame["qid"].to_list(),
                "doc_id": self.frame["docno"].to_list(),
                "relevance": self.frame["grade"].to_numpy(),
            }
        )


def load_qrels(source: str | Path | Sequence[str | Path]) -> Qrels:
    """Read judgements; several sources are taken together.

    Args:
        source: See the module's text.

    Raises:
        InputError: A source is malformed or empty, is a run, or a pair of qid and docno is
            judged twice, be it in two files; with file and line.
        MachineError: ir_datasets cannot download the judgements.
    """
    sources = [source] if isinstance(source, str | Path) else list(source)
    if not sources:
        raise InputError("no qrels are named.")
    with gathering() as each:
        found = [each(partial(resolve, one)) for one in sources]
    with gathering() as each:
        frames = [each(partial(_read, one)) for one in found]
    frame = pl.concat(frames) if len(frames) > 1 else frames[0]
    name = " + ".join(map(str, sources))
    if has_duplicates(frame):
        refuse_duplicates(frame, [one if isinstance(one, Path) else None for one in found], name)
    return Qrels(frame, name)


def _read(found: Path | str) -> pl.DataFrame:
    return read_qrels(found) if isinstance(found, Path) else _from_dataset(found)


def _from_dataset(name: str) -> pl.DataFrame:
    dataset = irds.open_dataset(name, "qrels")
    rows = [
        (qrel.query_id, qrel.doc_id, int(qrel.relevance))
        for qrel in irds.records(dataset, name, "qrels")
    ]
    if not rows:
        raise InputError(f"{name} of ir_datasets gave no judgements.")
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")
