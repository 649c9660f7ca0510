"""A planned experiment: the indexes and runs that its table is made from."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adducir.experiments.currency import MISSING
from adducir.experiments.expansion import Expansion
from adducir.experiments.faults import Needs
from adducir.experiments.members import text_index
from adducir.experiments.opening import Opened
from adducir.experiments.recipe import ExperimentRecipe, file_name
from adducir.experiments.reranking import Reranking
from adducir.indexes.build import IndexSettings
from adducir.indexes.building import EngineName
from adducir.runs.findings import some
from adducir.study.progress import Progress


@dataclass(frozen=True)
class IndexStep:
    """An index that a system searches or reads documents of.

    Attributes:
        name: Its name in the file.
        path: The product's folder.
        corpus: The name of its corpus.
        engine: What builds and searches it.
        settings: How it is built, with the fields named.
        fingerprint: Of all that decides its content.
        why: Why it has to be built before it can be searched; None if it is current.
    """

    name: str
    path: Path
    corpus: str
    engine: EngineName
    settings: IndexSettings
    fingerprint: str
    why: str | None


@dataclass(frozen=True)
class RunStep:
    """A run to make, by a search, a fusion or a rerank, or one that the user gave.

    Attributes:
        system: The system.
        topic_set: The topic set whose topics are searched; others may have the same topics.
        path: The run's file; for a given run, the user's.
        fingerprint: Of all that decides the rankings.
        why: Why it has to be made; None if it is current, or given.
        is_given: Whether the user gave it.
    """

    system: str
    topic_set: str
    path: Path
    fingerprint: str
    why: str | None = None
    is_given: bool = False


@dataclass(frozen=True)
class Plan:
    """An experiment, checked and opened, and the steps to its table.

    Attributes:
        path: The experiment file.
        folder: The study's folder.
        recipe: What the file says, overrides applied.
        overrides: The overrides.
        opened: Its corpora, topics, judgements, measures and given runs.
        rebuild: Whether all is made anew, even what is current.
        indexes: A step for each index that a system searches or reads documents of.
        runs: A step for each system and topic set, each after those that it is made from; topic
            sets that differ in their judgements only share one.
        unknown: Of a dry run, the paths of runs whose fingerprints are not known, and what they
            wait for, by system and topic set.
        needs: What is needed and not built here.
    """

    path: Path
    folder: Path
    recipe: ExperimentRecipe
    overrides: tuple[str, ...]
    opened: Opened
    rebuild: bool
    indexes: dict[str, IndexStep]
    runs: dict[tuple[str, str], RunStep]
    unknown: dict[tuple[str, str], tuple[Path, str]]
    needs: Needs = field(default_factory=Needs)

    @property
    def output(self) -> Path:
        """The folder that takes the table in all its formats."""
        return self.folder / "experiments" / self.path.stem

    @property
    def run_folder(self) -> Path:
        """The folder that takes the runs."""
        return self.folder / "runs" / self.path.stem

    def distinct_runs(self) -> list[RunStep]:
        """Each step of :attr:`runs` once."""
        return list({step.path: step for step in self.runs.values()}.values())

    def needed_indexes(self, made: list[RunStep]) -> list[IndexStep]:
        """The indexes that the runs to be made read."""
        names = {self.index_of(step.system) for step in made}
        return [step for name, step in self.indexes.items() if name in names]

    def index_of(self, system: str) -> str | None:
        """The name of the index that a system searches, or whose documents it reads."""
        recipe = self.recipe.systems[system]
        return recipe.index if recipe.rerank is None else text_index(self.recipe.systems, system)

    def reranking_decides(self, system: str) -> dict[str, Any]:
        """All that decides the rankings of a rerank, beside its candidates and their queries."""
        index = self.indexes[str(self.index_of(system))]
        decides = self.opened.rerankings[system].decides(index.settings.fields)
        return decides | {"texts": index.fingerprint}

    def lacking(self, system: str, topic_set: str) -> str | None:
        """What of a dry run is not at hand, so that the fingerprint of a run is not known."""
        recipe, opened = self.recipe.systems[system], self.opened
        if recipe.run is not None:
            return "its file"
        sets = [*self.recipe.topics] if recipe.tune else [topic_set]
        for name in sets:
            if name not in opened.topic_sets:
                return f"topics `{name}`"
        index = self.index_of(system)
        if index is not None and index not in opened.indexes:
            return f"corpus `{self.recipe.indexes[index].corpus}`"
        if recipe.rerank is not None and system not in opened.rerankings:
            return f"reranker {recipe.by}"
        for member in recipe.members:
            for name in sets:
                if (member, name) in self.unknown:
                    return f"run of `{member}`"
        return None

    def fetch(self, progress: Progress) -> None:
        """Fetch what the steps that are to be made need, before the first of them is begun.

        Raises:
            AdducirError: Something cannot be fetched; all of it in one message.
        """
        made = [step for step in self.distinct_runs() if self.rebuild or step.why]
        needed = self.needed_indexes(made)
        read = {step.corpus for step in needed if step.why is not None}
        expansions = self.needed_expansions(needed)
        read |= {str(one.said.expand) for one in expansions if not one.is_weighed}
        read -= {name for name, one in self.opened.expansions.items() if one.is_trained}
        models = {
            step.system
            for step in made
            if step.system in self.opened.rerankings
            and not self.opened.rerankings[step.system].is_trained
        }
        places = {("corpora", name) for name in read} | {("systems", name) for name in models}
        self.needs.fetch(places, progress)

    def needed_rerankings(self, made: list[RunStep]) -> list[Reranking]:
        """How those of the runs to be made that are reranks of others are made."""
        names = dict.fromkeys(step.system for step in made)
        return [self.opened.rerankings[name] for name in names if name in self.opened.rerankings]

    def shown(self, path: Path) -> str:
        """A path as the study's own, where it lies in it."""
        return str(path.relative_to(self.folder)) if path.is_relative_to(self.folder) else str(path)

    def lines(self) -> list[str]:
        """What running it would do, a line a step."""
        return [f"{verb:6} {what}" for verb, what in self._lines()]

    def needed_expansions(self, needed: list[IndexStep]) -> list[Expansion]:
        """The expansions of the corpora of those indexes that are not there, each once."""
        names = dict.fromkeys(step.corpus for step in needed if step.why is not None)
        return [self.opened.expansions[name] for name in names if name in self.opened.expansions]

    def _lines(self) -> Iterator[tuple[str, str]]:
        made = [step for step in self.distinct_runs() if step.why]
        needed = self.needed_indexes(made)
        prepared = [one.steps(self.shown) for one in self.needed_expansions(needed)]
        prepared += [one.steps(self.shown) for one in self.needed_rerankings(made)]
        yield from dict.fromkeys(step for steps in prepared for step in steps)
        for name, one in self.recipe.indexes.items():
            used = any(self.index_of(system) == name for system in self.recipe.systems)
            if used and name not in self.indexes:
                path = self.folder / "indexes" / file_name(name)
                yield "build", _unknown("index", self.shown(path), f"corpus `{one.corpus}`")
        for index in self.indexes.values():
            source = self.recipe.corpora[index.corpus].told
            what = f"index {self.shown(index.path)} of {source}"
            if index.why is None:
                yield "keep", what
            elif index in needed or any(
                self.index_of(system) == index.name for system, _ in self.unknown
            ):
                yield "build", what + _because(index.why)
            else:
                yield "skip", f"{what}: every run that needs it is there"
        for step in self.distinct_runs():
            is_kept = step.why is None
            verb = "read" if step.is_given else "keep" if is_kept else self._verb(step.system)
            yield verb, f"run {self.shown(step.path)}{_because(step.why)}"
        yield from self._warnings()
        for (system, _), (path, lacking) in self.unknown.items():
            if self.recipe.systems[system].run is None:
                yield self._verb(system), _unknown("run", self.shown(path), lacking)
            else:
                yield "read", f"run {path}, which is not at hand"
        sets = ", ".join(self.recipe.topics)
        measures = " ".join(map(str, self.opened.measures))
        yield "evaluate", f"{len(self.recipe.systems)} systems on {sets}: {measures}"
        yield from self._tests()
        yield "write", f"{self.shown(self.output)}/"

    def _warnings(self) -> Iterator[tuple[str, str]]:
        """What of the given runs would lower figures without anybody's wish."""
        for (system, name), run in self.opened.given_runs.items():
            topic_set = self.opened.topic_sets.get(name)  # None in a dry run without its data
            judged = topic_set.qrels.qids if topic_set is not None else []
            lacking = sorted(set(judged).difference(run.qids))
            if lacking:
                what = f"lacks {len(lacking)} of the {len(judged)} judged topics of {name}"
                yield "warn", f"the run of {system} {what}, which count 0: {some(lacking)}"

    def _tests(self) -> Iterator[tuple[str, str]]:
        asked = self.recipe.comparison
        if asked is None:
            return
        how = f"{asked.correction} over each {'table' if asked.family == 'table' else 'measure'}"
        if asked.differences:
            all_pairs = asked.family == "pairs"
            whom = "all pairs" if all_pairs else f"against {', '.join(asked.baselines)}"
            yield "test", f"differences, {whom}: {asked.test}, {how}, alpha {asked.alpha:g}"
        if asked.equivalence is not None:
            whom = "the best" if asked.against == "best" else asked.against
            yield "test", f"equivalence with {whom} within {asked.equivalence:g}: {how}"

    def _verb(self, name: str) -> str:
        system = self.recipe.systems[name]
        if system.tune:
            return "tune"
        return "rerank" if system.rerank else "fuse" if system.fuse else "search"


def _unknown(kind: str, path: str, lacking: str) -> str:
    return f"{kind} {path}: whether it is there is unknown without {lacking}"


def _because(why: str | None) -> str:
    return "" if why in (None, MISSING) else f": {why}"
