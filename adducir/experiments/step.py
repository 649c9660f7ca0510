"""Steps: the artifacts that an experiment builds, each from earlier ones.

A step's fingerprint covers its settings and its inputs' fingerprints (a Merkle tree), so it is
known before anything exists; one comparison decides whether the step has to run.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from adducir.core.artifacts import MISSING, UNKNOWN, build, out_of_date
from adducir.core.errors import InputError, UsageError
from adducir.core.executors import HERE, Execution, end_processes
from adducir.core.fingerprint import UNREAD
from adducir.core.manifests import artifact_fingerprint
from adducir.core.recipe import KeyPath

if TYPE_CHECKING:
    from adducir.core.chunks import Chunking
    from adducir.models.machine import Precision
    from adducir.models.running import Running
    from adducir.training.leaks import TrainedOn
    from adducir.training.trainable import Trainable


T = TypeVar("T")


@dataclass(frozen=True)
class Context:
    """What every step receives; not part of any fingerprint."""

    threads: int | None = None  # for a search or torch; None: one per core
    device: str = "auto"
    batch_tokens: int | None = None  # padded; affects the last digits of figures
    execution: Execution = HERE  # who computes chunks
    rebuild: bool = False  # even what is up to date
    folder: Path | None = None  # the study's, to which paths in notes are relative
    _shared: dict[Hashable, tuple[Hashable, Any]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _closing: ExitStack = field(default_factory=ExitStack, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if any(count is not None and count < 1 for count in (self.threads, self.batch_tokens)):
            raise UsageError("threads and tokens per batch must be 1 or more.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        end_processes()
        self._shared.clear()
        self._closing.close()

    def running(self, precision: "Precision" = "float32") -> "Running":
        from adducir.models.running import Running

        return Running(self.device, self.threads, self.batch_tokens, precision, self.execution)

    def shown(self, path: Path) -> str:
        return shown(path, self.folder)

    def chunking(self, output: Path) -> "Chunking":
        from adducir.core.chunks import Chunking

        return Chunking(output, self.execution)

    def shared(self, resource: Hashable, opener: Callable[[], T], key: Hashable = None) -> T:
        if resource in self._shared and self._shared[resource][0] != key:
            del self._shared[resource]  # free its memory before opening the next
        if resource not in self._shared:
            value = opener()
            self._shared[resource] = key, value
            if hasattr(value, "close"):
                self._closing.callback(value.close)
        return self._shared[resource][1]


def shown(path: Path, folder: Path | None) -> str:
    """A path relative to the study's folder, if inside it."""
    is_inside = folder is not None and path.is_relative_to(folder)
    return str(path.relative_to(folder)) if folder and is_inside else str(path)


Shown = Callable[[Path], str]
"""Returns a path relative to the study's folder."""


class Step(ABC):
    """One artifact to build."""

    path: Path  # where it is published
    fingerprint: str  # of everything that determines its content
    kind: str = ""  # in manifests; artifacts of other kinds are not overwritten
    place: KeyPath = ()  # the file's entry that needs it
    inputs: Sequence["Step"] = ()  # steps whose artifacts it reads
    # Entries of the file whose downloads happen before anything is built.
    reads: Sequence[KeyPath] = ()
    verb: str = "make"  # for the plan's lines: "build", "search"
    kept: str = "keep"  # the verb if it exists
    stage: int = 0  # the order of its line in the plan
    runs_code: tuple[str, str] | None = None  # digest and name of the study's own code
    uses: Sequence[Path] = ()  # the folders of models that were trained before
    chunk_places: Sequence[Path] = ()  # where chunks are also kept

    def recipe(self) -> Mapping[str, Any]:
        """What determines its content besides its inputs, as in the manifest."""
        return {}

    def why(self) -> str | None:
        """Why it has to be built now; None if it is up to date."""
        return out_of_date(self.path, self.kind, self.recipe, self.fingerprint)

    @abstractmethod
    def make(self, context: "Context") -> None:
        """Build it; its inputs exist."""

    def title(self, shown: Shown) -> str:
        return shown(self.path)

    def trained_models(self) -> "Iterator[tuple[Path, TrainedOn]]":
        """The models that it reads or trains, and what they were or will be trained on."""
        if self.uses:
            from adducir.training.leaks import TrainedOn, queries_of

            for folder in self.uses:
                yield folder, TrainedOn(queries_of(folder))


def with_inputs(steps: Iterable[Step]) -> list[Step]:
    """The steps and all that they are made from, each once and after its own inputs."""
    ordered = dict[Step, None]()

    def add(step: Step) -> None:
        if step not in ordered:
            for before in step.inputs:
                add(before)
            ordered[step] = None

    for step in steps:
        add(step)
    return list(ordered)


@dataclass(eq=False)
class Absent(Step):
    """A dry run's placeholder for a step that cannot be planned without missing data."""

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
        raise NotImplementedError  # a dry run's plan is never run


class ArtifactStep(Step):
    """A folder built in one go from a recipe and inputs with fingerprints."""

    version = 1

    @abstractmethod
    def identities(self) -> Mapping[str, str]:
        """Its inputs' fingerprints, which are known before they are built."""

    @abstractmethod
    def fill(self, folder: Path, context: "Context") -> Mapping[str, Any]:
        """Build it in an empty folder, and return its counts."""

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
        self.uses = folders_of(getattr(plan, "base", None)) if plan.before is None else []

    def recipe(self) -> Mapping[str, Any]:
        return self.plan.canonical

    def trained_models(self) -> "Iterator[tuple[Path, TrainedOn]]":
        from adducir.training.leaks import queries_of

        kept = queries_of(self.path) if self.why() is None else frozenset[int]()
        yield self.path, self.plan.trained_on(kept)
        yield from super().trained_models()

    def make(self, context: "Context") -> None:
        from adducir.training.run import train_model

        end_processes()  # frees memory for the training
        train_model(self.plan, self.path, device=context.device, rebuild=context.rebuild)


def folders_of(source: Any) -> list[Path]:
    """The folder of an encoder's or another model's source, unless it has none."""
    folder = getattr(getattr(source, "query", source), "folder", None)
    return [] if folder is None else [folder]


class Trainings:
    """The models that one experiment trains: a step for each folder."""

    def __init__(self) -> None:
        self.steps = dict[Path, ModelStep]()
        self.folders = dict[str, Path]()  # of equal trainings, by identity

    def step(
        self, path: Path, plan: "Trainable[Any]", place: KeyPath, before: Sequence[ModelStep] = ()
    ) -> ModelStep:
        """The step that trains a model after its base: ``before``, or from its recipe."""
        if path not in self.steps:
            if not before and plan.before is not None:
                base, folder = plan.before
                before = [self.step(folder, base, place)]
            self.steps[path] = ModelStep(path, plan, before)
        step = self.steps[path]
        if step.fingerprint != plan.fingerprint:
            raise InputError("another recipe of this experiment writes its model here.", path=path)
        step.place, step.reads = place, [*step.reads, place]
        return step


def training_log(folder: Path) -> Mapping[str, Any]:
    """A training's record; empty if there is none."""
    try:
        record = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}
