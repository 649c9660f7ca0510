"""Read runs: TREC's six columns, and the rankings that other toolkits write (docs/formats.md).

JSON of sentence-transformers (``{"query_id", "results": [{"corpus_id", "score"}]}`` per line), of
MTEB (by subset and split) and of BEIR, ranx and pytrec_eval (``{query: {document: score}}``);
tables with a header as CSV, TSV or Parquet; MS MARCO's three columns qid, pid, rank.
"""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import polars as pl

from adducir.core.errors import InputError, UsageError
from adducir.core.json_lines import WHOLE, json_unique, json_value
from adducir.corpora.columns import RUN, Columns, Fault, read_columns
from adducir.corpora.frames import SCORE, repeated_rows, rows_of
from adducir.corpora.tables import read_table
from adducir.runs.run import SCHEMA, Run, Ties, ordered

_TIES: dict[str, Ties] = {"trec_eval": "trec_eval", "anserini": "ascending"}
_MODEL = "mteb_model_meta"


def read_run(
    path: Path | str,
    *,
    ties: Literal["trec_eval", "anserini"] = "trec_eval",
    allow_empty: bool = False,
) -> Run:
    """Read a run: TREC's columns (qid, Q0, docno, rank, score, tag) or JSON, also compressed.

    As in trec_eval, scores determine the order and ranks are ignored; the tag is that of the first
    line. ``ties`` chooses the order of equal scores: trec_eval's (docno descending, scores in
    single precision as in 9.0.7 and pytrec_eval), for the same figures as trec_eval, or Anserini's
    (ascending, double precision). A malformed line, a score that is not a finite number, or a
    document repeated within its topic is an InputError.
    """
    if ties not in _TIES:
        raise UsageError(
            f"{ties!r} is not a way to order ties.", hint="Choose trec_eval or anserini."
        )
    columns = columns_of(Path(path), ("qid", "docno", "score", "tag"))
    for fault in columns.faults[:1]:
        if fault.code != "empty" or not allow_empty:
            raise fault.error(Path(path))
    return run_of(columns.frame, Path(path), ties)


def columns_of(path: Path, wanted: Iterable[str]) -> Columns:
    names, (data, given) = list(wanted), read_table(path, "rank")
    is_json = data[:64].lstrip()[:1] == b"{"  # TREC runs never begin with it
    if is_json:
        rows, tag = _predictions(path, data.decode("utf-8-sig"))
        frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    elif given is not None:
        frame, tag = _scored(path, given), path.name.split(".")[0]
    else:
        return read_columns(data, RUN, names)
    more = {"rank": pl.lit(None, dtype=pl.String), "tag": pl.lit(tag.replace(" ", "_"))}
    empty = [Fault(0, "empty", "the run file is empty.")] * frame.is_empty()
    return Columns(frame.with_columns(**more).select(names), faults=empty)


def _scored(path: Path, given: pl.DataFrame) -> pl.DataFrame:
    """The rows of a table; ranks without scores, as in MS MARCO's runs, become 1 / rank."""
    try:
        ranks_alone = "score" not in given.columns and "rank" in given.columns
        frame = rows_of(given, ("rank",) if ranks_alone else SCORE, "run")
    except UsageError as error:
        raise InputError(error.what, path=path) from error
    frame = frame.with_columns(pl.last().cast(pl.Float64, strict=False))
    numbers = frame.to_series(2)
    wrong = (numbers.is_null() | ~numbers.is_finite() | (ranks_alone & (numbers < 1))).arg_true()
    for row in wrong.head(1):
        what = (
            f"the {numbers.name} of row {row + 1} is not {'a rank' if ranks_alone else 'finite'}."
        )
        raise InputError(what, path=path)
    for row in repeated_rows(frame)[:1]:
        qid, docno, _ = frame.row(int(row))
        raise InputError(f"document {docno} of topic {qid} is repeated.", path=path)
    if ranks_alone:
        odd = frame.group_by("qid", maintain_order=True).agg(
            (pl.col("rank").min() == 1) & (pl.col("rank").n_unique() == pl.len())
        )
        for (qid,) in odd.filter(~pl.col("rank")).select("qid").head(1).rows():
            hint = "If these are scores, name the columns: qid, docno, score."
            what = f"the numbers of topic {qid} are not ranks from 1 on."
            raise InputError(what, path=path, hint=hint)
    return frame.select("qid", "docno", score=1 / numbers if ranks_alone else numbers)


def run_of(columns: pl.DataFrame, path: Path, ties: str = "trec_eval") -> Run:
    tag = columns["tag"][0] if columns.height else path.name.split(".")[0]
    columns = columns.select(*SCHEMA)
    return Run(ordered(columns, ties=_TIES[ties]), tag, path)


def _predictions(path: Path, text: str) -> tuple[list[tuple[str, str, float]], str]:
    first, tag = text.lstrip().split("\n", 1)[0], path.name.split(".")[0]
    rankings: list[tuple[int | None, Any, Iterable[tuple[Any, Any]]]] = []
    if '"results"' in first and '"query_id"' in first:
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            record = json_value(line, path, number, WHOLE)
            try:
                results = [(one["corpus_id"], one["score"]) for one in record["results"]]
                rankings.append((number, record["query_id"], results))
            except (KeyError, TypeError):
                raise _refused(path, "this is not a prediction", number) from None
    else:
        found = json_unique(text, path)
        if isinstance(found, dict) and isinstance(model := found.pop(_MODEL, None), dict):
            tag = str(model.get("model_name") or tag)
            for what in ("subset", "split"):
                if not isinstance(found, dict) or len(found) != 1:
                    raise _refused(path, f"these are not the predictions of one {what}")
                (found,) = found.values()
        if not isinstance(found, dict) or not all(isinstance(v, dict) for v in found.values()):
            raise _refused(path, "the JSON is not a run of the form {query: {document: score}}")
        rankings = [(None, qid, ranked.items()) for qid, ranked in found.items()]
    rows: dict[tuple[str, str], float] = {}
    for at, qid, ranked in rankings:
        for docno, score in ranked:
            is_number = isinstance(score, int | float) and not isinstance(score, bool)
            if not is_number or not math.isfinite(score):
                what = f"the score of document {docno} for query {qid} is {score!r}, not a number."
                raise InputError(what, path=path, line=at)
            if (str(qid), str(docno)) in rows:
                what = f"document {docno} of query {qid} is repeated."
                raise InputError(what, path=path, line=at)
            rows[str(qid), str(docno)] = float(score)
    if not rows:
        raise InputError("the run is empty.", path=path, hint="A run needs at least one document.")
    return [(*pair, score) for pair, score in rows.items()], tag


def _refused(path: Path, what: str, line: int | None = None) -> InputError:
    return InputError(
        f"{what}.",
        path=path,
        line=line,
        hint="Runs are read in TREC's format, as {query: {document: score}}, as sentence-"
        "transformers writes them (query_id and results, each with corpus_id and score), or as "
        "mteb does, where a task has one subset and split: get_task(NAME, hf_subsets=[...], "
        "eval_splits=[...]).",
    )
