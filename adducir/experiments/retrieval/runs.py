"""Runs: given, or made by a step that knows whether the one that is there is up to date."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from adducir.core.absent import reads
from adducir.core.artifacts import MISSING, OUT_OF_DATE, UNKNOWN
from adducir.core.errors import InputError
from adducir.core.files import file_digest
from adducir.core.fingerprint import UNREAD, fingerprint, is_known
from adducir.core.progress import progress
from adducir.corpora.topics import Topics
from adducir.experiments.context import Context
from adducir.experiments.sections import file_name
from adducir.experiments.step import Step
from adducir.runs.metadata import metadata_for, part_of, read_metadata
from adducir.runs.read import read_run
from adducir.runs.run import Run
from adducir.runs.write import write_run

if TYPE_CHECKING:
    from adducir.experiments.retrieval.study import RetrievalStudy

_RUN_VERSION = 1


class Answer(Step, ABC):
    """The run of a system on a topic set, or on several that have the same topics."""

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
        return file_digest(self.path)

    def why(self) -> None:
        """It is there."""

    def read(self) -> Run:
        return self.run


@dataclass
class Made:
    """A run that a step made, and what there is to say about it."""

    run: Run
    note: str  # how it was made, in a few words
    method: dict[str, Any]  # the metadata's section of that name
    seconds: float | None = None
    data: dict[str, Any] = field(default_factory=dict)  # more for the section of that name
    engines: Mapping[str, str] | None = None  # their versions
    qids: Sequence[str] | None = None  # that there should be; by default the topic set's


class RunStep(Answer):
    """A run that a system makes."""

    def __init__(
        self,
        name: str,
        system: Any,
        topic_set: str,
        study: "RetrievalStudy",
        inputs: Sequence[Step] = (),
        reads: Sequence[tuple[str | int, ...]] = (),
    ) -> None:
        self.system, self.recipe, self.topic_set, self.study = name, system, topic_set, study
        self.path = study.run_path(name, topic_set)
        self.inputs, self.reads = inputs, reads
        self.place = ("systems", name)
        self.verb, self.tag = system.verb, file_name(name)

    @property
    def topics(self) -> Topics:
        return self.study.topic_sets[self.topic_set].topics

    @abstractmethod
    def fingerprint_inputs(self) -> dict[str, Any]:
        """All that determines the rankings, beside the depth."""

    @abstractmethod
    def produce(self, context: Context) -> Made:
        """Rank the topics."""

    @property
    def shares(self) -> object:
        return None if self.lacks_data else fingerprint(self.topics.identity())

    @property
    def lacks_data(self) -> bool:
        """Whether a dry run cannot say what determines it, since data are not available."""
        return self.topic_set not in self.study.topic_sets

    @cached_property
    def fingerprint(self) -> str:
        unread = next((one for one in self.inputs if not is_known(one.fingerprint)), None)
        if unread is not None or self.lacks_data:
            return UNREAD if unread is None else unread.fingerprint
        common = {"version": _RUN_VERSION, "depth": self.study.recipe.depth}
        return fingerprint(common | self.fingerprint_inputs())

    def why(self) -> str | None:
        if not self.path.is_file():
            return MISSING
        if not is_known(self.fingerprint):
            return UNKNOWN
        if not metadata_for(self.path).is_file():
            return "it has no metadata"
        facts = run_facts(self.path)
        if facts is None:
            return "its metadata cannot be read"
        if facts["adducir"]["fingerprint"] != self.fingerprint:
            return f"{OUT_OF_DATE} settings or inputs"
        # Nobody but the step that wrote it says what is in it.
        if reads(self.path) and facts["run file"]["sha256"] != file_digest(self.path):
            return "it was changed since it was made"
        return None

    def make(self, context: Context) -> None:
        """Write the run with its metadata."""
        made, study, topics = self.produce(context), self.study, self.topics
        progress().note(f"run {context.shown(self.path)}: {made.note}")
        about = {
            "name": self.topic_set,
            "source": study.recipe.topics[self.topic_set].source,
            "field": topics.field,
            "topics": len(topics),
            "sha256": topics.identity()["topics"],
        }
        metadata: dict[str, Any] = {"method": made.method, "data": {**made.data, "topics": about}}
        if made.seconds is not None:
            metadata["resources"] = {"runtime": {"wallclock": f"{made.seconds:.3f} s"}}
        experiment = study.planner.path.name
        metadata["adducir"] = {"experiment": experiment, "fingerprint": self.fingerprint}
        if made.engines is not None:
            metadata["platform"] = {"software": {"engines": dict(made.engines)}}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        qids = topics.qids if made.qids is None else made.qids
        write_run(made.run, self.path, metadata, topics=qids)

    def read(self) -> Run:
        return read_run(self.path, allow_empty=True)


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
        if key not in part_of(facts, section):
            return None
    return facts
