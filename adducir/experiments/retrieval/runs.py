"""Runs that systems answer with: made by a step, or given; and whether one is there as wanted."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from adducir.corpora.topics import Topics
from adducir.experiments.sections import file_name
from adducir.experiments.step import MISSING, Step, Waiting
from adducir.runs.metadata import metadata_for, read_metadata
from adducir.runs.read import read_run
from adducir.runs.run import Run
from adducir.runs.write import write_run
from adducir.study.errors import InputError
from adducir.study.files import file_digest
from adducir.study.fingerprint import fingerprint

if TYPE_CHECKING:
    from adducir.experiments.context import Context
    from adducir.experiments.retrieval.study import RetrievalStudy
    from adducir.experiments.systems.system import System

_RUN_VERSION = 1


class Answer(Step):
    """The run of a system on a topic set.

    Attributes:
        system: The system's name.
        topic_set: The name of the topic set; others may have the same topics.
        label: What tells which index or other system it stands on, for metadata.
    """

    stage = 2
    system: str
    topic_set: str
    is_given: ClassVar[bool] = False

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Of all that decides the rankings.

        Raises:
            Waiting: What it is made from is not there yet.
        """

    @abstractmethod
    def read(self) -> Run:
        """What stands in its file, no matter who wrote that."""

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

    def make(self, context: "Context") -> None:
        """Never called: it is there."""
        raise NotImplementedError

    def read(self) -> Run:
        """The run."""
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


class RunStep(Answer):
    """A run that a system makes.

    Args:
        name: The system's name.
        system: The system.
        topic_set: The name of the topic set.
        study: The experiment.
        inputs: What it is made from.
        reads: See :class:`Step`.
    """

    def __init__(
        self,
        name: str,
        system: "System",
        topic_set: str,
        study: "RetrievalStudy",
        inputs: Sequence[Step] = (),
        reads: Sequence[tuple[str | int, ...]] = (),
    ) -> None:
        self.system, self.recipe, self.topic_set, self.study = name, system, topic_set, study
        self.path = study.run_path(name, topic_set)
        self.inputs, self.reads = inputs, reads
        self.place = ("systems", name)
        self.verb = system.verb

    @property
    def topics(self) -> Topics:
        """The topics."""
        return self.study.topic_sets[self.topic_set].topics

    @abstractmethod
    def decides(self) -> dict[str, Any]:
        """All that decides the rankings, beside the depth.

        Raises:
            Waiting: What it is made from is not there yet.
        """

    @abstractmethod
    def produce(self, context: "Context") -> Made:
        """Rank the topics."""

    @property
    def shares(self) -> object:
        """Topic sets for which this is the same have one run; None where each has its own."""
        return fingerprint(self.topics.identity())

    @cached_property
    def fingerprint(self) -> str:
        """See :attr:`Answer.fingerprint`."""
        common = {"version": _RUN_VERSION, "depth": self.study.recipe.depth}
        return fingerprint(common | self.decides())

    def why(self) -> str | None:
        """See :meth:`Step.why`."""
        try:
            wanted = self.fingerprint
        except Waiting as waiting:
            return waiting.on
        if not self.path.is_file():
            return MISSING
        if not metadata_for(self.path).is_file():
            return "the one that is there has no metadata"
        facts = run_facts(self.path)
        if facts is None:
            return "the metadata of the one that is there cannot be read"
        if facts["adducir"]["fingerprint"] != wanted:
            return "the one that is there was made otherwise"
        # Nobody but the step that wrote it says what is in it.
        if facts["run file"]["sha256"] != file_digest(self.path):
            return "the one that is there was changed since it was made"
        return None

    def make(self, context: "Context") -> None:
        """Write the run with its metadata."""
        made = self.produce(context)
        context.progress.note(f"run {context.shown(self.path)}: {made.note}")
        topics = self.topics
        data = self.study.topics_facts(self.topic_set)
        metadata: dict[str, Any] = {"method": made.method, "data": {**made.data, **data}}
        if made.seconds is not None:
            metadata["resources"] = {"runtime": {"wallclock": f"{made.seconds:.3f} s"}}
        experiment = self.study.planner.path.name
        metadata["adducir"] = {"experiment": experiment, "fingerprint": self.fingerprint}
        if made.engines is not None:
            metadata["platform"] = {"software": {"engines": dict(made.engines)}}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        qids = topics.qids if made.qids is None else made.qids
        write_run(made.run, self.path, metadata, topics=qids)

    def read(self) -> Run:
        """See :meth:`Answer.read`."""
        return read_run(self.path, allow_empty=True)

    @property
    def tag(self) -> str:
        """The run's tag."""
        return file_name(self.system)


def counted(run: Run, topics: Topics) -> str:
    """How much a run holds."""
    return f"{len(run):,} documents for {len(run.qids):,} of {len(topics):,} topics"


def run_facts(path: Path) -> dict[str, Any] | None:
    """The metadata of a run that an experiment made; None where they do not tell that."""
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
