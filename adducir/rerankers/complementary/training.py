"""From a recipe to a trained model that selects evidence, a product that is a model's folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from adducir.corpora.evidence_sets.record import EvidenceQuestion
from adducir.corpora.references import expanded
from adducir.models.learning import ExampleLearner
from adducir.models.machine import Precision, choose_device
from adducir.models.products import build_by_parts
from adducir.models.sources import ModelSource, model_source
from adducir.models.training import train
from adducir.rerankers.complementary.cards import card
from adducir.rerankers.complementary.drn import DRNLearner, DRNModel
from adducir.rerankers.complementary.learning import (
    ComplementaryLearner,
    Lesson,
)
from adducir.rerankers.complementary.lessons import Questions, files_of, read_lesson
from adducir.rerankers.complementary.model import ComplementaryModel
from adducir.rerankers.complementary.network import Vectoriser
from adducir.rerankers.complementary.recipe import (
    ComplementaryRecipe,
    DRNRecipe,
    choices,
)
from adducir.rerankers.complementary.scoring import Weights
from adducir.rerankers.complementary.selecting import EvidenceModel, Tuned, tune
from adducir.rerankers.complementary.settings import DRNSelection, Selection, Settings
from adducir.study.absent import gathering
from adducir.study.files import file_digest
from adducir.study.fingerprint import fingerprint
from adducir.study.products import Manifest, product_fingerprint
from adducir.study.progress import SILENT, Progress
from adducir.study.recipe import validate
from adducir.study.yaml import Document

KIND = "evidence-selector"
_MAKER_VERSION = 2

AnyRecipe = ComplementaryRecipe | DRNRecipe


@dataclass(frozen=True)
class Course:
    """A recipe with all that it names opened.

    Attributes:
        recipe: What the file says.
        folder: Where its relative paths start.
        base: The pretrained encoder.
    """

    recipe: AnyRecipe
    folder: Path
    base: ModelSource

    @property
    def decides(self) -> dict[str, Any]:
        """Those parts of the recipe that decide the model, without the names of sources."""
        told = self.recipe.model_dump(
            mode="json",
            exclude={
                "description": True,
                "base": True,
                "tokenizer": True,
                "data": {"train", "validation", "without"},
            },
        )
        return told | {"held_out": bool(self.recipe.data.validation)}

    @cached_property
    def inputs(self) -> dict[str, str]:
        """The fingerprints of what the model is made from."""
        files = files_of(self.recipe.data, self.folder)
        with gathering() as each:
            digests = {
                key: [each(partial(file_digest, path)) for path in paths]
                for key, paths in files.items()
            }
        data = {key: fingerprint(of_files) for key, of_files in digests.items()}
        return {"base": self.base.identity(), **data}

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the model that it makes."""
        return product_fingerprint(KIND, self.decides, self.inputs, _MAKER_VERSION)

    @property
    def grid(self) -> dict[str, tuple[float, ...]]:
        """The values of each setting of the selection."""
        part, recipe = self.recipe.selection, self.recipe
        said: dict[str, Any] = part.model_dump(exclude_none=True)
        if isinstance(recipe, ComplementaryRecipe):
            said = recipe.weights.model_dump() | said
            order = ("size", "beam", "candidates", "diversity", "compactness")
            said = {key: said[key] for key in order}
        return {key: choices(value) for key, value in said.items()}

    @property
    def settings(self) -> Settings:
        """The model's settings before any choice: the first value of each."""
        recipe, first = self.recipe, {key: values[0] for key, values in self.grid.items()}
        kind = DRNSelection if isinstance(recipe, DRNRecipe) else Selection
        return Settings(
            kind=recipe.kind,
            length=recipe.length,
            pooling=recipe.pooling,
            slices=recipe.slices if isinstance(recipe, DRNRecipe) else 4,
            selection=kind.model_validate(first),
        )


def open_course(recipe: AnyRecipe, folder: Path) -> Course:
    """Open the sources that a recipe names; no model is loaded.

    Raises:
        InputError: A file cannot be read, or there is no such model.
        MachineError: A model's package is not installed.
    """
    tokenizer = recipe.tokenizer and expanded(recipe.tokenizer)
    course = Course(recipe, folder, model_source(expanded(recipe.base), folder, tokenizer))
    course.inputs  # noqa: B018 - every file is read now
    return course


