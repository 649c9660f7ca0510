"""The experiment file: one file a table.

A section names things (corpora, indexes, topic sets, systems); later sections refer to them by
name. What is written here is what a reader of the paper needs to know, and nothing else decides
the figures: threads and folders do not stand here.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from adducir.experiments.tables.style import Detail
from adducir.study.recipe import FaultsAt, Recipe, nearest
from adducir.study.yaml import KeyPath

DEFAULT_MEASURES = ("nDCG(judged_only=True)@5", "Bpref", "Judged@5")

_NAME = re.compile(r"[\w][\w .+&()=-]*", re.UNICODE)


def _as_name(text: str) -> str:
    # Names become parts of file names; a name that could leave its folder is refused here.
    if not _NAME.fullmatch(text) or text != text.strip():
        raise ValueError("a name is made of letters, digits, blanks and any of . _ + & ( ) = -")
    return text


Name = Annotated[str, AfterValidator(_as_name)]
Probability = Annotated[float, Field(gt=0, lt=1)]
Natural = Annotated[int, Field(ge=1)]


class CorpusRecipe(Recipe):
    """Where documents come from: an ir_datasets id, a file or a folder."""

    source: str
    format: str | None = None
    docno_field: str | None = None


class IndexRecipe(Recipe):
    """A Lucene index of a corpus."""

    corpus: Name
    fields: tuple[str, ...] = ()
    stemmer: Literal["porter", "krovetz", "none"] = "porter"
    stopwords: str = "lucene"
    positions: bool = True
    vectors: bool = True
    accurate_length: bool = False


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
    """A row of the table: a search, a fusion of other systems, or run files as they are.

    Exactly one of ``index``, ``fuse`` and ``run`` says which. ``run`` is one file for the only
    topic set, or maps topic sets to files.
    """

    index: Name | None = None
    model: Literal["bm25", "qld"] = "bm25"
    k1: Annotated[float, Field(ge=0)] = 0.9
    b: Annotated[float, Field(ge=0, le=1)] = 0.4
    mu: Annotated[float, Field(ge=0)] = 1000.0
    rm3: RM3Recipe | None = None
    fuse: tuple[Name, ...] = ()
    method: Literal["rrf", "combsum", "combmnz"] = "rrf"
    k: Annotated[float, Field(gt=0)] = 60.0
    weights: tuple[float, ...] = ()
    run: str | dict[Name, str] | None = None
    group: str | None = None

    _SEARCH = frozenset({"index", "model", "k1", "b", "mu", "rm3"})
    _FUSE = frozenset({"fuse", "method", "k", "weights"})
    _OF_MODEL = {"bm25": frozenset({"k1", "b"}), "qld": frozenset({"mu"})}  # noqa: RUF012

    @model_validator(mode="after")
    def _one_kind(self) -> "SystemRecipe":
        given = self.model_fields_set - {"group"}
        kinds = [key for key in ("index", "fuse", "run") if getattr(self, key)]
        if len(kinds) != 1:
            raise ValueError("a system has exactly one of 'index' (a search), 'fuse' and 'run'")
        allowed = {"index": self._SEARCH, "fuse": self._FUSE, "run": frozenset({"run"})}[kinds[0]]
        if given - allowed:
            raise ValueError(f"{_listed(given - allowed)} means nothing beside '{kinds[0]}'")
        others = frozenset[str]().union(
            *(keys for model, keys in self._OF_MODEL.items() if model != self.model)
        )
        if given & others:
            raise ValueError(f"{_listed(given & others)} means nothing to the model {self.model}")
        if self.fuse and len(set(self.fuse)) < 2:
            raise ValueError("'fuse' names two systems or more, each once")
        if self.weights and len(self.weights) != len(self.fuse):
            raise ValueError("'weights' has one number for each system in 'fuse'")
        return self


class ComparisonRecipe(Recipe):
    """Which differences are tested, and how; see docs/statistics.md."""

    baseline: Name | tuple[Name, ...] | None = None
    test: Literal["t", "wilcoxon", "sign", "randomisation", "bootstrap"] = "t"
    correction: Literal["holm", "bonferroni", "bh", "none"] = "holm"
    family: Literal["measure", "table", "pairs"] = "measure"
    alpha: Probability = 0.05
    equivalence: Annotated[float, Field(gt=0)] | None = None
    against: Name = "best"
    permutations: Natural = 100_000
    samples: Natural = 10_000
    seed: int = 42

    @property
    def baselines(self) -> tuple[str, ...]:
        """The baselines' names."""
        if self.baseline is None:
            return ()
        return (self.baseline,) if isinstance(self.baseline, str) else self.baseline


