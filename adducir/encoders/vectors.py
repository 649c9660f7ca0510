"""An artifact of vectors: docnos and vectors in shards, tied so that they cannot come apart.

``docnos.txt``               one docno a line, in the order of the vectors
``vectors-000000.safetensors``, ...   ``vectors`` (n, D) float32; the file's metadata has, as JSON,
the digest of its docnos and the digest of its values

A shard whose docnos or values are not those of its digests is refused, and so is a file of docnos
that is longer or shorter than the vectors.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adducir.core.artifacts import Manifest, open_artifact
from adducir.core.errors import ArtifactError
from adducir.core.files import publishing, read_lines, writing_text

KIND = "vectors"
DOCNOS = "docnos.txt"
NAME = "vectors-{:06d}.safetensors"
_VECTORS, _DIGESTS = "vectors", "digests"
_HINT = "Encode again with --rebuild."

Floats = NDArray[np.float32]


def digest_of_docnos(docnos: Sequence[str]) -> str:
    """The SHA-256 of docnos in their order."""
    return hashlib.sha256("\n".join(docnos).encode("utf-8", "surrogatepass")).hexdigest()


def digest_of_values(values: Floats) -> str:
    """The SHA-256 of vectors, little endian."""
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<f4").data).hexdigest()


def tie_of(docnos: Sequence[str], shards: Sequence[str]) -> str:
    """The digest that ties all docnos to all vectors, whose digests are ``shards``."""
    return hashlib.sha256("\n".join([digest_of_docnos(docnos), *shards]).encode()).hexdigest()


def write_shard(path: Path, docnos: Sequence[str], values: Floats) -> None:
    """Write one shard, whole or not at all.

    Raises:
        MachineError: The disk is full, or the place cannot be written.
    """
    from safetensors.numpy import save_file

    digests = {"docnos": digest_of_docnos(docnos), "values": digest_of_values(values)}
    # One key of metadata alone: safetensors writes several in an order that changes.
    metadata = {_DIGESTS: json.dumps(digests, sort_keys=True)}
    with publishing(path) as hidden:
        save_file({_VECTORS: np.ascontiguousarray(values)}, hidden, metadata=metadata)


def digests_of_shard(path: Path) -> dict[str, str]:
    """The digests that a shard's metadata has: ``docnos`` and ``values``.

    Raises:
        ArtifactError: It cannot be read.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "np") as file:
            digests = json.loads((file.metadata() or {})[_DIGESTS])
            return {key: str(digests[key]) for key in ("docnos", "values")}
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ArtifactError("this shard cannot be read.", path=path, hint=_HINT) from error


def read_shard(path: Path, docnos: Sequence[str]) -> Floats:
    """The vectors of a shard, (n, D).

    Raises:
        ArtifactError: They are not those of these docnos, or are damaged.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    digests = digests_of_shard(path)
    try:
        values: Floats = load_file(path)[_VECTORS]
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise ArtifactError("this shard is damaged.", path=path, hint=_HINT) from error
    if len(values) != len(docnos) or digests["docnos"] != digest_of_docnos(docnos):
        raise ArtifactError("these vectors are not of these docnos.", path=path, hint=_HINT)
    if digests["values"] != digest_of_values(values):
        raise ArtifactError("these vectors were changed.", path=path, hint=_HINT)
    return values


def write_docnos(folder: Path, docnos: Sequence[str]) -> None:
    """Write the docnos of an artifact."""
    with writing_text(folder / DOCNOS) as handle:
        handle.writelines(f"{docno}\n" for docno in docnos)


class Vectors:
    """The vectors of an artifact, with their docnos.

    Raises:
        ArtifactError: There is none, or docnos and vectors came apart.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest: Manifest = open_artifact(folder, KIND)
        counts = self.manifest.counts
        self.docnos = [line.rstrip("\n") for _, line in read_lines(folder / DOCNOS)]
        try:
            self.width, self._shard = int(counts["width"]), int(counts["shard"])
            shards, digest = int(counts["shards"]), counts["digest"]
        except (KeyError, TypeError, ValueError) as error:
            what = f"its manifest does not say of the vectors what it must: {error}."
            raise ArtifactError(what, path=folder, hint=_HINT) from error
        self._files = [folder / NAME.format(number) for number in range(shards)]
        digests = [digests_of_shard(path)["values"] for path in self._files]
        if tie_of(self.docnos, digests) != digest:
            raise ArtifactError("docnos and vectors came apart.", path=folder, hint=_HINT)

    def __len__(self) -> int:
        return len(self.docnos)

    def shards(self) -> Iterator[tuple[list[str], Floats]]:
        """The docnos and vectors of each shard, in order.

        Raises:
            ArtifactError: A shard is not what it was.
        """
        for number, path in enumerate(self._files):
            docnos = self.docnos[number * self._shard : (number + 1) * self._shard]
            yield docnos, read_shard(path, docnos)

    def all(self) -> Floats:
        """All vectors, (N, D).

        Raises:
            ArtifactError: As :meth:`shards`.
        """
        values = np.empty((len(self), self.width), dtype=np.float32)
        done = 0
        for docnos, some in self.shards():
            values[done : done + len(docnos)] = some
            done += len(docnos)
        return values
