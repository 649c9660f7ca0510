"""``run:``: a run that others made, such as one of a track's participants."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import ClassVar

from adducir.core.recipe import ErrorDetail, KeyPath
from adducir.corpora.references import file_path
from adducir.experiments.retrieval.runs import RunStep
from adducir.experiments.retrieval.study import RetrievalStudy
from adducir.experiments.retrieval.systems.system import System
from adducir.experiments.sections import Name
from adducir.runs.read import read_run
from adducir.runs.run import Run


class Given(System):
    """A run that is there already.

    Attributes:
        run: A TREC run file for the only topic set, or one for each topic set by its name.
    """

    verb: ClassVar[str] = "read"
    is_given: ClassVar[bool] = True
    run: str | dict[Name, str]

    def check(self, name: str, study: RetrievalStudy) -> Iterator[ErrorDetail]:
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

    def open(self, name: str, study: RetrievalStudy) -> None:
        """Read the runs."""
        place: KeyPath = ("systems", name, "run")
        if isinstance(self.run, dict):
            for topic_set, source in self.run.items():
                self._read((*place, topic_set), name, topic_set, source, study)
        elif len(study.recipe.topics) == 1:
            (topic_set,) = study.recipe.topics
            self._read(place, name, topic_set, self.run, study)

    def _read(
        self, place: KeyPath, name: str, topic_set: str, source: str, study: RetrievalStudy
    ) -> None:
        planner = study.planner
        run = planner.opening(place, partial(_read, source, planner.folder))
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

    def step(self, name: str, topic_set: str, study: RetrievalStudy) -> RunStep:
        """Never called: the run is there."""
        raise NotImplementedError


def _read(source: str, folder: Path) -> Run:
    return read_run(file_path(source, folder))
