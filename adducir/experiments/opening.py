"""Opens what an experiment file names: corpora, topics, judgements, given runs, measures.

Everything is opened before anything runs, and all faults are reported in one message.
"""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from adducir.corpora.documents import Corpus, open_corpus
from adducir.corpora.qrels import Qrels, load_qrels
from adducir.corpora.topics import Topics, load_topics
from adducir.experiments.evaluation.measures import Measure, parse_measures
from adducir.experiments.recipe import ExperimentRecipe, SystemRecipe, TopicsRecipe
from adducir.runs.read import read_run
from adducir.runs.run import Run
from adducir.study.errors import AdducirError, InputError
from adducir.study.progress import SILENT, Progress
from adducir.study.yaml import Document, KeyPath

_VARIABLE = re.compile(r"\$\{(\w+)\}")
_Opened = TypeVar("_Opened")


@dataclass(frozen=True)
class TopicSet:
    """Topics and their judgements: one group of columns."""

    name: str
    topics: Topics
    qrels: Qrels


@dataclass(frozen=True)
class Opened:
    """What the file's names stand for."""

    corpora: dict[str, Corpus]
    topic_sets: dict[str, TopicSet]
    measures: tuple[Measure, ...]
    given_runs: dict[tuple[str, str], Run]


@dataclass
class _Faults:
    document: Document
    lines: list[str] = field(default_factory=list)

    def add(self, keypath: KeyPath, message: str) -> None:
        line = self.document.line_of(keypath)
        place = ".".join(map(str, keypath))
        self.lines.append(f"{self.document.path}:{line}: at `{place}`: {message}")

    def opening(self, keypath: KeyPath, opener: Callable[[], _Opened]) -> _Opened | None:
        """What ``opener`` returns, or None and a fault."""
        try:
            return opener()
        except AdducirError as error:
            self.add(keypath, error.paragraph())
            return None

    def check(self) -> None:
        """Raise them all.

        Raises:
            InputError: There are any.
        """
        if self.lines:
            what = f"{len(self.lines)} fault{'s' if len(self.lines) > 1 else ''} in the file:"
            raise InputError("\n  ".join([what, *self.lines]), path=self.document.path)


def expanded(source: str) -> str:
    """The source with each ``${NAME}`` replaced by that environment variable.

    Raises:
        InputError: A variable is not set.
    """

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if not found:
            raise InputError(
                f"the environment variable {match[1]} is not set.",
                mend=f"Set it to the folder it stands for: export {match[1]}=/path/to/folder.",
            )
        return found

    return _VARIABLE.sub(value, source)


def source_path(source: str, folder: Path) -> str:
    """The source, made to start from the study's folder where it names a file there."""
    full = expanded(source)
    path = folder / full
    return str(path) if path.exists() else full


def open_all(
    recipe: ExperimentRecipe, document: Document, folder: Path, progress: Progress = SILENT
) -> Opened:
    """Check every name and open every source of an experiment file.

    Args:
        recipe: The file's content.
        document: The file, for its lines.
        folder: Where relative paths start.
        progress: Told what ir_datasets downloads.

    Raises:
        InputError: With every fault found, each with its line.
    """
    faults = _Faults(document)
    opened = Opened({}, {}, _measures(recipe, faults), {})
    for name, corpus in recipe.corpora.items():
        found = faults.opening(
            ("corpora", name, "source"),
            lambda corpus=corpus: open_corpus(  # type: ignore[misc]
                source_path(corpus.source, folder),
                docno_field=corpus.docno_field,
                format=corpus.format,
                progress=progress,
            ),
        )
        if found is not None:
            opened.corpora[name] = found
    for name, topics in recipe.topics.items():
        _open_topics(name, topics, opened, faults, folder, progress)
    for name, system in recipe.systems.items():
        for topic_set, run in _given_runs(name, system, recipe, faults, folder):
            opened.given_runs[name, topic_set] = run
    faults.check()
    return opened


def _measures(recipe: ExperimentRecipe, faults: _Faults) -> tuple[Measure, ...]:
    measures: list[Measure] = []
    for place, text in enumerate(recipe.measures):
        found = faults.opening(("measures", place), lambda text=text: parse_measures(text))  # type: ignore[misc]
        for measure in found or ():
            cutoff = getattr(measure, "params", {}).get("cutoff")
            if cutoff and cutoff > recipe.depth:
                faults.add(
                    ("measures", place),
                    f"{measure} needs {cutoff} documents a topic; `depth` is {recipe.depth}.",
                )
            measures.append(measure)
    return tuple(measures)


def _open_topics(
    name: str,
    topics: TopicsRecipe,
    opened: Opened,
    faults: _Faults,
    folder: Path,
    progress: Progress,
) -> None:
    found = faults.opening(
        ("topics", name, "source"),
        lambda: load_topics(
            source_path(topics.source, folder), field=topics.field, progress=progress
        ),
    )
    sources = (topics.qrels,) if isinstance(topics.qrels, str) else topics.qrels
    qrels = faults.opening(
        ("topics", name, "qrels"),
        lambda: load_qrels([source_path(one, folder) for one in sources], progress=progress),
    )
    if found is None or qrels is None:
        return
    if set(found.qids).isdisjoint(qrels.qids):
        example, other = found.qids[0], qrels.qids[0]
        faults.add(
            ("topics", name),
            f"topics and qrels have no qid in common (such as {example!r} and {other!r}).",
        )
        return
    opened.topic_sets[name] = TopicSet(name, found, qrels)


def _given_runs(
    name: str, system: SystemRecipe, recipe: ExperimentRecipe, faults: _Faults, folder: Path
) -> Iterator[tuple[str, Run]]:
    if system.run is None:
        return
    place = ("systems", name, "run")
    if isinstance(system.run, str) and len(recipe.topics) > 1:
        faults.add(place, "with several topic sets, name a run for each of them.")
        return
    files = {next(iter(recipe.topics)): system.run} if isinstance(system.run, str) else system.run
    for topic_set in recipe.topics:
        if topic_set not in files:
            faults.add(place, f"there is no run for the topic set {topic_set!r}.")
            continue
        path = folder / expanded(files[topic_set])
        run = faults.opening(place, lambda path=path: read_run(path))  # type: ignore[misc]
        if run is not None:
            yield topic_set, run