def train_evidence(
    course: Course,
    output: Path,
    *,
    device: str = "auto",
    rebuild: bool = False,
    progress: Progress = SILENT,
) -> Manifest:
    """Train the model of a recipe, unless ``output`` holds it already.

    A training that was killed goes on from its last snapshot.

    Args:
        course: From :func:`open_course`.
        output: The folder of the product.
        device: See :func:`adducir.models.machine.choose_device`.
        rebuild: Train even if the product is current.
        progress: Told of questions, steps and losses.

    Raises:
        InputError: The questions or the model cannot be read.
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
        rebuild=rebuild,
        progress=progress,
    )


def _make(
    course: Course, folder: Path, parts: Path, name: str, device: str, progress: Progress
) -> dict[str, Any]:
    recipe = course.recipe
    questions = read_lesson(recipe.data, course.folder)
    progress.note(
        f"{len(questions.training):,} questions to learn from, {len(questions.held_out):,} held out"
    )
    model, learner = _learner(course, questions, device)
    history = train(learner, recipe.training, parts=parts, unit="questions", progress=progress)
    tuned = _tuned(course, model, questions.held_out)
    counts = questions.record()
    if tuned is not None:
        model.settings = model.settings.model_copy(update={"selection": tuned.selection})
        counts |= {
            "settings_tried": tuned.tried,
            "validation_exact_match": round(tuned.exact_match, 4),
            "validation_f1": round(tuned.f1, 4),
        }
    counts |= {f"selected_{key}": value for key, value in model.settings.selection}
    model.save(folder)
    history.save(folder)
    (folder / "README.md").write_text(card(name, course, counts, history), encoding="utf-8")
    return counts | history.record()


def _learner(
    course: Course, questions: Questions, device: str
) -> tuple[EvidenceModel, ExampleLearner[Lesson]]:
    recipe, seed = course.recipe, course.recipe.training.seed
    precision = recipe.training.precision
    how: dict[str, Any] = {
        "batch_size": recipe.training.batch_size,
        "seed": seed,
        "tokens": recipe.training.at_once,
    }
    if isinstance(recipe, DRNRecipe):
        drn = DRNModel.untrained(course.base, course.settings, seed)
        drn.to(choose_device(device))
        for side in (drn.relevance, drn.novelty):
            _freeze(side.encoder, recipe)
        return drn, DRNLearner(drn, *_lessons(drn, questions, precision), **how)
    model = ComplementaryModel.untrained(course.base, course.settings, seed)
    model.to(choose_device(device))
    _freeze(model.encoder, recipe)
    weights = Weights(recipe.weights.diversity, recipe.weights.compactness)
    lessons = _lessons(model, questions, precision)
    return model, ComplementaryLearner(
        model, *lessons, weights=weights, margin=recipe.margin, **how
    )


def _freeze(encoder: Vectoriser, recipe: AnyRecipe) -> None:
    if recipe.layers is not None:
        encoder.freeze(recipe.layers)


def _lessons(
    model: EvidenceModel, questions: Questions, precision: Precision
) -> tuple[Lesson, Lesson]:
    return (
        Lesson(model, questions.training, precision),
        Lesson(model, questions.held_out, precision),
    )


def _tuned(course: Course, model: EvidenceModel, held_out: list[EvidenceQuestion]) -> Tuned | None:
    """The settings of the selection, chosen on the validation questions if there are any."""
    if not held_out:
        return None
    training = course.recipe.training
    return tune(model, held_out, course.grid, precision=training.precision, tokens=training.at_once)


def recipe_of(document: Document, changes: Sequence[str] = ()) -> AnyRecipe:
    """The recipe in a file.

    Raises:
        InputError: Something is wrong with it; with the lines.
    """
    if document.data.get("kind") == "drn":
        return validate(document, DRNRecipe, changes)
    return validate(document, ComplementaryRecipe, changes)


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
    """Validate a recipe file and train what it says; see :func:`train_evidence`."""
    course = open_course(recipe_of(document, changes), folder)
    return train_evidence(course, output, device=device, rebuild=rebuild, progress=progress)
