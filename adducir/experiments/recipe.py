"""The experiment file: one file a table.

A section names things (corpora, indexes, topic sets, systems); later sections refer to them by
name. What is written here is what a reader of the paper needs to know, and nothing else decides
the figures: threads and folders do not stand here. What the sections must keep to among each other
is in :mod:`adducir.experiments.consistency`.
"""

import re
from collections.abc import Set
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from adducir.experiments.significance.choices import (
    DEFAULT_PERMUTATIONS,
    DEFAULT_SAMPLES,
    DEFAULT_SEED,
    CorrectionName,
    FamilyName,
    IntervalName,
    TestName,
)
from adducir.experiments.tables.style import Detail
from adducir.experiments.tuning.combining import RERANK_DEPTH, fusion_knobs
from adducir.experiments.tuning.grid import Knob
from adducir.experiments.tuning.recipe import TuneRecipe
from adducir.experiments.tuning.systems import lexical_knobs
from adducir.indexes.analysis import Analysis, AnalysisRecipe
from adducir.indexes.feedback import FEEDBACK
from adducir.indexes.languages.lucene import PRETOKENIZED
from adducir.indexes.models import MODELS
from adducir.models.machine import Precision
from adducir.runs.fusion import FUSION, FusionMethod
from adducir.study.errors import UsageError
from adducir.study.recipe import FaultsAt, Recipe

DEFAULT_MEASURES = ("nDCG(judged_only=True)@5", "Bpref", "Judged@5")

# Two names, endings and a mark of the process make a file name, of at most 255 bytes.
_LONGEST_NAME = 80
_NAME = re.compile(r"[\w][\w .+&()=-]*", re.UNICODE)


def _as_name(text: str) -> str:
    # Names become parts of file names; a name that could leave its folder is refused here.
    if not _NAME.fullmatch(text) or text != text.strip():
        raise ValueError("a name is made of letters, digits, blanks and any of . _ + & ( ) = -")
    if len(text.encode()) > _LONGEST_NAME:
        raise ValueError(f"a name has at most {_LONGEST_NAME} bytes")
    return text


Name = Annotated[str, AfterValidator(_as_name)]
Probability = Annotated[float, Field(gt=0, lt=1)]
Natural = Annotated[int, Field(ge=1)]
Weight = Annotated[float, Field(ge=0)]


class CorpusRecipe(Recipe):
    """Where documents come from: a source, or another corpus with the words weighted by DeepCT.

    Exactly one of ``source`` (an ir_datasets id, a file or a folder) and ``expand`` (the name of a
    corpus) says which. ``model`` is the term weighter's recipe or folder.
    """

    source: str | None = None
    format: str | None = None
    docno_field: str | None = None
    expand: Name | None = None
    model: str | None = None
    scale: Annotated[float, Field(gt=0)] = 100.0
    transform: Literal["linear", "sqrt"] = "linear"
    precision: Precision = "float32"

    @model_validator(mode="after")
    def _one_kind(self) -> "CorpusRecipe":
        if (self.source is None) == (self.expand is None):
            raise ValueError("a corpus has exactly one of `source` and `expand`")
        allowed = {"source", "format", "docno_field"}
        if self.expand is not None:
            allowed = {"expand", "model", "scale", "transform", "precision"}
        if self.model_fields_set - allowed:
            kind = "expand" if self.expand is not None else "source"
            what = _listed(self.model_fields_set - allowed)
            raise ValueError(f"{what} means nothing beside `{kind}`")
        if self.expand is not None and self.model is None:
            raise ValueError("`expand` needs a `model`: a recipe, such as deepct/NAME.yaml")
        return self

    @property
    def told(self) -> str:
        """What it is, in a few words."""
        return (
            self.source if self.source is not None else f"{self.expand}, expanded by {self.model}"
        )


class IndexRecipe(AnalysisRecipe):
    """An index of a corpus: Lucene's, or arrays in memory that rank alike."""

    corpus: Name
    engine: Literal["lucene", "memory"] = "lucene"
    fields: tuple[str, ...] = ()
    positions: bool = True
    vectors: bool = True
    accurate_length: bool = False
    weights: str | None = None
    separate_fields: bool = False

    @model_validator(mode="after")
    def _of_weights(self) -> "IndexRecipe":
        if self.weights is not None and self.engine != "memory":
            raise ValueError("`weights` needs `engine: memory`")
        if self.weights is not None and self.separate_fields:
            raise ValueError("`separate_fields` means nothing beside `weights`")
        return self

    @property
    def is_of_impacts(self) -> bool:
        """Whether weights are searched as they are."""
        return self.weights is not None and "language" not in self.model_fields_set

    def analysis(self, folder: Path) -> Analysis:
        """See :class:`.AnalysisRecipe`; weights without a language are of ready tokens."""
        return Analysis(language=PRETOKENIZED) if self.is_of_impacts else super().analysis(folder)


