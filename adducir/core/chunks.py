"""Long work in chunks of fixed content that survive a kill, computed here or by an executor.

Items are cut in order into chunks of one size, whose bytes depend only on the items and the work. A
finished chunk is found by the digest of its items: its file is named after its number and content,
``000003-0123456789abcdef``, and ``000003.json``, written last, records which items it covers. Any
number of processes may share the folder.
"""

import json
import os
import pickle
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar

from adducir.core.artifacts import build, parts_folder, remove_parts
from adducir.core.errors import (
    AdducirError,
    ArtifactError,
    IncompleteError,
    InputError,
    MachineError,
    UsageError,
    explaining_writes,
    machine_error,
    worded,
)
from adducir.core.executors import HERE, Execution, Place, end_processes
from adducir.core.files import file_digest, is_stream, link_or_copy, scratch_folder, sync
from adducir.core.fingerprint import digest_of, fingerprint
from adducir.core.manifests import Manifest, artifact_fingerprint
from adducir.core.packages import blamed, lacking
from adducir.core.processes import locked
from adducir.core.progress import progress
from adducir.core.texts import listed

ROUNDS = 3
"""Attempts per chunk when its worker dies or fails for an unknown reason."""
ANY = "any"
"""The device type of chunks whose bytes do not depend on the device."""


Maker = Callable[[Sequence[Any], Path], None]
"""Writes the file of one chunk; its bytes depend only on the chunk's items.

An InputError concerns these items alone; a MachineError ends all work."""


class Work(ABC):
    """Long work on a sequence of items; small and picklable."""

    doing: ClassVar[str]  # for the progress bar: "encoding"
    unit: ClassVar[str]  # "texts"
    size: int  # items in a chunk

    @property
    def total(self) -> int | None:
        return None

    @abstractmethod
    def identity(self) -> Mapping[str, Any]:
        """What determines a chunk's bytes besides its items and the artifact's fingerprint."""

    def check(self) -> None:
        """Refuse what no worker could load, as far as a cheap check can tell."""
        return

    @abstractmethod
    def items(self, *, check: bool) -> Iterator[Any]:
        """All items, afresh at each call, in a fixed order; ``check``: refuse duplicates."""

    @abstractmethod
    def describe(self, item: Any) -> tuple[str, bytes]:
        """An item's name (a docno) and its content."""

    @abstractmethod
    def maker(self, place: Place) -> tuple[str, Maker]:
        """Load what is needed; return the device type, if it affects bytes, and the maker."""

    def finish(self, folder: Path, chunks: "FinishedChunks") -> Mapping[str, Any]:
        raise NotImplementedError


@dataclass(frozen=True)
class Chunk:
    """A finished chunk: the digest of its items, its file, where and how fast it was computed."""

    number: int
    items: str
    file: str
    sha256: str
    device: str
    seconds: float


@dataclass
class FinishedChunks:
    """All chunks of some work in order, checked against their digests, with their items' names."""

    files: list[Path] = field(default_factory=list)
    names: list[list[str]] = field(default_factory=list)
    device: str = ANY
    seconds: float = 0.0

    @property
    def items(self) -> int:
        return sum(map(len, self.names))

    def keep(self, folder: Path, name: str) -> None:
        for number, path in enumerate(self.files):
            link_or_copy(path, folder / name.format(number))


def make_chunks(work: Work, folder: Path, execution: Execution = HERE) -> FinishedChunks:
    """Compute a folder's missing chunks, and check all of them."""
    work.check()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        sent = work if execution.is_here else pickle.dumps(work)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        message = f"this work cannot be sent to another process: {error}."
        raise UsageError(
            message, hint=f"Run it in this process: {worded('workers', '1')}."
        ) from error
    failed: dict[int, BaseException] = {}
    try:
        for attempt in range(1 if execution.is_here else ROUNDS):
            # Bad data does not get better on a second attempt.
            failed = {n: error for n, error in failed.items() if isinstance(error, InputError)}
            with execution.executor() as executor:
                # One that kills its worker takes down all that this machine's processes compute at
                # that time; the last attempts run alone, so that only the culprit is named.
                alone = execution.is_local and attempt == ROUNDS - 1
                key = f"{folder} {secrets.token_hex(4)}"
                submit = partial(executor.submit, _make, key, sent, folder)
                at_once = 0 if alone else executor.capacity
                outcome = _round(work, not attempt, folder, submit, at_once, failed)
            if all(isinstance(error, InputError) for error in failed.values()):
                break
    finally:
        _makers.clear()
        with suppress(OSError):  # unless it has chunks
            folder.rmdir()
    if not outcome.device.startswith(("cpu", ANY)):  # free its memory for the next user
        end_processes()
    if failed:
        others = "; the others are kept" if len(failed) < len(outcome.names) else ""
        lines = [f"{len(failed):,} of {len(outcome.names):,} chunks failed{others}."]
        for number, wrong in sorted(failed.items())[:10]:
            reason = f"{type(wrong).__name__}: {wrong}"
            if isinstance(wrong, BrokenExecutor):
                reason = "its worker died; there may be too little memory for so many workers"
            elif isinstance(wrong, AdducirError | _ChunkError):
                reason = str(wrong)
            lines.append(f"chunk {number} ({listed(outcome.names[number])}): {reason}")
        raise IncompleteError("\n  ".join(lines)) from failed[min(failed)]
    return outcome


