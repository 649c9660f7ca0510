"""Runs that systems answer with, and what their metadata records."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from adducir.core.errors import InputError
from adducir.core.files import file_digest
from adducir.corpora.topics import Topics
from adducir.experiments.step import Step
from adducir.runs.metadata import read_metadata
from adducir.runs.run import Run


class Answer(Step, ABC):
    """The run of a system on a topic set.

    Attributes:
        system: The system's name.
        topic_set: The name of the topic set; others may have the same topics.
        label: What shows which index or other system it stands on, for metadata.
    """

    stage = 2
    system: str
    topic_set: str
    is_given: ClassVar[bool] = False

    @abstractmethod
    def read(self) -> Run:
        """What stands in its file, no matter who wrote that."""

    @property
    def shares(self) -> object:
        """Topic sets for which this is the same have one run; None where each has its own."""
        return None

    def title(self, shown: Callable[[Path], str]) -> str:
        """Its file."""
        return f"run {shown(self.path)}"


@dataclass(frozen=True, eq=False)
class GivenRun(Answer):
    """A run that the user gives."""

    kept = "read"
    is_given: ClassVar[bool] = True
    system: str
    topic_set: str
    path: Path
    run: Run

    @cached_property
    def fingerprint(self) -> str:
        """The digest of its file."""
        return file_digest(self.path)

    def why(self) -> None:
        """It is there."""

    def read(self) -> Run:
        return self.run


@dataclass
class Made:
    """A run that a step made, and what there is to say about it.

    Attributes:
        run: The rankings.
        note: How it was made, in a few words.
        method: The metadata's section of that name.
        seconds: The time that it took, where that matters.
        data: More for the metadata's section of that name.
        engines: Versions of the engines that took part.
        qids: The topics that there should be; by default those of the topic set.
    """

    run: Run
    note: str
    method: dict[str, Any]
    seconds: float | None = None
    data: dict[str, Any] = field(default_factory=dict)
    engines: Mapping[str, str] | None = None
    qids: Sequence[str] | None = None


def counted(run: Run, topics: Topics) -> str:
    """How much a run holds."""
    return f"{len(run):,} documents for {len(run.qids):,} of {len(topics):,} topics"


def run_facts(path: Path) -> dict[str, Any] | None:
    """The metadata of a run that an experiment made; None where they do not show that."""
    try:
        facts = read_metadata(path)
    except InputError:
        return None
    for section, key in (("adducir", "fingerprint"), ("run file", "sha256")):
        part = facts.get(section)
        if not isinstance(part, dict) or key not in part:
            return None
    return facts


def part_of(facts: Any, *path: str | int) -> dict[str, Any]:
    """What metadata hold at a path; nothing where a user has made something else of it."""
    for key in path:
        try:
            facts = facts[key]
        except (LookupError, TypeError):
            return {}
    return facts if isinstance(facts, dict) else {}
