"""A study of grounded generation, as far as its steps and tables know it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from adducir.experiments.grounded_generation.data import GroundedData
from adducir.experiments.grounded_generation.loading import Loading
from adducir.experiments.step import Step

if TYPE_CHECKING:
    from adducir.hindsight.closed import ClosedSets


class Answered(Protocol):
    """What a system answers, with one seed.

    Attributes:
        path: Where it is.
        run: The name of this run of the system.
    """

    path: Path
    run: str

    def read(self) -> "ClosedSets":
        """What it ranks."""


class Scored(Protocol):
    """How probable targets are, with one seed."""

    def read(self) -> tuple[Any, Any]:
        """Rows of the answers whose contexts have a target, and (n, r) log P(y|x,z)."""


class Opened(Protocol):
    """The study."""

    folder: Path
    data: GroundedData
    vector_steps: list[Step]

    @property
    def candidates(self) -> Any:
        """The step that ranks what is scored for each context; None for all passages."""

    @property
    def recipe(self) -> Any:
        """What the file says."""

    def identities(self) -> Mapping[str, str]:
        """The fingerprints of what the three parts start from."""

    def loading(self, before: Any = None, seed: int = 0) -> Loading:
        """How a process loads the three parts with the weights after a phase."""

    def answers(self, system: str, k: int | None) -> Sequence[Answered]:
        """The answers of a system with so many sampled passages, one of each seed."""

    def likelihoods(self, system: str, k: int | None) -> Sequence[Scored]:
        """The likelihoods of targets, one of each of these answers, if the retriever ranks."""