class TopicsRecipe(Recipe):
    """A set of topics with its judgements: one group of columns in the table."""

    source: str
    qrels: str | tuple[str, ...]
    field: str | None = None


class RM3Recipe(Recipe):
    """Relevance feedback, with Anserini's defaults."""

    fb_terms: Natural = 10
    fb_docs: Natural = 10
    original_query_weight: Annotated[float, Field(ge=0, le=1)] = 0.5


class SystemRecipe(Recipe):
    """A row of the table: a search, a fusion or a rerank of other systems, or given run files.

    Exactly one of ``index``, ``fuse``, ``rerank`` and ``run`` says which. ``by`` is the reranker:
    its recipe, its folder or its name. Documents' texts come from the index ``texts``, by default
    the one that was searched. ``run`` is one file for the only topic set, or maps topic sets to
    files. ``tune`` has parameters chosen by cross-validation.
    """

    index: Name | None = None
    model: str = "bm25"
    # What is not given is the model's own default: see `parameters`.
    k1: Annotated[float, Field(ge=0)] = 0.9
    b: Annotated[float, Field(ge=0, le=1)] = 0.4
    mu: Annotated[float, Field(ge=0)] = 1000.0
    epsilon: float = 0.25
    delta: Annotated[float, Field(ge=0)] = 1.0
    rm3: RM3Recipe | None = None
    fuse: tuple[Name, ...] = ()
    method: str = "rrf"
    # Of the method, whose own defaults hold where they are not given: see `fusion`.
    k: float = 60.0
    normalise: str = "min-max"
    sigma: float = 0.01
    weights: tuple[Weight, ...] = ()
    rerank: Name | None = None
    by: str | None = None
    depth: Natural = 100
    texts: Name | None = None
    fields: tuple[str, ...] = ()
    run: str | dict[Name, str] | None = None
    tune: TuneRecipe | None = None
    group: str | None = None

    _PARAMETERS = frozenset({"k1", "b", "mu", "epsilon", "delta"})
    _SEARCH = _PARAMETERS | {"index", "model", "rm3", "tune"}
    _FUSION = frozenset({"k", "normalise", "sigma"})
    _FUSE = _FUSION | {"fuse", "method", "weights", "tune"}
    _RERANK = frozenset({"rerank", "by", "depth", "texts", "fields", "tune"})
    _ALLOWED = {  # noqa: RUF012
        "index": _SEARCH,
        "fuse": _FUSE,
        "rerank": _RERANK,
        "run": frozenset({"run"}),
    }

    @field_validator("model")
    @classmethod
    def _known(cls, model: str) -> str:
        if model not in MODELS:
            raise ValueError(f"should be one of {', '.join(MODELS)}, not {model!r}")
        return model

    @field_validator("rm3", mode="before")
    @classmethod
    def _said(cls, value: Any) -> Any:
        # A row called RM3 must not silently lack it because nothing stands after "rm3:".
        if value is None:
            raise ValueError("is empty; write `{}` for the default settings, `false` for none")
        if isinstance(value, bool):
            return RM3Recipe() if value else None
        return value

    @field_validator("tune", mode="before")
    @classmethod
    def _given(cls, value: Any) -> Any:
        if value is None:
            raise ValueError("is empty; name a `grid` and `folds`, or leave it out")
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> "SystemRecipe":
        given = self.model_fields_set - {"group"}
        kinds = [key for key in self._ALLOWED if getattr(self, key)]
        if len(kinds) != 1:
            raise ValueError(
                "a system has exactly one of `index` (a search), `fuse`, `rerank` and `run`"
            )
        allowed = self._ALLOWED[kinds[0]]
        if given - allowed:
            raise ValueError(f"{_listed(given - allowed)} means nothing beside `{kinds[0]}`")
        others = self._PARAMETERS.difference(MODELS.kind(self.model).model_fields)
        if given & others:
            raise ValueError(f"{_listed(given & others)} means nothing to the model {self.model}")
        if self.rerank and not self.by:
            raise ValueError("`rerank` needs `by`: a reranker, such as rerankers/NAME.yaml")
        return self

    @model_validator(mode="after")
    def _fusion(self) -> "SystemRecipe":
        if self.fuse and len(set(self.fuse)) < max(2, len(self.fuse)):
            raise ValueError("`fuse` names two systems or more, each once")
        if self.weights and len(self.weights) != len(self.fuse):
            raise ValueError("`weights` has one number for each system in `fuse`")
        if self.weights and not any(self.weights):
            raise ValueError("`weights` are all 0")
        try:
            _ = self.fusion
        except UsageError as error:
            raise ValueError(str(error).rstrip(".")) from error
        return self

    @model_validator(mode="after")
    def _tuning(self) -> "SystemRecipe":
        if self.tune is None:
            return self
        faults = [
            *self.tune.faults(self.knobs),
            *(
                (("grid", name), "is fixed by this system as well as tuned")
                for name in self.fixed
                if name in self.tune.grid
            ),
        ]
        if faults:
            raise FaultsAt(*((("tune", *path), what) for path, what in faults))
        return self

    @property
    def parameters(self) -> dict[str, float]:
        """The model's parameters that the file gives."""
        given = self._PARAMETERS & self.model_fields_set
        return {name: getattr(self, name) for name in sorted(given)}

    @property
    def fusion(self) -> FusionMethod:
        """The fusion method with the hyperparameters that the file gives."""
        given = self._FUSION & self.model_fields_set
        return FUSION.make(self.method, {name: getattr(self, name) for name in sorted(given)})

    @property
    def texts_of_fusion(self) -> dict[str, Any]:
        """The method's hyperparameters that are no numbers and so cannot be tuned."""
        values = self.fusion.model_dump().items()
        return {name: value for name, value in values if isinstance(value, str)}

    @property
    def members(self) -> tuple[str, ...]:
        """The systems whose runs it is made from."""
        return self.fuse if self.rerank is None else (self.rerank,)

    @property
    def deepest(self) -> int:
        """How many documents a topic are reranked, at most."""
        if self.tune is None:
            return self.depth
        return int(max(self.tune.values["depth"]))

    @property
    def knobs(self) -> dict[str, Knob]:
        """The parameters that can be tuned."""
        if self.fuse:
            return fusion_knobs(self.fuse, self.method)
        if self.rerank:
            return {"depth": RERANK_DEPTH}
        feedback = None if self.rm3 is None else FEEDBACK.kind("rm3")
        return lexical_knobs(MODELS.kind(self.model), feedback)

    @property
    def fixed(self) -> dict[str, float]:
        """The values that the file itself gives to parameters."""
        given = [key for key in ("k", "sigma", "depth") if key in self.model_fields_set]
        found = self.parameters | {key: getattr(self, key) for key in given}
        if self.rm3 is not None:
            found |= {name: getattr(self.rm3, name) for name in self.rm3.model_fields_set}
        weights = zip(self.fuse, self.weights, strict=False)  # no weights, or one for each
        return found | {f"weights.{name}": weight for name, weight in weights}


