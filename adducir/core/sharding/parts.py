"""The shards that are made, in a folder that survives a kill and that several machines may share.

A shard's file is called by its number and its content, ``000003-0123456789abcdef``; its outcome,
``000003.json``, names the file and its SHA-256. Both are published by a rename, the outcome last.
So two workers on one shard are harmless: whichever outcome stands there names a whole file. What
cannot be made stands in ``000003.failed.json``, with the names of its items.
"""

import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from adducir.core.files import file_digest
from adducir.core.processes import describe_self
from adducir.core.sharding.plan import Shard
from adducir.core.syncing import sync
from adducir.core.system_errors import explaining_writes

_MAKING = "making"
"""The folder for what is being written, inside that of the parts."""


@dataclass(frozen=True)
class Outcome:
    """A shard that was made.

    Attributes:
        number: The shard's.
        items: The digest of its items, as the plan has it.
        file: The name of its file.
        sha256: Of that file.
        bytes: Its size.
        device: The kind of device that computed it.
        seconds: How long that took.
        worker: Who made it, in words.
    """

    number: int
    items: str
    file: str
    sha256: str
    bytes: int
    device: str
    seconds: float
    worker: str


@dataclass(frozen=True)
class Failed:
    """A shard that cannot be made.

    Attributes:
        shard: Which.
        reason: Why, in words.
        trace: Where that was raised.
        is_final: Whether another attempt is in vain: its data cannot be done.
    """

    shard: Shard
    reason: str
    trace: str = ""
    is_final: bool = True


@dataclass(frozen=True)
class Lost:
    """A shard whose worker died, or whose machine went away."""

    shard: Shard


Report = Outcome | Failed | Lost
"""What an executor says of a shard."""


class Parts:
    """The folder of the shards of one plan."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(
        self, shard: Shard, device: str, fill: Callable[[Path], None], clock: Callable[[], float]
    ) -> Outcome:
        """Make a shard's file and publish it with its outcome.

        Args:
            fill: Writes the file at the path that it is given.
            clock: Seconds, as of ``time.monotonic``.

        Raises:
            MachineError: The disk is full, or the place cannot be written.
        """
        began = clock()
        with explaining_writes(self.folder), self._hidden(shard) as hidden:
            fill(hidden)
            digest = file_digest(hidden)
            outcome = Outcome(
                shard.number,
                shard.digest,
                f"{shard.number:06d}-{digest[:16]}",
                digest,
                hidden.stat().st_size,
                device,
                round(clock() - began, 3),
                describe_self(),
            )
            self._publish(hidden, self.folder / outcome.file)
        self._write(self._outcome(shard), asdict(outcome))
        self._failure(shard).unlink(missing_ok=True)
        return outcome

    def outcome(self, shard: Shard) -> Outcome | None:
        """The outcome of a shard, if it was made; its file's content is not read.

        One of other items, or whose file is not there in its size, counts as none.
        """
        try:
            found = Outcome(**json.loads(self._outcome(shard).read_bytes()))
            there = (self.folder / found.file).stat().st_size == found.bytes
        except (OSError, ValueError, TypeError):
            return None
        is_its = (found.number, found.items) == (shard.number, shard.digest)
        return found if is_its and there else None

    def is_whole(self, outcome: Outcome) -> bool:
        """Whether a shard's file has the content that it was made with; reads it."""
        try:
            return file_digest(self.folder / outcome.file) == outcome.sha256
        except Exception:  # noqa: BLE001  (whatever hinders reading it, it must be made again)
            return False

    def drop(self, outcome: Outcome) -> None:
        """Forget a shard, so that it is made again."""
        (self.folder / f"{outcome.number:06d}.json").unlink(missing_ok=True)
        (self.folder / outcome.file).unlink(missing_ok=True)

    def note_failure(self, failed: Failed, names: Sequence[str]) -> None:
        """Keep what cannot be made, with the names of its items and the reason."""
        whole = {"reason": failed.reason, "names": list(names), "traceback": failed.trace}
        self._write(self._failure(failed.shard), whole)

    def failure(self, shard: Shard) -> str | None:
        """Why a shard could not be made when that was last tried."""
        try:
            return str(json.loads(self._failure(shard).read_bytes())["reason"])
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _outcome(self, shard: Shard) -> Path:
        return self.folder / f"{shard.number:06d}.json"

    def _failure(self, shard: Shard) -> Path:
        return self.folder / f"{shard.number:06d}.failed.json"

    def _write(self, path: Path, value: Mapping[str, Any]) -> None:
        with explaining_writes(self.folder), self._hidden_file(path.name) as hidden:
            hidden.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
            self._publish(hidden, path)

    def _publish(self, hidden: Path, target: Path) -> None:
        sync(hidden)
        hidden.replace(target)

    def _hidden(self, shard: Shard) -> Any:
        return self._hidden_file(f"{shard.number:06d}")

    @contextmanager
    def _hidden_file(self, name: str) -> Iterator[Path]:
        """A path to write at; nothing is left there, whatever happens."""
        folder = self.folder / _MAKING
        folder.mkdir(parents=True, exist_ok=True)
        hidden = folder / f"{name}-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            yield hidden
        finally:
            hidden.unlink(missing_ok=True)
