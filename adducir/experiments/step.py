"""Steps: the artifacts that an experiment makes, each from those before it.

The engine knows of a step what it is made from, whether it is there as it would be made, and how
to make it; what it is (an index, a model, a run), only the step's own class knows.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from adducir.core.artifacts import artifact_fingerprint, build, is_current
from adducir.core.recipe import KeyPath
from adducir.training.artifacts import train_model
from adducir.training.plan import TrainingPlan
from adducir.training.preparation import Preparation

if TYPE_CHECKING:
    from adducir.experiments.context import Context

MISSING = "it is missing"
REBUILD = "all is to be made anew"
UNREAD = "whether it is up to date is unknown until"


class Waiting(Exception):  # noqa: N818 - no error: a dry run goes on without it
    """What a step is made from is not known, since data are not at hand.

    Args:
        on: What is lacking, in a few words.
    """

    def __init__(self, on: str) -> None:
        super().__init__(on)
        self.on = on


class Step(ABC):
    """One artifact to make.

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

    @abstractmethod
    def title(self, shown: Callable[[Path], str]) -> str:
        """What it is, for the plan's lines; ``shown`` gives a path as the study's own."""

    @abstractmethod
    def why(self) -> str | None:
        """Why it has to be made, as things are now; None if it is there as it would be made.

        Raises:
            ArtifactError: Something else stands there, which is not replaced.
        """

    @abstractmethod
    def make(self, context: "Context") -> None:
        """Make it; what it is made from is there.

        Raises:
            AdducirError: A record is malformed, the disk is full, and the like.
        """

    def lines(
        self, verb: str, why: str | None, shown: Callable[[Path], str]
    ) -> Iterable[tuple[str, str]]:
        """The plan's lines: a verb and what it is done to, with the reason."""
        yield verb, self.title(shown) + ("" if why in (None, MISSING) else f": {why}")


class Unknown(Step):
    """A step of a dry run that cannot be planned, since data are not at hand.

    Args:
        path: Where its artifact would be.
        verb: What would be done.
        stage: Where its line stands in the plan.
        waits: What it waits for.
        kind: What its artifact is, for its line.
    """

    def __init__(self, path: Path, verb: str, stage: int, waits: str, kind: str = "") -> None:
        self.path, self.kind, self.waits = path, kind, waits
        self.verb, self.stage = verb, stage

    def title(self, shown: Callable[[Path], str]) -> str:
        """What it waits for."""
        kind = f"{self.kind} " if self.kind else ""
        where = f"{kind}{shown(self.path)}"
        return f"{where}: whether it is there is unknown without {self.waits}"

    def why(self) -> str:
        """What it waits for."""
        return MISSING

    def make(self, context: "Context") -> None:
        """Never called: a plan with such a step is for reading."""
        raise NotImplementedError


@dataclass(eq=False)
class PreparationStep(Step):
    """What the examples of several models are made of, made once; see :class:`.Preparation`.

    Attributes:
        preparation: What is made.
    """

    path: Path
    preparation: Preparation
    reads: Sequence[KeyPath] = ()
    verb = "make"

    def title(self, shown: Callable[[Path], str]) -> str:
        """Its folder."""
        return f"{self.preparation.work.makes} {shown(self.path)}"

    def why(self) -> str | None:
        if not self.path.exists():
            return MISSING
        current = self.preparation.is_current(self.path)
        return None if current else "those that are there were prepared otherwise"

    def make(self, context: "Context") -> None:
        """Make it, by the workers."""
        self.preparation.make(
            self.path,
            device=context.device,
            execution=context.execution,
            rebuild=context.rebuild,
            progress=context.progress,
        )


@dataclass(eq=False)
class ModelStep(Step):
    """A model that the experiment trains from its recipe.

    Attributes:
        plan: Gives the recipe, opened: anew each time, since it may name a model that is trained
            before.
        prepared: What it shares with other models. The weights do not hang on whether it is there.
    """

    path: Path
    plan: Callable[[], TrainingPlan[Any]]
    before: Sequence[Step] = ()
    reads: Sequence[KeyPath] = ()
    prepared: PreparationStep | None = None
    verb = "train"

    @property
    def inputs(self) -> Sequence[Step]:  # type: ignore[override]
        return [*self.before, *([] if self.prepared is None else [self.prepared])]

    def title(self, shown: Callable[[Path], str]) -> str:
        """Its folder."""
        return shown(self.path)

    def why(self) -> str | None:
        if not self.path.exists():
            return MISSING
        before = because_of(self.before)
        if before is not None:
            return before
        current = self.plan().is_current(self.path)
        return None if current else "the one that is there was trained otherwise"

    def make(self, context: "Context") -> None:
        """Train it."""
        train_model(
            self.plan(),
            self.path,
            device=context.device,
            prepared=None if self.prepared is None else self.prepared.path,
            execution=context.execution,
            rebuild=context.rebuild,
            progress=context.progress,
        )


class Sharing:
    """What the trainings of a study have in common of their examples, once more than one has it."""

    def __init__(self) -> None:
        self._same: dict[str, list[ModelStep]] = {}

    def add(self, step: ModelStep, plan: TrainingPlan[Any]) -> None:
        """Take a training, which lets those of the same examples share what these are made of.

        One whose base is still to be trained makes its own: how it reads is not known yet.
        """
        preparation = None if plan.before is not None or step.before else plan.preparation
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


class ArtifactStep(Step):
    """A folder that is built at once from a recipe and inputs with fingerprints."""

    kind: ClassVar[str]
    version: ClassVar[int]

    @abstractmethod
    def recipe(self) -> Mapping[str, Any]:
        """All that determines its content beside what it is made from."""

    @abstractmethod
    def identities(self) -> Mapping[str, str]:
        """The fingerprints of what it is made from; all of that must be there."""

    @abstractmethod
    def fill(self, folder: Path, context: "Context") -> Mapping[str, Any]:
        """Make it in an empty folder, and return its counts."""

    def versions(self) -> Mapping[str, str]:
        """Versions of the libraries that take part."""
        return {}

    def why(self) -> str | None:
        if not self.path.exists():
            return MISSING
        before = because_of(self.inputs)
        if before is not None:
            return before
        wanted = artifact_fingerprint(self.kind, self.recipe(), self.identities(), self.version)
        current = is_current(self.path, wanted)
        return None if current else "the one that is there was built with other settings"

    def make(self, context: "Context") -> None:
        """Make it and put it in its place."""
        build(
            self.path,
            kind=self.kind,
            recipe=self.recipe(),
            inputs=self.identities(),
            builder_version=self.version,
            make=lambda folder: self.fill(folder, context),
            rebuild=context.rebuild,
            versions=self.versions(),
            progress=context.progress,
        )


def because_of(inputs: Sequence[Step]) -> str | None:
    """Why a step has to be made whose fingerprint is known only when its inputs are there."""
    return "what it is made from is to be made" if any(one.why() for one in inputs) else None
