"""Read runs: TREC's six columns, and the rankings that other toolkits write (docs/formats.md).

- tables with a header as CSV, TSV or Parquet, and JSON lines with the same names as keys;
- three columns without a header: qid, docno and a rank or a score; ColBERT's qid, pid, rank, score;
- JSON of sentence-transformers (``{"query_id", "results": [{"corpus_id", "score"}]}`` per line), of
  rank_llm (``{"query": {"qid"}, "candidates": [{"docid", "score"}]}``), of MTEB (by subset and
  split) and of BEIR, ranx and pytrec_eval (``{query: {document: score}}``).

Where a file does not state what its columns are, how they are understood is a note, and
``columns`` sets it.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from adducir.core.errors import InputError, UsageError, worded
from adducir.core.files import suffix_of
from adducir.core.json_lines import json_unique, read_objects
from adducir.core.progress import progress
from adducir.corpora.columns import (
    QRELS,
    RUN,
    ColumnLayout,
    Columns,
    Fault,
    named_layout,
    read_columns,
    regular_columns,
    tabbed,
)
from adducir.corpora.frames import DOCNO, QID, SCORE, repeated_rows, rows_of, topic_numbers
from adducir.corpora.tables import Quotes, checked, json_table, read_table
from adducir.runs.run import SCHEMA, Run, Ties, ordered, strictly_decreasing

_TIES: dict[str, Ties] = {"trec_eval": "trec_eval", "anserini": "ascending"}
_MODEL = "mteb_model_meta"
_THREE = RUN._replace(columns=("qid", "docno", "score"))
_COLBERT = RUN._replace(columns=("qid", "docno", "rank", "score"))


def read_run(
    path: Path | str,
    *,
    ties: Literal["trec_eval", "anserini"] = "trec_eval",
    allow_empty: bool = False,
    columns: Sequence[str] = (),
    quotes: Quotes | None = None,
    duplicates: Literal["refuse", "first"] = "refuse",
) -> Run:
    """Read a run: TREC's columns (qid, Q0, docno, rank, score, tag), a table or JSON.

    As in trec_eval, scores determine the order and ranks are ignored; the tag is that of the first
    line. ``ties`` chooses the order of equal scores: trec_eval's (docno descending, scores in
    single precision as in 9.0.7 and pytrec_eval), for the same figures as trec_eval, or Anserini's
    (ascending, double precision). A malformed line, a score that is not a finite number, or a
    document repeated within its topic is an InputError.

    Args:
        path: The file, which may be compressed.
        ties: How equal scores are ordered.
        allow_empty: Take a file without lines as a run without documents.
        columns: The names of the columns, such as ``("qid", "docno", "rank")``, instead of what
            the file shows; ``-`` for one that is not used.
        quotes: What quotes are in a table; None: as the file shows.
        duplicates: Of a document that a topic ranks again, "first" keeps the best rank.
    """
    if ties not in _TIES:
        raise UsageError(
            f"{ties!r} is not a way to order ties.", hint="Choose trec_eval or anserini."
        )
    needed = ("qid", "docno", "score", "tag")
    keeps = duplicates == "first"
    columns_ = columns_of(Path(path), needed, columns=columns, quotes=quotes, repeats=keeps)
    for fault in columns_.faults[:1]:
        if fault.code != "empty" or not allow_empty:
            raise fault.error(Path(path))
    run = run_of(columns_.frame, Path(path), ties)
    if keeps:
        frame = run.frame.unique(["qid", "docno"], keep="first", maintain_order=True)
        run = Run(frame, run.tag, run.path)
    return run


def columns_of(
    path: Path,
    wanted: Iterable[str],
    *,
    columns: Sequence[str] = (),
    quotes: Quotes | None = None,
    repeats: bool = False,
) -> Columns:
    """A run's columns among qid, docno, rank, score and tag, and the faults of its lines."""
    names, (data, table) = list(wanted), read_table(path, quotes)
    tag = path.name.split(".")[0]
    is_json = data[:64].lstrip()[:1] in (b"{", b"[")  # TREC runs never begin with these
    if columns and (table is not None or not is_json):
        read_ = _named(path, data, table, columns, repeats)
    elif is_json and table is None:
        frame, tag = _from_json(path, data)
        read_ = Columns(
            frame, faults=[Fault(0, "empty", "the run file is empty.")] * frame.is_empty()
        )
    elif table is not None:
        frame = checked(table, path, quotes, lambda rows: _scored(path, rows, repeats))
        read_ = Columns(
            frame, faults=[Fault(0, "empty", "the run file is empty.")] * frame.is_empty()
        )
    else:
        data = tabbed(data)
        layout = _layout_of(path, data)
        if layout is RUN:
            return read_columns(data, RUN, names, repeats=repeats)
        read = read_columns(data, layout, layout.columns, repeats=repeats)
        read_ = _without_header(path, read, layout)
    defaults = {"rank": pl.lit(None, dtype=pl.String), "tag": pl.lit(tag.replace(" ", "_"))}
    more = {name: value for name, value in defaults.items() if name not in read_.frame.columns}
    return read_._replace(frame=read_.frame.with_columns(**more).select(names))


