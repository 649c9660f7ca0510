"""Corpora of an experiment file, by kind: documents from a source, or another corpus expanded."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from adducir.core.errors import InputError
from adducir.core.recipe import KeyPath
from adducir.core.registry import Family
from adducir.corpora.documents import Corpus
from adducir.corpora.local import LocalCorpus
from adducir.corpora.sources import file_path, open_corpus
from adducir.experiments.planner import Known
from adducir.experiments.sections import Linked, Name, file_name, is_recipe
from adducir.experiments.step import Shown, Step
from adducir.models.machine import Precision

if TYPE_CHECKING:
    from adducir.deepct.expansion import ExpandedCorpus
    from adducir.experiments.context import Context
    from adducir.experiments.retrieval.study import RetrievalStudy


@dataclass(frozen=True)
class OpenedCorpus:
    """A corpus, and what has to be there before its documents can be read."""

    corpus: Corpus  # its documents need not be readable yet
    label: str  # what it is, in a few words
    steps: Sequence[Step] = ()  # what has to be made first
    reads: Sequence[KeyPath] = ()  # the entries of the file that name what is read with them
    facts: dict[str, Any] = field(default_factory=dict)  # how it is made, for provenance


class CorpusRecipe(Linked):
    @abstractmethod
    def open(self, name: str, seed: int | None, study: "RetrievalStudy") -> OpenedCorpus:
        """Open it; its documents are not read. ``seed``: of the trainings that it stands on."""


class SourceCorpus(CorpusRecipe):
    """Documents from an ir_datasets id, a file or a folder.

    Attributes:
        source: The id or path.
        format: The format of files, if their names do not show it.
        docno_field: The field of the docno, where it has none of the usual names.
    """

    source: str
    format: str | None = None
    docno_field: str | None = None

    def open(self, name: str, seed: int | None, study: "RetrievalStudy") -> OpenedCorpus:
        with study.planner.at("corpora", name, "source"):
            source = study.planner.source(self.source)
            corpus = open_corpus(source, docno_field=self.docno_field, format=self.format)
        return OpenedCorpus(corpus, self.source, reads=[("corpora", name)])


class ExpandedRecipe(CorpusRecipe):
    """Another corpus, its words weighted by DeepCT; see docs/deepct.md.

    Attributes:
        expand: The other corpus.
        model: The term weighter: its recipe or its folder.
        scale: How often a word of weight 1 is repeated.
        transform: What becomes of weights first.
        precision: What the network computes in.
    """

    references: ClassVar[Mapping[str, str]] = {"expand": "corpora"}
    expand: Name
    model: str
    scale: Annotated[float, Field(gt=0)] = 100.0
    transform: Literal["linear", "sqrt"] = "linear"
    precision: Precision = "float32"

    def is_trained(self, folder: Path) -> bool:
        return is_recipe(self.model, folder)

    def open(self, name: str, seed: int | None, study: "RetrievalStudy") -> OpenedCorpus:
        from adducir.deepct.expansion import ExpandedCorpus, Rendering, weights_fingerprint

        if isinstance(study.recipe.corpora.get(self.expand), ExpandedRecipe):
            what = f"`{self.expand}` is itself expanded"
            study.planner.add(("corpora", name, "expand"), what)
            raise Known
        with study.planner.at("corpora", name, "model"):
            model, settings, identity, training = self._model(name, seed, study)
        base = study.corpus(self.expand)
        corpus = ExpandedCorpus(
            base.corpus,
            study.folder / "deepct" / f"{model.name}.{file_name(self.expand)}.weights",
            weights_fingerprint(base.corpus, identity, self.precision),
            settings,
            Rendering(scale=self.scale, transform=self.transform),
        )
        facts = {
            "model": model,
            "model fingerprint": identity,
            "weights fingerprint": corpus.weights_fingerprint,
            "rendering": corpus.rendering.model_dump(mode="json"),
            "precision": self.precision,
        }
        reads = [("corpora", name), *base.reads]
        own = WeightsStep(corpus, model, self.precision, training, reads)
        weights = study.weights.setdefault((own.path, own.fingerprint), own)
        label = f"{self.expand}, expanded by {self.model}"
        label += f", seed {seed}" if seed is not None else ""
        return OpenedCorpus(corpus, label, [weights], base.reads, facts)

    def _model(
        self, name: str, seed: int | None, study: "RetrievalStudy"
    ) -> tuple[Path, Any, str, Sequence[Step]]:
        from adducir.deepct.recipe import Settings
        from adducir.deepct.training import DeepCT
        from adducir.models.sources import ModelSource

        if self.is_trained(study.folder):
            own = ("corpora", name)
            step = study.training(self.model, seed, DeepCT, "a term weighter", own)
            plan: Any = step.plan
            return step.path, plan.model_settings, plan.fingerprint, [step]
        path = file_path(self.model, study.folder)
        if not path.is_dir():
            raise InputError(
                "there is no such model.",
                path=path,
                hint="Name a recipe, such as deepct/NAME.yaml, or a folder that it made.",
                absent=True,
            )
        return path, Settings.load(path), ModelSource(str(path), path).identity(), []


class WeightsStep(Step):
    kind = "term-weights"
    verb = "weight"

    def __init__(
        self,
        corpus: "ExpandedCorpus",
        model: Path,
        precision: Precision,
        training: Sequence[Step],
        reads: Sequence[KeyPath],
    ) -> None:
        self.corpus, self.model, self.precision = corpus, model, precision
        self.path, self.fingerprint = corpus.weights, corpus.weights_fingerprint
        self.inputs, self.reads = training, reads

    def title(self, shown: Shown) -> str:
        return f"{shown(self.path)} by {shown(self.model)}"

    def recipe(self) -> Mapping[str, Any]:
        return {"precision": self.precision}

    def make(self, context: "Context") -> None:
        from adducir.deepct.expansion import predict_corpus_weights

        running, rebuild = context.running(self.precision), context.rebuild
        predict_corpus_weights(self.model, self.corpus.base, self.path, running, rebuild=rebuild)


CORPORA = Family(
    "corpora",
    CorpusRecipe,
    {"source": f"{__name__}:SourceCorpus", "expand": f"{__name__}:ExpandedRecipe"},
    what="kind of corpus",
)


def refuse_unknown_fields(corpus: Corpus, fields: Sequence[str]) -> None:
    """Read a local corpus until each field was seen, which nearly always is at once."""
    unseen, found = set(fields), set[str]()
    base = getattr(corpus, "base", None)
    if base is not None:  # documents cannot be read before their words are weighted
        from adducir.deepct.expansion import WEIGHTED

        corpus, unseen, found = base, unseen - {WEIGHTED}, {WEIGHTED}
    if not unseen or not isinstance(corpus, LocalCorpus):
        return
    for document in corpus:
        unseen -= document.fields.keys()
        if not unseen:
            return
        found |= document.fields.keys()
    raise InputError(
        f"no document has a field {', '.join(map(repr, sorted(unseen)))}.",
        hint=f"The fields are {', '.join(sorted(found))}.",
    )
