"""``fuse:``: the runs of several systems made one, by any fusion method."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, model_validator

from adducir.core.errors import UsageError
from adducir.core.registry import keys_of
from adducir.corpora.topics import Topics
from adducir.experiments.retrieval.runs import Answer, RunStep, named
from adducir.experiments.retrieval.tuned import TunableSystem
from adducir.experiments.sections import Name
from adducir.experiments.tuning.grid import Hyperparameter, Setting, hyperparameters_of
from adducir.experiments.tuning.tune import Tunable, of_topics
from adducir.runs.fusion import FUSION, FusionMethod, fuse
from adducir.runs.run import Run

if TYPE_CHECKING:
    from adducir.experiments.context import Context


class Fusion(TunableSystem):
    """Two systems or more; the method's hyperparameters stand beside ``method``.

    Attributes:
        fuse: The systems.
        method: A fusion method.
        weights: A weight for each system; by default 1.
    """

    model_config = ConfigDict(extra="allow")
    verb: ClassVar[str] = "fuse"
    references: ClassVar[Mapping[str, str]] = {"fuse": "systems"}
    fuse: tuple[Name, ...]
    method: Annotated[str, FUSION.named] = "rrf"
    weights: tuple[Annotated[float, Field(ge=0)], ...] = ()

    @classmethod
    def more_keys(cls) -> Collection[str]:
        return {key for name in FUSION for key in keys_of(FUSION, name)}

    @model_validator(mode="after")
    def _fits(self) -> "Fusion":
        if len(set(self.fuse)) < max(2, len(self.fuse)):
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

    @property
    def fusion(self) -> FusionMethod:
        """The fusion method with the hyperparameters that the file gives."""
        return FUSION.make(self.method, self.model_extra or {})

    def identity(self, step: RunStep) -> Mapping[str, Any]:
        return {"weights": list(self.weights), **FUSION.settings(self.fusion, "method")}

    def fused(self, runs: Sequence[Run], *, depth: int | None, tag: str) -> Run:
        """The fusion of the systems' runs."""
        values = self.fusion.model_dump()
        weights = self.weights or None
        return fuse(runs, self.method, weights=weights, depth=depth, tag=tag, **values)

    def answer(self, step: RunStep, context: "Context") -> Answer:
        members = list(step.parts.values())
        depth = step.study.recipe.most
        run = self.fused([one.read() for one in members], depth=depth, tag=step.tag)
        settings = FUSION.settings(self.fusion, "method")
        settings["depth"] = step.study.recipe.depth
        if self.weights:
            settings["weights"] = list(self.weights)
        settings["runs"] = [named(one, context) for one in members]
        note = f"{step.counted(run)}, fused from {len(members)} runs"
        return Answer(run, note, {"fusion": settings})

    @property
    def hyperparameters(self) -> Mapping[str, Hyperparameter]:
        weights = {f"weights.{name}": Hyperparameter(low=0) for name in self.fuse}
        return hyperparameters_of(FUSION.kind(self.method)) | weights

    @property
    def fixed(self) -> dict[str, float]:
        given = (self.model_extra or {}).keys() & self.hyperparameters.keys()
        values = {name: getattr(self.fusion, name) for name in sorted(given)}
        weights = zip(self.fuse, self.weights, strict=False)  # no weights, or one for each
        return values | {f"weights.{name}": weight for name, weight in weights}

    def at(self, setting: Setting) -> "Fusion":
        """The same with the values of a setting; a weight that is not in it is 1."""
        values = {**self.fixed, **setting}
        weights = tuple(float(values.pop(f"weights.{name}", 1)) for name in self.fuse)
        if not any(weights):
            raise UsageError(
                "in one of the settings all weights are 0.",
                hint="Leave out a weight's 0, or leave one weight out of the grid: it is 1.",
            )
        return self.model_copy(update={**values, "weights": weights, "tune": None})

    def opened(self, steps: Mapping[str, RunStep], context: "Context") -> Tunable:
        study = next(iter(steps.values())).study
        depth = study.recipe.most
        runs = [
            study.pool.joined([step.parts[f"fuse.{n}"].read() for step in steps.values()])
            for n in range(len(self.fuse))
        ]

        def tried(setting: Setting, topics: Topics) -> Run:
            own = [of_topics(one, topics) for one in runs]
            return self.at(setting).fused(own, depth=depth, tag="tuned")

        settings = {name: v for name, v in self.fusion.model_dump().items() if isinstance(v, str)}
        facts = {
            "fuse": list(self.fuse),
            "method": self.method,
            **settings,
            **({"fixed": self.fixed} if self.fixed else {}),
            "depth": depth or "all",
        }
        return Tunable(tried, facts, check=self.at)
