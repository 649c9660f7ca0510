"""Settings of reading and ranking runs, fusing and reranking, for all doors; how passages fold.

Keys of an experiment file's systems, options of commands and arguments in Python are views of these
classes, which are made without numpy.

Packages add fusion methods through entry points ``adducir.fusion``.
"""

from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, model_validator

from adducir.core.errors import UsageError
from adducir.core.recipe import Recipe, errors_at, without_blanks
from adducir.core.registry import Family, recipe_of
from adducir.core.texts import counted, refused

if TYPE_CHECKING:
    from adducir.corpora.frames import Floats, Integers
    from adducir.runs.fusion import FusionMethod

_FUSION = "adducir.runs.fusion"
FUSION: "Family[FusionMethod]" = Family(
    "fusion",
    f"{_FUSION}:FusionMethod",
    {
        "rrf": f"{_FUSION}:RRF",
        "isr": f"{_FUSION}:ISR",
        "log-isr": f"{_FUSION}:LogISR",
        "borda": f"{_FUSION}:Borda",
        "condorcet": f"{_FUSION}:Condorcet",
        "combsum": f"{_FUSION}:CombSUM",
        "combmnz": f"{_FUSION}:CombMNZ",
        "combmax": f"{_FUSION}:CombMAX",
        "combmin": f"{_FUSION}:CombMIN",
        "combmed": f"{_FUSION}:CombMED",
        "combanz": f"{_FUSION}:CombANZ",
    },
    what="fusion method",
)
METHODS = ("firstp", "maxp", "sump", "avgp")


class Fold(NamedTuple):
    """How passages are folded; as text ``maxp``, or ``maxp:_`` for passages named ``DOCNO_1``."""

    method: str
    separator: str = ""

    @classmethod
    def of(cls, value: "str | Fold") -> "Fold":
        """Read a setting, such as ``"maxp"``.

        Raises:
            UsageError: It is not one of ``firstp``, ``maxp``, ``sump`` and ``avgp``.
        """
        if isinstance(value, cls):
            return value
        if not isinstance(value, str):
            raise refused(value, "fold", f"one of {', '.join(METHODS)}")
        method, _, separator = value.partition(":")
        if method.lower() not in METHODS:
            hint = "Name the passages' separator behind it if it is not # or %p: maxp:_."
            raise UsageError(f"fold is one of {', '.join(METHODS)}, not {value!r}.", hint=hint)
        return cls(method.lower(), separator)

    def __str__(self) -> str:
        return ":".join(filter(None, self))

    @property
    def reads_all(self) -> bool:
        """Whether a document's score needs all its passages, not only its best or first."""
        return self.method in ("sump", "avgp")

    def scores(self, groups: "Integers", scores: Any, is_first: Any) -> "tuple[Integers, Floats]":
        """Fold passages, best first, whose ``groups`` number their documents.

        Returns:
            The row of each document's best (or first) passage, and the document's score.
        """
        import numpy as np

        rows = np.flatnonzero(is_first) if self.method == "firstp" else np.arange(len(groups))
        _, first, groups_of = np.unique(groups[rows], return_index=True, return_inverse=True)
        best = rows[first]
        if not self.reads_all:
            return best, scores[best]
        sums: Any = np.bincount(groups_of, weights=scores[rows], minlength=len(best))
        return best, sums / np.bincount(groups_of) if self.method == "avgp" else sums


def _spelt(value: str) -> str:
    try:
        return str(Fold.of(value))
    except UsageError as error:
        raise ValueError(str(error)) from error


FoldName = Annotated[str, AfterValidator(_spelt)]
FOLD: Any = Field(
    None,
    description="Fold passages to documents: firstp, maxp, sump or avgp.",
    json_schema_extra={"rare": True, "flag": True},
)

Depth = Annotated[
    Annotated[int, Field(ge=1)] | None,
    BeforeValidator(lambda value: None if value == "all" else value),
    Field(
        description="Documents per topic, at most; 'all' for every document found.",
        json_schema_extra={"metavar": "N|all"},
    ),
]


class RankingSettings(Recipe):
    """What determines a run, besides what it is made from: kinds by name, and a depth.

    Hyperparameters of the kinds are set by ``--set`` in the shell, and are keys beside the kinds'
    names in a file.
    """

    parameters: dict[str, Any] = Field(
        default={}, exclude=True, json_schema_extra={"flags": ["--set"]}
    )
    """A hyperparameter of a model or method (`adducir kinds models feedback fusion` lists them), as
    in mu=500 or k=10; can be repeated."""
    depth: Depth = 1000


class FusionSettings(RankingSettings):
    """How runs are fused."""

    method: Annotated[str, FUSION] = "rrf"
    """How to fuse."""
    weights: tuple[Annotated[float, Field(ge=0)], ...] = Field(
        default=(), json_schema_extra={"shown": "1 for each"}
    )
    """A number per run, 0 or more."""

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if self.weights and not (any(self.weights) and min(self.weights) >= 0):
            raise errors_at((("weights",), "must be numbers of 0 or more, and not all 0"))
        _ = self.fusion
        return self

    def fit(self, runs: int) -> None:
        """Refuse weights of another number of runs."""
        if self.weights and len(self.weights) != runs:
            message = f"must be {counted(runs, 'number')}, one per run, not {len(self.weights)}"
            raise errors_at((("weights",), message))

    @cached_property
    def fusion(self) -> "FusionMethod":
        """The method with its hyperparameters."""
        kind, others = FUSION.kind(self.method), type(self).model_fields.keys() - {"parameters"}
        return recipe_of(kind, self.method, self.parameters, others)


class RerankSettings(Recipe):
    """What determines a reranked run, besides the run and the texts."""

    reranker: str = Field(
        validation_alias=AliasChoices("reranker", "by", "model"),  # and former names
        json_schema_extra={"flags": ["-m"], "metavar": "MODEL"},
    )
    """A recipe (rerankers/NAME.yaml), a trained model's folder, or a pretrained model's folder or
    Hub name, with its kind if needed: maxsim:minilm."""
    depth: int = Field(default=100, ge=1)
    """Documents per topic to rerank; the others follow in their old order."""
    fold: FoldName | None = FOLD
    fields: Annotated[tuple[str, ...], BeforeValidator(without_blanks)] = Field(
        default=(), json_schema_extra={"shown": "the reranker's, or those indexed"}
    )
    """The documents' fields to read."""
