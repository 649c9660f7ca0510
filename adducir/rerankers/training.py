"""The training of a cross-encoder: from a recipe in ``rerankers/`` to a model's folder."""

from collections.abc import Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import torch

from adducir.core.absent import gathering
from adducir.core.errors import InputError
from adducir.core.fingerprint import fingerprint
from adducir.core.progress import SILENT, Progress
from adducir.core.source_digests import source_digest
from adducir.corpora.qrels import load_qrels
from adducir.corpora.references import file_path, source_path
from adducir.corpora.sizes import bytes_of_corpus
from adducir.corpora.topics import load_topics
from adducir.rerankers.cross_encoder import CrossEncoder, CrossEncoderRecipe
from adducir.rerankers.document_examples import document_examples
from adducir.rerankers.examples import (
    Counts,
    Example,
    Leaks,
    candidates,
    examples,
    normal,
    read_pairs,
)
from adducir.rerankers.examples_recipe import LeaksPart
from adducir.rerankers.monobert import MonoBERTRecipe
from adducir.rerankers.registry import source_of
from adducir.rerankers.task import CrossEncoderTask
from adducir.rerankers.texts import texts_of
from adducir.runs.read import read_run
from adducir.training.plan import TrainingPlan
from adducir.training.recipe import ModelRecipe, listed

_SOURCES = ("kind", "examples", "batch_tokens", "passages")


