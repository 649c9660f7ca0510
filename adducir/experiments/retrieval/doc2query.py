"""An experiment file's corpora with generated queries: doc2query, and doc2query-- if filtered."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from adducir.core.fingerprint import fingerprint
from adducir.core.recipe import Recipe
from adducir.corpora.sources import expanded
from adducir.expansion.doc2query import (
    Generation,
    QueryCorpus,
    generate_queries,
    score_queries,
    scores_fingerprint,
)
from adducir.experiments.retrieval.corpora import CorpusRecipe, CorpusStep, OpenedCorpus
from adducir.experiments.sections import Name, Opening, file_name
from adducir.experiments.step import Shown
from adducir.models.machine import Precision
from adducir.models.running import Running
from adducir.models.sources import ModelSource, model_source
from adducir.rerankers.recipe import Reranker, open_reranker

if TYPE_CHECKING:
    from adducir.experiments.step import Context


class FilterPart(Recipe):
    """Which queries are kept."""

    by: str  # a reranker, or its recipe, that scores queries with their documents
    keep: Annotated[float, Field(gt=0, le=1)] = 0.3  # the share of all queries to keep


class Doc2QueryRecipe(CorpusRecipe):
    """Another corpus with generated queries, or the best of them; see docs/deepct.md."""

    is_expanded: ClassVar[bool] = True
    references: ClassVar[Mapping[str, str]] = {"doc2query": "corpora"}
    doc2query: Name  # the other corpus
    model: str  # the sequence-to-sequence model: a folder or a name on the Hub
    generation: Generation = Generation()  # how queries are generated
    filter: FilterPart | None = None  # what keeps the best queries (doc2query--)
    precision: Precision = "float32"  # of the generating network

    def open(self, opening: Opening) -> OpenedCorpus:
        base: OpenedCorpus = opening.linked("doc2query")
        with opening.at("model"):
            source = model_source(expanded(self.model), opening.folder)
            running = Running(precision=self.precision)
            made = self.generation.fingerprint(base.corpus, source.identity(), running)
        digest = fingerprint(self.model_dump(mode="json", exclude={"filter"}))[:8]
        stem = f"{Path(source.name).name}.{file_name(self.doc2query)}-{digest}"
        folder = opening.folder / "doc2query" / f"{stem}.queries"
        reads = [opening.place, *base.reads]
        step: CorpusStep = QueriesStep(
            corpus=base.corpus,
            path=folder,
            fingerprint=made,
            reads=reads,
            inputs=(),
            source=source,
            generation=self.generation,
            precision=self.precision,
        )
        fingerprints, scores, keep = [made], None, 1.0
        if self.filter is not None:
            with opening.at("filter"):
                reranker = open_reranker(expanded(self.filter.by), opening.folder)
                fingerprints.append(scores_fingerprint(made, reranker))
            scored, keep = fingerprint({"by": self.filter.by})[:8], self.filter.keep
            scores = folder.with_name(f"{stem}-{scored}.scores")
            step = ScoresStep(
                corpus=base.corpus,
                path=scores,
                fingerprint=fingerprints[1],
                reads=reads,
                inputs=[step],
                reranker=reranker,
            )
        corpus = QueryCorpus(base.corpus, folder, tuple(fingerprints), scores, keep)
        facts = {"model": self.model, "filter": self.filter and self.filter.by, **corpus.identity()}
        label = f"{self.doc2query}, expanded by {self.model}"
        label += f", filtered by {self.filter.by}" if self.filter else ""
        return OpenedCorpus(corpus, label, [step], base.reads, facts)


@dataclass(eq=False, kw_only=True)
class QueriesStep(CorpusStep):
    kind = "generated-queries"
    verb = "generate"
    source: ModelSource
    generation: Generation
    precision: Precision

    def title(self, shown: Shown) -> str:
        return f"{shown(self.path)} by {self.source.name}"

    def recipe(self) -> Mapping[str, Any]:
        return self.generation.model_dump(mode="json") | {"precision": self.precision}

    def make(self, context: "Context") -> None:
        running, rebuild = context.running(self.precision), context.rebuild
        arguments = self.source, self.corpus, self.path, self.generation, running
        generate_queries(*arguments, rebuild=rebuild)


@dataclass(eq=False, kw_only=True)
class ScoresStep(CorpusStep):
    kind = "query-scores"
    verb = "score"
    reranker: Reranker

    def title(self, shown: Shown) -> str:
        return f"{shown(self.path)} by {self.reranker.name}"

    def recipe(self) -> Mapping[str, Any]:
        return {"fields": list(self.reranker.fields)}

    def make(self, context: "Context") -> None:
        running = context.running(self.reranker.recipe.precision)
        reranker, queries = replace(self.reranker, running=running), self.inputs[0].path
        arguments = queries, self.corpus, reranker, self.path, running
        score_queries(*arguments, rebuild=context.rebuild)
