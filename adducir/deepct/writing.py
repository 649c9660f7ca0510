"""Expanded corpora as files: documents with their weighted words, or (word, count) pairs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from adducir.core.files import writing_bytes
from adducir.core.progress import progress
from adducir.deepct.expanded import ExpandedCorpus
from adducir.deepct.rendering import weighted_counts
from adducir.deepct.weighting import TermWeights
from adducir.deepct.words import match_key, words

WEIGHTS_FIELD = "weights"


@dataclass(frozen=True)
class Written:
    """What was written: documents, and how many of them keep their words once."""

    documents: int
    lost: int


def write_expanded(corpus: ExpandedCorpus, output: Path) -> Written:
    """Write the documents as JSON lines, with the field ``weighted`` more than they had.

    Raises:
        InputError, MachineError: As :func:`adducir.core.files.writing_bytes`.
        ArtifactError: The weights are not of this corpus.
    """
    documents = ({"docno": docno, **fields} for docno, fields in corpus)
    return _write(corpus, documents, output)


def write_pairs(corpus: ExpandedCorpus, output: Path, keep: Sequence[str] = ()) -> Written:
    """Write for each document how often each word counts: ``{"docno": …, "weights": {…}}``.

    Args:
        corpus: The documents; their weighted words are counted, not repeated.
        output: JSON lines, which ``adducir index --weights`` reads.
        keep: Fields whose words count as often as they come, beside the weighted ones.

    Raises:
        InputError, MachineError: As :func:`adducir.core.files.writing_bytes`.
        ArtifactError: The weights are not of this corpus.
    """
    stored = TermWeights(corpus.weights, corpus.settings)

    def pairs() -> Iterator[dict[str, Any]]:
        for document, found in stored.of(corpus.base):
            counts = weighted_counts(found, corpus.rendering)
            _add(counts, document.fields, keep)
            yield {"docno": document.docno, WEIGHTS_FIELD: counts}

    return _write(corpus, pairs(), output)


def _write(corpus: ExpandedCorpus, lines: Iterable[Any], output: Path) -> Written:
    count = 0
    with (
        progress().doing("expanding", corpus.size_hint(), "documents"),
        writing_bytes(output) as file,
    ):
        for line in lines:
            file.write(orjson.dumps(line) + b"\n")
            count += 1
            progress().advance(1)
    return Written(count, corpus.lost())


def _add(counts: dict[str, int], fields: Mapping[str, str], keep: Sequence[str]) -> None:
    for name in keep:
        for word in words(fields.get(name, "")):
            key = match_key(word.text)
            counts[key] = counts.get(key, 0) + 1
