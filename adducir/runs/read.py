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
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from adducir.core.errors import InputError, worded
from adducir.core.files import keeping_pipes
from adducir.core.json_lines import json_unique, read_objects
from adducir.core.progress import progress
from adducir.core.texts import refuse_unless_path, typed
from adducir.corpora.columns import NUMBER, QRELS, RUN, Columns, read_columns, tabbed
from adducir.corpora.frames import Nested, Tabular, topic_numbers
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
from adducir.corpora.tables import Quotes
from adducir.runs.run import SCHEMA, Run, Ties, ordered, strictly_decreasing

_TIES: dict[str, Ties] = {"trec_eval": "trec_eval", "anserini": "ascending"}
_MODEL = "mteb_model_meta"
_THREE = RUN._replace(columns=("qid", "docno", "score"))
_FORMS = (
    "Runs are read in TREC's format; as tables or JSON lines of qid, docno and score; as "
    "{query: {document: score}}; as sentence-transformers writes them (query_id and results, "
    "each with corpus_id and score) and rank_llm (query and candidates); or as mteb does, where a "
    "task has one subset and split: get_task(NAME, hf_subsets=[...], eval_splits=[...])."
)
_COLBERT = RUN._replace(columns=("qid", "docno", "rank", "score"))


@typed
def load_run(
    path: str | os.PathLike[str],
    *,
    ties: Literal["trec_eval", "anserini"] = "trec_eval",
    columns: Sequence[str] = (),
    quotes: Quotes | None = None,
    allow_empty: bool = False,
    duplicates: Literal["refuse", "first"] = "refuse",
) -> Run:
    """Read a run: TREC's six columns, JSON, CSV, Parquet, also compressed (docs/formats.md).

    As in trec_eval, scores determine the order and ranks are ignored; the tag is that of the first
    line.

    Args:
        path: The file.
        ties: The order of equal scores: trec_eval's (docno descending, scores in single precision
            as in 9.0.7 and pytrec_eval) or Anserini's (ascending, double precision).
        columns: The names of the columns, such as ``("qid", "docno", "rank")``, instead of what
            the file shows; ``-`` for one that is not used.
        quotes: What quotes are in a table; None: as the file shows.
        allow_empty: Take a file without lines as a run without documents.
        duplicates: Of a document that a topic ranks again, "first" keeps the best rank.

    Raises:
        InputError: With the line of what is malformed, not finite or repeated.

    Example:
        >>> ad.write_run(ad.Run.of({"1": {"x": 2.0}}, tag="one"), "one.trec.gz")
        >>> ad.load_run("one.trec.gz").tag
        'one'
    """
    refuse_unless_path(path, "`path`")
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


read_run = load_run  # its name in the package


def as_run(run: "Run | str | os.PathLike[str] | Tabular | Nested", tag: str = "run") -> Run:
    """A run of all that users have: objects, files, frames, dicts or records."""
    if isinstance(run, Run):
        return run
    if not isinstance(run, str | os.PathLike):
        return Run.of(run, tag)
    refuse_unless_path(run, "`run`")
    return read_run(Path(run))


def columns_of(
    path: Path,
    wanted: Iterable[str],
    *,
    columns: Sequence[str] = (),
    quotes: Quotes | None = None,
    repeats: bool = False,
) -> Columns:
    """A run's columns among qid, docno, rank, score and tag, and the faults of its lines."""
    names, tag = list(wanted), path.name.split(".")[0]
    options: Any = {"names": columns, "quotes": quotes, "repeats": repeats}
    with keeping_pipes():
        if is_json(data := data_of(path)):
            records, tag = _from_json(path, data, tag)
            read = checked_records(records, path, RUN, repeats=repeats)
        elif (stated := stated_columns(path, data, RUN, **options)) is not None:
            read = stated
        else:
            read = _without_header(path, tabbed(data), repeats)
    frame = read.frame
    if "score" not in frame.columns:  # ranks, as in MS MARCO's runs; PyTerrier counts from 0
        first = 0 if frame["rank"].min() == 0 else 1
        frame = frame.select("qid", "docno", score=1 / (pl.col("rank") + 1 - first))
    defaults = {"rank": pl.lit(None, dtype=pl.String), "tag": pl.lit(tag.replace(" ", "_"))}
    more = {name: value for name, value in defaults.items() if name not in frame.columns}
    return read._replace(frame=frame.with_columns(**more).select(names))


def _without_header(path: Path, data: bytes, repeats: bool) -> Columns:
    """TREC's columns; qid, docno and ranks or scores; or ColBERT's, as the first line shows."""
    cells = first_cells(data)
    numbers = [NUMBER.fullmatch(cell.decode(errors="replace")) for cell in cells[2:]]
    if len(cells) == 3 and all(numbers):
        return _of_three(path, data, repeats)
    if len(cells) == 4 and all(numbers):
        return _of_four(path, data, repeats)
    refuse_headless(path, data, RUN)
    return read_columns(data, RUN, ("qid", "docno", "rank", "score", "tag"), repeats=repeats)


