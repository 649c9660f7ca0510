"""From a recipe to a trained term weighter, a product that is a model's folder."""

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from adducir.corpora.documents import Corpus
from adducir.corpora.qrels import load_qrels
from adducir.corpora.references import expanded, file_path, source_path
from adducir.corpora.sources import open_corpus
from adducir.corpora.topics import load_topics
from adducir.deepct.cards import card
from adducir.deepct.examples import Counts, Example, ExampleSettings, examples
from adducir.deepct.leaks import Excluded, Without, excluded
from adducir.deepct.learning import DeepCTLearner, Lesson
from adducir.deepct.model import TermWeighter
from adducir.deepct.passages import remembering
from adducir.deepct.recipe import DeepCTRecipe, listed
from adducir.deepct.recovery import by_model, by_tf_idf, constant, recoveries
from adducir.deepct.settings import Settings
from adducir.deepct.splitting import sample, split
from adducir.deepct.stopwords import NAMES, StopWords, stop_words
from adducir.deepct.supervision import FromFields, FromTopics, Supervision
from adducir.models.machine import choose_device, seed_of
from adducir.models.products import build_by_parts
from adducir.models.sources import ModelSource, model_source
from adducir.models.training import train
from adducir.study.absent import gathering
from adducir.study.errors import InputError
from adducir.study.fingerprint import fingerprint
from adducir.study.products import Manifest, product_fingerprint
from adducir.study.progress import SILENT, Progress

KIND = "term-weighter"
_MAKER_VERSION = 2
_MEASURED, _KNOWN = 500, 20_000
"""Passages that a model is measured on when it is trained, and that tf-idf has its idf of."""


@dataclass(frozen=True)
class Course:
    """A recipe with all that it names opened.

    Attributes:
        recipe: What the file says.
        corpus: The documents to learn from.
        supervision: Gives their queries.
        without: The documents left out.
        stop_words: Words that are no terms.
        base: The pretrained encoder.
    """

    recipe: DeepCTRecipe
    corpus: Corpus
    supervision: Supervision
    without: Excluded
    stop_words: StopWords
    base: ModelSource

    @property
    def settings(self) -> Settings:
        """What the model keeps of it."""
        recipe = self.recipe
        silent = () if recipe.stop_words_in_loss else tuple(self.stop_words)
        return Settings(
            text=listed(recipe.text),
            keys=recipe.keys,
            activation=recipe.activation,
            passages=recipe.passages,
            stop_words=silent,
        )

    @property
    def decides(self) -> dict[str, Any]:
        """Those parts of the recipe that decide the weights, without the names of sources."""
        told = self.recipe.model_dump(
            mode="json",
            exclude={"description", "corpus", "topics", "without", "settings", "stopwords"}
            | {"base", "tokenizer"},
        )
        if told["training_length"] is None:  # so that models made before it was a key stay current
            del told["training_length"]
        return told | {"copies": self.recipe.without.copies}

    @property
    def inputs(self) -> dict[str, str]:
        """The fingerprints of what the model is made from."""
        return {
            "corpus": fingerprint(self.corpus.identity()),
            "supervision": fingerprint(self.supervision.identity()),
            "without": fingerprint(self.without.identity()),
            "stop words": fingerprint(self.stop_words.identity()),
            "base": self.base.identity(),
        }

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the model that it makes."""
        return product_fingerprint(KIND, self.decides, self.inputs, _MAKER_VERSION)


def open_course(recipe: DeepCTRecipe, folder: Path, *, progress: Progress = SILENT) -> Course:
    """Open the sources that a recipe names; no document is read, no model loaded.

    Args:
        recipe: The recipe.
        folder: The study's folder, where relative paths start.
        progress: Told what ir_datasets downloads.

    Raises:
        InputError: A source cannot be read; of all that is not at hand one error.
        MachineError: Something cannot be downloaded, or is not installed.
    """
    named = recipe.stopwords
    with gathering() as each:
        corpus = each(partial(_corpus, recipe, folder, progress))
        supervision = each(partial(_supervision, recipe, folder, progress))
        without = each(partial(_without, recipe, folder, progress))
        words = each(lambda: stop_words(named if named in NAMES else file_path(named, folder)))
        tokenizer = recipe.tokenizer and expanded(recipe.tokenizer)
        base = each(lambda: model_source(expanded(recipe.base), folder, tokenizer))
    return Course(recipe, corpus, supervision, without, words, base)


def _corpus(recipe: DeepCTRecipe, folder: Path, progress: Progress) -> Corpus:
    part = recipe.corpus
    return open_corpus(
        source_path(part.source, folder),
        docno_field=part.docno_field,
        format=part.format,
        progress=progress,
    )


def _without(recipe: DeepCTRecipe, folder: Path, progress: Progress) -> Excluded:
    part = recipe.without
    without = Without(listed(part.qrels), listed(part.pools), listed(part.runs), part.depth)
    return excluded(without, locate=lambda source: source_path(source, folder), progress=progress)


def _supervision(recipe: DeepCTRecipe, folder: Path, progress: Progress) -> Supervision:
    part = recipe.topics
    if part is None:
        return FromFields(listed(recipe.reference))
    topics = load_topics(source_path(part.source, folder), field=part.field, progress=progress)
    sources = [source_path(source, folder) for source in listed(part.qrels)]
    return FromTopics.of(topics, load_qrels(sources, progress=progress), grade=part.grade)


def train_model(
    course: Course,
    output: Path,
    *,
    device: str = "auto",
    rebuild: bool = False,
    progress: Progress = SILENT,
) -> Manifest:
    """Train the term weighter of a recipe, unless ``output`` holds it already.

    A training that was killed goes on from its last snapshot.

    Args:
        course: From :func:`open_course`.
        output: The folder of the product.
        device: See :func:`adducir.models.machine.choose_device`.
        rebuild: Train even if the product is current.
        progress: Told of examples, steps and losses.

    Raises:
        InputError: The corpus or the model cannot be read, or the passages do not fit the model.
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
        sources={"corpus": [course.corpus.source]},
        rebuild=rebuild,
        progress=progress,
    )