@dataclass(frozen=True)
class Chunking:
    """How a run's chunks are computed: kept beside ``output``, if any, until that is written."""

    output: Path | None = None
    execution: Execution = HERE
    keep: bool = False  # for later work; whoever cleans up next to ``output`` removes them

    @contextmanager
    def made(self, work: Work) -> Iterator[FinishedChunks]:
        if self.output is None or is_stream(self.output):
            with scratch_folder() as name:
                yield make_chunks(work, name, self.execution)
            return
        work.check()
        with locked(self.output):
            folder = parts_folder(self.output, fingerprint([work.identity(), work.size]))
            yield make_chunks(work, folder, self.execution)
            if not self.keep:
                remove_parts(self.output)


TEMPORARY = Chunking()
"""In this process; nothing is kept."""


def build_in_chunks(
    output: Path,
    work: Work,
    *,
    kind: str,
    recipe: Mapping[str, Any],
    inputs: Mapping[str, str],
    builder_version: int,
    execution: Execution = HERE,
    **options: Any,
) -> Manifest:
    identity = artifact_fingerprint(kind, recipe, inputs, builder_version)
    key = fingerprint([identity, work.identity(), work.size])

    def make(folder: Path) -> Mapping[str, Any]:
        chunks = make_chunks(work, parts_folder(output, key), execution)
        devices = {} if chunks.device == ANY else {"device": chunks.device}
        return {**work.finish(folder, chunks), **devices}

    about: dict[str, Any] = {"kind": kind, "recipe": recipe, "inputs": inputs, **options}
    return build(output, **about, builder_version=builder_version, make=make)


class _ChunkError(Exception):
    """What went wrong with a chunk, in words."""


class _CannotBeginError(Exception):
    """Something the work needs cannot be loaded: ``args[0]`` says why."""


def _round(
    work: Work,
    check: bool,
    folder: Path,
    submit: "Callable[..., Future[Chunk]]",
    at_once: int,
    failed: dict[int, BaseException],
) -> FinishedChunks:
    outcome, finished, running = FinishedChunks(), dict[int, Chunk](), dict["Future[Chunk]", int]()

    def collect(until: int) -> None:
        while len(running) > until:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                number = running.pop(future)
                error = future.exception()
                if error is None:
                    finished[number] = future.result()
                elif isinstance(error, _CannotBeginError):
                    raise error.args[0]
                elif isinstance(error, AdducirError) and not isinstance(error, InputError):
                    raise error  # the other chunks would fail too
                elif (fault := machine_error(error)) is not None:
                    raise fault from error
                else:
                    failed[number] = error
                progress().advance(len(outcome.names[number]))

    stream = work.items(check=check)
    progress().start(work.doing, work.total, work.unit)
    try:
        for number, items in enumerate(iter(lambda: list(islice(stream, work.size)), [])):
            described = list(map(work.describe, items))
            outcome.names.append([name for name, _ in described])
            encoded = ((name.encode("utf-8", "surrogatepass"), label) for name, label in described)
            digest = digest_of(chain.from_iterable(encoded))
            with suppress(Exception):  # an unreadable chunk is computed again
                chunk = Chunk(**json.loads((folder / f"{number:06d}.json").read_bytes()))
                if chunk.items == digest and file_digest(folder / chunk.file) == chunk.sha256:
                    finished[number] = chunk
            if number in finished or number in failed:
                progress().resume(len(items))
            else:
                running[submit(number, digest, items)] = number
                # Queued chunks are held in memory: queue just enough to keep the workers busy.
                collect(at_once)
        collect(0)
    finally:
        for future in running:
            future.cancel()
        progress().finish()
    if failed:
        return outcome
    chunks = [finished[number] for number in range(len(outcome.names))]
    if absent := [chunk.file for chunk in chunks if not (folder / chunk.file).exists()]:
        message = f"a node of the cluster wrote {absent[0]}, which is not visible here."
        raise MachineError(message, path=folder, hint="Write to a folder that all nodes share.")
    devices = sorted({chunk.device for chunk in chunks})
    if len(devices) > 1:
        raise ArtifactError(
            f"the chunks were computed on different device types: {', '.join(devices)}. Their "
            "figures differ in the last digits.",
            path=folder,
            hint="Use one type for all; delete this folder to start over.",
        )
    outcome.device = devices[0] if devices else ANY
    outcome.files = [folder / chunk.file for chunk in chunks]
    outcome.seconds = sum(chunk.seconds for chunk in chunks)
    return outcome


_makers: dict[str, tuple[str, Maker]] = {}
"""In a worker: the maker of the latest work's chunks, by its key."""


def _make(
    key: str, work: bytes | Work, folder: Path, number: int, digest: str, items: Sequence[Any]
) -> Chunk:
    hidden = folder / f".making-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        if key not in _makers:
            _makers.clear()  # two models at a time may not fit
            job: Work = pickle.loads(work) if isinstance(work, bytes) else work  # noqa: S301 (ours)
            try:
                _makers[key] = job.maker(Place.here())
            except InputError as error:
                raise _CannotBeginError(error) from error
        (device, make), began = _makers[key], time.monotonic()
        with explaining_writes(folder):
            make(items, hidden)
            content, seconds = file_digest(hidden), round(time.monotonic() - began, 3)
            name = f"{number:06d}-{content[:16]}"
            chunk = Chunk(number, digest, name, content, device, seconds)
            sync(hidden)
            hidden.replace(folder / name)
            hidden.write_text(json.dumps(asdict(chunk)), encoding="ascii")
            sync(hidden)
            hidden.replace(folder / f"{number:06d}.json")
    except (AdducirError, _CannotBeginError, OSError, MemoryError):
        raise
    except Exception as error:
        _makers.clear()  # a GPU's context may fail for every other chunk, too
        if explained := machine_error(error) or lacking(error) or blamed(error):
            raise explained from error  # only here it is known where it was raised
        # Not every error can be unpickled.
        raise _ChunkError(f"{type(error).__name__}: {error}") from error
    finally:
        hidden.unlink(missing_ok=True)
    return chunk
