"""Relevance judgements (qrels): how well each document answers a topic.

A source is ``bundled:qrels``, an ir_datasets id, or a file, also compressed: TREC's four columns
``qid iteration docno grade``, where the iteration and lines that begin with ``#`` are ignored, as
in trec_eval 10, and ``4.0`` counts as 4; three columns ``qid docno grade``; a table with a header,
as TSV, CSV or Parquet (BEIR's ``query-id corpus-id score``, PyTerrier's ``qid docno label``), or
JSON lines with these keys (MTEB); or JSON, ``{qid: {docno: grade}}``. Measures of diversity read
the second column as a subtopic.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import polars as pl

from adducir.core.errors import InputError, Keyed, UsageError, gathering
from adducir.core.files import keeping_pipes
from adducir.core.fingerprint import digest_of
from adducir.core.json_lines import json_unique, read_objects
from adducir.core.progress import progress
from adducir.core.texts import counted, typed
from adducir.corpora.columns import (
    QRELS,
    SUBTOPIC,
    SUBTOPICS,
    Columns,
    checked,
    read_columns,
    tabbed,
)
from adducir.corpora.frames import (
    DOCNO,
    GRADE,
    QID,
    FramedByTopic,
    Nested,
    Tabular,
    columns_of,
    ids_of,
    refuse_unless_rows,
    repeated_rows,
    rows_of,
    table_of,
)
from adducir.corpora.pairs import (
    checked_records,
    data_of,
    first_cells,
    first_object,
    is_json,
    nested_records,
    refuse_headless,
    stated_columns,
)
from adducir.corpora.sources import BUNDLED, resolve
from adducir.corpora.tables import Quotes

if TYPE_CHECKING:
    PathLike = str | os.PathLike[str]
    Judged: TypeAlias = "Qrels | PathLike | Sequence[PathLike] | Tabular | Nested"

_KEPT = {"first": "first grade", "max": "largest grade"}
_KEEP = Keyed(
    "Keep one of the two judgements: {} or {}. Measures such as alpha_nDCG read judgements by "
    "subtopic.",
    *(("duplicates", "first"), ("duplicates", "max")),
)
_THREE = QRELS._replace(columns=("qid", "docno", "grade"))
_FIVE = Keyed(
    "Name the columns to read: {} for prels, or {} for judgements by subtopic, with {}. "
    "Preferences order documents within a group and are not grades.",
    ("qrels_columns", "qid,docno,grade,-,-"),
    ("qrels_columns", "qid,subtopic,-,docno,grade"),
    ("duplicates", "max"),
)
SCHEMA = {"qid": pl.String, "docno": pl.String, "grade": pl.Int64}


@dataclass(frozen=True, eq=False)
class Qrels(FramedByTopic):
    """Judgements: a frame ``qid``, ``docno``, ``grade`` (Int64), unique pairs in file order.

    ``subtopics``: each judgement of diversity qrels, a frame with ``subtopic``, too.

    Example:
        >>> ad.Qrels.of({"1": {"x": 2, "y": 0}}).to_dict()
        {'1': {'x': 2, 'y': 0}}
    """

    frame: pl.DataFrame
    source: str
    subtopics: pl.DataFrame | None = None

    def __post_init__(self) -> None:
        refuse_unless_rows(self.frame, SCHEMA, "qrels")

    @classmethod
    @typed
    def of(cls, data: "Tabular | Nested", source: str = "qrels") -> "Qrels":
        """Make judgements of a frame (qid, docno, grade) or a dict ``{qid: {docno: grade}}``.

        Also of records, such as ir_datasets', and a Series with the index (qid, docno). Columns may
        be called query_id, doc_id and label, relevance or rel; ``source`` is their name in
        messages. A column ``subtopic`` makes judgements by subtopic, of which a document's grade is
        the largest.
        """
        if isinstance(data, Mapping):
            return cls(_judgements(data), source)
        table = table_of(data, "qrels", QID, DOCNO, GRADE)
        names = [name for name in SUBTOPICS if name in table.columns and name != SUBTOPIC]
        if not names:
            return cls(_judgements(table), source)
        rows = _judgements(table, repeats=True)
        rows = rows.with_columns(ids_of(columns_of(table, source, names)[0], SUBTOPIC))
        return _of_subtopics(rows, "max", source)

    def __len__(self) -> int:
        return self.frame.height

    @cached_property
    def qids(self) -> list[str]:
        return self.frame["qid"].unique(maintain_order=True).to_list()

    @typed
    def restricted(self, qids: Iterable[str]) -> "Qrels":
        """Only the judgements of these topics, in the same order; unknown qids are ignored."""
        kept = pl.Series("qid", list(qids), dtype=pl.String).implode()
        subtopics = self.subtopics
        return Qrels(
            self.frame.filter(pl.col("qid").is_in(kept)),
            self.source,
            None if subtopics is None else subtopics.filter(pl.col("qid").is_in(kept)),
        )

    def identity(self) -> dict[str, str]:
        """A digest of the judgements for fingerprints, independent of the source's name."""
        frames = [self.frame] if self.subtopics is None else [self.frame, self.subtopics]
        texts = [frame.write_csv(separator=" ", quote_style="never") for frame in frames]
        return {"qrels": digest_of(texts)}