class TableRecipe(Recipe):
    """How the table looks."""

    caption: str = ""
    label: str = ""
    decimals: Annotated[int, Field(ge=1, le=6)] = 3
    show: tuple[Detail, ...] = ()
    measure_names: dict[str, str] = Field(default_factory=dict)


class ExperimentRecipe(Recipe):
    """A whole experiment file."""

    description: str = ""
    corpora: dict[Name, CorpusRecipe] = Field(default_factory=dict)
    indexes: dict[Name, IndexRecipe] = Field(default_factory=dict)
    topics: dict[Name, TopicsRecipe]
    systems: dict[Name, SystemRecipe]
    depth: Natural = 1000
    measures: tuple[str, ...] = DEFAULT_MEASURES
    negative_grades: Literal["zero", "trec_eval"] = "zero"
    comparison: ComparisonRecipe | None = None
    table: TableRecipe = Field(default_factory=TableRecipe)

    @field_validator("topics", "systems")
    @classmethod
    def _some(cls, value: dict[str, Recipe]) -> dict[str, Recipe]:
        if not value:
            raise ValueError("at least one is needed")
        return value

    @model_validator(mode="after")
    def _names(self) -> "ExperimentRecipe":
        faults = [*_unknown_names(self), *_clashing_files(self)]
        if faults:
            raise FaultsAt(*faults)
        return self


def _listed(keys: frozenset[str] | set[str]) -> str:
    return ", ".join(f"'{key}'" for key in sorted(keys))


def _unknown_names(recipe: ExperimentRecipe) -> Iterator[tuple[KeyPath, str]]:
    """Each reference to a name that the file does not define."""

    def check(keypath: KeyPath, kind: str, name: str, known: Mapping[str, Any]) -> Iterator[Any]:
        if name not in known:
            yield keypath, f"there is no {kind} `{name}` in this file{nearest(name, known)}"

    for name, index in recipe.indexes.items():
        yield from check(("indexes", name, "corpus"), "corpus", index.corpus, recipe.corpora)
    for name, system in recipe.systems.items():
        place = ("systems", name)
        if system.index is not None:
            yield from check((*place, "index"), "index", system.index, recipe.indexes)
        for number, member in enumerate(system.fuse):
            yield from check((*place, "fuse", number), "system", member, recipe.systems)
            if member in recipe.systems and recipe.systems[member].fuse:
                yield (*place, "fuse", number), f"`{member}` is itself a fusion"
        for topic_set in system.run if isinstance(system.run, dict) else ():
            yield from check((*place, "run", topic_set), "topic set", topic_set, recipe.topics)
    comparison = recipe.comparison
    if comparison:
        for baseline in comparison.baselines:
            yield from check(("comparison", "baseline"), "system", baseline, recipe.systems)
        if comparison.against != "best":
            against = comparison.against
            yield from check(("comparison", "against"), "system", against, recipe.systems)


def _clashing_files(recipe: ExperimentRecipe) -> Iterator[tuple[KeyPath, str]]:
    """Names that would get the same file, also where upper and lower case are one."""
    sections: tuple[tuple[str, Iterable[str]], ...] = (
        ("systems", recipe.systems),
        ("topics", recipe.topics),
    )
    for section, names in sections:
        seen: dict[str, str] = {}
        for name in names:
            before = seen.setdefault(file_name(name).lower(), name)
            if before != name:
                yield (section, name), f"its files would have the names of those of `{before}`"


def file_name(name: str) -> str:
    """A system's or topic set's name as part of a file name and as a TREC tag: no blanks."""
    return name.replace(" ", "_")


def study_folder(experiment: Path) -> Path:
    """The study that an experiment file belongs to: relative paths in the file start there.

    It is the folder that holds ``experiments/``, or else the file's own.
    """
    folder = experiment.resolve().parent
    return folder.parent if folder.name == "experiments" else folder
