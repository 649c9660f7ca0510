"""Rankings that neural toolkits write as JSON, read as runs.

======================  ==========================================================================
sentence-transformers   ``..._predictions_*.jsonl`` of an evaluator with ``write_predictions=True``:
                        lines ``{"query_id", "query", "results": [{"corpus_id", "score"}]}``
MTEB                    ``TASK_predictions.json`` of ``mteb.evaluate(..., prediction_folder=)``:
                        ``{"mteb_model_meta": {}, subset: {split: {query: {document: score}}}}``
BEIR, ranx, pytrec_eval ``{query: {document: score}}``, as those programs keep a run
======================  ==========================================================================

None of them writes values per query; BEIR's own ``save_runfile`` writes TREC's format.
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from adducir.core.errors import InputError
from adducir.core.json_lines import WHOLE, json_value
from adducir.runs.run import SCHEMA

_MODEL = "mteb_model_meta"
_LINE = "A line of predictions holds query_id and results, each with corpus_id and score."


def is_json(data: bytes) -> bool:
    """Whether a file's content is JSON, which no TREC run begins like."""
    return data[:64].lstrip()[:1] == b"{"


def read_predictions(path: Path, data: bytes) -> tuple[pl.DataFrame, str]:
    """The rows (qid, docno, score) of rankings in JSON, in any order, and the run's tag.

    Raises:
        InputError: It is none of the formats above, holds several subsets or splits, or a query
            ranks a document twice or without a finite score.
    """
    text = data.decode("utf-8-sig")
    first = text.lstrip().split("\n", 1)[0]
    if '"results"' in first and '"query_id"' in first:
        rows, tag = list(_of_lines(path, text)), path.name.split(".")[0]
    else:
        found = json_value(text, path)
        model = found.get(_MODEL) if isinstance(found, Mapping) else None
        rows = list(_of_mapping(path, _split_of(path, found) if model is not None else found))
        name = model.get("model_name") if isinstance(model, Mapping) else None
        tag = str(name or path.name.split(".")[0]).replace(" ", "_")
    if not rows:
        raise InputError("the run is empty.", path=path, hint="A run has at least one document.")
    return pl.DataFrame(rows, schema=SCHEMA, orient="row"), tag


def _of_lines(path: Path, text: str) -> Iterator[tuple[str, str, float]]:
    """What sentence-transformers writes."""
    seen: set[str] = set()
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        record = json_value(line, path, number, WHOLE)
        try:
            qid, results = str(record["query_id"]), record["results"]
            ranked = [(str(one["corpus_id"]), one["score"]) for one in results]
        except (KeyError, TypeError):
            raise InputError("this is no prediction.", path=path, line=number, hint=_LINE) from None
        if qid in seen:
            raise InputError(f"query {qid} comes twice.", path=path, line=number)
        seen.add(qid)
        if len(dict(ranked)) < len(ranked):
            raise InputError(f"query {qid} ranks a document twice.", path=path, line=number)
        for docno, score in ranked:
            yield qid, docno, _number(path, qid, docno, score, number)


def _split_of(path: Path, found: Mapping[str, Any]) -> Any:
    """The rankings of the one subset and split that MTEB's predictions hold."""
    splits = {
        (subset, split): rankings
        for subset, inner in found.items()
        if subset != _MODEL and isinstance(inner, Mapping)
        for split, rankings in inner.items()
    }
    if len(splits) != 1:
        names = ", ".join(f"{subset}/{split}" for subset, split in splits) or "none"
        raise InputError(
            f"the predictions are of {len(splits)} subsets and splits ({names}), not of one.",
            path=path,
            hint="Have mteb predict each by itself: get_task(NAME, hf_subsets=[...], "
            "eval_splits=[...]).",
        )
    return next(iter(splits.values()))


def _of_mapping(path: Path, found: Any) -> Iterator[tuple[str, str, float]]:
    """``{query: {document: score}}``."""
    if not isinstance(found, Mapping) or not all(isinstance(v, Mapping) for v in found.values()):
        raise InputError(
            "the JSON is no run: it is not {query: {document: score}}.",
            path=path,
            hint="Runs are read in TREC's format, or as MTEB, sentence-transformers and ranx "
            "write them.",
        )
    for qid, ranked in found.items():
        for docno, score in ranked.items():
            yield str(qid), str(docno), _number(path, qid, docno, score)


def _number(path: Path, qid: str, docno: str, score: Any, line: int | None = None) -> float:
    is_number = isinstance(score, (int, float)) and not isinstance(score, bool)
    if not is_number or not math.isfinite(score):
        what = f"the score of document {docno} for query {qid} is {score!r}, and no finite number."
        raise InputError(what, path=path, line=line)
    return float(score)
