"""What every kind of system has, and the wrapper that tunes any of them."""

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from adducir.core.recipe import ErrorDetail
from adducir.experiments.retrieval.runs import RunStep
from adducir.experiments.retrieval.study import RetrievalStudy
from adducir.experiments.sections import SystemEntry


class System(SystemEntry):
    """A row of the table.

    Attributes:
        verb: What is done, for the plan's lines.
        group: The section of the table that it stands in.
    """

    verb: ClassVar[str]
    is_given: ClassVar[bool] = False
    group: str | None = None

    @classmethod
    def more_keys(cls) -> Collection[str]:
        """Keys beside the fields: the hyperparameters of what the system is made with."""
        return ()

    @property
    def is_tuned(self) -> bool:
        """Whether its hyperparameters are chosen by cross-validation."""
        return False

    def needs_index(self, name: str, study: RetrievalStudy) -> str | None:
        """The name of the index that it searches or reads documents of."""
        del name, study
        return None

    def check(self, name: str, study: RetrievalStudy) -> Iterator[ErrorDetail]:
        """What does not fit the rest of the file."""
        place = ("systems", name)
        for number, member in enumerate(self.members):
            yield from study.names.check((*place, *self.place_of(number)), "systems", member)
        if self.members and name in made_of(study, name):
            what = f"`{name}` would {self.verb} what is made of itself"
            yield ErrorDetail((*place, *self.place_of(0)), what)

    def open(self, name: str, study: RetrievalStudy) -> None:
        """Open what it names, leaving errors with the planner; nothing is loaded or made."""

    def output(self, name: str, topic_set: str, study: RetrievalStudy) -> RunStep:
        """The step that makes its run on a topic set."""
        return self.step(name, topic_set, study)

    @abstractmethod
    def step(self, name: str, topic_set: str, study: RetrievalStudy) -> RunStep:
        """As :meth:`output`, with the hyperparameters that the file gives."""

    def given_path(self, topic_set: str) -> Path:
        """The file of a run that is given."""
        raise NotImplementedError

    def remark(self, name: str, names: Mapping[str, str]) -> str | None:
        """A sentence for below the table; ``names`` are the printed names of systems."""
        del name, names
        return None


def made_of(study: RetrievalStudy, name: str) -> list[str]:
    """The systems that one is made from, at any depth, each once, the nearest first.

    Names that nothing defines are among them; the system itself is where it is made from itself.
    """
    systems = study.recipe.systems
    found: dict[str, None] = {}
    waiting = [name]
    for one in waiting:
        members = systems[one].members if one in systems else ()
        waiting += [member for member in members if member not in found]
        found |= dict.fromkeys(members)
    return list(found)