def _of_three(path: Path, data: bytes, repeats: bool) -> Columns:
    """The third column holds ranks if it is 1, 2, ... per topic, otherwise scores."""
    read = read_columns(data, _THREE, _THREE.columns, repeats=repeats)
    if read.faults:
        return read
    ranks, scores = "qid,docno,rank", "qid,docno,score"
    if _is_ranked(read.frame, "score", 0) and read.frame["score"].max():
        message = "the third column holds 0, 1, 2, ... per topic: ranks from 0 on, or scores."
        hint = f"Say which: {worded('columns', ranks)}, or {worded('columns', scores)}."
        raise InputError(message, path=path, hint=hint)
    is_ranked = _is_ranked(read.frame, "score")
    meant, other = (ranks, scores) if is_ranked else (scores, ranks)
    note = f"read as {meant} ({worded('columns', other)} reads them otherwise)"
    progress().note_once(f"{path}: three columns without a header, {note}")
    return read._replace(frame=read.frame.rename({"score": "rank"})) if is_ranked else read


def _of_four(path: Path, data: bytes, repeats: bool) -> Columns:
    """ColBERT's qid, pid, rank, score; qrels, whose last two columns may be numbers as well."""
    ranking = read_columns(data, _COLBERT, _COLBERT.columns, repeats=repeats)
    if ranking.faults or not _is_ranked(ranking.frame, "rank"):
        return read_columns(data, RUN, RUN.columns)  # which names qrels
    judged = read_columns(data, QRELS, ("qid", "docno", "grade"))
    if not judged.faults and ranking.frame["docno"].n_unique() == 1:
        message = (
            "these are ColBERT's qid, pid, rank and score, or qrels' qid, iteration, docno, grade."
        )
        hint = f"Say which: {worded('columns', 'qid,docno,rank,score')}; qrels are not a run."
        raise InputError(message, path=path, hint=hint)
    progress().note_once(f"{path}: four columns without a header, read as qid,docno,rank,score")
    return ranking


def _is_ranked(frame: pl.DataFrame, name: str, start: int = 1) -> bool:
    """Whether a column's numbers are start, start + 1, ... per topic, in the order of the file."""
    if frame.is_empty():
        return False
    numbers = frame[name].cast(pl.Float64, strict=False).to_numpy()
    order = np.argsort(topics := topic_numbers(frame["qid"]), kind="stable")
    lengths = np.bincount(topics)
    expected = np.arange(len(frame)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + start
    return bool((numbers[order] == expected).all())


def run_of(columns: pl.DataFrame, path: Path, ties: str = "trec_eval") -> Run:
    tag = columns["tag"][0] if columns.height else path.name.split(".")[0]
    columns = columns.select(*SCHEMA)
    return Run(ordered(columns, ties=_TIES[ties]), tag, path)


def _from_json(
    path: Path, data: bytes, tag: str
) -> tuple[Iterator[tuple[int, dict[str, Any]]], str]:
    """The records of a run in JSON, and its tag."""
    from adducir.corpora.rank_llm import is_request

    first, is_pair = first_object(path)
    if is_pair:
        return read_objects(path), tag
    if not {"results", "candidates"}.isdisjoint(first) or is_request(first):
        return _per_query(path), tag
    ranked = json_unique(data.decode("utf-8-sig"), path)
    if isinstance(ranked, dict) and isinstance(model := ranked.pop(_MODEL, None), dict):
        tag = str(model.get("model_name") or tag)
        for part in ("subset", "split"):
            if not isinstance(ranked, dict) or len(ranked) != 1:
                raise _refused(path, f"these are not the predictions of one {part}")
            (ranked,) = ranked.values()
    return nested_records(ranked, "score", path, _FORMS), tag


def _per_query(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The ranked documents of sentence-transformers and rank_llm, which list them by query."""
    from adducir.corpora.rank_llm import candidate_list, is_request

    for line, record in read_objects(path):
        if "candidates" in record or is_request(record):
            each = candidate_list(record, path, line)
            qid, hits = each.qid, _in_order([(hit.docno, hit.score) for hit in each.candidates])
        else:
            try:
                qid, listed = record["query_id"], record["results"]
                hits = [(hit["corpus_id"], hit["score"]) for hit in listed]
            except (KeyError, TypeError):
                raise _refused(path, "this is not a prediction", line) from None
        for docno, score in hits:
            yield line, {"qid": qid, "docno": docno, "score": score}


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
    return InputError(f"{reason}.", path=path, line=line, hint=_FORMS)
