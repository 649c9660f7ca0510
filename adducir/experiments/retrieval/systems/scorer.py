"""The reranker of a system of an experiment: read, or trained for it."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from adducir.core.errors import ArtifactError, InputError
from adducir.core.progress import SILENT, Progress
from adducir.corpora.references import expanded, file_path
from adducir.corpora.topics import Topics
from adducir.experiments.context import Context
from adducir.experiments.retrieval.index_step import IndexStep
from adducir.experiments.retrieval.trained import is_recipe, open_recipe
from adducir.models.machine import Precision, using_threads
from adducir.rerankers.registry import (
    Reranker,
    identity_of,
    is_trained,
    open_reranker,
    open_trained,
    read_recipe,
)
from adducir.rerankers.rerank import Reranked, rerank
from adducir.rerankers.texts import StoredTexts
from adducir.rerankers.training import CrossEncoderPlan
from adducir.training.recipe import listed


@dataclass(frozen=True)
class Scorer:
    """The reranker of a system.

    Attributes:
        by: Its recipe, folder or name, as the experiment file says.
        depth: How many documents per topic are reranked.
        named: The fields that the file says are read.
        folder: The study's.
        training: How it is trained; None for one that is only read.
        recipe: The file of its recipe, where it is trained.
        path: Where it is trained; None where it is only read.
        pretrained: The reranker, where it is only read.
    """

    by: str
    depth: int
    named: tuple[str, ...]
    folder: Path
    training: CrossEncoderPlan | None = None
    recipe: Path | None = None
    path: Path | None = None
    pretrained: Reranker | None = None

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that determines the score of a query and a passage; the model need not be there."""
        if self.training is not None:
            return identity_of(self.training.recipe, self.training.fingerprint)
        return self.reranker.identity

    @property
    def precision(self) -> Precision:
        """What it computes in."""
        return (self.training or self.reranker).recipe.precision

    @property
    def reranker(self) -> Reranker:
        """The reranker; one that is trained must be there.

        Raises:
            ArtifactError: It is not there.
        """
        if self.recipe is None or self.path is None:
            if self.pretrained is None:
                raise ValueError("a reranker is trained or pretrained")
            return self.pretrained
        return open_trained(self.recipe, self.path)

    def fingerprint_inputs(self, index_fields: tuple[str, ...]) -> dict[str, Any]:
        """All that determines its rankings, beside the candidates, their queries and documents."""
        recipe = self.training.recipe if self.training else self.reranker.recipe
        return {
            "reranker": self.identity,
            "passages": recipe.passages.model_dump(mode="json"),
            "fields": list(self.fields or index_fields),
            "depth": self.depth,
        }

    @property
    def fields(self) -> tuple[str, ...]:
        """The documents' fields that are read; none where neither file nor recipe says."""
        if self.named:
            return self.named
        if self.training is not None:
            return listed(self.training.recipe.fields)
        return self.reranker.fields

    def run(
        self,
        candidates: Any,
        topics: Topics,
        index: IndexStep,
        names: tuple[str, str],
        path: Path,
        context: Context,
    ) -> Reranked:
        """Rerank a run; scores are kept in the study, and known ones are not computed again.

        Args:
            index: Has the documents' texts.
            names: Of the system, and of its run.
            path: Of the run.

        Raises:
            ArtifactError: The model is not the one that was planned.
            InputError: A document or a topic is not there.
        """
        reranker = context.opened(
            ("reranker", names[0]),
            lambda: replace(self.reranker, device=context.device).in_batches(context.batch_tokens),
            lambda _: None,
        )
        if reranker.identity != self.identity:
            raise ArtifactError(
                "this is not the model that was planned: its recipe has changed since, or another "
                "experiment has trained its own here.",
                path=reranker.source.folder,
                hint="Run this again.",
            )
        opened = index.open(context)
        with using_threads(context.threads):
            found = rerank(
                candidates,
                topics,
                StoredTexts(opened.documents, self.fields or opened.fields),
                reranker,
                depth=self.depth,
                tag=names[1],
                cache=self.folder / "rerankers" / ".scores",
                threads=context.threads,
                chunking=context.chunking(path, keep=False),
                progress=context.progress,
            )
        found.settings["name"] = self.by
        return found


def open_scorer(
    named: tuple[str, int, tuple[str, ...]],
    folder: Path,
    seed: int | None = None,
    progress: Progress = SILENT,
    *,
    is_tuned: bool = False,
) -> Scorer:
    """Open the reranker of a system, or the recipe that makes it; no model is loaded.

    Args:
        named: What the file says: the reranker, the depth and the fields.
        is_tuned: Whether the depth is.

    Raises:
        InputError: There is no such model or recipe, or the recipe has errors; or the depth of a
            listwise reranker is tuned.
        MachineError: A source of the recipe cannot be downloaded.
    """
    by, path = named[0], file_path(named[0], folder)
    if is_recipe(by, folder) and is_trained(read_recipe(path)):
        plan, model = open_recipe(path, seed, progress)
        if not isinstance(plan, CrossEncoderPlan):
            raise InputError("this is no recipe of a cross-encoder.", path=path)
        return Scorer(*named, folder, training=plan, recipe=path, path=model)
    found = Scorer(*named, folder, pretrained=open_reranker(expanded(by), folder))
    if found.reranker.is_listwise and is_tuned:
        raise InputError(
            "this reranker puts lists in order, so that another depth is another run, and its "
            "depth cannot be tuned here.",
            hint="Name a `depth`; or make a system of each.",
        )
    found.identity  # noqa: B018  (an unreadable model is an error before anything runs)
    return found
