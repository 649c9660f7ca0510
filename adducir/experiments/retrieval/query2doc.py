"""``query2doc:`` searches an index with queries that a language model expands."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from adducir.corpora.sources import expanded
from adducir.experiments.retrieval.runs import RunOpening, RunStep
from adducir.experiments.retrieval.search import SearchedTopics, Searching
from adducir.experiments.sections import Name
from adducir.experiments.step import Step
from adducir.indexes.index import Index
from adducir.judges.answers import Answering
from adducir.judges.llm import open_llm
from adducir.judges.prompting import QueryPrompt, open_prompt
from adducir.judges.query2doc import REPEATS, Expansion

if TYPE_CHECKING:
    from adducir.experiments.step import Context


class Query2docSearch(Searching):
    """A search with queries that a language model expands by a passage."""

    references: ClassVar[Mapping[str, str]] = {"query2doc": "indexes"}
    query2doc: Name  # the index to search with longer queries
    llm: str  # the language model's file, or the folder or GGUF file with its weights
    prompt: str = "query2doc"  # the bundled prompt, or a file
    # how often the query stands before the passage; on a dense index once, before [SEP]
    repeats: int = Field(REPEATS, ge=1)
    failures: float = Field(0.01, ge=0, le=1)  # the share of queries that may stay as they are

    def step(self, opening: RunOpening) -> Step:
        with opening.at("llm"):
            llm = open_llm(expanded(self.llm), opening.folder)
            _ = llm.identity
        with opening.at("prompt"):
            prompt = open_prompt(self.prompt, QueryPrompt, opening.folder)
        expansion = Expansion(llm, prompt, repeats=self.repeats, failures=self.failures)
        step = RunStep(self, opening, opened=expansion)
        with opening.planner.at("topics", opening.data):
            _ = expansion.talk(step.topics)
        return step

    def identity(self, step: RunStep) -> Mapping[str, Any]:
        expansion: Expansion = step.opened
        llm = expansion.model
        return {
            **super().identity(step),
            "language model": {**llm.identity, "parameters": llm.parameters},
            "prompt": expansion.prompt.identity,
            "repeats": self.repeats,
        }

    def queries(self, step: RunStep, index: Index, context: "Context") -> SearchedTopics:
        expansion = replace(step.opened, is_dense=not index.default_model)
        longer = expansion.expand(step.topics, Answering(), step.path)
        return SearchedTopics(longer.topics, {"query2doc": longer.facts}, costs=longer.costs)

    def costs(self, step: RunStep, context: "Context") -> Sequence[Mapping[str, Any]]:
        (index,) = step.parts.values()
        return self.queries(step, index.open(context), context).costs

    def remark(self, name: str, names: Mapping[str, str]) -> str:
        return f"{names.get(name, name)}: queries expanded by passages of {self.llm}."
