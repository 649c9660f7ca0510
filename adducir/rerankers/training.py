"""From a recipe to a trained cross-encoder, a product that is a model's folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from adducir.corpora.qrels import load_qrels
from adducir.corpora.references import file_path, source_path
from adducir.corpora.sources import open_corpus
from adducir.corpora.topics import load_topics
from adducir.deepct.leaks import Without, excluded
from adducir.deepct.recipe import listed
from adducir.models.machine import choose_device
from adducir.models.products import build_by_parts
from adducir.models.sources import ModelSource
from adducir.models.training import History, train
from adducir.rerankers.cards import card
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
    split,
)
from adducir.rerankers.examples_recipe import ExamplesPart
from adducir.rerankers.learning import Lesson, RerankerLearner
from adducir.rerankers.recipe import RerankerRecipe
from adducir.rerankers.registry import recipe_of, source_of
from adducir.rerankers.settings import save_settings
from adducir.rerankers.texts import texts_of
from adducir.runs.read import read_run
from adducir.study.absent import gathering
from adducir.study.checking import checked
from adducir.study.errors import InputError
from adducir.study.files import file_digest
from adducir.study.fingerprint import fingerprint
from adducir.study.products import Manifest, product_fingerprint
from adducir.study.progress import SILENT, Progress
from adducir.study.yaml import Document

KIND = "reranker"
_MAKER_VERSION = 2


@dataclass(frozen=True)
class Course:
    """A recipe with all that it names opened.

    Attributes:
        recipe: What the file says.
        part: Its examples.
        folder: The study's, where relative paths start.
        leaks: What must not be learnt from.
        base: The pretrained model.
        progress: Told what ir_datasets downloads.
    """

    recipe: CrossEncoderRecipe
    part: ExamplesPart
    folder: Path
    leaks: Leaks
    base: ModelSource
    progress: Progress

    @property
    def decides(self) -> dict[str, Any]:
        """Those parts of the recipe that decide the weights, without the names of sources."""
        named = {"kind", "description", "base", "tokenizer", "examples", "batch_tokens", "passages"}
        told = self.recipe.model_dump(mode="json", exclude=named)
        sources = {"pairs", "topics", "topic_field", "qrels", "corpus", "runs", "without"}
        part = self.part.model_dump(mode="json", exclude=sources, exclude_none=True)
        return told | {"examples": part, "copies": self.leaks.copies}

    @property
    def sources(self) -> dict[str, list[Path | str]]:
        """The principal source: the file of pairs, or the corpus."""
        if self.part.pairs is not None:
            return {"pairs": [file_path(self.part.pairs, self.folder)]}
        return {"corpus": [self.corpus.source]}

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
            return {"pairs": file_digest(file_path(part.pairs, self.folder))}
        if part.query_field is not None:
            return {"corpus": fingerprint(self.corpus.identity())}
        with gathering() as each:
            corpus = each(lambda: fingerprint(self.corpus.identity()))
            topics = each(lambda: fingerprint(self.topics.identity()))
            qrels = each(lambda: fingerprint(self.qrels.identity()))
            runs = [each(partial(file_digest, path)) for path in each(lambda: self.runs) or ()]
        return {"topics": topics, "qrels": qrels, "corpus": corpus, "runs": fingerprint(runs)}

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the model that it makes."""
        return product_fingerprint(KIND, self.decides, self.inputs, _MAKER_VERSION)

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
        named = self.part.corpus
        if named is None:
            raise InputError("the examples name no corpus.")
        return open_corpus(
            source_path(named.source, self.folder),
            docno_field=named.docno_field,
            format=named.format,
            progress=self.progress,
        )

    @cached_property
    def runs(self) -> list[Path]:
        """The runs' files."""
        return [file_path(one, self.folder) for one in listed(self.part.runs)]


@checked
def open_course(recipe: RerankerRecipe, folder: Path, *, progress: Progress = SILENT) -> Course:
    """Open the sources that a recipe names; no document is read, no model loaded.

    Args:
        recipe: The recipe.
        folder: The study's folder, where relative paths start.
        progress: Told what ir_datasets downloads.

    Raises:
        InputError: The recipe has nothing to train, or a source cannot be read.
        MachineError: Something cannot be downloaded, or is not installed.
    """
    if not isinstance(recipe, CrossEncoderRecipe):
        raise InputError(
            f"a {recipe.model} is not trained here.",
            mend="Models that can be trained are: cross-encoder, monobert.",
        )
    if recipe.examples is None:
        raise InputError(
            "the recipe has no `examples`, so that there is nothing to train.",
            mend="It can be used as it is: adducir rerank --model RECIPE.",
        )
    part = recipe.examples
    with gathering() as each:
        leaks = each(partial(_leaks, part, folder, progress))
        base = each(partial(source_of, recipe, folder))
        course = Course(recipe, part, folder, leaks, base, progress)
        each(lambda: course.data_inputs)
    return course


