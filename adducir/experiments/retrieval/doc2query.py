"""An experiment file's corpora with generated queries: doc2query, and doc2query-- if filtered."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from adducir.core.fingerprint import fingerprint
from adducir.core.recipe import KeyPath, Recipe
from adducir.corpora.documents import Corpus
from adducir.corpora.sources import expanded
from adducir.expansion.doc2query import (
    Generation,
    QueryCorpus,
    generate_queries,
    score_queries,
    scores_fingerprint,
)
from adducir.experiments.retrieval.corpora import CorpusRecipe, OpenedCorpus, refuse_expanded
from adducir.experiments.sections import Name, file_name
from adducir.experiments.step import Shown, Step
from adducir.models.machine import Precision
from adducir.models.running import Running
from adducir.models.sources import ModelSource, model_source
from adducir.rerankers.recipe import Reranker, open_reranker

if TYPE_CHECKING:
    from adducir.experiments.retrieval.study import RetrievalStudy
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

    def open(self, name: str, seed: int | None, study: "RetrievalStudy") -> OpenedCorpus:
        refuse_expanded(name, "doc2query", self.doc2query, study)
        base, place = study.corpus(self.doc2query), ("corpora", name)
        with study.planner.at(*place, "model"):
            source = model_source(expanded(self.model), study.folder)
            running = Running(precision=self.precision)
            made = self.generation.fingerprint(base.corpus, source.identity(), running)
        digest = fingerprint(self.model_dump(mode="json", exclude={"filter"}))[:8]
        stem = f"{Path(source.name).name}.{file_name(self.doc2query)}-{digest}"
        folder = study.folder / "doc2query" / f"{stem}.queries"
        reads = [place, *base.reads]
        steps: list[Step] = [QueriesStep(base.corpus, folder, made, reads, source, self)]
        fingerprints, scores, keep = [made], None, 1.0
        if self.filter is not None:
            with study.planner.at(*place, "filter"):
                reranker = open_reranker(expanded(self.filter.by), study.folder)
                fingerprints.append(scores_fingerprint(made, reranker))
            scored, keep = fingerprint({"by": self.filter.by})[:8], self.filter.keep
            scores = folder.with_name(f"{stem}-{scored}.scores")
            before = study.weights.setdefault((folder, made), steps[0])
            steps = [ScoresStep(base.corpus, scores, fingerprints[1], reads, before, reranker)]
        last = study.weights.setdefault((steps[0].path, steps[0].fingerprint), steps[0])
        corpus = QueryCorpus(base.corpus, folder, tuple(fingerprints), scores, keep)
        facts = {"model": self.model, "filter": self.filter and self.filter.by, **corpus.identity()}
        label = f"{self.doc2query}, expanded by {self.model}"
        label += f", filtered by {self.filter.by}" if self.filter else ""
        return OpenedCorpus(corpus, label, [last], base.reads, facts)


class QueriesStep(Step):
    kind = "generated-queries"
    verb = "generate"

    def __init__(
        self,
        corpus: Corpus,
        path: Path,
        made: str,
        reads: Sequence[KeyPath],
        source: ModelSource,
        entry: Doc2QueryRecipe,
    ) -> None:
        self.corpus, self.path, self.fingerprint = corpus, path, made
        self.reads, self.source, self.entry = reads, source, entry

    def title(self, shown: Shown) -> str:
        return f"{shown(self.path)} by {self.source.name}"

    def recipe(self) -> Mapping[str, Any]:
        return self.entry.generation.model_dump(mode="json") | {"precision": self.entry.precision}

    def make(self, context: "Context") -> None:
        running, part = context.running(self.entry.precision), self.entry.generation
        arguments = self.source, self.corpus, self.path, part, running
        generate_queries(*arguments, rebuild=context.rebuild)


class ScoresStep(Step):
    kind = "query-scores"
    verb = "score"

    def __init__(
        self,
        corpus: Corpus,
        path: Path,
        made: str,
        reads: Sequence[KeyPath],
        queries: Step,
        reranker: Reranker,
    ) -> None:
        self.corpus, self.path, self.fingerprint = corpus, path, made
        self.reads, self.reranker = reads, reranker
        self.inputs, self.queries = [queries], queries.path

    def title(self, shown: Shown) -> str:
        return f"{shown(self.path)} by {self.reranker.name}"

    def recipe(self) -> Mapping[str, Any]:
        return {"fields": list(self.reranker.fields)}

    def make(self, context: "Context") -> None:
        running = context.running(self.reranker.recipe.precision)
        reranker = replace(self.reranker, running=running)
        arguments = self.queries, self.corpus, reranker, self.path, running
        score_queries(*arguments, rebuild=context.rebuild)
