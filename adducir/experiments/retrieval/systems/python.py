"""``python:``: any PyTerrier transformer, made by a function of the study's author."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from adducir.core.errors import AdducirError, InputError
from adducir.core.fingerprint import fingerprint
from adducir.core.recipe import ErrorDetail, KeyPath
from adducir.experiments.code import Code, called, find_code
from adducir.experiments.context import Context
from adducir.experiments.retrieval.runs import Made, RunStep, counted
from adducir.experiments.retrieval.study import RetrievalStudy
from adducir.experiments.retrieval.systems.system import System
from adducir.experiments.sections import Name
from adducir.experiments.step import Step
from adducir.rerankers.texts import StoredTexts
from adducir.runs.run import Run

if TYPE_CHECKING:
    import pandas as pd


class Python(System):
    """A function that returns a transformer, or a transformer's class.

    The transformer is given a frame with ``qid`` and ``query``; with ``input`` one row per document
    of that system's run, with ``docno``, ``score`` and ``rank``; with ``texts`` also ``text`` and a
    column for each field. It returns ``qid``, ``docno`` and ``score``.

    Attributes:
        python: ``module:function``, or ``folder/file.py:function`` from the study's folder.
        arguments: The function's keyword arguments.
        input: The system whose run it is given.
        texts: The index whose documents' texts it is given.
        searches: An index that the function is given, opened, as its argument ``index``.
    """

    verb: ClassVar[str] = "call"
    references: ClassVar[Mapping[str, str]] = {
        "input": "systems",
        "texts": "indexes",
        "searches": "indexes",
    }
    python: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    input: Name | None = None
    texts: Name | None = None
    searches: Name | None = None

    @property
    def members(self) -> tuple[str, ...]:
        return () if self.input is None else (self.input,)

    def place_of(self, member: int) -> KeyPath:
        return ("input",)

    def needs_index(self, name: str, study: RetrievalStudy) -> str | None:
        return self.texts or self.searches

    @property
    def indexes(self) -> dict[str, str]:
        """The indexes that it names, by key."""
        named = {"texts": self.texts, "searches": self.searches}
        return {key: index for key, index in named.items() if index is not None}

    def check(self, name: str, study: RetrievalStudy) -> Iterator[ErrorDetail]:
        yield from super().check(name, study)
        for key, index in self.indexes.items():
            yield from study.names.check(("systems", name, key), "indexes", index)
        if self.texts is not None and self.input is None:
            yield ErrorDetail(("systems", name, "texts"), "means nothing without `input`")

    def open(self, name: str, study: RetrievalStudy) -> None:
        place = ("systems", name, "python")
        find = partial(find_code, self.python, study.folder)
        study.details[name] = study.planner.opening(place, find)

    def step(self, name: str, topic_set: str, study: RetrievalStudy) -> "PythonStep":
        return PythonStep(name, self, topic_set, study)

    def remark(self, name: str, names: Mapping[str, str]) -> str:
        base = f" over {names.get(self.input, self.input)}" if self.input else ""
        return f"{names.get(name, name)}: {self.python}{base}."


class PythonStep(RunStep):
    """The run of a transformer."""

    recipe: Python

    def __init__(self, name: str, system: Python, topic_set: str, study: RetrievalStudy) -> None:
        self.base = None if system.input is None else study.run_of(system.input, topic_set)
        self.indexes = {key: study.index_of(index) for key, index in system.indexes.items()}
        self.code: Code = study.details[name]
        inputs: list[Step] = [*self.indexes.values(), *([self.base] if self.base else [])]
        super().__init__(name, system, topic_set, study, inputs)

    @property
    def runs_code(self) -> tuple[str, str]:
        """The code that it runs; what others wrote can do anything by its arguments."""
        arguments = None if self.code.is_of_study else self.recipe.arguments
        return fingerprint([self.code.identity(), arguments]), self.code.name

    @property
    def shares(self) -> object:
        return super().shares, self.base and self.base.path

    def fingerprint_inputs(self) -> dict[str, Any]:
        return {
            "python": self.code.identity(),
            "arguments": self.recipe.arguments,
            "topics": self.topics.identity(),
            "input": self.base and self.base.fingerprint,
            "indexes": {key: index.fingerprint for key, index in self.indexes.items()},
        }

    def produce(self, context: Context) -> Made:
        import time

        arguments = dict(self.recipe.arguments)
        if "searches" in self.indexes:
            arguments["index"] = self.indexes["searches"].open(context)
        started = time.perf_counter()
        transform = getattr(called(self.code, arguments), "transform", None)
        if transform is None:
            raise InputError(
                f"{self.code.name} gives no transformer: it has no `transform`.",
                path=self.code.path,
                hint="Return a pyterrier.Transformer.",
            )
        given = self._frame(context)
        try:
            answer = transform(given)
        except AdducirError:
            raise
        except Exception as error:
            what = f"the transformer of {self.code.name} raised {error!r}."
            raise InputError(what, path=self.code.path) from error
        run = self._run(answer)
        seconds = time.perf_counter() - started
        settings = {**self.code.identity(), "arguments": self.recipe.arguments}
        if self.base is not None:
            base = {"system": self.base.system, "fingerprint": self.base.fingerprint}
            settings["input"] = base
        note = f"{counted(run, self.topics)} in {seconds:.1f} s by {self.code.name}"
        return Made(run, note, {"python": settings}, seconds)

    def _frame(self, context: Context) -> "pd.DataFrame":
        """What the transformer is given."""
        import pandas as pd

        queries = dict(zip(self.topics.qids, self.topics.queries, strict=True))
        if self.base is None:
            return pd.DataFrame({"qid": list(queries), "query": list(queries.values())})
        frame = self.base.read().to_pandas()
        frame = frame[frame["qid"].isin(queries)].reset_index(drop=True)
        frame.insert(1, "query", frame["qid"].map(queries))
        if "texts" in self.indexes:
            index = self.indexes["texts"].open(context)
            docnos = list(dict.fromkeys(frame["docno"]))
            for column, fields in [
                ("text", index.fields),
                *((one, (one,)) for one in index.fields if one != "text"),
            ]:
                texts = StoredTexts(index.documents, fields).get(docnos)
                frame[column] = frame["docno"].map(dict(zip(docnos, texts, strict=True)))
        return frame

    def _run(self, answer: Any) -> Run:
        """The transformer's answer as a run of the topics, cut to the depth."""
        try:
            run = Run.of(answer, self.tag)
        except AdducirError as error:
            what = f"the transformer of {self.code.name} gives no run: {error.what}"
            raise InputError(what, path=self.code.path) from error
        strange = set(run.qids).difference(self.topics.qids)
        if strange:
            what = f"the transformer of {self.code.name} answers a topic {min(strange)!r}, which"
            raise InputError(f"{what} it was not asked.", path=self.code.path)
        depth = self.study.recipe.most
        return run if depth is None else run.top(depth)
