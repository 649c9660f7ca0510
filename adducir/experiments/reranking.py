"""Systems of an experiment file that rerank the run of another system."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from adducir.corpora.references import expanded, file_path
from adducir.corpora.topics import Topics
from adducir.deepct.folders import RECIPES
from adducir.experiments.recipe import SystemRecipe, file_name
from adducir.indexes.engine import Index
from adducir.models.machine import using_threads
from adducir.rerankers.cross_encoder import CrossEncoderRecipe
from adducir.rerankers.registry import Reranker, identity_of, open_reranker, read_recipe
from adducir.rerankers.rerank import Reranked, rerank
from adducir.rerankers.texts import StoredTexts
from adducir.rerankers.training import CrossEncoderPlan
from adducir.runs.run import Run
from adducir.study.errors import InputError, ProductError
from adducir.study.progress import SILENT, Progress
from adducir.training.artifacts import train_model
from adducir.training.kinds import open_training
from adducir.training.recipe import listed


@dataclass(frozen=True)
class ToTrain:
    """A reranker that an experiment trains where it is missing.

    Attributes:
        course: Its recipe, opened.
        recipe: The recipe's file.
        folder: The model's.
    """

    course: CrossEncoderPlan
    recipe: Path
    folder: Path

    @property
    def is_missing(self) -> bool:
        """Whether it has to be trained."""
        return not self.course.is_current(self.folder)


@dataclass(frozen=True)
class Reranking:
    """How a system reranks.

    Attributes:
        said: What the experiment file says.
        folder: The study's.
        training: How its reranker is trained; None for one that is only read.
        pretrained: The reranker, where it is only read.
    """

    said: SystemRecipe
    folder: Path
    training: ToTrain | None = None
    pretrained: Reranker | None = None

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that decides the score of a query and a passage; the model need not be there."""
        if self.training is not None:
            course = self.training.course
            return identity_of(course.recipe, course.fingerprint)
        return self.reranker.identity

    @property
    def reranker(self) -> Reranker:
        """The reranker; one that is trained must be there.

        Raises:
            ProductError: It is not there.
        """
        if self.pretrained is not None:
            return self.pretrained
        return open_reranker(self._trained.recipe)

    @property
    def _trained(self) -> ToTrain:
        if self.training is None:
            raise ValueError("a reranker is trained or pretrained")
        return self.training

    def decides(self, index_fields: tuple[str, ...]) -> dict[str, Any]:
        """All that decides its rankings, beside the candidates, their queries and documents."""
        recipe = self.pretrained.recipe if self.pretrained else self._trained.course.recipe
        return {
            "reranker": self.identity,
            "passages": recipe.passages.model_dump(mode="json"),
            "fields": list(self.fields or index_fields),
            "depth": self.said.deepest,
        }

    @property
    def fields(self) -> tuple[str, ...]:
        """The documents' fields that are read; none where neither file nor recipe says."""
        if self.said.fields:
            return self.said.fields
        if self.pretrained is not None:
            return self.pretrained.fields
        return listed(self._trained.course.recipe.fields)

    @property
    def is_listwise(self) -> bool:
        """Whether the order of some documents depends on the others."""
        return self.pretrained is not None and self.pretrained.is_listwise

    @property
    def is_trained(self) -> bool:
        """Whether it is one that an experiment trains, and is there."""
        return self.training is not None and not self.training.is_missing

    def steps(self, shown: Callable[[Path], str]) -> list[tuple[str, str]]:
        """What has to be made before it can rerank: verbs and what they make."""
        if self.training is None or self.is_trained:
            return []
        return [("train", shown(self.training.folder))]

    def make(self, progress: Progress) -> None:
        """Train the reranker if it is missing.

        Raises:
            AdducirError: A record is malformed, the disk is full, and the like.
        """
        if self.training is not None:
            train_model(self.training.course, self.training.folder, progress=progress)

    def run(
        self,
        candidates: Run,
        topics: Topics,
        index: Index,
        name: str,
        threads: int | None,
        progress: Progress,
    ) -> Reranked:
        """Rerank a run; scores are kept in the study, and known ones are not computed again.

        Raises:
            ProductError: The model is not the one that was planned.
            InputError: A document or a topic is not there.
        """
        reranker = self.reranker
        if reranker.identity != self.identity:
            raise ProductError(
                "this is not the model that was planned: its recipe has changed since, or another "
                "experiment has trained its own here.",
                path=reranker.source.folder,
                mend="Run this again.",
            )
        with using_threads(threads):
            found = rerank(
                candidates,
                topics,
                StoredTexts(index.documents, self.fields or index.fields),
                reranker,
                depth=self.said.deepest,
                tag=file_name(name),
                cache=self.folder / "rerankers" / ".scores",
                progress=progress,
            )
        found.settings["name"] = self.said.by
        return found


def open_reranking(said: SystemRecipe, folder: Path, progress: Progress = SILENT) -> Reranking:
    """Open the reranker of a system, or the recipe that makes it; no model is loaded.

    Args:
        said: An entry of ``systems`` with ``rerank``.
        folder: The study's folder.
        progress: Told what ir_datasets downloads.

    Raises:
        InputError: There is no such model or recipe, or the recipe has faults; or the depth of a
            listwise reranker is tuned.
        MachineError: A source of the recipe cannot be downloaded.
    """
    by = str(said.by)
    path = file_path(by, folder)
    if path.suffix in RECIPES:
        recipe = read_recipe(path)
        if isinstance(recipe, CrossEncoderRecipe) and recipe.examples is not None:
            course = open_training(path, progress=progress)
            if not isinstance(course, CrossEncoderPlan):
                raise InputError("this is no recipe of a cross-encoder.", path=path)
            found = Reranking(said, folder, training=ToTrain(course, path, path.with_suffix("")))
            return _checked(found)
    return _checked(Reranking(said, folder, pretrained=open_reranker(expanded(by), folder)))


def _checked(found: Reranking) -> Reranking:
    if found.is_listwise and found.said.tune is not None:
        raise InputError(
            "this reranker puts lists in order, so that another depth is another run, and its "
            "depth cannot be tuned here.",
            mend="Name a `depth`; or make a system of each.",
        )
    found.identity  # noqa: B018  (an unreadable model is a fault before anything runs)
    return found
