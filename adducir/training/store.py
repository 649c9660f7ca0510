"""Training examples on the disk: written once, read by number, never held in memory together.

A store is a folder with a file of values for each column, and, for a column whose examples have
different lengths, a file of offsets. A read asks the operating system for the bytes of one example
(``pread``), so that what a training holds is a batch, however many examples there are: pages of a
mapped file would count as the process's own.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import ArtifactError
from adducir.core.files import link_or_copy

Array = NDArray[Any]
Numbers = NDArray[np.int64]

COLUMNS = "columns.json"
_BUFFER = 1 << 20


def packed(text: str) -> Array:
    """A text as an array that a store can hold."""
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)


def unpacked(array: Array) -> str:
    """The text of :func:`packed`."""
    return array.tobytes().decode("utf-8", "surrogatepass")


class StoreWriter:
    """Writes examples one after the other.

    An example is a mapping of names to arrays, of a length of their own along the first axis, or to
    single numbers; all examples have the same names and types.

    Args:
        folder: An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._values: dict[str, BinaryIO] = {}
        self._offsets: dict[str, BinaryIO] = {}
        self._ends: dict[str, int] = {}
        self._columns: dict[str, dict[str, Any]] = {}
        self._count = 0

    def __enter__(self) -> "StoreWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for file in (*self._values.values(), *self._offsets.values()):
            file.close()
        if kind is None:
            details = {"count": self._count, "columns": self._columns}
            (self._folder / COLUMNS).write_text(json.dumps(details), encoding="utf-8")

    def __len__(self) -> int:
        return self._count

    def add(self, **example: Array | np.number[Any] | float) -> int:
        """Write an example, and return its number.

        Raises:
            ValueError: It has other names, types or widths than the first one.
        """
        arrays = {name: np.asarray(value) for name, value in example.items()}
        self.extend(
            1,
            {
                name: (value, np.array([len(value)])) if value.ndim else (value[None], None)
                for name, value in arrays.items()
            },
        )
        return self._count - 1

    def extend(self, count: int, columns: Mapping[str, tuple[Array, Numbers | None]]) -> None:
        """Write several examples.

        Args:
            count: How many.
            columns: By name their values one behind the other, and (count,) the length of each
                example's array; None for one number each.

        Raises:
            ValueError: As for :meth:`add`.
        """
        if not self._count:
            for name, (values, lengths) in columns.items():
                self._open(name, values, is_ragged=lengths is not None)
        if columns.keys() != self._columns.keys():
            raise ValueError(f"an example has {sorted(columns)}, not {sorted(self._columns)}")
        for name, (values, lengths) in columns.items():
            column = self._columns[name]
            if (values.dtype.str, list(values.shape[1:])) != (column["type"], column["width"]):
                raise ValueError(f"{name} is {values.dtype} {values.shape}, not {column}")
            if values.size:  # a view of nothing cannot be cast
                self._values[name].write(np.ascontiguousarray(values).data.cast("B"))
            if lengths is not None:
                ends = self._ends[name] + np.cumsum(lengths, dtype=np.int64)
                self._ends[name] = int(ends[-1]) if len(ends) else self._ends[name]
                self._offsets[name].write(ends.tobytes())
        self._count += count

    def _open(self, name: str, values: Array, *, is_ragged: bool) -> None:
        self._columns[name] = {
            "type": values.dtype.str,
            "ragged": is_ragged,
            "width": list(values.shape[1:]),
        }
        self._values[name] = (self._folder / f"{name}.values").open("wb", buffering=_BUFFER)
        if is_ragged:
            self._offsets[name] = (self._folder / f"{name}.offsets").open("wb", buffering=_BUFFER)
            self._offsets[name].write(bytes(8))
            self._ends[name] = 0


