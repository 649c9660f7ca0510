"""Cheap work in chunks, with any trouble that is wanted; importable by other processes."""

import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from adducir.core.chunks import build_in_chunks
from adducir.core.errors import InputError
from adducir.core.executors import HERE
from adducir.core.fingerprint import fingerprint

TROUBLES = ("kill", "data", "surprise", "disk", "unreadable")


class Unreadable(Exception):  # noqa: N818
    """An error that no other process can read back from its pickle."""

    def __init__(self, name, *, why):
        super().__init__(f"{name}: {why}")


@dataclass(frozen=True)
class FakeWork:
    """Writes the items of each chunk.

    Attributes:
        trouble: What happens to the chunk of an item, by the item's name: one of ``TROUBLES``,
            with ``once`` behind it where it does not come again.
        folder: Keeps what came once, and a line for each chunk that is begun.
        device_of: The kind of device by chunk, where they differ.
    """

    count: int = 23
    size: int = 4
    trouble: dict[str, str] = field(default_factory=dict)
    folder: Path | None = None
    seconds: float = 0.0
    device: str = "abacus"
    text: str = "text"
    rule: int = 1
    doing: str = "counting"
    unit: str = "items"

    @property
    def total(self):
        return self.count

    def identity(self):
        return {"rule": self.rule}

    def check(self):
        pass

    def items(self, *, check):
        return ((f"d{number}", f"{self.text} {number}") for number in range(self.count))

    def describe(self, item):
        return item[0], item[1].encode()

    def maker(self, place):
        return self.device, self._make

    def finish(self, folder, made):
        made.keep(folder, "shard-{:03d}.txt")
        names = [name for names in made.names for name in names]
        assert names == [f"d{number}" for number in range(self.count)]
        return {"items": len(names)}

    def _make(self, items, path):
        if self.folder is not None:
            with (self.folder / "begun.txt").open("a") as file:
                file.write(f"{items[0][0]} {os.getpid()}\n")
        path.write_text("half of it")
        time.sleep(self.seconds)
        for name, _ in items:
            if name in self.trouble:
                self._trouble(name, self.trouble[name])
        path.write_text("".join(f"{name}\t{text}\n" for name, text in items))

    def _trouble(self, name, what):
        kind, _, once = what.partition(" ")
        if once:
            came = self.folder / f"came-{name}"
            if came.exists():
                return
            came.touch()
        if kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "data":
            raise InputError(f"{name} cannot be done.")
        if kind == "disk":
            raise OSError(28, "No space left on device", str(self.folder))
        if kind == "unreadable":
            raise Unreadable(name, why="odd")
        raise ValueError(f"surprised by {name}")


def build(path, work, execution=HERE, **changes):
    return build_in_chunks(
        Path(path),
        work,
        kind="fake",
        recipe={"of": work.text, "count": work.count},
        inputs={},
        builder_version=1,
        execution=execution,
        **changes,
    )


def digest(manifest):
    """Of all that an artifact holds: only when and how long it was made may differ."""
    files = {name: entry["sha256"] for name, entry in manifest.files.items()}
    return fingerprint([manifest.fingerprint, manifest.counts, files])
