"""What every kind of system has; and ``run:``, a run that others made, such as a participant's."""

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from adducir.core.recipe import ErrorDetail, KeyPath
from adducir.experiments.retrieval.runs import RunStep
from adducir.experiments.sections import Name, SystemEntry
from adducir.runs.read import read_run

if TYPE_CHECKING:
    from adducir.experiments.retrieval.study import RetrievalStudy


class System(SystemEntry):
    """A row of the table.

    Attributes:
        group: The section of the table that it stands in.
    """

    verb: ClassVar[str]  # what is done, for the plan's lines
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

    def needs_index(self, name: str, study: "RetrievalStudy") -> str | None:
        """The name of the index that it searches or reads documents of."""
        del name, study
        return None

    def check(self, name: str, study: "RetrievalStudy") -> Iterator[ErrorDetail]:
        """What does not fit the rest of the file."""
        place = ("systems", name)
        for number, member in enumerate(self.members):
            yield from study.names.check((*place, *self.place_of(number)), "systems", member)
        if self.members and name in made_of(study, name):
            what = f"`{name}` would {self.verb} what is made of itself"
            yield ErrorDetail((*place, *self.place_of(0)), what)

    def open(self, name: str, study: "RetrievalStudy") -> None:
        """Open what it names, leaving errors with the planner; nothing is loaded or made."""

    def output(self, name: str, topic_set: str, study: "RetrievalStudy") -> RunStep:
        """The step that makes its run on a topic set."""
        return self.step(name, topic_set, study)

    @abstractmethod
    def step(self, name: str, topic_set: str, study: "RetrievalStudy") -> RunStep:
        """As :meth:`output`, with the hyperparameters that the file gives."""

    def given_path(self, topic_set: str) -> Path:
        """The file of a run that is given."""
        raise NotImplementedError

    def remark(self, name: str, names: Mapping[str, str]) -> str | None:
        """A sentence for below the table; ``names`` are the printed names of systems."""
        del name, names
        return None


def made_of(study: "RetrievalStudy", name: str) -> list[str]:
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


class Given(System):
    """A run that is there already.

    Attributes:
        run: A TREC run file for the only topic set, or one for each topic set by its name.
    """

    verb: ClassVar[str] = "read"
    is_given: ClassVar[bool] = True
    run: str | dict[Name, str]

    def check(self, name: str, study: "RetrievalStudy") -> Iterator[ErrorDetail]:
        place, topic_sets = ("systems", name, "run"), study.names.of.get("topics", [])
        if isinstance(self.run, str):
            if len(topic_sets) > 1:
                what = "with several topic sets, name a run for each: `{topic set: file}`"
                yield ErrorDetail(place, what)
            return
        for topic_set in self.run:
            yield from study.names.check((*place, topic_set), "topics", topic_set)
        for topic_set in topic_sets:
            if topic_set not in self.run:
                yield ErrorDetail(place, f"there is no run for the topic set `{topic_set}`")

    def open(self, name: str, study: "RetrievalStudy") -> None:
        place: KeyPath = ("systems", name, "run")
        if isinstance(self.run, dict):
            for topic_set, source in self.run.items():
                self._read((*place, topic_set), name, topic_set, source, study)
        elif len(study.recipe.topics) == 1:
            (topic_set,) = study.recipe.topics
            self._read(place, name, topic_set, self.run, study)

    def _read(
        self, place: KeyPath, name: str, topic_set: str, source: str, study: "RetrievalStudy"
    ) -> None:
        planner = study.planner
        run = planner.opening(place, lambda: read_run(study.file(source)))
        if run is None:
            return
        judged = study.topic_sets.get(topic_set)
        if judged is not None and set(run.qids).isdisjoint(judged.qrels.qids):
            first, other = run.qids[0], judged.qrels.qids[0]
            what = f"{run.path}: none of its topics is judged in `{topic_set}`"
            what = f"{what} (such as {first!r}; judged is, say, {other!r})"
            planner.errors.add(place, what)
        own = {
            study.run_path(system, one).resolve(): system
            for system, recipe in study.recipe.systems.items()
            if not recipe.is_given
            for one in study.recipe.topics
        }
        if run.path is not None and run.path.resolve() in own:
            what = f"{run.path} is where the run of `{own[run.path.resolve()]}` is written"
            planner.errors.add(("systems", name, "run"), what)
        study.given[name, topic_set] = run

    def given_path(self, topic_set: str) -> Path:
        return Path(self.run if isinstance(self.run, str) else self.run[topic_set])

    def step(self, name: str, topic_set: str, study: "RetrievalStudy") -> RunStep:
        raise NotImplementedError  # the run is there
