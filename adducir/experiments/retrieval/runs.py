"""The step that makes a run, and whether the one that is there is as it would be made."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from adducir.core.artifacts import MISSING, OUT_OF_DATE, UNKNOWN
from adducir.core.files import file_digest
from adducir.core.fingerprint import UNREAD, fingerprint, is_known
from adducir.core.unread import reads
from adducir.corpora.topics import Topics
from adducir.experiments.context import Context
from adducir.experiments.retrieval.answers import Answer, Made, run_facts
from adducir.experiments.retrieval.study import RetrievalStudy
from adducir.experiments.sections import file_name
from adducir.experiments.step import Step
from adducir.runs.metadata import metadata_for
from adducir.runs.read import read_run
from adducir.runs.run import Run
from adducir.runs.write import write_run

_RUN_VERSION = 1


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
        system: Any,
        topic_set: str,
        study: RetrievalStudy,
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
    def fingerprint_inputs(self) -> dict[str, Any]:
        """All that determines the rankings, beside the depth."""

    @abstractmethod
    def produce(self, context: Context) -> Made:
        """Rank the topics."""

    @property
    def shares(self) -> object:
        """Topic sets for which this is the same have one run; None where each has its own."""
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
        return read_run(self.path, allow_empty=True)

    @property
    def tag(self) -> str:
        """The run's tag."""
        return file_name(self.system)
