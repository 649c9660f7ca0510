"""Corpora with the words of another corpus weighted by DeepCT: the model and weights they need."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from adducir.core.errors import InputError
from adducir.corpora.documents import Corpus
from adducir.deepct.expansion import ExpandedCorpus, Rendering
from adducir.deepct.recipe import Settings
from adducir.deepct.training import DeepCT
from adducir.deepct.weighting import KIND, predict_corpus_weights, weights_fingerprint
from adducir.experiments.context import Context
from adducir.experiments.retrieval.corpora import CorpusRecipe, OpenedCorpus
from adducir.experiments.retrieval.study import RetrievalStudy, is_recipe
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
        return f"{self.expand}, expanded by {self.model}"

    def is_trained(self, folder: Path) -> bool:
        return is_recipe(self.model, folder)

    def open(self, name: str, study: RetrievalStudy) -> None:
        """Open the model, or its recipe; nothing is trained or predicted.

        Where the other corpus could not be opened, the model's recipe is looked at all the same.
        """
        own, errors = ("corpora", name), study.planner.errors
        errors.extend(study.names.check((*own, "expand"), "corpora", self.expand))
        if isinstance(study.recipe.corpora.get(self.expand), ExpandedRecipe):
            errors.add((*own, "expand"), f"`{self.expand}` is itself expanded")
        found = study.planner.opening((*own, "model"), partial(self._model, own, study))
        base = study.corpora.get(self.expand)
        if found is None or base is None:
            return
        model, settings, identity, plan = found
        corpus = ExpandedCorpus(
            base.corpus,
            study.folder / "deepct" / f"{model.name}.{file_name(self.expand)}.weights",
            weights_fingerprint(base.corpus, identity, self.precision),
            settings,
            Rendering(scale=self.scale, transform=self.transform),
        )
        before = [] if plan is None else [study.training(plan, model, own)]
        weights = WeightsStep(self, base.corpus, corpus, model, before, [own, *base.reads])
        facts = {
            "model": model,
            "model fingerprint": identity,
            "weights fingerprint": corpus.weights_fingerprint,
            "rendering": corpus.rendering.model_dump(mode="json"),
            "precision": self.precision,
        }
        study.corpora[name] = OpenedCorpus(corpus, [weights], base.reads, facts)

    def _model(
        self, own: tuple[str, str], study: RetrievalStudy
    ) -> tuple[Path, Settings, str, DeepCT | None]:
        """The term weighter: its folder, settings and fingerprint, and what trains it."""
        trained = study.trained_by(self.model, own, DeepCT, "a term weighter")
        if trained is not None:
            plan, model = trained
            return model, plan.model_settings, plan.fingerprint, plan
        path = study.file(self.model)
        if not path.is_dir():
            raise InputError(
                "there is no such model.",
                path=path,
                hint="Name a recipe, such as deepct/NAME.yaml, or a folder that it made.",
                absent=True,
            )
        return path, Settings.load(path), ModelSource(str(path), path).identity(), None


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
        return self.corpus.weights

    def title(self, shown: Callable[[Path], str]) -> str:
        return f"{shown(self.path)} by {shown(self.model)}"

    @property
    def fingerprint(self) -> str:
        return self.corpus.weights_fingerprint

    def recipe(self) -> Mapping[str, Any]:
        return {"precision": self.entry.precision}

    def make(self, context: Context) -> None:
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
        )