def _layout_of(path: Path, data: bytes) -> ColumnLayout:
    """The layout of a file without header, by its first line."""
    first = next((line for line in data[:10_000].split(b"\n") if line.strip()), b"")
    cells = first.split()
    if len(cells) == 3 and _is_number(cells[2]):
        return _THREE
    if len(cells) == 4 and _is_number(cells[2]) and _is_number(cells[3]):
        return _of_four(path, data)
    if suffix_of(path) == ".csv" and len(cells) != len(RUN.columns):
        shown = first.replace(b"\t", b",").decode(errors="replace")[:60]
        message = f"the first line must name columns such as qid, docno and score, not {shown!r}."
        hint = f"Name them: {worded('columns', 'qid,docno,score')}."
        raise InputError(message, path=path, line=1, hint=hint)
    return RUN


def _of_four(path: Path, data: bytes) -> ColumnLayout:
    """ColBERT's qid, pid, rank, score; qrels, whose last two columns may be numbers as well."""
    as_run = read_columns(data, _COLBERT, ("qid", "docno", "rank", "score"))
    as_qrels = read_columns(data, QRELS, ("qid", "docno", "grade"))
    is_run = not as_run.faults and _is_ranked(as_run.frame, "rank")
    if is_run and not as_qrels.faults and as_run.frame["docno"].n_unique() == 1:
        message = (
            "these are ColBERT's qid, pid, rank and score, or qrels' qid, iteration, docno, grade."
        )
        hint = f"Say which: {worded('columns', 'qid,docno,rank,score')}; qrels are not a run."
        raise InputError(message, path=path, hint=hint)
    return _COLBERT if is_run else RUN  # whose reader names qrels


