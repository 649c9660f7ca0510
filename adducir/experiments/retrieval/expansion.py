"""Corpora with the words of another corpus weighted by DeepCT: the model and weights they need."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from adducir.core.errors import InputError
from adducir.core.progress import Progress
from adducir.corpora.documents import Corpus
from adducir.corpora.references import file_path
from adducir.deepct.expanded import ExpandedCorpus
from adducir.deepct.rendering import Rendering
from adducir.deepct.settings import Settings
from adducir.deepct.training import DeepCTPlan
from adducir.deepct.weighting import KIND, predict_corpus_weights, weights_fingerprint
from adducir.experiments.context import Context
from adducir.experiments.retrieval.corpora import CorpusRecipe
from adducir.experiments.retrieval.opened import OpenedCorpus
from adducir.experiments.retrieval.study import RetrievalStudy
from adducir.experiments.retrieval.trained import is_recipe, open_recipe
from adducir.experiments.sections import Name, file_name
from adducir.experiments.step import FolderStep, ModelStep
from adducir.models.machine import Precision
from adducir.models.sources import ModelSource


class ExpandedRecipe(CorpusRecipe):
    """Another corpus, its words weighted by DeepCT; see docs/deepct.md.

    Attributes:
        expand: The other corpus.
        model: The term weighter: its recipe or its folder.
        scale: How often a word of weight 1 comes.
        transform: What becomes of weights first.
        precision: What the network computes in.
    """

    stage: ClassVar[int] = 1
    references: ClassVar[Mapping[str, str]] = {"expand": "corpora"}
    expand: Name
    model: str
    scale: Annotated[float, Field(gt=0)] = 100.0
    transform: Literal["linear", "sqrt"] = "linear"
    precision: Precision = "float32"

    @property
    def label(self) -> str:
        """What is expanded by what."""
        return f"{self.expand}, expanded by {self.model}"

    def is_trained(self, folder: Path) -> bool:
        return is_recipe(self.model, folder)

    def open(self, name: str, study: RetrievalStudy) -> None:
        """Open the model, or its recipe; nothing is trained or predicted.

        Where the other corpus could not be opened, the model's recipe is looked at all the same.
        """
        place, errors = ("corpora", name, "expand"), study.planner.errors
        errors.extend(study.names.check(place, "corpora", self.expand))
        if isinstance(study.recipe.corpora.get(self.expand), ExpandedRecipe):
            errors.add(place, f"`{self.expand}` is itself expanded")
        folder, seed = study.planner.folder, study.seed_of("corpora", name)
        open_it = partial(_open_model, self.model, folder, seed, study.planner.progress)
        model = study.planner.opening(("corpora", name, "model"), open_it)
        base = study.corpora.get(self.expand)
        if model is None or base is None:
            return
        label = f"{model.path.name}.{file_name(self.expand)}.weights"
        corpus = ExpandedCorpus(
            base.corpus,
            folder / "deepct" / label,
            weights_fingerprint(base.corpus, model.identity, self.precision),
            model.settings,
            Rendering(scale=self.scale, transform=self.transform),
        )
        own = ("corpora", name)
        before = [study.training(model.plan, model.path, own)] if model.plan is not None else []
        weights = WeightsStep(self, base.corpus, corpus, model.path, before, [own, *base.reads])
        facts = {
            "model": model.path,
            "model fingerprint": model.identity,
            "weights fingerprint": corpus.weights_fingerprint,
            "rendering": corpus.rendering.model_dump(mode="json"),
            "precision": self.precision,
        }
        study.corpora[name] = OpenedCorpus(corpus, [weights], base.reads, facts)


@dataclass(frozen=True)
class _Model:
    """A term weighter; ``plan`` is None for one that is only read."""

    path: Path
    settings: Settings
    identity: str
    plan: DeepCTPlan | None = None


def _open_model(name: str, folder: Path, seed: int | None, progress: Progress) -> _Model:
    """The model that expands a corpus, or the recipe that makes it.

    Raises:
        InputError: There is no such model or recipe, or the recipe has errors.
        MachineError: A source of the recipe cannot be downloaded.
    """
    path = file_path(name, folder)
    if is_recipe(name, folder):
        plan, model = open_recipe(path, seed, progress)
        if not isinstance(plan, DeepCTPlan):
            raise InputError("this is no recipe of a term weighter.", path=path)
        _ = plan.preparation  # its errors belong to this entry
        return _Model(model, plan.model_settings, plan.fingerprint, plan)
    if not path.is_dir():
        raise InputError(
            "there is no such model.",
            path=path,
            hint="Name a recipe, such as deepct/NAME.yaml, or a folder that it made.",
            absent=True,
        )
    return _Model(path, Settings.load(path), ModelSource(str(path), path).identity())


@dataclass(frozen=True, eq=False)
class WeightsStep(FolderStep):
    """The weights of the words of a corpus."""

    kind = KIND
    entry: ExpandedRecipe
    base: Corpus
    corpus: ExpandedCorpus
    model: Path
    inputs: list[ModelStep]
    reads: list[tuple[str | int, ...]]
    verb = "weight"

    @property
    def path(self) -> Path:  # type: ignore[override]
        """The folder of the weights."""
        return self.corpus.weights

    def title(self, shown: Callable[[Path], str]) -> str:
        """The weights, and what predicts them."""
        return f"{shown(self.path)} by {shown(self.model)}"

    @property
    def fingerprint(self) -> str:
        return self.corpus.weights_fingerprint

    def recipe(self) -> Mapping[str, Any]:
        return {"precision": self.entry.precision}

    def make(self, context: Context) -> None:
        """Predict them."""
        predict_corpus_weights(
            self.model,
            self.base,
            self.path,
            device=context.device,
            threads=context.threads,
            tokens=context.batch_tokens,
            precision=self.entry.precision,
            rebuild=context.rebuild,
            execution=context.execution,
            progress=context.progress,
        )
