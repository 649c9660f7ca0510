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
from adducir.models.arrays import read_shard, write_shard

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


class KnownScores:
    """Scores by key: (n, 2) keys, in any order and perhaps repeated, and (n,) values."""

    def __init__(self, keys: Keys | None = None, values: Values | None = None) -> None:
        keys = np.zeros((0, 2), dtype=np.uint64) if keys is None else keys
        _, first = np.unique(keys[:, 0], return_index=True)
        self._keys, self._values = keys[first], (np.zeros(0) if values is None else values)[first]

    def __len__(self) -> int:
        return len(self._values)

    def look_up(self, keys: Keys) -> Values:
        """(n,) the scores of keys; NaN where there is none."""
        found = np.full(len(keys), np.nan)
        if len(self) and len(keys):
            places = np.searchsorted(self._keys[:, 0], keys[:, 0])
            places = np.minimum(places, len(self) - 1)
            hit = (self._keys[places] == keys).all(axis=1)
            found[hit] = self._values[places[hit]]
        return found

    def save(self, path: Path) -> None:
        """Write them to a file."""
        write_shard(path, {"keys": self._keys, "values": self._values})


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

    def add(self, keys: Keys, values: Values) -> None:
        """Keep scores, and say beside them whose they are."""
        if len(values):
            path = self.folder / "model.json"
            if not path.is_file():
                with writing_text(path) as handle:
                    handle.write(json.dumps(self._identity, indent=2, sort_keys=True) + "\n")
            name = f"scores-{time.time_ns():020d}-{os.getpid()}-{secrets.token_hex(4)}.safetensors"
            KnownScores(keys, values).save(self.folder / name)
