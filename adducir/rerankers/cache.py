"""Scores that were computed once: by model, kind of device, query text and text.

A model's scores lie in a folder of their own, in files that are written whole and never changed:

``keys``    (n, 2) uint64: 128 bits of a BLAKE2b digest of kind of device, query and text
``values``  (n,) float64

A file knows its own digest; one that is damaged is left out, and its scores are computed anew.

Each rerank adds one file when all its shards are made, and looks up what was there before the
first one was: so what it computes does not depend on who else scores at the same time. Processes
write files of other names, so that none spoils another's work. Many files are made one when nobody
else is at work here.
"""

import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import ArtifactError
from adducir.core.files import writing_text
from adducir.core.fingerprint import fingerprint
from adducir.core.processes import locked_if_free
from adducir.core.progress import progress
from adducir.models.arrays import read_shard, write_shard

_MANY = 64
"""Files after which they are made one."""
_DIGITS = 16

Keys = NDArray[np.uint64]


def pair_keys(pairs: Iterable[tuple[str, str]], device: str) -> Keys:
    """(n, 2) the keys of pairs of query and text, whose scores a kind of device computes."""
    known: dict[str, Any] = {}
    digests = []
    for query, text in pairs:
        begun = known.get(query)
        if begun is None:
            encoded = query.encode("utf-8", "surrogatepass")
            head = f"{device}:{len(encoded)}:".encode()
            begun = hashlib.blake2b(head + encoded, digest_size=16)
            known[query] = begun
        digest = begun.copy()
        digest.update(text.encode("utf-8", "surrogatepass"))
        digests.append(digest.digest())
    return np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 2)


class KnownScores:
    """Scores by key.

    Args:
        keys: (n, 2), in any order and several times.
        values: (n,).
    """

    def __init__(self, keys: Keys | None = None, values: NDArray[np.float64] | None = None) -> None:
        keys = np.zeros((0, 2), dtype=np.uint64) if keys is None else keys
        _, first = np.unique(keys[:, 0], return_index=True)
        self._keys, self._values = keys[first], (np.zeros(0) if values is None else values)[first]

    def __len__(self) -> int:
        return len(self._values)

    def look_up(self, keys: Keys) -> NDArray[np.float64]:
        """(n,) the scores of keys; not a number where there is none."""
        found = np.full(len(keys), np.nan)
        if not len(self) or not len(keys):
            return found
        places = np.searchsorted(self._keys[:, 0], keys[:, 0])
        places = np.minimum(places, len(self) - 1)
        hit = (self._keys[places] == keys).all(axis=1)
        found[hit] = self._values[places[hit]]
        return found

    def save(self, path: Path) -> None:
        """Write them to a file."""
        write_shard(path, {"keys": self._keys, "values": self._values})

    @classmethod
    def of(cls, paths: Sequence[Path], unread: Callable[[Path], object]) -> "KnownScores":
        """The scores of some files.

        Args:
            unread: Told of each file that is damaged, and left out.
        """
        keys, values = [np.zeros((0, 2), dtype=np.uint64)], [np.zeros(0)]
        for path in paths:
            try:
                arrays = read_shard(path)
            except FileNotFoundError:  # another process has just united the files
                continue
            except ArtifactError:
                unread(path)
                continue
            keys.append(arrays["keys"])
            values.append(arrays["values"])
        return cls(np.concatenate(keys), np.concatenate(values))


class ScoreCache:
    """The files of the scores of one model.

    Args:
        folder: The folder of all models' scores; made when there is something to keep.
        identity: All that determines the model's scores, as plain values.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self.folder = folder / fingerprint(identity)[:_DIGITS]
        self._identity = dict(identity)

    def load(self) -> KnownScores:
        """All scores that are there."""
        paths = self._files()
        if len(paths) > _MANY:
            with locked_if_free(self.folder) as is_held:
                if is_held:
                    KnownScores.of(paths, self._damaged).save(self._new_file())
                    for path in paths:
                        path.unlink(missing_ok=True)
            paths = self._files()
        return KnownScores.of(paths, self._damaged)

    def add(self, keys: Keys, values: NDArray[np.float64]) -> None:
        """Keep scores.

        Raises:
            MachineError: The disk is full, or the place cannot be written.
        """
        if len(values):
            self._describe()
            KnownScores(keys, values).save(self._new_file())

    def _describe(self) -> None:
        """Say beside the shards whose scores they are."""
        path = self.folder / "model.json"
        if not path.is_file():
            with writing_text(path) as handle:
                handle.write(json.dumps(self._identity, indent=2, sort_keys=True) + "\n")

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("scores-*.safetensors"))

    def _new_file(self) -> Path:
        name = f"scores-{time.time_ns():020d}-{os.getpid()}-{secrets.token_hex(4)}.safetensors"
        return self.folder / name

    def _damaged(self, path: Path) -> None:
        progress().note(f"{path}: these scores are damaged and are computed anew.")
