"""Steps: the artifacts that an experiment makes, each from those before it, and how they are made.

A step's fingerprint is over its settings and the fingerprints of what it is made from (a Merkle
tree), so it is known before anything exists; whether the step has to be done is one comparison.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from adducir.core.artifacts import MISSING, UNKNOWN, artifact_fingerprint, build, out_of_date
from adducir.core.errors import UsageError
from adducir.core.executors import HERE, Execution, end_processes
from adducir.core.fingerprint import UNREAD
from adducir.core.recipe import KeyPath

if TYPE_CHECKING:
    from adducir.core.chunks import Chunking
    from adducir.models.machine import Precision
    from adducir.models.work import Running
    from adducir.training.trainable import Trainable


T = TypeVar("T")


@dataclass(frozen=True)
class Context:
    """What every step is handed; nothing of it is in a fingerprint."""

    threads: int | None = None  # of a search, or of torch; None: one per core
    device: str = "auto"
    batch_tokens: int | None = None  # padded; figures depend on it in their last digits
    execution: Execution = HERE  # who makes chunks
    rebuild: bool = False  # even what is up to date
    folder: Path | None = None  # the study's, which the paths in notes start from
    _shared: dict[Hashable, tuple[Hashable, Any]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _closing: ExitStack = field(default_factory=ExitStack, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if any(count is not None and count < 1 for count in (self.threads, self.batch_tokens)):
            raise UsageError("the numbers of threads and of tokens in a batch are 1 or more.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        end_processes()
        self._shared.clear()
        self._closing.close()

    def running(self, precision: "Precision" = "float32") -> "Running":
        from adducir.models.work import Running

        return Running(self.device, self.threads, self.batch_tokens, precision, self.execution)

    def shown(self, path: Path) -> str:
        return shown(path, self.folder)

    def chunking(self, output: Path) -> "Chunking":
        from adducir.core.chunks import Chunking

        return Chunking(output, self.execution)

    def shared(self, what: Hashable, opener: Callable[[], T], key: Hashable = None) -> T:
        if what in self._shared and self._shared[what][0] != key:
            del self._shared[what]  # its memory is free before the next is opened
        if what not in self._shared:
            value = opener()
            self._shared[what] = key, value
            if hasattr(value, "close"):
                self._closing.callback(value.close)
        return self._shared[what][1]


def shown(path: Path, folder: Path | None) -> str:
    """A path as the study's own, where it lies in the study's folder."""
    is_inside = folder is not None and path.is_relative_to(folder)
    return str(path.relative_to(folder)) if folder and is_inside else str(path)


Shown = Callable[[Path], str]
"""Gives a path as the study's own."""


class Step(ABC):
    """One artifact to make."""

    path: Path  # where it is published
    fingerprint: str  # of all that determines its content
    kind: str = ""  # in manifests; an artifact of another kind is not replaced
    place: KeyPath = ()  # the entry of the file that it is made for
    inputs: Sequence["Step"] = ()  # whose artifacts are read while it is made
    # Entries of the file: what has to be fetched for them is fetched before anything is made.
    reads: Sequence[KeyPath] = ()
    verb: str = "make"  # what is done, for the plan's lines: "build", "search"
    kept: str = "keep"  # what is done where it is there
    stage: int = 0  # where its line stands in the plan
    runs_code: tuple[str, str] | None = None  # digest and name of the study's own code
    chunk_places: Sequence[Path] = ()  # beside which chunks are kept as well

    def recipe(self) -> Mapping[str, Any]:
        """All that determines its content beside what it is made from, as the manifest has it."""
        return {}

    def why(self) -> str | None:
        """Why it has to be made, as things are now; None if it is there as it would be made."""
        return out_of_date(self.path, self.kind, self.recipe, self.fingerprint)

    @abstractmethod
    def make(self, context: "Context") -> None:
        """Make it; what it is made from is there."""

    def title(self, shown: Shown) -> str:
        return shown(self.path)


@dataclass(eq=False)
class Absent(Step):
    """Stands in a dry run for a step that cannot be planned without data that are not available."""

    path: Path
    verb: str
    stage: int = 2
    what: str = ""
    fingerprint: str = UNREAD
    place: KeyPath = ()

    def title(self, shown: Shown) -> str:
        return f"{self.what} {shown(self.path)}".lstrip()

    def why(self) -> str | None:
        return UNKNOWN if self.path.exists() else MISSING

    def make(self, context: "Context") -> None:
        raise NotImplementedError  # the plan of a dry run is not run


class ArtifactStep(Step):
    """A folder that is built at once from a recipe and inputs with fingerprints."""

    version = 1

    @abstractmethod
    def identities(self) -> Mapping[str, str]:
        """The fingerprints of what it is made from: of other steps, known before they are made."""

    @abstractmethod
    def fill(self, folder: Path, context: "Context") -> Mapping[str, Any]:
        """Make it in an empty folder, and return its counts."""

    def versions(self) -> Mapping[str, str]:
        return {}

    @cached_property
    def fingerprint(self) -> str:  # type: ignore[override]
        return artifact_fingerprint(self.kind, self.recipe(), self.identities(), self.version)

    def make(self, context: "Context") -> None:
        build(
            self.path,
            kind=self.kind,
            recipe=self.recipe(),
            inputs=self.identities(),
            builder_version=self.version,
            make=lambda folder: self.fill(folder, context),
            rebuild=context.rebuild,
            versions=self.versions(),
        )


class ModelStep(Step):
    """A model that the experiment trains from its recipe."""

    verb = "train"

    def __init__(self, path: Path, plan: "Trainable[Any]", before: Sequence[Step]) -> None:
        self.path, self.plan, self.inputs = path, plan, before
        self.kind, self.fingerprint = plan.artifact, plan.fingerprint

    def recipe(self) -> Mapping[str, Any]:
        return self.plan.canonical

    def make(self, context: "Context") -> None:
        from adducir.training.run import train_model

        end_processes()  # their memory is for the training
        train_model(self.plan, self.path, device=context.device, rebuild=context.rebuild)


def training_log(folder: Path) -> Mapping[str, Any]:
    """What a training recorded of itself; nothing where it records nothing."""
    try:
        found = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