class CrossEncoderPlan(TrainingPlan[CrossEncoderRecipe]):
    """The training of a cross-encoder."""

    recipe_type: ClassVar[type[ModelRecipe]] = CrossEncoderRecipe
    artifact = "reranker"

    def __init__(
        self, recipe: CrossEncoderRecipe, folder: Path, progress: Progress = SILENT
    ) -> None:
        super().__init__(recipe, folder, progress)
        if recipe.examples is None:
            raise InputError(
                "the recipe has no `examples`, so that there is nothing to train.",
                hint="It can be used as it is: adducir rerank --model RECIPE.",
            )
        self.part = recipe.examples
        with gathering() as each:
            self.leaks = each(partial(_leaks, self.part.without, folder, progress))
            self.base = each(partial(source_of, recipe, folder))
            each(lambda: self.data_inputs)

    @property
    def settings(self) -> dict[str, Any]:
        """Those parts of the recipe that decide the weights."""
        values = self.recipe.fingerprinted(dict.fromkeys(_SOURCES, True))
        sources = {"pairs", "topics", "topic_field", "qrels", "corpus", "runs", "without"}
        part = self.part.model_dump(mode="json", exclude=sources, exclude_none=True)
        return values | {"examples": part, "copies": self.leaks.copies}

    @property
    def sources(self) -> dict[str, list[Path | str]]:
        """The principal source: the file of pairs, or the corpus."""
        if self.part.pairs is not None:
            return {"pairs": [file_path(self.part.pairs, self.folder)]}
        return {"corpus": [self.corpus.source]}

    @property
    def text_bytes(self) -> float | None:
        """Of pairs, or of documents with their negatives; of judged topics it is not known."""
        if self.part.query_field is None:
            return super().text_bytes if self.part.pairs is not None else None
        text = bytes_of_corpus(self.corpus)
        return None if text is None else text * (1 + self.part.negatives)

    @cached_property
    def inputs(self) -> dict[str, str]:
        """The fingerprints of what the model is made from."""
        leaks = [sorted(self.leaks.queries), self.leaks.documents.identity()]
        return self.data_inputs | {
            "base": self.base.identity(),
            "without": fingerprint(leaks),
        }

    @cached_property
    def data_inputs(self) -> dict[str, str]:
        """The fingerprints of what the examples are made from."""
        part = self.part
        if part.pairs is not None:
            return {"pairs": source_digest(file_path(part.pairs, self.folder))}
        if part.query_field is not None:
            return {"corpus": fingerprint(self.corpus.identity())}
        with gathering() as each:
            corpus = each(lambda: fingerprint(self.corpus.identity()))
            topics = each(lambda: fingerprint(self.topics.identity()))
            qrels = each(lambda: fingerprint(self.qrels.identity()))
            runs = [each(partial(source_digest, path)) for path in each(lambda: self.runs) or ()]
        return {"topics": topics, "qrels": qrels, "corpus": corpus, "runs": fingerprint(runs)}

    @cached_property
    def topics(self) -> Any:
        """The topics."""
        source = source_path(str(self.part.topics), self.folder)
        return load_topics(source, field=self.part.topic_field, progress=self.progress)

    @cached_property
    def qrels(self) -> Any:
        """The judgements."""
        sources = [source_path(one, self.folder) for one in listed(self.part.qrels)]
        return load_qrels(sources, progress=self.progress)

    @cached_property
    def corpus(self) -> Any:
        """The documents."""
        if self.part.corpus is None:
            raise InputError("the examples name no corpus.")
        return self.part.corpus.open(self.folder, self.progress)

    @cached_property
    def runs(self) -> list[Path]:
        """The runs' files."""
        return [file_path(one, self.folder) for one in listed(self.part.runs)]

    def task(self, device: torch.device, progress: Progress = SILENT) -> CrossEncoderTask:
        """The model with its own classifier, or a new one."""
        recipe = self.recipe
        model = CrossEncoder.untrained(
            self.base, labels=recipe.labels, length=recipe.length, seed=recipe.training.seed
        )
        model.to(device)
        return CrossEncoderTask(model, recipe, self.examples, self._card())

    def examples(
        self, counts: Counts, folder: Path, progress: Progress = SILENT
    ) -> Iterator[Example]:
        """Make the examples, one after the other.

        Args:
            folder: An empty folder, where texts are kept meanwhile.

        Raises:
            InputError: A source cannot be read, or there is no example.
        """
        part = self.part
        if part.pairs is not None:
            return read_pairs(file_path(part.pairs, self.folder), self.leaks, counts)
        if part.query_field is not None:
            return document_examples(
                self.corpus,
                part.query_field,
                listed(self.recipe.fields),
                self.leaks,
                counts,
                folder,
                negatives=part.negatives,
                most=part.most,
                seed=part.seed,
                progress=progress,
            )
        return self._judged(counts, folder, progress)

    def _judged(self, counts: Counts, folder: Path, progress: Progress) -> Iterator[Example]:
        """Examples of judged topics."""
        part = self.part
        found = candidates(
            self.topics,
            self.qrels,
            [read_run(path) for path in self.runs],
            self.leaks,
            counts,
            grade=part.grade,
            depth=part.depth,
            unjudged=part.unjudged,
        )
        wanted = {docno for topic in found for docno in (*topic.positives, *topic.negatives)}
        if self.leaks.copies:
            wanted |= self.leaks.documents.docnos
        fields = listed(self.recipe.fields)
        texts = texts_of(self.corpus, wanted, fields, folder=folder / "texts", progress=progress)
        made = examples(
            found, texts.find, self.leaks, counts, negatives=part.negatives, seed=part.seed
        )
        first = next(made, None)
        if first is None:
            raise InputError(
                "no topic has both a positive and a negative to learn from.",
                hint="Are topics, qrels, runs and corpus of one collection? "
                f"Counts: {counts.record()}.",
            )
        yield first
        yield from made

    def _card(self) -> dict[str, dict[str, Any]]:
        """What a model card shows of the data."""
        part, fields, without = self.part, listed(self.recipe.fields), self.part.without
        corpus = part.corpus.source if part.corpus else None
        data: dict[str, Any] = {"pairs": part.pairs}
        if part.query_field is not None:
            data = {
                "corpus": corpus,
                "queries": f"the field {part.query_field}",
                "texts": [name for name in fields if name != part.query_field]
                or "the corpus' other fields",
                "positives": "a document's own text",
                "negatives": f"{part.negatives} other documents' for each, at random",
                "documents, at most": part.most or "all",
            }
        elif part.pairs is None:
            data = {
                "topics": part.topics,
                "qrels": list(listed(part.qrels)),
                "corpus": corpus,
                "fields": list(fields) or "the corpus' own",
                "negatives from": list(listed(part.runs)) or "documents judged lower",
                "positives": f"grade {part.grade} or better",
                "negatives": f"{part.negatives} for each positive, at most",
                "unjudged documents": "negatives" if part.unjudged else "not used",
            }
        leaks = {
            "left out: queries of": list(listed(without.topics)),
            **without.card(),
            "queries named": len(self.leaks.queries),
            "documents named": len(self.leaks.documents),
        }
        return {"Data": data, "Leak control": leaks}


class MonoBERTPlan(CrossEncoderPlan):
    """The training of a monoBERT."""

    recipe_type = MonoBERTRecipe


def _leaks(part: LeaksPart, folder: Path, progress: Progress) -> Leaks:
    def queries_of(source: str) -> list[str]:
        return load_topics(source_path(source, folder), progress=progress).queries

    with gathering() as each:
        queries = [each(partial(queries_of, source)) or [] for source in listed(part.topics)]
        documents = each(partial(part.excluded, folder, progress))
    excluded = frozenset(normal(query) for some in queries for query in some)
    return Leaks(excluded, documents, part.copies)