class _Column:
    """One column of a store, open for reading.

    Raises:
        ArtifactError: Its files have other sizes than the store says.
    """

    def __init__(self, folder: Path, name: str, count: int, details: Mapping[str, Any]) -> None:
        self.type = np.dtype(details["type"])
        self.is_ragged = bool(details["ragged"])
        self.width = tuple(details["width"])
        self.row = self.type.itemsize * int(np.prod(self.width, dtype=np.int64))
        self.path = folder / f"{name}.values"
        self._count = count
        self._offsets: BinaryIO | None = None
        self._values = self.path.open("rb", buffering=0)
        rows = count
        if self.is_ragged:
            offsets = self.path.with_suffix(".offsets")
            self._offsets = offsets.open("rb", buffering=0)
            _check_size(offsets, (count + 1) * 8)
            rows = int(self.bounds(count - 1)[1]) if count else 0
        _check_size(self.path, rows * self.row)

    def bounds(self, number: int) -> Numbers:
        """(2,) the rows where an example begins and ends."""
        if self._offsets is None:
            return np.array([number, number + 1])
        return np.frombuffer(os.pread(self._offsets.fileno(), 16, 8 * number), dtype=np.int64)

    def __getitem__(self, number: int) -> Array:
        if not 0 <= number < self._count:
            raise IndexError(number)
        first, end = (int(one) for one in self.bounds(number))
        details = os.pread(self._values.fileno(), (end - first) * self.row, first * self.row)
        found = np.frombuffer(details, dtype=self.type).reshape(-1, *self.width)
        return found if self.is_ragged else cast("Array", found[0])

    def whole(self) -> Array:
        """All values."""
        return np.fromfile(self.path, dtype=self.type).reshape(-1, *self.width)

    def lengths(self) -> Numbers:
        """(count,) the rows of each example."""
        ends: Numbers = np.fromfile(self.path.with_suffix(".offsets"), dtype=np.int64)
        return ends[1:] - ends[:-1]

    def close(self) -> None:
        self._values.close()
        if self._offsets is not None:
            self._offsets.close()


class Store:
    """Examples of a :class:`StoreWriter`, read as they are asked for.

    Raises:
        ArtifactError: A file is missing or has another size than it was written with.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._columns: dict[str, _Column] = {}
        try:
            details = json.loads((folder / COLUMNS).read_text(encoding="utf-8"))
            self._count = int(details["count"])
            for name, column in details["columns"].items():
                self._columns[name] = _Column(folder, name, self._count, column)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ArtifactError(
                f"these training examples cannot be read: {error}.",
                path=folder,
                hint="Delete the folder, and train again.",
            ) from error

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close its files."""
        for column in self._columns.values():
            column.close()

    def __len__(self) -> int:
        return self._count

    def get(self, number: int, names: Sequence[str] | None = None) -> dict[str, Array]:
        """An example, or some of its columns."""
        chosen = self._columns if names is None else names
        return {name: self._columns[name][int(number)] for name in chosen}

    def column(self, name: str) -> Array:
        """(n,) the numbers of a column that has one for each example."""
        return self._columns[name].whole() if self._count else np.zeros(0)

    def lengths(self, name: str) -> Numbers:
        """(n,) how long each example's array is."""
        return self._columns[name].lengths() if self._count else np.zeros(0, dtype=np.int64)


def share_columns(source: Path, target: Path, names: Sequence[str] | None = None) -> None:
    """Give a store columns of another, which holds as many examples; their files are linked.

    Args:
        source: The folder of the other.
        target: The folder of the store.
        names: The columns; by default all.

    Raises:
        ArtifactError: The other has another number of examples.
    """
    details, shared = (
        json.loads((folder / COLUMNS).read_text(encoding="utf-8")) for folder in (target, source)
    )
    if details["count"] != shared["count"]:
        raise ArtifactError(
            f"there are {details['count']:,} examples, and {shared['count']:,} of them here: what "
            "they are made from was changed meanwhile.",
            path=source,
            hint="Give the command again.",
        )
    for name in shared["columns"] if names is None else names:
        if name in shared["columns"]:
            details["columns"][name] = shared["columns"][name]
            for path in source.glob(f"{name}.*"):
                link_or_copy(path, target / path.name)
    (target / COLUMNS).write_text(json.dumps(details), encoding="utf-8")


def _check_size(path: Path, wanted: int) -> None:
    found = path.stat().st_size
    if found != wanted:
        raise ValueError(f"{path.name} has {found:,} bytes, not {wanted:,}")
