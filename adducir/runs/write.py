"""Write runs in TREC's format, so that every tool reads the same order."""

import gzip
import hashlib
import io
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from adducir.core.errors import UsageError
from adducir.core.files import is_standard_output, publishing, sync
from adducir.core.processes import locked
from adducir.corpora.columns import RUN, regular_lines
from adducir.corpora.frames import Floats
from adducir.runs.metadata import metadata_for, metadata_text
from adducir.runs.run import Run, strictly_decreasing

# Level 6 takes five times as long as level 1, and saves a tenth of the bytes.
_GZIP_LEVEL = 1
_UNWRITABLE = r"[ \t\n\r\x0b\x0c\x00]|^$"


def write_run(
    run: Run,
    path: Path | str,
    metadata: Mapping[str, Any] | None = None,
    *,
    topics: Iterable[str] | None = None,
) -> None:
    """Write a run, gzip where the name ends in ``.gz``, and its metadata beside it.

    Scores are in the shortest form that is read back as the same number, and strictly decrease
    within a topic in double and in single precision. The file appears whole or not at all; a stream
    (``-`` is standard output) has no metadata. ``metadata`` has sections of ir_metadata to add;
    ``topics`` are all that were searched: those without documents are named in the metadata.
    """
    path = Path(path)
    if (np.diff(run.topics) < 0).any():
        raise UsageError("a topic's documents are not together; make the run with Run.ranked().")
    for qid, docno in run.duplicates().head(1).rows():
        raise UsageError(f"topic {qid} ranks document {docno} twice.")
    scores = strictly_decreasing(run.frame["score"].to_numpy(), run.topics)
    content = _lines(run, scores)
    if content and regular_lines(content, len(RUN.columns)) is None:
        for values in (pl.Series("tag", [run.tag]), run.frame["qid"], run.frame["docno"]):
            for one in values.filter(values.str.contains(_UNWRITABLE)).head(1):
                what = (
                    f"the {values.name} {one!r} cannot be written to a run: it is empty or holds a"
                )
                raise UsageError(f"{what} blank.")
    if path.suffix == ".gz":
        content = gzip.compress(content, _GZIP_LEVEL, mtime=0)
    if is_standard_output(path) or (path.exists() and not path.is_file()):
        with publishing(path) as hidden:
            hidden.write_bytes(content)
        return
    moved = np.count_nonzero(scores != run.frame["score"].to_numpy())
    facts = {
        "tag": run.tag,
        "method": {
            "automatic": True,
            "score ties": "later documents of a tie get the next smaller single-precision scores",
        },
        "run file": {
            "name": path.name,
            "sha256": hashlib.sha256(content).hexdigest(),
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "topics": len(run.qids),
            "documents": len(run),
            "depth": run.depth,
            "scores moved to break ties": moved,
            "topics without documents": sorted(set(topics or ()) - set(run.qids)),
        },
    }
    _publish(path, content, metadata_text(facts, metadata or {}))


def _publish(path: Path, content: bytes, facts: str) -> None:
    """A kill leaves a run without metadata at most, never one with another run's."""
    beside = metadata_for(path)
    with locked(path), publishing(beside) as hidden_facts:
        hidden_facts.write_bytes(facts.encode())
        sync(hidden_facts)
        with publishing(path) as hidden:
            hidden.write_bytes(content)
            if beside.is_file():
                sync(hidden)
                beside.unlink()


def _lines(run: Run, scores: Floats) -> bytes:
    score = pl.Series("score", scores)
    with np.errstate(over="ignore"):
        single = scores.astype(np.float32)
    if (single == scores).all():
        # Lucene's scores are single precision: 12.3456 is as exact as 12.345600128173828.
        score = pl.Series("score", single)
    buffer = io.BytesIO()
    run.frame.select(
        pl.col("qid"),
        pl.lit("Q0").alias("Q0"),
        pl.col("docno"),
        pl.Series("rank", run.ranks + 1),
        score,
        pl.lit(run.tag).alias("tag"),
    ).write_csv(buffer, include_header=False, separator=" ", quote_style="never")
    return buffer.getvalue()
