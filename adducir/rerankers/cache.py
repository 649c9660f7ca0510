"""Scores that were computed once: by model, query text and text.

A model's scores lie in a folder of their own, in shards that are written whole and never changed:

``keys``    (n, 2) uint64: 128 bits of a BLAKE2b digest of query and text
``values``  (n,) float64

A shard knows its own digest; one that is damaged is left out, and its scores are computed anew.

A kill loses what is not yet in a shard: some thousand scores or half a minute. Processes that score
at the same time write shards of other names, so that none spoils another's work; what one computes
the others see when they next open the cache. Many small shards are made one when nobody else is at
work here.
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
from adducir.core.locks import locked_if_free
from adducir.core.progress import SILENT, Progress
from adducir.models.shards import read_shard, write_shard

SHARD = 4096
"""Scores in a shard, at most: what a kill can lose."""
SHARD_SECONDS = 30.0
"""Seconds after which a shard is written though it is small."""

_MANY = 64
"""Shards after which they are made one."""
_DIGITS = 16

Keys = NDArray[np.uint64]


def pair_keys(pairs: Iterable[tuple[str, str]]) -> Keys:
    """(n, 2) the keys of pairs of query and text."""
    known: dict[str, Any] = {}
    digests = []
    for query, text in pairs:
        begun = known.get(query)
        if begun is None:
            encoded = query.encode("utf-8", "surrogatepass")
            begun = hashlib.blake2b(f"{len(encoded)}:".encode() + encoded, digest_size=16)
            known[query] = begun
        digest = begun.copy()
        digest.update(text.encode("utf-8", "surrogatepass"))
        digests.append(digest.digest())
    return np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 2)


class ScoreCache:
    """The scores of one model.

    Args:
        folder: The folder of all models' scores; made when there is something to keep.
        identity: All that determines the model's scores, as plain values.
        progress: Notified of shards that cannot be read; their scores are computed anew.
    """

    def __init__(
        self, folder: Path, identity: Mapping[str, Any], progress: Progress = SILENT
    ) -> None:
        self.folder = folder / fingerprint(identity)[:_DIGITS]
        self._identity = dict(identity)
        self._progress = progress
        self._keys: Keys = np.zeros((0, 2), dtype=np.uint64)
        self._values = np.zeros(0)
        self._new: list[tuple[Keys, NDArray[np.float64]]] = []
        self._waiting = 0
        self._written = time.monotonic()
        self._load()

    def __len__(self) -> int:
        return len(self._values)

    def look_up(self, keys: Keys) -> NDArray[np.float64]:
        """(n,) the scores of keys; not a number where there is none.

        What was put since the cache was opened is not looked up.
        """
        found = np.full(len(keys), np.nan)
        if not len(self) or not len(keys):
            return found
        places = np.searchsorted(self._keys[:, 0], keys[:, 0])
        places = np.minimum(places, len(self) - 1)
        hit = (self._keys[places] == keys).all(axis=1)
        found[hit] = self._values[places[hit]]
        return found

    def put(self, keys: Keys, values: NDArray[np.float64]) -> None:
        """Keep scores; they are on the disk when a shard is full, or after :meth:`flush`.

        Raises:
            MachineError: The disk is full, or the place cannot be written.
        """
        self._new.append((keys, values))
        self._waiting += len(values)
        if self._waiting >= SHARD or time.monotonic() - self._written >= SHARD_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what was put and is not on the disk."""
        if self._waiting:
            keys = np.concatenate([one for one, _ in self._new])
            values = np.concatenate([one for _, one in self._new])
            self._describe()
            self._write(keys, values)
            self._new, self._waiting = [], 0
        self._written = time.monotonic()

    def _describe(self) -> None:
        """Say beside the shards whose scores they are."""
        path = self.folder / "model.json"
        if not path.is_file():
            with writing_text(path) as handle:
                handle.write(json.dumps(self._identity, indent=2, sort_keys=True) + "\n")

    def _write(self, keys: Keys, values: NDArray[np.float64]) -> None:
        name = f"scores-{time.time_ns():020d}-{os.getpid()}-{secrets.token_hex(4)}.safetensors"
        write_shard(self.folder / name, {"keys": np.ascontiguousarray(keys), "values": values})

    def _load(self) -> None:
        paths = self._shards()
        if len(paths) > _MANY:
            with locked_if_free(self.folder) as is_held:
                if is_held:
                    self._unite(paths)
            paths = self._shards()
        self._keys, self._values = _sorted([self._read(path) for path in paths])

    def _shards(self) -> list[Path]:
        return sorted(self.folder.glob("scores-*.safetensors"))

    def _unite(self, paths: list[Path]) -> None:
        """Make one shard of several; the old ones go when the new one is on the disk."""
        keys, values = _sorted([self._read(path) for path in paths])
        self._write(keys, values)
        for path in paths:
            path.unlink(missing_ok=True)

    def _read(self, path: Path) -> tuple[Keys, NDArray[np.float64]]:
        try:
            arrays = read_shard(path)
            return arrays["keys"], arrays["values"]
        except FileNotFoundError:  # another process has just united the shards
            pass
        except ArtifactError:
            self._progress.note(f"{path}: these scores are damaged and are computed anew.")
        return np.zeros((0, 2), dtype=np.uint64), np.zeros(0)


def _sorted(parts: list[tuple[Keys, NDArray[np.float64]]]) -> tuple[Keys, NDArray[np.float64]]:
    """All keys in order, each once, with their values."""
    keys = np.concatenate([np.zeros((0, 2), dtype=np.uint64), *(one for one, _ in parts)])
    values = np.concatenate([np.zeros(0), *(one for _, one in parts)])
    _, first = np.unique(keys[:, 0], return_index=True)
    return keys[first], values[first]