def _is_number(cell: bytes) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _is_ranked(frame: pl.DataFrame, name: str, start: int = 1) -> bool:
    """Whether a column's numbers are start, start + 1, ... per topic, in the order of the file."""
    if frame.is_empty():
        return False
    numbers = frame[name].cast(pl.Float64, strict=False).to_numpy()
    order = np.argsort(topics := topic_numbers(frame["qid"]), kind="stable")
    lengths = np.bincount(topics)
    expected = np.arange(len(frame)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + start
    return bool((numbers[order] == expected).all())


def _without_header(path: Path, read: Columns, layout: ColumnLayout) -> Columns:
    """Three columns: the third holds ranks if it is 1, 2, ... per topic, otherwise scores."""
    if read.faults or read.frame.is_empty():
        return read
    if layout is _COLBERT:
        _tell(path, "four columns without a header", "qid,docno,rank,score")
        return read
    frame, kind = read.frame, "three columns without a header"
    if _is_ranked(frame, "score"):
        _tell(path, kind, "qid,docno,rank", "qid,docno,score")
        return read._replace(frame=frame.with_columns(score=1 / pl.col("score")))
    if _is_ranked(frame, "score", 0) and frame["score"].max():
        message = "the third column holds 0, 1, 2, ... per topic: ranks from 0 on, or scores."
        either = " or ".join(worded("columns", f"qid,docno,{name}") for name in ("rank", "score"))
        raise InputError(message, path=path, hint=f"Say which: {either}.")
    _tell(path, kind, "qid,docno,score", "qid,docno,rank")
    return read


def _tell(path: Path, kind: str, read: str, choice: str = "") -> None:
    """Say how columns were understood, and the setting that says otherwise."""
    hint = f" ({worded('columns', choice)} reads them otherwise)" if choice else ""
    progress().note_once(f"{path}: {kind}, read as {read}{hint}")


def _named(
    path: Path, data: bytes, table: pl.DataFrame | None, columns: Sequence[str], repeats: bool
) -> Columns:
    """A file whose columns the user names; a header in the first line is skipped."""
    layout = named_layout(RUN, columns)
    if table is not None:
        if len(table.columns) != len(columns):
            message = f"it has {len(table.columns)} columns ({', '.join(table.columns)}),"
            raise UsageError(f"{path}: {message} but {worded('columns')} names {len(columns)}.")
        table = table.rename(dict(zip(table.columns, layout.columns, strict=True)))
        frame = _scored(path, table, repeats)
        return Columns(
            frame, faults=[Fault(0, "empty", "the run file is empty.")] * frame.is_empty()
        )
    data = regular_columns(data, layout)
    names = [name for name in layout.columns if not name.startswith("-")]
    ranks = read_columns(data, layout, names, repeats=repeats)
    if layout.number == "rank" and not ranks.faults:
        frame = _scored(path, ranks.frame.select("qid", "docno", "rank"), repeats)
        return ranks._replace(frame=frame)
    return ranks


def _scored(path: Path, table: pl.DataFrame, repeats: bool = False) -> pl.DataFrame:
    """The rows of a table; ranks without scores, as in MS MARCO's runs, become 1 / rank."""
    try:
        ranks_alone = "score" not in table.columns and "rank" in table.columns
        frame = rows_of(table, ("rank",) if ranks_alone else SCORE, "run")
    except UsageError as error:
        hint = f"Name the columns, in order: {worded('columns', 'qid,docno,score')}."
        raise InputError(error.what, path=path, hint=hint) from error
    frame = frame.with_columns(pl.last().cast(pl.Float64, strict=False))
    numbers = frame.to_series(2)
    first = 0 if ranks_alone and numbers.min() == 0 else 1  # PyTerrier counts from 0
    wrong = (numbers.is_null() | ~numbers.is_finite() | (ranks_alone & (numbers < 0))).arg_true()
    for row in wrong.head(1):
        wanted = "a rank" if ranks_alone else "a finite number"
        message = f"the {numbers.name} of row {row + 1} is not {wanted}."
        raise InputError(message, path=path)
    for row in [] if repeats else repeated_rows(frame)[:1]:
        qid, docno, _ = frame.row(int(row))
        raise InputError(f"document {docno} of topic {qid} is repeated.", path=path)
    scores = 1 / (numbers + 1 - first) if ranks_alone else numbers
    return frame.select("qid", "docno", score=scores)


def run_of(columns: pl.DataFrame, path: Path, ties: str = "trec_eval") -> Run:
    tag = columns["tag"][0] if columns.height else path.name.split(".")[0]
    columns = columns.select(*SCHEMA)
    return Run(ordered(columns, ties=_TIES[ties]), tag, path)


def _from_json(path: Path, data: bytes) -> tuple[pl.DataFrame, str]:
    """The rows of a run in JSON, and its tag."""
    from adducir.corpora.rank_llm import is_request

    tag = path.name.split(".")[0]
    first = next(read_objects(path), (1, {}))[1]
    if not first.keys().isdisjoint(QID) and not first.keys().isdisjoint(DOCNO):
        return _scored(path, json_table(path, ("score", "rank"))), tag
    rankings: Iterable[tuple[int | None, Any, Iterable[tuple[Any, Any]]]]
    if not {"results", "candidates"}.isdisjoint(first) or is_request(first):
        rankings = _per_query(path)
    else:
        ranked = json_unique(data.decode("utf-8-sig"), path)
        if isinstance(ranked, dict) and isinstance(model := ranked.pop(_MODEL, None), dict):
            tag = str(model.get("model_name") or tag)
            for part in ("subset", "split"):
                if not isinstance(ranked, dict) or len(ranked) != 1:
                    raise _refused(path, f"these are not the predictions of one {part}")
                (ranked,) = ranked.values()
        if not isinstance(ranked, dict) or not all(isinstance(v, dict) for v in ranked.values()):
            raise _refused(path, "the JSON is not a run of the form {query: {document: score}}")
        rankings = [(None, qid, documents.items()) for qid, documents in ranked.items()]
    rows: dict[tuple[str, str], float] = {}
    for line, qid, documents in rankings:
        for docno, score in documents:
            is_number = isinstance(score, int | float) and not isinstance(score, bool)
            if not is_number or not math.isfinite(score):
                message = (
                    f"the score of document {docno} for query {qid} is {score!r}, not a number."
                )
                raise InputError(message, path=path, line=line)
            if (str(qid), str(docno)) in rows:
                message = f"document {docno} of query {qid} is repeated."
                raise InputError(message, path=path, line=line)
            rows[str(qid), str(docno)] = float(score)
    if not rows:
        raise InputError(
            "the run file is empty.", path=path, hint="A run needs at least one document."
        )
    frame = pl.DataFrame([(*pair, n) for pair, n in rows.items()], schema=SCHEMA, orient="row")
    return frame, tag


def _per_query(path: Path) -> Iterator[tuple[int, Any, list[tuple[Any, Any]]]]:
    """The objects of sentence-transformers and rank_llm: a query with its ranked documents."""
    from adducir.corpora.rank_llm import candidate_list, is_request

    for line, record in read_objects(path):
        if "candidates" in record or is_request(record):
            each = candidate_list(record, path, line)
            rows = [(hit.docno, hit.score) for hit in each.candidates]
            yield line, each.qid, _in_order(rows)
            continue
        try:
            qid, listed = record["query_id"], record["results"]
            ranked = [(hit["corpus_id"], hit["score"]) for hit in listed]
        except (KeyError, TypeError):
            raise _refused(path, "this is not a prediction", line) from None
        yield line, qid, ranked


def _in_order(rows: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Candidates of equal scores, which rank_llm gives by place: their order is the ranking."""
    scores = [score for _, score in rows]
    if not all(type(score) in (int, float) and math.isfinite(score) for score in scores):
        return rows  # refused by its name
    if any(lower > higher for higher, lower in pairwise(scores)):
        return rows
    falling = strictly_decreasing(np.array(scores, dtype=float)).tolist() if rows else []
    return [(docno, score) for (docno, _), score in zip(rows, falling, strict=True)]


def _refused(path: Path, reason: str, line: int | None = None) -> InputError:
    return InputError(
        f"{reason}.",
        path=path,
        line=line,
        hint="Runs are read in TREC's format; as tables or JSON lines of qid, docno and score; as "
        "{query: {document: score}}; as sentence-transformers writes them (query_id and results, "
        "each with corpus_id and score) and rank_llm (query and candidates); or as mteb does, "
        "where a task has one subset and split: get_task(NAME, hf_subsets=[...], "
        "eval_splits=[...]).",
    )
