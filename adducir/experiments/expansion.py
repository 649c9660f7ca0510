"""Corpora that an experiment file expands: the model and the weights that they need."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from adducir.corpora.documents import Corpus
from adducir.corpora.references import file_path
from adducir.deepct.expanded import ExpandedCorpus
from adducir.deepct.folders import RECIPES
from adducir.deepct.rendering import Rendering
from adducir.deepct.settings import Settings, load_settings
from adducir.deepct.training import DeepCTPlan
from adducir.deepct.weighing import weigh_corpus, weights_fingerprint
from adducir.experiments.recipe import CorpusRecipe, file_name
from adducir.models.sources import ModelSource
from adducir.study.errors import InputError
from adducir.study.products import is_current
from adducir.study.progress import SILENT, Progress
from adducir.training.artifacts import train_model
from adducir.training.kinds import open_training


@dataclass(frozen=True)
class Expansion:
    """How a corpus is expanded.

    Attributes:
        said: What the experiment file says.
        model: The term weighter's folder.
        model_fingerprint: Of the model that is wanted there.
        course: How it is trained; None for one that is only read.
        base: The corpus that is expanded.
        corpus: The expanded one.
    """

    said: CorpusRecipe
    model: Path
    model_fingerprint: str
    course: DeepCTPlan | None
    base: Corpus
    corpus: ExpandedCorpus

    @property
    def is_trained(self) -> bool:
        """Whether the model is there."""
        return self.course is None or self.course.is_current(self.model)

    @property
    def is_weighed(self) -> bool:
        """Whether the corpus's weights are there."""
        return is_current(self.corpus.weights, self.corpus.weights_fingerprint)

    def steps(self, shown: Callable[[Path], str]) -> list[tuple[str, str]]:
        """What has to be made before documents can be read: verbs and what they make."""
        if self.is_weighed:
            return []
        weigh = ("weigh", f"{shown(self.corpus.weights)} by {shown(self.model)}")
        if self.is_trained:
            return [weigh]
        return [("train", shown(self.model)), weigh]

    def make(self, threads: int | None, progress: Progress) -> None:
        """Train the model and weigh the corpus, as far as they are not there.

        Raises:
            AdducirError: A record is malformed, the disk is full, and the like.
        """
        if self.is_weighed:
            return
        if self.course is not None:
            train_model(self.course, self.model, progress=progress)
        weigh_corpus(
            self.model,
            self.base,
            self.corpus.weights,
            threads=threads,
            precision=self.said.precision,
            progress=progress,
        )


def open_expansion(
    said: CorpusRecipe, base: Corpus | None, folder: Path, progress: Progress = SILENT
) -> Expansion | None:
    """Open the model that expands a corpus, or the recipe that makes it.

    Args:
        said: An entry of ``corpora`` with ``expand``.
        base: The corpus that it names; None where that is not at hand.
        folder: The study's folder.
        progress: Told what ir_datasets downloads.

    Returns:
        The expansion; None where ``base`` is.

    Raises:
        InputError: There is no such model or recipe, or the recipe has faults.
        MachineError: A source of the recipe cannot be downloaded.
    """
    path = file_path(str(said.model), folder)
    if path.suffix in RECIPES:
        course = open_training(path, progress=progress)
        if not isinstance(course, DeepCTPlan):
            raise InputError("this is no recipe of a term weighter.", path=path)
        model, settings = path.with_suffix(""), course.model_settings
        return _expansion(said, base, folder, model, settings, course.fingerprint, course)
    if not path.is_dir():
        raise InputError(
            "there is no such model.",
            path=path,
            mend="Name a recipe, such as deepct/NAME.yaml, or a folder that it made.",
            absent=True,
        )
    identity = ModelSource(str(path), path).identity()
    return _expansion(said, base, folder, path, load_settings(path), identity, None)


def _expansion(
    said: CorpusRecipe,
    base: Corpus | None,
    folder: Path,
    model: Path,
    settings: Settings,
    identity: str,
    course: DeepCTPlan | None,
) -> Expansion | None:
    if base is None:
        return None
    name = f"{model.name}.{file_name(str(said.expand))}.weights"
    corpus = ExpandedCorpus(
        base,
        folder / "deepct" / name,
        weights_fingerprint(base, identity, said.precision),
        settings,
        Rendering(scale=said.scale, transform=said.transform),
    )
    return Expansion(said, model, identity, course, base, corpus)
