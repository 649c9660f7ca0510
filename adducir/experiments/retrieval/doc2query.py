"""A language model adds queries to documents (``doc2query:``), or passages to queries."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import AliasChoices, Field

from adducir.core.fingerprint import fingerprint
from adducir.core.recipe import Recipe
from adducir.corpora.sources import expanded
from adducir.expansion.doc2query import (
    Generation,
    QueryCorpus,
    generate_queries,
    score_queries,
    scores_identity,
)
from adducir.experiments.retrieval.corpora import CorpusRecipe, CorpusStep, OpenedCorpus
from adducir.experiments.retrieval.runs import RunOpening, RunStep
from adducir.experiments.retrieval.search import Searching
from adducir.experiments.sections import Name, Opening, file_name
from adducir.experiments.step import Context, Step
from adducir.indexes.index import Index
from adducir.judges.answers import Answering
from adducir.judges.llm import open_llm
from adducir.judges.prompting import QueryPrompt, open_prompt
from adducir.judges.query2doc import REPEATS, Expanded, Expansion
from adducir.models.machine import Precision
from adducir.models.sources import model_source
from adducir.rerankers.recipe import open_reranker


class FilterPart(Recipe):
    """Which queries are kept."""

    reranker: str = Field(validation_alias=AliasChoices("reranker", "by"))
    """A reranker, or its recipe, that scores queries with their documents."""
    keep: Annotated[float, Field(gt=0, le=1)] = 0.3
    """The share of all queries to keep."""


class Doc2QueryRecipe(CorpusRecipe):
    """Another corpus with generated queries, or the best of them; see docs/deepct.md."""

    references: ClassVar[Mapping[str, str]] = {"doc2query": "corpora"}
    doc2query: Name
    """The other corpus."""
    model: str
    """The sequence-to-sequence model: a folder or a name on the Hub."""
    generation: Generation = Generation()
    """How queries are generated."""
    filter: FilterPart | None = None
    """What keeps the best queries (doc2query--)."""
    precision: Precision = "float32"
    """Of the generating network."""

    def open(self, opening: Opening) -> OpenedCorpus:
        base: OpenedCorpus = opening.linked("doc2query")
        with opening.at("model"):
            source = model_source(expanded(self.model), opening.folder)
            queries = self.generation.identity(base.corpus, source.identity(), self.precision)
        digest = fingerprint(self.model_dump(mode="json", exclude={"filter"}))[:8]
        stem = f"{Path(source.name).name}.{file_name(self.doc2query)}-{digest}"
        folder = opening.folder / "doc2query" / f"{stem}.queries"
        step = CorpusStep(
            folder,
            queries,
            partial(generate_queries, source, base.corpus, folder, self.generation),
            verb="generate",
            model=source.name,
            precision=self.precision,
            reads=[opening.place, *base.reads],
            inputs=(),
        )
        fingerprints, scores, keep = [step.fingerprint], None, 1.0
        if self.filter is not None:
            with opening.at("filter"):
                reranker = open_reranker(expanded(self.filter.reranker), opening.folder)
                about = scores_identity(step.fingerprint, reranker)
            scored, keep = fingerprint({"by": self.filter.reranker})[:8], self.filter.keep
            scores = folder.with_name(f"{stem}-{scored}.scores")
            step = CorpusStep(
                scores,
                about,
                partial(score_queries, folder, base.corpus, reranker, scores),
                verb="score",
                model=reranker.name,
                precision=reranker.recipe.precision,
                reads=step.reads,
                inputs=[step],
            )
            fingerprints.append(step.fingerprint)
        corpus = QueryCorpus(base.corpus, folder, tuple(fingerprints), scores, keep)
        facts = {
            "model": self.model,
            "filter": self.filter and self.filter.reranker,
            **corpus.identity(),
        }
        label = f"{self.doc2query}, expanded by {self.model}"
        label += f", filtered by {self.filter.reranker}" if self.filter else ""
        return OpenedCorpus(corpus, label, [step], base.reads, facts)


class Query2docSearch(Searching):
    """A search with queries that a language model expands by a passage."""

    references: ClassVar[Mapping[str, str]] = {"query2doc": "indexes"}
    query2doc: Name
    """The index to search with longer queries."""
    llm: str
    """The language model's file, or the folder or GGUF file with its weights."""
    prompt: str = "query2doc"
    """The bundled prompt, or a file."""
    repeats: int = Field(REPEATS, ge=1)
    """How often the query stands before the passage; on a dense index once, before [SEP]."""
    failures: float = Field(0.01, ge=0, le=1)
    """The share of queries that may stay as they are."""

    def step(self, opening: RunOpening) -> Step:
        with opening.at("llm"):
            llm = open_llm(expanded(self.llm), opening.folder)
            _ = llm.identity
        with opening.at("prompt"):
            prompt = open_prompt(self.prompt, QueryPrompt, opening.folder)
        expansion = Expansion(llm, prompt, repeats=self.repeats, failures=self.failures)
        step = RunStep(self, opening, opened=expansion)
        with opening.planner.at("topics", step.trial.data):
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

    def longer(self, step: RunStep, index: Index) -> Expanded:
        expansion: Expansion = replace(step.opened, is_dense=not index.default_model)
        return expansion.expand(step.topics, Answering(), step.path)

    def costs(self, step: RunStep, context: Context) -> Sequence[Mapping[str, Any]]:
        (index,) = step.parts.values()
        return self.longer(step, index.open(context)).costs

    def remark(self, name: str, names: Mapping[str, str]) -> str:
        return f"{names[name]}: queries expanded by passages of {self.llm}."
