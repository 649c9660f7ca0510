"""Scores that were computed once: by model, kind of device, query text and text.

A model's scores lie in a folder of their own, in files that are written whole and never changed:

``keys``    (n, 2) uint64: 128 bits of a BLAKE2b digest of kind of device, query and text
``values``  (n,) float64

Each rerank adds one file when all its chunks are made, and looks up what was there before the
first one was: so what it computes does not depend on who else scores at the same time.
"""

import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import ArtifactError
from adducir.core.files import writing_text
from adducir.core.fingerprint import fingerprint
from adducir.core.progress import progress
from adducir.models.arrays import Stored, read_shard

Keys = NDArray[np.uint64]
Values = NDArray[np.float64]


def pair_keys(pairs: Iterable[tuple[str, str]], device: str) -> Keys:
    """(n, 2) the keys of pairs of query and text, whose scores a kind of device computes."""
    begun: dict[str, Any] = {}
    digests = []
    for query, text in pairs:
        if query not in begun:
            encoded = query.encode("utf-8", "surrogatepass")
            head = f"{device}:{len(encoded)}:".encode()
            begun[query] = hashlib.blake2b(head + encoded, digest_size=16)
        digest = begun[query].copy()
        digest.update(text.encode("utf-8", "surrogatepass"))
        digests.append(digest.digest())
    return np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 2)


class KnownScores(Stored):
    """Scores by key: (n, 2) keys, in any order and perhaps repeated, and (n,) values."""

    def __init__(self, keys: Keys, values: Values) -> None:
        _, first = np.unique(keys[:, 0], return_index=True)
        self.keys, self.values = keys[first], values[first]

    def look_up(self, keys: Keys) -> Values:
        """(n,) the scores of keys; NaN where there is none."""
        found = np.full(len(keys), np.nan)
        if len(self.keys):
            places = np.searchsorted(self.keys[:, 0], keys[:, 0]).clip(max=len(self.keys) - 1)
            hit = (self.keys[places] == keys).all(axis=1)
            found[hit] = self.values[places[hit]]
        return found


class ScoreCache:
    """The files of the scores of one model.

    Args:
        folder: The folder of all models' scores; made when there is something to keep.
        identity: All that determines the model's scores, as plain values.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self.folder = folder / fingerprint(identity)[:16]
        self._identity = dict(identity)

    def load(self) -> KnownScores:
        """All scores that are there; a damaged file is left out."""
        keys, values = [np.zeros((0, 2), dtype=np.uint64)], [np.zeros(0)]
        for path in sorted(self.folder.glob("scores-*.safetensors")):
            try:
                arrays = read_shard(path)
            except ArtifactError:
                progress().note(f"{path}: these scores are damaged and are computed anew.")
                continue
            keys.append(arrays["keys"])
            values.append(arrays["values"])
        return KnownScores(np.concatenate(keys), np.concatenate(values))

    def add(self, scores: KnownScores) -> None:
        """Keep scores, and say beside them whose they are."""
        if len(scores.values):
            path = self.folder / "model.json"
            if not path.is_file():
                with writing_text(path) as handle:
                    handle.write(json.dumps(self._identity, indent=2, sort_keys=True) + "\n")
            name = f"scores-{time.time_ns():020d}-{os.getpid()}-{secrets.token_hex(4)}.safetensors"
            scores.save(self.folder / name)
