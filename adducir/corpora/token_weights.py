"""Token weights, the output of learned sparse models for documents and queries.

A document is a line of JSON, as in Anserini's and pyserini's JsonVectorCollection (SPLADE,
uniCOIL, DeepImpact, ...), or as ``adducir deepct expand --pairs`` writes it::

    {"id": "d1", "contents": "the text", "vector": {"token": 3, "other": 0.5}}
    {"docno": "d1", "weights": {"word": 3, "other": 0.5}}

A source is a file, also compressed, or a folder of them. Weights are 0 or more.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adducir.core.errors import InputError
from adducir.core.fingerprint import source_digests
from adducir.core.json_lines import json_objects
from adducir.corpora.documents import LARGEST_WEIGHT
from adducir.corpora.formats import with_docnos

WEIGHTS = "weights.jsonl.gz"
"""What ``adducir encode --sparse`` writes in its folder, for a corpus or topics."""
WEIGHT_KEYS = ("vector", "weights")
_SHAPE = 'Write lines such as {"id": "d1", "vector": {"token": 3, "other": 0.5}}.'

TokenWeights = dict[str, float]


def read_token_weights(source: Path) -> Iterator[tuple[str, TokenWeights]]:
    seen: dict[str, tuple[Path, int]] = {}
    for path in _files(source):
        for number, docno, record in with_docnos(json_objects(path), path):
            weights = weights_in(record, path, number)
            if weights is None:
                raise InputError("`vector` is missing.", path=path, line=number, hint=_SHAPE)
            if docno in seen:
                message = f"duplicate docno {docno!r}, first seen at {{}}:{{}}."
                raise InputError(message.format(*seen[docno]), path=path, line=number)
            seen[docno] = path, number
            yield docno, weights
    if not seen:
        raise InputError("it contains no documents.", path=source)


def identity_of(source: Path) -> list[str]:
    if not source.exists():
        raise InputError("no such file or folder.", path=source, absent=True)
    return source_digests(_files(source))


def weights_in(
    record: Mapping[str, Any], path: Path, line: int | None, keys: tuple[str, ...] = WEIGHT_KEYS
) -> TokenWeights | None:
    """The weights under the first of these keys in a JSON object; None if it has none of them."""
    key = next((key for key in keys if key in record), None)
    if key is None:
        return None
    weights = record[key]
    if not isinstance(weights, Mapping):
        kind = "a list, as of a dense vector" if isinstance(weights, list) else repr(weights)
        message = f"`{key}` must be an object, not {kind}."
        raise InputError(message, path=path, line=line, hint=_SHAPE)
    for token, weight in weights.items():
        is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not (is_number and 0 <= weight <= LARGEST_WEIGHT):
            message = f"the weight of {token!r} must be from 0 to {LARGEST_WEIGHT}, not {weight!r}."
            raise InputError(message, path=path, line=line, hint=_SHAPE)
        if "\n" in token or "\r" in token:
            message = f"the token {token!r} contains a line break."
            raise InputError(message, path=path, line=line, hint=_SHAPE)
    return dict(weights)


def _files(source: Path) -> list[Path]:
    from adducir.corpora.local import choose_files

    return choose_files(source, "jsonl")[1] if source.is_dir() else [source]
