"""Systems and their runs: given, computed by Python code (``python:``) or by other steps.

The metadata beside a run show whether its step is up to date.
"""

import time
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from adducir.core.artifacts import MISSING, OUT_OF_DATE, UNKNOWN
from adducir.core.errors import AdducirError, InputError
from adducir.core.files import file_digest
from adducir.core.fingerprint import canonical, fingerprint, is_known
from adducir.core.packages import required
from adducir.core.planning import reads
from adducir.core.progress import progress
from adducir.core.recipe import KeyPath, needs
from adducir.core.registry import Family, instance
from adducir.corpora.documents import text_of
from adducir.corpora.sources import file_path
from adducir.experiments.retrieval.corpora import OpenedTopics
from adducir.experiments.sections import Link, Name, Opening, Reported, SystemEntry, file_name
from adducir.experiments.step import Context, ModelStep, Shown, Step
from adducir.experiments.tasks import Trial
from adducir.runs.kinds import FoldName
from adducir.runs.read import read_run
from adducir.runs.reading import RunReading
from adducir.runs.run import Run
from adducir.runs.write import costs_for, facts_at, part_of, refuse_other_run, write_run

if TYPE_CHECKING:
    import pandas as pd

    from adducir.experiments.code import Code
    from adducir.experiments.retrieval.task import RetrievalStudy


_RUN_VERSION = 2


@dataclass
class SystemRun:
    run: Run
    note: str  # how it was made, briefly
    method: dict[str, Any]  # the section ``method`` of its metadata
    seconds: float | None = None
    data: dict[str, Any] = field(default_factory=dict)  # more for that section of the metadata
    engines: Mapping[str, str] | None = None  # versions of the engines used
    qids: Sequence[str] | None = None  # the expected topics; None: the topic set's
    costs: Sequence[Mapping[str, Any]] = ()  # per topic, of a language model


class System(SystemEntry):
    """A row of the table, whose run is made from the runs and indexes that it names."""

    verb: ClassVar[str]  # for the plan's lines
    group: str | None = None
    """Its section of the table."""

    @property
    def index_name(self) -> str | None:
        """The index that it searches or reads documents from."""
        return next((link.name for link in self.links() if link.section == "indexes"), None)

    @abstractmethod
    def identity(self, step: "RunStep") -> Mapping[str, Any]:
        """The settings that determine its rankings, besides depth, topics, runs and indexes."""

    @abstractmethod
    def answer(self, step: "RunStep", context: Context) -> SystemRun:
        """Rank the topics of ``step`` with the existing artifacts of its ``parts``."""

    def conflicts(self, study: "RetrievalStudy") -> Iterable[tuple[KeyPath, str]]:
        """What does not agree with the rest of the file: keys and messages."""
        return ()

    def inputs(self, study: "RetrievalStudy") -> Iterable[Link]:
        """The runs and indexes that it is made from; also those that it does not name."""
        return self.links()

    def run_depth(self, usual: int | None) -> int | None:
        """Documents per topic in its run, None for all; ``usual``: as the file says."""
        return usual

    def step(self, opening: "RunOpening") -> Step:
        return RunStep(self, opening)

    def remark(self, name: str, names: Mapping[str, str]) -> str | None:
        """A sentence below the table; ``names`` are all systems' printed names."""
        return None


@dataclass(frozen=True, kw_only=True)
class RunOpening(Opening):
    """What a system's run is opened with; its links are :meth:`System.inputs`."""

    trial: Trial
    topic_set: OpenedTopics | None  # None after an error
    path: Path
    depth: int | None  # of the run; None for all documents


_HERE = "adducir.experiments.retrieval"

SYSTEMS = Family(
    "systems",
    System,
    {
        "index": f"{_HERE}.search:IndexSearch",
        "fuse": f"{_HERE}.fuse:Fusion",
        "rerank": f"{_HERE}.rerank:Reranking",
        "oracle": f"{_HERE}.rerank:Oracle",
        "query2doc": f"{_HERE}.doc2query:Query2docSearch",
        "python": f"{_HERE}.runs:Python",
        "run": f"{_HERE}.runs:Given",
    },
    what="kind of system",
)


