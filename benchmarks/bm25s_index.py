"""An index of bm25s, built in chunks, since its own builder keeps every token in memory.

Its tokenizer, its formula ("lucene") and its files, so that bm25s loads and searches it as its own.
"""

import json
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

K1, B, CHUNK = 0.9, 0.4, 200_000


def write_bm25s(texts: Iterator[str], folder: Path, **tokenizing: Any) -> None:
    """Write what ``bm25s.BM25(method="lucene", k1=0.9, b=0.4)`` would save."""
    import bm25s

    vocabulary: dict[str, int] = {}
    chunks: list[tuple[Any, Any, Any]] = []
    lengths: list[Any] = []
    for number, chunk in enumerate(iter(lambda: list(islice(texts, CHUNK)), [])):
        tokens = bm25s.tokenize(chunk, show_progress=False, **tokenizing)
        words = sorted(tokens.vocab, key=tokens.vocab.__getitem__)
        known = np.array([vocabulary.setdefault(word, len(vocabulary)) for word in words])
        lengths.append(np.fromiter(map(len, tokens.ids), np.int64))
        terms = known[np.fromiter(chain.from_iterable(tokens.ids), np.int64)]
        docs = np.repeat(np.arange(len(tokens.ids)), lengths[-1]) + number * CHUNK
        pairs, tfs = np.unique(terms << 32 | docs, return_counts=True)
        chunks.append(
            ((pairs >> 32).astype(np.int32), pairs.astype(np.int32), tfs.astype(np.int16))
        )
    length = np.concatenate(lengths)
    counts = [np.bincount(terms, minlength=len(vocabulary)) for terms, _, _ in chunks]
    df = np.sum(counts, axis=0)
    starts = np.concatenate([[0], np.cumsum(df)])
    idf = np.log(1 + (len(length) - df + 0.5) / (df + 0.5))
    norm = K1 * (1 - B + B * length / length.mean())
    folder.mkdir()
    shape = (int(starts[-1]),)
    data = np.lib.format.open_memmap(folder / "data.csc.index.npy", "w+", np.float32, shape)
    rows = np.lib.format.open_memmap(folder / "indices.csc.index.npy", "w+", np.int32, shape)
    free = starts[:-1].copy()
    for (terms, docs, tfs), count in zip(chunks, counts, strict=True):
        first = np.concatenate([[0], np.cumsum(count)])[:-1]
        places = free[terms] + np.arange(len(terms)) - first[terms]
        data[places] = idf[terms] * (tfs / (norm[docs] + tfs))
        rows[places] = docs
        free += count
    np.save(folder / "indptr.csc.index.npy", starts)
    (folder / "vocab.index.json").write_text(json.dumps(vocabulary))
    settings = {"k1": K1, "b": B, "delta": 0.5, "method": "lucene", "idf_method": "lucene"}
    settings |= {"dtype": "float32", "int_dtype": "int32", "num_docs": len(length)}
    settings |= {"version": bm25s.__version__, "backend": "numpy"}
    (folder / "params.index.json").write_text(json.dumps(settings))