def _of_subtopics(frame: pl.DataFrame, kept: str, source: str) -> Qrels:
    """Judgements by subtopic (the column ``iteration``) of a frame with a row for each."""
    rows = frame.rename({SUBTOPIC: "subtopic"}).cast({"grade": pl.Int64})
    keys = ["qid", "subtopic", "docno"]
    for row in rows.filter(rows.select(keys).is_duplicated()).head(1).rows(named=True):
        reason = "document {docno} of topic {qid} is judged twice for subtopic {subtopic}."
        raise InputError(reason.format(**row), path=source)
    message = f"read by subtopic; the {_KEPT[kept]} of a document counts where it needs one"
    progress().note_once(f"{source}: {message}")
    return Qrels(_one_per_document(rows, kept), source, rows.select(*keys, "grade"))


def _judgements(data: Any, *, repeats: bool = False) -> pl.DataFrame:
    """Checked rows (qid, docno, grade) of a frame or a dict."""
    columns = checked(rows_of(data, GRADE, "qrels"), QRELS, repeats=repeats)
    for fault in columns.faults[:1]:
        raise UsageError(fault.message, hint=_KEEP if fault.code == "duplicate" else None)
    return columns.frame.cast({"grade": pl.Int64})


Duplicates = Literal["refuse", "first", "max"]
"""What to do with a document that is judged twice for a topic."""


@typed
def load_qrels(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    columns: Sequence[str] = (),
    duplicates: Duplicates = "refuse",
    quotes: Quotes | None = None,
    subtopics: bool = False,
) -> Qrels:
    """Read judgements from one or more sources.

    Args:
        source: A file, an ir_datasets id, or several.
        columns: The names of a file's columns, such as ``("qid", "docno", "grade", "-", "-")``,
            instead of what it shows; ``-`` for one that is not used.
        duplicates: A document judged twice for a topic, also by two sources, is an error, or its
            first or largest grade counts.
        quotes: What quotes are in a table; None: as the file shows.
        subtopics: Read the second of TREC's columns, or one called ``subtopic``, as a subtopic, for
            alpha_nDCG and the like.

    Raises:
        AdducirError: With the file and line of what is malformed or judged twice.

    Example:
        >>> ad.load_qrels("bundled:qrels").to_polars().columns
        ['qid', 'docno', 'grade']
    """
    sources = [source] if isinstance(source, str | os.PathLike) else list(source)
    if not sources:
        raise InputError("qrels are missing.")
    with gathering() as opening:
        places_ = [opening(partial(resolve, source_)) for source_ in sources]
    keeps = duplicates != "refuse" or subtopics
    with gathering() as opening, keeping_pipes():
        read = [
            opening(partial(_read, place, columns, quotes, keeps, subtopics)) for place in places_
        ]
    for place, part in zip(places_, read, strict=True):
        if subtopics and SUBTOPIC not in part.frame.columns:
            raise InputError("it does not name subtopics, but measures need them.", path=place)
    names = " + ".join(os.fspath(source_) for source_ in sources)
    frame = pl.concat([part.frame for part in read]).cast({"grade": pl.Int64})
    if subtopics:
        return _of_subtopics(frame, "first" if duplicates == "first" else "max", names)
    again = repeated_rows(frame)
    if keeps and len(again):
        message = f"{counted(len(again), 'repeated judgement')}: the {_KEPT[duplicates]} counts"
        progress().note_once(f"{names}: {message}")
        return Qrels(_one_per_document(frame, duplicates), names)
    for row in again[:1]:  # repeats within one file were refused above
        qid, docno, _ = frame.row(int(row))
        is_it = (pl.col("qid") == qid) & (pl.col("docno") == docno)
        places = [
            (place, part.line(int(at)))
            for place, part in zip(places_, read, strict=True)
            for at in part.frame.select(is_it.arg_true()).to_series()
        ]
        (earlier, before), (path, line) = places[:2]
        reason = f"document {docno} of topic {qid} is judged twice, first in {earlier}:{before}."
        raise InputError(reason, path=path, line=line, hint=_KEEP)
    return Qrels(frame, names)


