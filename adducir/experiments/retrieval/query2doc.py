"""``query2doc:`` searches an index with queries that a language model expands."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from adducir.corpora.sources import expanded
from adducir.experiments.retrieval.runs import Answer, RunStep, System
from adducir.experiments.sections import Name
from adducir.experiments.step import Step
from adducir.experiments.study import Trial
from adducir.indexes.kinds import MODELS
from adducir.indexes.search import search_topics
from adducir.judges.answers import Answering
from adducir.judges.llm import Answerer, open_llm
from adducir.judges.prompting import open_prompt
from adducir.judges.query2doc import REPEATS, QueryPrompt, expand

if TYPE_CHECKING:
    from adducir.experiments.retrieval.study import RetrievalStudy
    from adducir.experiments.step import Context


@dataclass(frozen=True)
class Writer:
    """Who writes the passages, and what is asked."""

    llm: Answerer
    prompt: QueryPrompt


class Query2doc(System):
    """A search with queries that a language model expands by a passage."""

    verb: ClassVar[str] = "search"
    references: ClassVar[Mapping[str, str]] = {"query2doc": "indexes"}
    query2doc: Name  # the index
    llm: str  # the language model's file, or the folder or GGUF file with its weights
    # the retrieval model, by default the index's; not for dense indexes
    model: Annotated[str, MODELS] = "bm25"
    prompt: str = "query2doc"  # the bundled prompt, or a file
    # how often the query stands before the passage; on a dense index once, before [SEP]
    repeats: int = Field(REPEATS, ge=1)
    failures: float = Field(0.01, ge=0, le=1)  # the share of queries that may stay as they are

    def step(self, trial: Trial, study: "RetrievalStudy") -> Step:
        with study.planner.at("systems", trial.system, "llm"):
            llm = open_llm(expanded(self.llm), study.folder)
            _ = llm.identity
        with study.planner.at("systems", trial.system, "prompt"):
            prompt = open_prompt(self.prompt, QueryPrompt, study.folder)
        return RunStep(self, trial, study, self.parts(trial, study), opened=Writer(llm, prompt))

    def identity(self, step: RunStep) -> Mapping[str, Any]:
        writer: Writer = step.opened
        return {
            "model": self.model,
            "language model": {**writer.llm.identity, "parameters": writer.llm.parameters},
            "prompt": writer.prompt.identity,
            "repeats": self.repeats,
        }

    def answer(self, step: RunStep, context: "Context") -> Answer:
        index, writer = step.parts["query2doc"].open(context), step.opened
        is_dense = not index.default_model
        longer = expand(
            step.topics,
            writer.llm,
            writer.prompt,
            Answering(),
            is_dense=is_dense,
            repeats=self.repeats,
            failures=self.failures,
            beside=step.path,
        )
        result = search_topics(
            index,
            longer.topics,
            None if is_dense else self.model,
            tag=step.tag,
            depth=step.study.recipe.most,
            threads=context.threads,
        )
        method = {**result.method, "query2doc": longer.facts}
        note = f"{step.counted(result.run)} in {result.seconds:.1f} s, with longer queries"
        return Answer(result.run, note, method, result.seconds)

    def remark(self, name: str, names: Mapping[str, str]) -> str:
        return f"{names.get(name, name)}: queries expanded by passages of {self.llm}."