class ComparisonRecipe(Recipe):
    """Which differences are tested, and how; see docs/statistics.md."""

    baseline: Name | tuple[Name, ...] | None = None
    test: TestName = "t"
    correction: CorrectionName = "holm"
    family: FamilyName = "measure"
    alpha: Probability = 0.05
    equivalence: Annotated[float, Field(gt=0)] | None = None
    against: Name = "best"
    confidence: Probability | None = None
    interval: IntervalName = "t"
    permutations: Natural = DEFAULT_PERMUTATIONS
    samples: Natural = DEFAULT_SAMPLES
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = DEFAULT_SEED

    @property
    def baselines(self) -> tuple[str, ...]:
        """The baselines' names."""
        if self.baseline is None:
            return ()
        return (self.baseline,) if isinstance(self.baseline, str) else self.baseline

    @property
    def differences(self) -> bool:
        """Whether differences are tested."""
        return bool(self.baselines) or self.family == "pairs"


class TableRecipe(Recipe):
    """How the table looks."""

    caption: str = ""
    label: str = ""
    decimals: Annotated[int, Field(ge=1, le=6)] = 3
    leading_zero: bool = True
    show: tuple[Detail, ...] = ()
    measure_names: dict[str, str] = Field(default_factory=dict)
    system_names: dict[Name, str] = Field(default_factory=dict)


class ExperimentRecipe(Recipe):
    """A whole experiment file."""

    description: str = ""
    corpora: dict[Name, CorpusRecipe] = Field(default_factory=dict)
    indexes: dict[Name, IndexRecipe] = Field(default_factory=dict)
    topics: dict[Name, TopicsRecipe]
    systems: dict[Name, SystemRecipe]
    depth: Natural | Literal["all"] = 1000
    measures: tuple[str, ...] = DEFAULT_MEASURES
    negative_grades: Literal["zero", "trec_eval"] = "zero"
    comparison: ComparisonRecipe | None = None
    table: TableRecipe = Field(default_factory=TableRecipe)

    @property
    def most(self) -> int | None:
        """``depth`` as a number; None for all documents that hold a term of the query."""
        return None if self.depth == "all" else self.depth

    @field_validator("topics", "systems", "measures")
    @classmethod
    def _some(cls, value: Any) -> Any:
        if not value:
            raise ValueError("at least one is needed")
        return value


def _listed(keys: Set[str]) -> str:
    return ", ".join(f"`{key}`" for key in sorted(keys))


def file_name(name: str) -> str:
    """A system's or topic set's name as part of a file name and as a TREC tag: no blanks."""
    return name.replace(" ", "_")
