"""A memory index of (word, weight) pairs: ``{"docno": …, "weights": {"word": weight, …}}`` a line.

Each different word is analysed once, as the index's texts would be: stemmed, stop words dropped.
The weights of words with the same term are added. A word that the analysis cuts into several terms
gives its weight to each.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from adducir.corpora.digests import digest
from adducir.corpora.documents import check_docno
from adducir.indexes.analysis import Analysis
from adducir.indexes.build import IndexSettings
from adducir.indexes.memory.build import build_from_weights
from adducir.study.errors import InputError
from adducir.study.files import read_lines
from adducir.study.json_lines import json_value
from adducir.study.products import Manifest
from adducir.study.progress import SILENT, Progress

_BLOCK = 2000


def build_from_pairs(
    path: Path,
    output: Path,
    settings: IndexSettings,
    *,
    rebuild: bool = False,
    progress: Progress = SILENT,
) -> Manifest:
    """Build a memory index of a file of pairs, such as ``adducir deepct expand --pairs`` writes.

    Args:
        path: JSON lines, plain or gzipped.
        output: The product's folder.
        settings: The analysis of the words and of queries; its fields mean nothing.
        rebuild: Build even if the product is current.
        progress: Told of the documents.

    Raises:
        InputError: A line is malformed, a weight is no number, or a docno comes twice.
        ProductError: ``output`` holds something that is not ours.
    """
    return build_from_weights(
        _analysed(read_pairs(path), settings.analysis),
        output,
        settings,
        identity={"pairs": digest(path)},
        sources={"corpus": [path]},
        rebuild=rebuild,
        progress=progress,
    )


def read_pairs(path: Path) -> Iterator[tuple[str, dict[str, float]]]:
    """The docno and the weights of each line.

    Raises:
        InputError: With file and line.
    """
    seen: dict[str, int] = {}
    for number, line in read_lines(path):
        if not line.strip():
            continue
        docno, weights = _parsed(path, number, line)
        if docno in seen:
            what = f"the docno {docno!r} was there before, in line {seen[docno]}."
            raise InputError(what, path=path, line=number, mend="Give each document once.")
        seen[docno] = number
        yield docno, weights
    if not seen:
        raise InputError("there are no documents in it.", path=path)


def _parsed(path: Path, number: int, line: str) -> tuple[str, dict[str, float]]:
    mend = 'A line reads {"docno": "d1", "weights": {"word": 3, "other": 0.5}}.'
    record = json_value(line, path, number, mend)
    docno = record.get("docno") if isinstance(record, dict) else None
    weights = record.get("weights") if isinstance(record, dict) else None
    if not isinstance(docno, str) or not isinstance(weights, dict):
        raise InputError("`docno` or `weights` is missing.", path=path, line=number, mend=mend)
    check_docno(docno, path, number)
    for word, weight in weights.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            what = f"the weight of {word!r} is no number: {weight!r}."
            raise InputError(what, path=path, line=number, mend=mend)
    return docno, weights


def _analysed(
    documents: Iterator[tuple[str, dict[str, float]]], analysis: Analysis
) -> Iterator[tuple[str, Mapping[str, float]]]:
    """The same by term; words that are new are analysed block by block."""
    known: dict[str, list[str]] = {}
    block: list[tuple[str, dict[str, float]]] = []
    for document in documents:
        block.append(document)
        if len(block) >= _BLOCK:
            yield from _by_term(block, known, analysis)
            block = []
    yield from _by_term(block, known, analysis)


def _by_term(
    block: list[tuple[str, dict[str, float]]], known: dict[str, list[str]], analysis: Analysis
) -> Iterator[tuple[str, Mapping[str, float]]]:
    new = list(dict.fromkeys(w for _, weights in block for w in weights if w not in known))
    known.update(zip(new, analysis.terms(new), strict=True))
    for docno, weights in block:
        found: dict[str, float] = {}
        for word, weight in weights.items():
            for term in known[word]:
                found[term] = found.get(term, 0) + weight
        yield docno, found