@dataclass(eq=False)
class RunStep(Step):
    """A run made by a system; ``topics`` are those to rank."""

    system: System
    opening: RunOpening
    models: Sequence[ModelStep] = ()  # models trained only for it
    reads: Sequence[KeyPath] = ()
    opened: Any = None  # opened by the system: code, a reranker
    runs_code: tuple[str, str] | None = None
    stage = 2

    def __post_init__(self) -> None:
        opening = self.opening
        self.parts = {key: opening.linked(key) for key in opening.links}
        if opening.topic_set is None:
            raise Reported
        self.topic_set, self.topics = opening.topic_set, opening.topic_set.topics
        self.trial, self.path, self.depth = opening.trial, opening.path, opening.depth
        self.verb, self.tag = self.system.verb, file_name(self.trial.run)
        self.inputs = [*self.models, *dict.fromkeys(self.parts.values())]
        self.fingerprint = self._fingerprint()

    def _fingerprint(self) -> str:
        return fingerprint(
            {
                "version": _RUN_VERSION,
                "depth": self.depth or "all",
                "topics": self.topics.identity(),
                "system": self.system.identity(self),
                **SYSTEMS.origin(SYSTEMS.name_of(type(self.system))),
                "parts": {key: step.fingerprint for key, step in self.parts.items()},
            }
        )

    def title(self, shown: Shown) -> str:
        return f"run {shown(self.path)}"

    def why(self) -> str | None:
        if not self.path.is_file() or reads(self.path):
            refuse_other_run(self.path)
        if not self.path.is_file():
            return MISSING
        if not is_known(self.fingerprint):
            return UNKNOWN
        facts = run_facts(self.path)
        if not facts:
            return "it lacks readable metadata"
        if facts["adducir"]["fingerprint"] != self.fingerprint:
            return f"{OUT_OF_DATE} settings or inputs"
        # Only the step that wrote it knows its content.
        if reads(self.path) and facts["run file"]["sha256"] != file_digest(self.path):
            return "it has changed since it was made"
        return None

    def answer(self, context: Context) -> SystemRun:
        return instance(self.system, "answer", self.system.answer(self, context), SystemRun)

    def make(self, context: Context) -> None:
        answer, topics = self.answer(context), self.topics
        progress().note(f"run {context.shown(self.path)}: {answer.note}")
        about = {
            "name": self.trial.data,
            **topics.about,
            "topics": len(topics),
            "sha256": topics.identity()["topics"],
        }
        metadata: dict[str, Any] = {
            "method": answer.method,
            "data": {**answer.data, "topics": about},
            "adducir": {
                "experiment": self.opening.planner.path.name,
                "fingerprint": self.fingerprint,
            },
        }
        if answer.seconds is not None:
            metadata["resources"] = {"runtime": {"wallclock": f"{answer.seconds:.3f} s"}}
        if answer.engines is not None:
            metadata["platform"] = {"software": {"engines": dict(answer.engines)}}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        qids = topics.qids if answer.qids is None else answer.qids
        write_run(answer.run, self.path, metadata, topics=qids)
        costs_for(self.path).unlink(missing_ok=True)
        if answer.costs:
            from adducir.judges.files import write_lines

            write_lines(answer.costs, costs_for(self.path))

    def read(self) -> Run:
        return read_run(self.path, allow_empty=True)

    def counted(self, run: Run) -> str:
        return f"{len(run):,} documents for {len(run.qids):,} of {len(self.topics):,} topics"