def as_qrels(qrels: "Judged", *, subtopics: bool = False) -> Qrels:
    """Judgements of all that users have: objects, files or ids, frames, dicts or records."""
    if isinstance(qrels, Qrels):
        return qrels
    listed = qrels if isinstance(qrels, list | tuple) else [qrels]
    if all(isinstance(part, str | os.PathLike) for part in listed):
        return load_qrels(cast("str", qrels), subtopics=subtopics)
    return Qrels.of(cast(Nested, qrels))


def _one_per_document(frame: pl.DataFrame, kept: str) -> pl.DataFrame:
    grade = pl.col("grade").first() if kept == "first" else pl.col("grade").max()
    return frame.group_by("qid", "docno", maintain_order=True).agg(grade)


def _read(
    place: Path | str, names: Sequence[str], quotes: Quotes | None, repeats: bool, subtopics: bool
) -> Columns:
    fields = (*SCHEMA, SUBTOPIC) if subtopics else tuple(SCHEMA)
    if isinstance(place, str):
        from adducir.corpora import irds

        dataset = irds.open_dataset(place, "qrels")
        rows = [
            (qrel.query_id, qrel.doc_id, float(qrel.relevance), str(subtopic or 0))
            for qrel in irds.records(dataset, place, "qrels")
            for subtopic in [getattr(qrel, "subtopic_id", None) or getattr(qrel, "iteration", None)]
        ]
        if not rows:
            raise InputError(f"{place} of ir_datasets does not contain any judgements.")
        schema = SCHEMA | {"grade": pl.Float64, SUBTOPIC: pl.String}
        return Columns(pl.DataFrame(rows, schema=schema, orient="row").select(fields))
    if place.is_dir():
        raise InputError("this is a folder, not a file of qrels.", path=place)
    data = data_of(place)
    options: Any = {"repeats": repeats, "subtopics": subtopics}
    if is_json(data):
        columns = checked_records(_from_json(place, data), place, QRELS, **options)
    else:
        stated = stated_columns(place, data, QRELS, names=names, quotes=quotes, **options)
        columns = _without_header(place, data, fields, repeats) if stated is None else stated
    for fault in columns.faults[:1]:
        hint: str | None = {"five": _FIVE, "duplicate": _KEEP}.get(fault.code)
        hint = "Did you mean bundled:qrels?" if place in BUNDLED.values() else hint
        raise InputError(fault.message, path=place, line=fault.line or None, hint=hint)
    frame = columns.frame
    return columns._replace(frame=frame.select(name for name in fields if name in frame.columns))


def _without_header(path: Path, data: bytes, fields: Sequence[str], repeats: bool) -> Columns:
    data = tabbed(_without_comments(data, path))
    first = first_cells(data)
    if len(first) == 3 and re.fullmatch(rb"[+-]?[0-9]++(?:\.0*+)?", first[2]):
        message = "three columns without a header, read as qid,docno,grade"
        progress().note_once(f"{path}: {message}")
        return read_columns(data, _THREE, tuple(SCHEMA), repeats=repeats)
    refuse_headless(path, data, QRELS)
    return read_columns(data, QRELS, fields, repeats=repeats)


def _without_comments(data: bytes, path: Path) -> bytes:
    """The lines, blank where they begin with ``#``, which trec_eval 10 takes for a comment.

    Where every line begins so, qids do.
    """
    if not data.startswith(b"#") and b"\n#" not in data:
        return data
    lines = data.split(b"\n")
    comments = sum(line.startswith(b"#") for line in lines)
    if comments == sum(bool(line.strip()) for line in lines):
        return data
    progress().note_once(f"{path}: {counted(comments, 'comment line')} (#) skipped")
    return b"\n".join(b"" if line.startswith(b"#") else line for line in lines)


def _from_json(path: Path, data: bytes) -> Iterator[tuple[int, Any]]:
    """The records of objects that hold judgements one by one, or of ``{qid: {docno: grade}}``."""
    try:
        first, is_pair = first_object(path)
        is_umbrela = {"passage", "judgment", "result_status"} <= first.keys()
        if is_pair or is_umbrela:
            records = read_objects(path)
        else:
            records = nested_records(json_unique(data.decode(), path), "grade", path)
    except InputError as error:  # usually documents
        message = "these are not qrels: use TREC's columns, {qid: {docno: grade}}, or JSON lines"
        message += f" of qid, docno and grade ({error.what.rstrip('.')})."
        raise InputError(message, path=path, line=error.line or 1) from error
    if is_umbrela:
        hint = "Give the qrels that `umbrela evaluate` wrote (modified_qrels/...txt)."
        message = "umbrela's judgements name neither topic nor document."
        raise InputError(message, path=path, line=1, hint=hint)
    return records
