"""An experiment file's corpora with generated queries: doc2query, and doc2query-- if filtered."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import AliasChoices, Field

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
from adducir.models.machine import Precision
from adducir.models.running import Running
from adducir.models.sources import model_source
from adducir.rerankers.recipe import open_reranker

if TYPE_CHECKING:
    from adducir.experiments.step import Context


class FilterPart(Recipe):
    """Which queries are kept."""

    # a reranker, or its recipe, that scores queries with their documents
    reranker: str = Field(validation_alias=AliasChoices("reranker", "by"))
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

        def generate(context: "Context") -> None:
            arguments = source, base.corpus, folder, self.generation
            running = context.running(self.precision)
            generate_queries(*arguments, running, rebuild=context.rebuild)

        step = CorpusStep(
            path=folder,
            fingerprint=made,
            kind="generated-queries",
            verb="generate",
            model=source.name,
            settings=self.generation.model_dump(mode="json") | {"precision": self.precision},
            reads=[opening.place, *base.reads],
            inputs=(),
            compute=generate,
        )
        fingerprints, scores, keep = [made], None, 1.0
        if self.filter is not None:
            with opening.at("filter"):
                reranker = open_reranker(expanded(self.filter.reranker), opening.folder)
                fingerprints.append(scores_fingerprint(made, reranker))
            scored, keep = fingerprint({"by": self.filter.reranker})[:8], self.filter.keep
            scores = folder.with_name(f"{stem}-{scored}.scores")

            def score(context: "Context") -> None:
                running = context.running(reranker.recipe.precision)
                arguments = folder, base.corpus, replace(reranker, running=running), scores
                score_queries(*arguments, running, rebuild=context.rebuild)

            step = CorpusStep(
                path=scores,
                fingerprint=fingerprints[1],
                kind="query-scores",
                verb="score",
                model=reranker.name,
                settings={"fields": list(reranker.fields)},
                reads=step.reads,
                inputs=[step],
                compute=score,
            )
        corpus = QueryCorpus(base.corpus, folder, tuple(fingerprints), scores, keep)
        facts = {
            "model": self.model,
            "filter": self.filter and self.filter.reranker,
            **corpus.identity(),
        }
        label = f"{self.doc2query}, expanded by {self.model}"
        label += f", filtered by {self.filter.reranker}" if self.filter else ""
        return OpenedCorpus(corpus, label, [step], base.reads, facts)