class Given(System, RunReading):
    """An existing run."""

    verb: ClassVar[str] = "read"
    run: str | dict[Name, str]
    """A TREC run for a single topic set, or one per topic set by name; with `seeds` it holds
    ``{seed}``."""
    fold: FoldName | None = None
    """Fold its passages to documents: firstp, maxp, sump or avgp."""

    def is_trained(self, folder: Path) -> bool:
        return "{seed}" in str(self.run)

    def links(self) -> Iterator[Link]:
        for name in self.run if isinstance(self.run, dict) else ():
            yield Link(("run", name), "topics", name)

    def conflicts(self, study: "RetrievalStudy") -> Iterator[tuple[KeyPath, str]]:
        topic_sets = study.planner.names.get("topics", ())
        if isinstance(self.run, str) and len(topic_sets) > 1:
            yield ("run",), "with several topic sets, give a run for each: `{topic set: file}`"
        for topic_set in topic_sets if isinstance(self.run, dict) else ():
            if topic_set not in self.run:
                yield ("run",), f"a run for the topic set `{topic_set}` is missing"

    def path(self, trial: Trial) -> Path:
        file = self.run if isinstance(self.run, str) else self.run.get(trial.data, "")
        return Path(file if trial.seed is None else file.replace("{seed}", str(trial.seed)))

    def step(self, opening: RunOpening) -> Step:
        data = opening.trial.data
        keys = ("run", data) if isinstance(self.run, dict) else ("run",)
        if isinstance(self.run, dict) and data not in self.run:
            raise Reported
        with opening.at(*keys):
            run = self.read_run(file_path(str(opening.path), opening.folder))
            run = run.fold(self.fold) if self.fold else run
            judged = opening.topic_set
            if judged is not None and judged.people is not None:
                judged.people.check(run, opening.name)
        if judged is not None and set(run.qids).isdisjoint(judged.qrels.qids):
            first, second = run.qids[0], judged.qrels.qids[0]
            message = f"{run.path}: none of its topics is judged in `{data}`"
            message = f"{message} (it has {first!r}; the judged ones include {second!r})"
            opening.planner.add((*opening.place, *keys), message)
        return GivenRun(opening.trial, run, str(opening.path), self.fold)

    def identity(self, step: RunStep) -> Mapping[str, Any]:
        raise NotImplementedError  # nothing is made

    def answer(self, step: RunStep, context: Context) -> SystemRun:
        raise NotImplementedError


class GivenRun(Step):
    kept, stage = "read", 2

    def __init__(self, trial: Trial, run: Run, name: str, fold: str | None = None) -> None:
        if run.path is None:
            raise Reported
        self.trial, self.run, self.path = trial, run, run.path
        self.name, self.fold, self.digest = name, fold, file_digest(self.path)
        self.fingerprint = fingerprint([self.digest, fold]) if fold else self.digest

    def title(self, shown: Shown) -> str:
        return f"run {shown(self.path)}"

    def why(self) -> None:
        """It exists."""

    def make(self, context: Context) -> None:
        """It exists."""

    def read(self) -> Run:
        return self.run


def named(step: RunStep | GivenRun, context: Context) -> dict[str, Any]:
    """What metadata say about an input run, without a machine's paths."""
    shown = context.shown(step.path)
    file = {} if Path(shown).is_absolute() else {"file": shown}
    return {"system": step.trial.run, **file, "fingerprint": step.fingerprint}


def run_facts(path: Path) -> dict[str, Any]:
    """The metadata of an experiment's run; empty for other runs."""
    with suppress(InputError):
        facts = facts_at(path)
        if "fingerprint" in part_of(facts, "adducir") and "sha256" in part_of(facts, "run file"):
            return facts
    return {}


