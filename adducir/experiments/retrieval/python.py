"""``python:``: any PyTerrier transformer, made by a function of the study's author."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from adducir.core.errors import AdducirError, InputError
from adducir.core.fingerprint import fingerprint
from adducir.experiments.code import Code, find_code
from adducir.experiments.retrieval.runs import Answer, RunStep, System
from adducir.experiments.sections import Name
from adducir.experiments.step import Step
from adducir.experiments.study import Trial
from adducir.runs.run import Run

if TYPE_CHECKING:
    import pandas as pd

    from adducir.experiments.context import Context
    from adducir.experiments.retrieval.study import RetrievalStudy


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

    def check(self, name: str, study: "RetrievalStudy") -> None:
        if self.texts is not None and self.input is None:
            study.planner.add(("systems", name, "texts"), "has no effect without `input`")

    def step(self, trial: Trial, study: "RetrievalStudy") -> Step:
        with study.planner.at("systems", trial.system, "python"):
            code = find_code(self.python, study.folder)
        # What others wrote can do anything by its arguments.
        arguments = None if code.is_of_study else self.arguments
        own = fingerprint([code.identity(), arguments]), code.name
        return RunStep(self, trial, study, self.parts(trial, study), opened=code, runs_code=own)

    def identity(self, step: RunStep) -> Mapping[str, Any]:
        return {"python": step.opened.identity(), "arguments": self.arguments}

    def remark(self, name: str, names: Mapping[str, str]) -> str:
        base = f" over {names.get(self.input, self.input)}" if self.input else ""
        return f"{names.get(name, name)}: {self.python}{base}."

    def answer(self, step: RunStep, context: "Context") -> Answer:
        code: Code = step.opened
        parts = step.parts
        arguments = dict(self.arguments)
        if "searches" in parts:
            arguments["index"] = parts["searches"].open(context)
        started = time.perf_counter()
        transform = getattr(code.call(arguments), "transform", None)
        if transform is None:
            raise InputError(
                f"{code.name} gives no transformer: it has no `transform`.",
                path=code.path,
                hint="Return a pyterrier.Transformer.",
            )
        given = self._frame(step, context)
        try:
            found = transform(given)
        except AdducirError:
            raise
        except Exception as error:
            what = f"the transformer of {code.name} raised {error!r}."
            raise InputError(what, path=code.path) from error
        run = self._run(found, code, step)
        seconds = time.perf_counter() - started
        settings: dict[str, Any] = {**code.identity(), "arguments": self.arguments}
        if "input" in parts:
            base = parts["input"]
            settings["input"] = {"system": base.trial.run, "fingerprint": base.fingerprint}
        note = f"{step.counted(run)} in {seconds:.1f} s by {code.name}"
        return Answer(run, note, {"python": settings}, seconds)

    def _frame(self, step: RunStep, context: "Context") -> "pd.DataFrame":
        import pandas as pd

        from adducir.rerankers.rerank import Texts

        parts = step.parts
        queries = dict(zip(step.topics.qids, step.topics.queries, strict=True))
        if "input" not in parts:
            return pd.DataFrame({"qid": list(queries), "query": list(queries.values())})
        frame: pd.DataFrame = parts["input"].read().to_pandas()
        frame = frame[frame["qid"].isin(queries)].reset_index(drop=True)
        frame.insert(1, "query", frame["qid"].map(queries))
        if "texts" in parts:
            index = parts["texts"].open(context)
            docnos = list(dict.fromkeys(frame["docno"]))
            columns = {one: (one,) for one in index.fields} | {"text": index.fields}
            for column, fields in columns.items():
                texts = Texts.stored(index.documents, fields).get(docnos)
                frame[column] = frame["docno"].map(dict(zip(docnos, texts, strict=True)))
        return frame

    def _run(self, found: Any, code: Code, step: RunStep) -> Run:
        """What a transformer returned as a run of the topics, cut to the depth."""
        try:
            run = Run.of(found, step.tag)
        except AdducirError as error:
            what = f"the transformer of {code.name} gives no run: {error.what}"
            raise InputError(what, path=code.path) from error
        if strange := set(run.qids).difference(step.topics.qids):
            what = f"the transformer of {code.name} answers a topic {min(strange)!r}, which"
            raise InputError(f"{what} it was not asked.", path=code.path)
        depth = step.study.recipe.most
        return run if depth is None else run.top(depth)
