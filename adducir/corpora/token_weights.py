"""Tokens with weights: what learned sparse models make of documents and of queries.

A document is a line of JSON, as Anserini's and pyserini's JsonVectorCollection has it (SPLADE,
uniCOIL, DeepImpact, ...), or as ``adducir deepct expand --pairs`` writes it::

    {"id": "d1", "contents": "the text", "vector": {"token": 3, "other": 0.5}}
    {"docno": "d1", "weights": {"word": 3, "other": 0.5}}

A source is a file, plain or compressed, or a folder of such files. Weights are 0 or more.
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adducir.core.errors import InputError
from adducir.core.fingerprint import source_digests
from adducir.core.json_lines import json_values
from adducir.corpora.documents import check_docno
from adducir.corpora.formats import choose_files

DOCNO_KEYS = ("docno", "docid", "doc_id", "_id", "id")
WEIGHT_KEYS = ("vector", "weights")
_SHAPE = 'A line reads {"id": "d1", "vector": {"token": 3, "other": 0.5}}.'

TokenWeights = dict[str, float]


def read_token_weights(source: Path) -> Iterator[tuple[str, TokenWeights]]:
    """The docno and the weights of each document.

    Raises:
        InputError: A line is malformed, a weight is no number of 0 or more, or a docno comes
            twice; with file and line.
    """
    seen: dict[str, tuple[Path, int]] = {}
    for path in _files(source):
        for number, record in json_values(path, _SHAPE):
            docno, weights = _parsed(record, path, number)
            if docno in seen:
                before, line = seen[docno]
                where = f"line {line}" if before == path else f"{before}:{line}"
                raise InputError(
                    f"the docno {docno!r} was there before, in {where}.",
                    path=path,
                    line=number,
                    hint="Give each document once.",
                )
            seen[docno] = path, number
            yield docno, weights
    if not seen:
        raise InputError("there are no documents in it.", path=source)


def identity_of(source: Path) -> list[str]:
    """Digests of the files that :func:`read_token_weights` reads.

    Raises:
        InputError: There are none.
    """
    if not source.exists():
        raise InputError("there is no such file or folder.", path=source, absent=True)
    return source_digests(_files(source))


def weights_in(
    record: Mapping[str, Any], path: Path, line: int, keys: tuple[str, ...] = WEIGHT_KEYS
) -> TokenWeights | None:
    """The weights in a record; None where it has none.

    Args:
        record: An object of JSON.
        keys: The names that weights may have; the first that is there counts.

    Raises:
        InputError: What is there is no object, or a weight is no number of 0 or more.
    """
    key = next((key for key in keys if key in record), None)
    if key is None:
        return None
    found = record[key]
    if not isinstance(found, dict):
        what = "a list, as of a dense vector" if isinstance(found, list) else f"{found!r}"
        raise InputError(f"`{key}` is no object but {what}.", path=path, line=line, hint=_SHAPE)
    for token, weight in found.items():
        error = _error_of(token, weight)
        if error:
            raise InputError(error, path=path, line=line, hint=_SHAPE)
    return found


def _error_of(token: str, weight: Any) -> str | None:
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        return f"the weight of {token!r} is no number: {weight!r}."
    if not (math.isfinite(weight) and weight >= 0):
        return f"the weight of {token!r} must be 0 or more, not {weight}."
    if "\n" in token or "\r" in token:
        return f"the token {token!r} holds the end of a line."
    return None


def _files(source: Path) -> list[Path]:
    return choose_files(source, "jsonl")[1] if source.is_dir() else [source]


def _parsed(record: Any, path: Path, line: int) -> tuple[str, TokenWeights]:
    key = next((key for key in DOCNO_KEYS if key in record), "") if _is_object(record) else ""
    docno = record[key] if key else None
    if isinstance(docno, int) and not isinstance(docno, bool):
        docno = str(docno)
    weights = weights_in(record, path, line) if isinstance(docno, str) else None
    if not isinstance(docno, str) or weights is None:
        lacking = "`vector`" if isinstance(docno, str) else "`id`"
        raise InputError(f"{lacking} is missing.", path=path, line=line, hint=_SHAPE)
    check_docno(docno, path, line)
    return docno, weights


def _is_object(record: Any) -> bool:
    return isinstance(record, dict)
