"""Steps: the artifacts that an experiment makes, each from those before it.

A step's fingerprint is over its settings and the fingerprints of what it is made from (a Merkle
tree), so it is known before anything exists; whether the step has to be done is one comparison.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from adducir.core.artifacts import MISSING, UNKNOWN, artifact_fingerprint, build, out_of_date
from adducir.core.fingerprint import UNREAD
from adducir.core.recipe import KeyPath

if TYPE_CHECKING:
    from adducir.experiments.context import Context
    from adducir.training.plan import TrainingPlan
    from adducir.training.preparation import Preparation

Shown = Callable[[Path], str]
"""Gives a path as the study's own."""


class Step:
    """One artifact to make. The class itself is for what a dry run cannot plan without its data.

    Attributes:
        path: Where it is published.
        inputs: The steps whose artifacts are read while it is made.
        place: Its entry in the experiment file.
        reads: The entries of the file that name what is read while it is made: what has to be
            fetched for them is fetched before anything is made.
        verb: What is done, for the plan's lines: "build", "search".
        kept: What is done where it is there.
        stage: Where its line stands in the plan.
    """

    path: Path
    inputs: Sequence["Step"] = ()
    place: KeyPath = ()
    reads: Sequence[KeyPath] = ()
    verb: str
    kept: str = "keep"
    stage: int = 0
    what: str = ""

    @classmethod
    def without_data(cls, path: Path, verb: str, stage: int, what: str = "") -> Any:
        """Stands in a dry run for any step whose data are not available; ``what`` is for its line.

        Only its line and fingerprint are asked for: such a plan is for reading.
        """
        step = Step()
        step.path, step.verb, step.stage, step.what = path, verb, stage, what
        return step

    @property
    def fingerprint(self) -> str:
        """Of all that determines its content; unread where a dry run does not know it."""
        return UNREAD

    @property
    def runs_code(self) -> tuple[str, str] | None:
        """The code of the experiment's author that runs while it is made: its digest and name."""
        return None

    @property
    def shared_work(self) -> Hashable | None:
        """Steps for which this is the same are made in one process: they share long work."""
        return None

    @property
    def chunk_places(self) -> Sequence[Path]:
        """Other places than its own beside which chunks of it are kept."""
        return ()

    def title(self, shown: Shown) -> str:
        """What it is, for the plan's lines."""
        return f"{self.what} {shown(self.path)}".lstrip()

    def why(self) -> str | None:
        """Why it has to be made, as things are now; None if it is there as it would be made.

        Raises:
            ArtifactError: Something else stands there, which is not replaced.
        """
        return UNKNOWN if self.path.exists() else MISSING

    def make(self, context: "Context") -> None:
        """Make it; what it is made from is there.

        Raises:
            AdducirError: A record is malformed, the disk is full, and the like.
        """
        raise NotImplementedError

    def lines(self, verb: str, why: str | None, shown: Shown) -> Iterable[tuple[str, str]]:
        """The plan's lines: a verb and what it is done to, with the reason."""
        yield verb, self.title(shown) + ("" if why in (None, MISSING) else f": {why}")


class FolderStep(Step, ABC):
    """A step that makes a folder with a manifest."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """What it is called in manifests; an artifact of another kind is not replaced."""

    @abstractmethod
    def recipe(self) -> Mapping[str, Any]:
        """All that determines its content beside what it is made from, as the manifest has it."""

    def why(self) -> str | None:
        return out_of_date(self.path, self.kind, self.recipe, self.fingerprint)


class ArtifactStep(FolderStep):
    """A folder that is built at once from a recipe and inputs with fingerprints."""

    kind: ClassVar[str] = ""
    version: ClassVar[int]

    @abstractmethod
    def identities(self) -> Mapping[str, str]:
        """The fingerprints of what it is made from: of other steps, known before they are made."""

    @abstractmethod
    def fill(self, folder: Path, context: "Context") -> Mapping[str, Any]:
        """Make it in an empty folder, and return its counts."""

    def versions(self) -> Mapping[str, str]:
        """Versions of the libraries that take part."""
        return {}

    @cached_property
    def fingerprint(self) -> str:
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


@dataclass(eq=False)
class PreparationStep(FolderStep):
    """What the examples of several models are made of, made once; see :class:`.Preparation`."""

    path: Path
    preparation: "Preparation"
    reads: Sequence[KeyPath] = ()
    verb = "make"

    @property
    def kind(self) -> str:
        return self.preparation.kind

    @property
    def fingerprint(self) -> str:
        return self.preparation.fingerprint

    def recipe(self) -> Mapping[str, Any]:
        return self.preparation.recipe

    def title(self, shown: Shown) -> str:
        return f"{self.preparation.work.makes} {shown(self.path)}"

    def make(self, context: "Context") -> None:
        self.preparation.make(
            self.path, device=context.device, execution=context.execution, rebuild=context.rebuild
        )


@dataclass(eq=False)
class ModelStep(FolderStep):
    """A model that the experiment trains from its recipe.

    Attributes:
        open: Opens the recipe, which may name a model that is trained before.
        before: The trainings whose models it goes on from.
        prepared: What it shares with other models. The weights do not depend on whether it is
            there.
    """

    path: Path
    open: "Callable[[], TrainingPlan[Any]]"
    before: Sequence[Step] = ()
    reads: Sequence[KeyPath] = ()
    prepared: PreparationStep | None = None
    verb = "train"

    @cached_property
    def plan(self) -> "TrainingPlan[Any]":
        """The recipe, opened."""
        return self.open()

    @property
    def inputs(self) -> Sequence[Step]:  # type: ignore[override]
        return [*self.before, *([] if self.prepared is None else [self.prepared])]

    @property
    def kind(self) -> str:
        return self.plan.artifact

    @property
    def fingerprint(self) -> str:
        return self.plan.fingerprint

    def recipe(self) -> Mapping[str, Any]:
        return self.plan.canonical

    def title(self, shown: Shown) -> str:
        return shown(self.path)

    def make(self, context: "Context") -> None:
        from adducir.training.artifacts import train_model

        train_model(
            self.plan,
            self.path,
            device=context.device,
            prepared=None if self.prepared is None else self.prepared.path,
            execution=context.execution,
            rebuild=context.rebuild,
        )


class Sharing:
    """What the trainings of a study have in common of their examples, once more than one has it."""

    def __init__(self) -> None:
        self._same: dict[str, list[ModelStep]] = {}

    def add(self, step: ModelStep) -> None:
        """Take a training, which lets those of the same examples share what these are made of.

        One whose base is still to be trained makes its own: how it reads is not known yet.
        """
        preparation = None if step.before or step.plan.before else step.plan.preparation
        if preparation is None:
            return
        same = self._same.setdefault(preparation.fingerprint, [])
        same.append(step)
        if len(same) > 1:
            first = same[0]
            shared = first.prepared or PreparationStep(
                first.path.with_name(f"{first.path.name}.prepared"), preparation, first.reads
            )
            first.prepared = step.prepared = shared
