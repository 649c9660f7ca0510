"""From a recipe to a trained dual encoder, a product that is a model's folder.

Pretraining and fine-tuning are a chain: the ``base`` of one recipe is the product of another.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from adducir.corpora.references import expanded
from adducir.encoders.cards import card
from adducir.encoders.learning import EncoderLearner, Lesson
from adducir.encoders.lessons import files_of, read_lesson
from adducir.encoders.model import DualEncoder
from adducir.encoders.recipe import COSINE_TEMPERATURE, DataPart, EncoderRecipe
from adducir.encoders.sources import EncoderSource, encoder_source
from adducir.models.machine import choose_device
from adducir.models.products import build_by_parts
from adducir.models.training import train
from adducir.study.absent import gathering
from adducir.study.files import file_digest
from adducir.study.fingerprint import fingerprint
from adducir.study.products import Manifest, product_fingerprint
from adducir.study.progress import SILENT, Progress
from adducir.study.recipe import validate
from adducir.study.yaml import Document

KIND = "dual-encoder"
_MAKER_VERSION = 2


@dataclass(frozen=True)
class Course:
    """A recipe with all that it names opened.

    Attributes:
        recipe: What the file says.
        folder: Where its relative paths start.
        base: The pretrained encoder.
        inputs: The fingerprints of what the encoder is made from.
    """

    recipe: EncoderRecipe
    folder: Path
    base: EncoderSource
    inputs: dict[str, str]

    @property
    def decides(self) -> dict[str, Any]:
        """Those parts of the recipe that decide the weights, without the names of sources."""
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

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the encoder that it makes."""
        return product_fingerprint(KIND, self.decides, self.inputs, _MAKER_VERSION)


def open_course(recipe: EncoderRecipe, folder: Path) -> Course:
    """Open the sources that a recipe names; no model is loaded.

    Args:
        recipe: The recipe.
        folder: The study's folder, where relative paths start.

    Raises:
        InputError: A file cannot be read, or there is no such model.
        MachineError: A model's package is not installed.
    """
    with gathering() as each:
        tokenizer = recipe.tokenizer and expanded(recipe.tokenizer)
        base = each(lambda: encoder_source(expanded(recipe.base), folder, tokenizer))
        data = each(lambda: identity_of(recipe.data, folder))
    return Course(recipe, folder, base, {"base": base.identity(), **data})


def identity_of(part: DataPart, folder: Path) -> dict[str, str]:
    """The fingerprints of the spans that a recipe names, by its keys.

    Raises:
        InputError: A file cannot be read; of all that are not at hand one error.
    """
    with gathering() as each:
        digests = {
            key: [each(partial(file_digest, path)) for path in paths]
            for key, paths in files_of(part, folder).items()
        }
    return {key: fingerprint(of_files) for key, of_files in digests.items()}


def train_encoder(
    course: Course,
    output: Path,
    *,
    device: str = "auto",
    rebuild: bool = False,
    progress: Progress = SILENT,
) -> Manifest:
    """Train a dual encoder, unless ``output`` holds it already.

    A training that was killed goes on from its last snapshot.

    Args:
        course: From :func:`open_course`.
        output: The folder of the product.
        device: See :func:`adducir.models.machine.choose_device`.
        rebuild: Train even if the product is current.
        progress: Told of spans, steps and losses.

    Raises:
        InputError: The spans or the model cannot be read.
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
        sources={"train": files_of(course.recipe.data, course.folder)["train"]},
        rebuild=rebuild,
        progress=progress,
    )


def _make(
    course: Course, folder: Path, parts: Path, name: str, device: str, progress: Progress
) -> dict[str, Any]:
    recipe = course.recipe
    encoder = DualEncoder.load(
        course.base,
        context=recipe.context,
        lengths=recipe.lengths,
        similarity=recipe.similarity,
        pooling=recipe.pooling or _paper_s_pooling(course.base),
        towers=recipe.towers,
        seed=recipe.training.seed,
    )
    spans = read_lesson(recipe.data, course.folder)
    told = spans.record()
    progress.note(
        f"{len(spans.training):,} spans of {told['training_groups']:,} groups to learn from, "
        f"{len(spans.held_out):,} of {told['validation_groups']:,} held out"
    )
    encoder.to(choose_device(device))
    learner = EncoderLearner(
        encoder,
        Lesson(encoder, spans.training),
        Lesson(encoder, spans.held_out),
        batches=recipe.batches,
        batch_size=recipe.training.batch_size,
        temperature=temperature_of(recipe, encoder),
        seed=recipe.training.seed,
    )
    history = train(learner, recipe.training, parts=parts, unit="spans", progress=progress)
    encoder.save(folder)
    history.save(folder)
    chosen = {
        "pooling": recipe.pooling or encoder.query.network.pooling,
        "temperature": temperature_of(recipe, encoder),
    }
    text = card(name, course, encoder.settings, chosen, told, history)
    (folder / "README.md").write_text(text, encoding="utf-8")
    return told | history.record()


def _paper_s_pooling(base: EncoderSource) -> Any:
    """The first token for a plain transformer, as both papers have it; else what the base says."""
    from adducir.encoders.layout import read_layout

    return None if read_layout(base.query.local()).pooling else "first"


def temperature_of(recipe: EncoderRecipe, encoder: DualEncoder) -> float:
    """What inner products are divided by in the loss."""
    if recipe.temperature is not None:
        return recipe.temperature
    return COSINE_TEMPERATURE if encoder.settings.similarity == "cosine" else 1.0


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
    """Validate a recipe file and train what it says; see :func:`train_encoder`.

    Args:
        document: The file.
        folder: The study's folder, where relative paths start.
        output: The folder of the product.
        changes: Overrides such as ``training.epochs=2``.
        device: See :func:`adducir.models.machine.choose_device`.
        rebuild: Train even if the product is current.
        progress: Told of spans, steps and losses.
    """
    course = open_course(validate(document, EncoderRecipe, changes), folder)
    return train_encoder(course, output, device=device, rebuild=rebuild, progress=progress)
