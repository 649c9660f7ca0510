"""Read runs: TREC's six columns, and the rankings that neural toolkits write as JSON.

======================  ==========================================================================
sentence-transformers   ``..._predictions_*.jsonl`` of an evaluator with ``write_predictions=True``:
                        lines ``{"query_id", "query", "results": [{"corpus_id", "score"}]}``
MTEB                    ``TASK_predictions.json`` of ``mteb.evaluate(..., prediction_folder=)``:
                        ``{"mteb_model_meta": {}, subset: {split: {query: {document: score}}}}``
BEIR, ranx, pytrec_eval ``{query: {document: score}}``, as those programs keep a run
======================  ==========================================================================
"""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import polars as pl

from adducir.core.errors import InputError, UsageError
from adducir.core.files import read_bytes
from adducir.core.json_lines import WHOLE, json_value
from adducir.corpora.columns import RUN, Columns, read_columns
from adducir.runs.order import Ties, ordered
from adducir.runs.run import SCHEMA, Run

_TIES: dict[str, Ties] = {"trec_eval": "descending", "anserini": "ascending"}
_MODEL = "mteb_model_meta"


def read_run(
    path: Path | str,
    *,
    ties: Literal["trec_eval", "anserini"] = "trec_eval",
    allow_empty: bool = False,
) -> Run:
    """Read a run: TREC's columns (qid, Q0, docno, rank, score, tag) or JSON, also compressed.

    As in trec_eval, scores make the order and the rank is not read; the tag is that of the first
    line. ``ties`` says whose order equal scores get: trec_eval's (docno descending, scores in
    single precision as in 9.0.7 and pytrec_eval), which gives other systems' runs the figures that
    trec_eval gives them, or Anserini's (ascending, double precision). A line that is not as above,
    has a score that is not a finite number, or repeats a document of its topic is an InputError.
    """
    if ties not in _TIES:
        raise UsageError(f"{ties!r} is not an order of ties.", hint="Choose trec_eval or anserini.")
    # Nothing is held that is not needed any more: runs are large.
    return run_of(_without_faults(Path(path), allow_empty), Path(path), ties)


def _without_faults(path: Path, allow_empty: bool) -> pl.DataFrame:
    columns = columns_of(path, ("qid", "docno", "score", "tag"))
    for fault in columns.faults[:1]:
        if fault.code != "empty" or not allow_empty:
            raise fault.error(path)
    return columns.frame


def columns_of(path: Path, wanted: Iterable[str]) -> Columns:
    """Columns of a run file; of JSON, whose ranks are null, a fault is raised."""
    names, data = list(wanted), read_bytes(path)
    if is_json(data):
        rows, tag = _predictions(path, data.decode("utf-8-sig"))
        frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
        more = {"rank": pl.lit(None, dtype=pl.String), "tag": pl.lit(tag)}
        return Columns(frame.with_columns(**more).select(names))
    return read_columns(data, RUN, names)


def run_of(columns: pl.DataFrame, path: Path, ties: str = "trec_eval") -> Run:
    """The run that columns (qid, docno, score, tag) make."""
    tag = columns["tag"][0] if columns.height else _stem(path)
    columns = columns.select(*SCHEMA)
    return Run(ordered(columns, ties=_TIES[ties], single=ties == "trec_eval"), tag, path)


def is_json(data: bytes) -> bool:
    """Whether a file's content is JSON, which no TREC run begins like."""
    return data[:64].lstrip()[:1] == b"{"


def _stem(path: Path) -> str:
    return path.name.split(".")[0]


def _predictions(path: Path, text: str) -> tuple[list[tuple[str, str, float]], str]:
    """The rows of rankings in JSON, and the run's tag."""
    first = text.lstrip().split("\n", 1)[0]
    rankings: list[tuple[str, Iterable[tuple[Any, Any]], int | None]]
    tag = _stem(path)
    if '"results"' in first and '"query_id"' in first:
        lines = enumerate(text.split("\n"), 1)
        rankings = [_of_line(line, path, number) for number, line in lines if line.strip()]
    else:
        found = json_value(text, path)
        if isinstance(model := found.get(_MODEL) if isinstance(found, dict) else None, dict):
            found, tag = _only_split(path, found), str(model.get("model_name") or tag)
        if not isinstance(found, dict) or not all(isinstance(v, dict) for v in found.values()):
            raise InputError(
                "the JSON is not a run: it is not {query: {document: score}}.",
                path=path,
                hint="Runs are read in TREC's format, or as MTEB, sentence-transformers and ranx "
                "write them.",
            )
        rankings = [(qid, ranked.items(), None) for qid, ranked in found.items()]
    rows: dict[tuple[str, str], float] = {}
    for qid, ranked, line in rankings:
        for docno, score in ranked:
            is_number = isinstance(score, int | float) and not isinstance(score, bool)
            if not is_number or not math.isfinite(score):
                what = f"the score of document {docno} for query {qid} is {score!r}, not a number."
                raise InputError(what, path=path, line=line)
            if (qid, str(docno)) in rows:
                what = f"document {docno} of query {qid} is repeated."
                raise InputError(what, path=path, line=line)
            rows[qid, str(docno)] = float(score)
    if not rows:
        raise InputError("the run is empty.", path=path, hint="A run has at least one document.")
    return [(*pair, score) for pair, score in rows.items()], tag.replace(" ", "_")


def _of_line(text: str, path: Path, line: int) -> tuple[str, list[tuple[Any, Any]], int]:
    record = json_value(text, path, line, WHOLE)
    try:
        ranked = [(one["corpus_id"], one["score"]) for one in record["results"]]
        return str(record["query_id"]), ranked, line
    except (KeyError, TypeError):
        hint = "A line of predictions holds query_id and results, each with corpus_id and score."
        raise InputError("this is not a prediction.", path=path, line=line, hint=hint) from None


def _only_split(path: Path, found: Mapping[str, Any]) -> Any:
    """The rankings of the one subset and split that MTEB's predictions hold."""
    splits = {
        f"{subset}/{split}": rankings
        for subset, inner in found.items()
        if subset != _MODEL and isinstance(inner, dict)
        for split, rankings in inner.items()
    }
    if len(splits) != 1:
        raise InputError(
            f"the predictions are of {len(splits)} subsets and splits ({', '.join(splits)}).",
            path=path,
            hint="Have mteb predict each by itself: get_task(NAME, hf_subsets=[...], "
            "eval_splits=[...]).",
        )
    return next(iter(splits.values()))
