"""``fuse:`` fuses the runs of other systems."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import model_validator

from adducir.core.errors import UsageError
from adducir.core.recipe import errors_at, refusing
from adducir.corpora.topics import Topics
from adducir.experiments.retrieval.runs import RunStep, SystemRun, named
from adducir.experiments.retrieval.search import SearchedOrFused
from adducir.experiments.sections import Name
from adducir.experiments.step import Context
from adducir.experiments.tuning.design import (
    Hyperparameter,
    Setting,
    TopicPool,
    Tunable,
    hyperparameters_of,
)
from adducir.experiments.tuning.tune import of_topics
from adducir.runs.fusion import FUSION, fuse, fused_method
from adducir.runs.kinds import FusionSettings
from adducir.runs.run import Run


class Fusion(FusionSettings, SearchedOrFused):
    """Two systems or more; the method's hyperparameters are keys beside ``method``."""

    verb: ClassVar[str] = "fuse"
    references: ClassVar[Mapping[str, str]] = {"fuse": "systems"}
    fuse: tuple[Name, ...]
    """Two systems or more."""

    @model_validator(mode="after")
    def _fits(self) -> "Fusion":
        if len(set(self.fuse)) < max(2, len(self.fuse)):
            raise ValueError("`fuse` must name at least two different systems")
        self.fit(len(self.fuse))
        if self.tune is not None:
            try:
                self.at({name: float(min(some)) for name, some in self.tune.values.items()})
            except UsageError as error:
                raise errors_at((("tune", "grid"), str(error).rstrip("."))) from error
        return self

    def identity(self, step: RunStep) -> Mapping[str, Any]:
        return {"weights": list(self.weights), **FUSION.settings(self.fusion, "method")}

    def answer(self, step: RunStep, context: Context) -> SystemRun:
        members = list(step.parts.values())
        settings = self.model_copy(update={"depth": step.depth})
        run = fuse([member.read() for member in members], settings, step.tag)
        method = fused_method(settings, [named(member, context) for member in members])
        note = f"{step.counted(run)}, fused from {len(members)} runs"
        return SystemRun(run, note, method)

    @property
    def hyperparameters(self) -> Mapping[str, Hyperparameter]:
        weights = {f"weights.{name}": Hyperparameter(low=0) for name in self.fuse}
        return hyperparameters_of(FUSION.kind(self.method)) | weights

    @property
    def fixed(self) -> dict[str, float]:
        stated = self.parameters.keys() & self.hyperparameters.keys()
        values = {name: getattr(self.fusion, name) for name in sorted(stated)}
        weights = zip(self.fuse, self.weights, strict=False)  # no weights or one each
        return values | {f"weights.{name}": weight for name, weight in weights}

    def at(self, setting: Setting, depth: int | None = None) -> FusionSettings:
        values = {**self.fixed, **setting}
        weights = tuple(float(values.pop(f"weights.{name}", 1)) for name in self.fuse)
        parameters = {**self.parameters, **values}
        with refusing():
            return FusionSettings(
                method=self.method, weights=weights, depth=depth, parameters=parameters
            )

    def opened(self, steps: Sequence[RunStep], pool: TopicPool, context: Context) -> Tunable:
        depth = steps[0].depth
        runs = [
            pool.joined([step.parts[f"fuse.{n}"].read() for step in steps])
            for n in range(len(self.fuse))
        ]

        def tried(setting: Setting, topics: Topics) -> Run:
            return fuse([of_topics(run, topics) for run in runs], self.at(setting, depth), "tuned")

        settings = {name: v for name, v in self.fusion.model_dump().items() if isinstance(v, str)}
        facts = {
            "fuse": list(self.fuse),
            "method": self.method,
            **settings,
            **({"fixed": self.fixed} if self.fixed else {}),
            "depth": depth or "all",
        }
        return Tunable(tried, facts, check=self.at)