def _storable(arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        canonical(arguments)
    except (TypeError, ValueError) as error:
        raise ValueError("should hold finite numbers, texts, lists and mappings") from error
    return arguments


class Python(System):
    """A function that returns a transformer, or a transformer's class.

    The transformer receives a frame with ``qid`` and ``query``; with ``input``, one row per
    document of that system's run, with ``docno``, ``score`` and ``rank``; with ``texts``, also
    ``text`` and a column per field. It returns ``qid``, ``docno`` and ``score``.
    """

    verb: ClassVar[str] = "call"
    references: ClassVar[Mapping[str, str]] = {
        "input": "systems",
        "texts": "indexes",
        "searches": "indexes",
    }
    python: str
    """``module:function``, or ``folder/file.py:function`` from the study's folder."""
    arguments: Annotated[dict[str, Any], AfterValidator(_storable)] = Field(default_factory=dict)
    """The function's keyword arguments."""
    input: Name | None = None
    """The system whose run it receives."""
    texts: Annotated[Name | None, needs("input")] = None
    """The index whose documents' texts it receives."""
    searches: Name | None = None
    """An index that is opened and passed as the argument ``index``."""

    def step(self, opening: RunOpening) -> Step:
        from adducir.experiments.code import find_code

        with opening.at("python"):
            code = find_code(self.python, opening.folder)
        # Foreign code may do anything with its arguments.
        arguments = None if code.is_of_study else self.arguments
        runs_code = fingerprint([code.identity(), arguments]), code.name
        return RunStep(self, opening, opened=code, runs_code=runs_code)

    def identity(self, step: RunStep) -> Mapping[str, Any]:
        return {"python": step.opened.identity(), "arguments": self.arguments}

    def remark(self, name: str, names: Mapping[str, str]) -> str:
        base = f" over {names[self.input]}" if self.input else ""
        return f"{names[name]}: {self.python}{base}."

    def answer(self, step: RunStep, context: Context) -> SystemRun:
        code: Code = step.opened
        parts, arguments = step.parts, dict(self.arguments)
        if "searches" in parts:
            arguments["index"] = parts["searches"].open(context)
        started = time.perf_counter()
        transform = getattr(code.call(arguments), "transform", None)
        if transform is None:
            message = f"{code.name} does not return a transformer: `transform` is missing."
            raise InputError(message, path=code.path, hint="Return a pyterrier.Transformer.")
        frame = self._frame(step, context)
        try:
            answer = transform(frame)
        except AdducirError:
            raise
        except Exception as error:
            raise code.error("returned a transformer that raised", error) from error
        run = self._run(answer, code, step)
        seconds = time.perf_counter() - started
        settings: dict[str, Any] = {**code.identity(), "arguments": self.arguments}
        if "input" in parts:
            base = parts["input"]
            settings["input"] = {"system": base.trial.run, "fingerprint": base.fingerprint}
        note = f"{step.counted(run)} in {seconds:.1f} s by {code.name}"
        return SystemRun(run, note, {"python": settings}, seconds)

    def _frame(self, step: RunStep, context: Context) -> "pd.DataFrame":
        pd, parts = required("pandas"), step.parts
        queries = dict(zip(step.topics.qids, step.topics.queries, strict=True))
        if "input" not in parts:
            return pd.DataFrame({"qid": list(queries), "query": list(queries.values())})
        frame = parts["input"].read().to_pandas()
        frame = frame[frame["qid"].isin(queries)].reset_index(drop=True)
        frame.insert(1, "query", frame["qid"].map(queries))
        if "texts" in parts:
            index = parts["texts"].open(context)
            documents = [index.documents.get(docno) for docno in frame["docno"]]
            columns = {field: (field,) for field in index.fields} | {"text": index.fields}
            for column, fields in columns.items():
                frame[column] = [text_of(document, fields) for document in documents]
        return frame

    def _run(self, answer: Any, code: "Code", step: RunStep) -> Run:
        try:
            run = Run.of(answer, step.tag)
        except AdducirError as error:
            message = f"the transformer of {code.name} does not return a run: {error.what}"
            raise InputError(message, path=code.path) from error
        if strange := set(run.qids).difference(step.topics.qids):
            message = f"the transformer of {code.name} answers a topic {min(strange)!r}, which"
            raise InputError(f"{message} it was not given.", path=code.path)
        return run if step.depth is None else run.top(step.depth)