def train_recipe(
    document: Document,
    folder: Path,
    output: Path,
    *,
    changes: Sequence[str] = (),
    device: str = "auto",
    rebuild: bool = False,
    progress: Progress = SILENT,
) -> Manifest:
    """Read a recipe's file, open what it names, and train: what ``adducir train`` calls.

    Args:
        document: The file.
        folder: The study's, where relative paths start.
        output: The folder of the product.
        changes: Overrides of the recipe.
        device: See :func:`train_reranker`, as for the rest and the errors.
        rebuild: Train even if the product is current.
        progress: Told of examples, steps and losses.
    """
    course = open_course(recipe_of(document, changes), folder, progress=progress)
    return train_reranker(course, output, device=device, rebuild=rebuild, progress=progress)


def _leaks(examples: ExamplesPart, folder: Path, progress: Progress) -> Leaks:
    part = examples.without

    def locate(source: str) -> str:
        return source_path(source, folder)

    def queries_of(source: str) -> list[str]:
        return load_topics(locate(source), progress=progress).queries

    without = Without(listed(part.qrels), listed(part.pools), listed(part.runs), part.depth)
    with gathering() as each:
        asked = [each(partial(queries_of, source)) or [] for source in listed(part.topics)]
        documents = each(lambda: excluded(without, locate=locate, progress=progress))
    queries = frozenset(normal(query) for some in asked for query in some)
    return Leaks(queries, documents, part.copies)


@checked
def train_reranker(
    course: Course,
    output: Path,
    *,
    device: str = "auto",
    rebuild: bool = False,
    progress: Progress = SILENT,
) -> Manifest:
    """Train the cross-encoder of a recipe, unless ``output`` holds it already.

    A training that was killed goes on from its last snapshot.

    Args:
        course: From :func:`open_course`.
        output: The folder of the product.
        device: See :func:`adducir.models.machine.choose_device`.
        rebuild: Train even if the product is current.
        progress: Told of examples, steps and losses.

    Raises:
        InputError: A source or the model cannot be read, or there is nothing to learn.
        ProductError: ``output`` holds something that is not ours to replace.
    """

    def make(folder: Path, parts: Path) -> dict[str, Any]:
        return _make(course, folder, parts, output.name, device, progress)

    return build_by_parts(
        output,
        make,
        kind=KIND,
        recipe=course.decides,
        inputs=course.inputs,
        maker_version=_MAKER_VERSION,
        threads=course.recipe.training.threads,
        sources=course.sources,
        rebuild=rebuild,
        progress=progress,
    )


def teach(course: Course, progress: Progress = SILENT) -> tuple[list[Example], Counts]:
    """Make the examples of a course.

    Raises:
        InputError: A source cannot be read, or there is no example.
    """
    part, counts = course.part, Counts()
    if part.pairs is not None:
        return read_pairs(file_path(part.pairs, course.folder), course.leaks, counts), counts
    if part.query_field is not None:
        made = document_examples(
            course.corpus,
            part.query_field,
            listed(course.recipe.fields),
            course.leaks,
            counts,
            negatives=part.negatives,
            most=part.most,
            seed=part.seed,
            progress=progress,
        )
        return made, counts
    found = candidates(
        course.topics,
        course.qrels,
        [read_run(path) for path in course.runs],
        course.leaks,
        counts,
        grade=part.grade,
        depth=part.depth,
        unjudged=part.unjudged,
    )
    wanted = {docno for topic in found for docno in (*topic.positives, *topic.negatives)}
    if course.leaks.copies:
        wanted |= course.leaks.documents.docnos
    texts = texts_of(course.corpus, wanted, listed(course.recipe.fields), progress=progress)
    made = examples(
        found, texts.find, course.leaks, counts, negatives=part.negatives, seed=part.seed
    )
    if not made:
        raise InputError(
            "no topic has both a positive and a negative to learn from.",
            mend="Are topics, qrels, runs and corpus of one collection? "
            f"Counts: {counts.record()}.",
        )
    return made, counts


def _make(
    course: Course, folder: Path, parts: Path, name: str, device: str, progress: Progress
) -> dict[str, Any]:
    recipe = course.recipe
    made, counts = teach(course, progress)
    training, held_out = split(made, recipe.held_out.share, recipe.held_out.seed)
    progress.note(
        f"{counts.queries:,} queries, {counts.left_out_queries:,} queries and "
        f"{counts.left_out_documents:,} documents left out by leak control; "
        f"{len(training):,} pairs to learn from, {len(held_out):,} held out"
    )
    model = CrossEncoder.untrained(
        course.base,
        labels=recipe.labels,
        length=recipe.length,
        seed=recipe.training.seed,
    )
    model.to(choose_device(device))
    learner = RerankerLearner(
        model,
        Lesson(model, training),
        Lesson(model, held_out),
        batch_size=recipe.training.batch_size,
        seed=recipe.training.seed,
    )
    history = train(learner, recipe.training, parts=parts, unit="pairs", progress=progress)
    record = counts.record() | {"training_pairs": len(training), "held_out_pairs": len(held_out)}
    _save(model, folder, recipe, history)
    text = card(name, course, record, history)
    (folder / "README.md").write_text(text, encoding="utf-8")
    return record | history.record()


def _save(model: CrossEncoder, folder: Path, recipe: CrossEncoderRecipe, history: History) -> None:
    model.network.save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)
    save_settings(folder, recipe)
    history.save(folder)