@dataclass(frozen=True)
class Taught:
    """The examples of a course, split: to learn from, to validate with, to test with."""

    training: list[Example]
    held_out: list[Example]
    test: list[Example]
    counts: Counts

    @property
    def unseen(self) -> tuple[str, list[Example]]:
        """What to measure the model on: the test part, or else what it was validated with."""
        return ("test", self.test) if self.test else ("validation", self.held_out)

    def record(self) -> dict[str, Any]:
        """What became of the corpus, as plain values."""
        return self.counts.record() | {
            "training_examples": len(self.training),
            "held_out_examples": len(self.held_out),
            "test_examples": len(self.test),
        }


def teach(course: Course, weighter: TermWeighter, progress: Progress = SILENT) -> Taught:
    """Make the examples of a course and hold some out.

    Raises:
        InputError: The corpus cannot be read, or the passages do not fit the model.
    """
    recipe = course.recipe
    part = recipe.passages
    if part.unit == "pieces" and part.length > weighter.most_pieces:
        raise InputError(
            f"passages of {part.length} pieces do not fit the model {recipe.base}, which reads "
            f"{weighter.most_pieces}.",
            mend="Lower `passages.length`.",
        )
    made = examples(
        course.corpus,
        ExampleSettings(
            listed(recipe.text),
            part.length,
            part.overlap,
            part.unit,
            recipe.keys,
            recipe.keep_empty,
            recipe.held_out.by,
            recipe.without.copies,
        ),
        course.supervision,
        remembering(weighter.count_pieces),
        stop_words=course.stop_words,
        excluded=course.without,
        progress=progress,
    )
    for warning in made.counts.warnings():
        progress.note(warning)
    part_of = recipe.held_out
    by: Literal["docno", "group"] = "group" if part_of.by else "docno"
    rest, test = split(made.examples, part_of.test, seed_of(part_of.seed, "test"), by)
    training, held_out = split(rest, part_of.share, part_of.seed, by)
    training = sample(training, recipe.most, recipe.training.seed)
    return Taught(training, held_out, test, made.counts)


def _make(
    course: Course, folder: Path, parts: Path, name: str, device: str, progress: Progress
) -> dict[str, Any]:
    recipe = course.recipe
    weighter = TermWeighter.untrained(course.base, course.settings, recipe.training.seed)
    taught = teach(course, weighter, progress)
    weighter.to(choose_device(device))
    reading: dict[str, Any] = {
        "stop_words_in_loss": recipe.stop_words_in_loss,
        "longest": recipe.training_length,
    }
    learner = DeepCTLearner(
        weighter,
        Lesson(weighter, taught.training, **reading),
        Lesson(weighter, taught.held_out, **reading),
        batch_size=recipe.training.batch_size,
        seed=recipe.training.seed,
    )
    progress.note(_told(taught))
    history = train(learner, recipe.training, parts=parts, unit="passages", progress=progress)
    weighter.save(folder)
    history.save(folder)
    text = card(name, course, taught.record(), history)
    (folder / "README.md").write_text(text, encoding="utf-8")
    return taught.record() | history.record() | {"recovery": _recovery(weighter, taught, progress)}


def _recovery(weighter: TermWeighter, taught: Taught, progress: Progress) -> dict[str, Any] | None:
    """The average precision of the model and of what it must beat, on some passages held out."""
    part, examples = taught.unseen
    some = sample([one for one in examples if any(one.targets)], _MEASURED)
    if not some:
        return None
    progress.note(f"measuring the model on {len(some):,} {part} passages")
    known = sample(taught.training, _KNOWN)
    ways = {"trained": by_model(weighter), "tf-idf": by_tf_idf(known), "constant": constant}
    return {"part": part, "ways": [asdict(one) for one in recoveries(ways, some)]}


def _told(taught: Taught) -> str:
    counts = taught.counts
    left_out = counts.excluded + counts.copies
    copies = f", {counts.copies:,} of them copies" if counts.copies else ""
    return (
        f"{counts.documents:,} documents, {left_out:,} left out by leak control{copies}; "
        f"{len(taught.training):,} passages to learn from, {len(taught.held_out):,} held out"
    )
