"""``fuse:``: the runs of several systems made one, by any fusion method."""

from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import ConfigDict, Field, model_validator

from adducir.core.errors import UsageError
from adducir.core.recipe import KeyPath
from adducir.core.registry import keys_of
from adducir.experiments.context import Context
from adducir.experiments.retrieval.runs import Answer, Made, RunStep, counted
from adducir.experiments.retrieval.study import RetrievalStudy
from adducir.experiments.retrieval.systems.tuned import TunableSystem
from adducir.experiments.sections import Name
from adducir.experiments.tuning.grid import Hyperparameter
from adducir.experiments.tuning.systems import Fusion as TunableFusion
from adducir.experiments.tuning.systems import fusion_hyperparameters
from adducir.runs.fusion import FUSION, FusionMethod, fuse
from adducir.runs.run import Run


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
    method: str = "rrf"
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

    @property
    def members(self) -> tuple[str, ...]:
        return self.fuse

    def place_of(self, member: int) -> KeyPath:
        return ("fuse", member)

    def renamed(self, new: Callable[[str, str], str]) -> Self:
        """See :meth:`Linked.renamed`; a grid names members, too."""
        found = super().renamed(new)
        if self.tune is None:
            return found
        keys = {f"weights.{name}": f"weights.{new('systems', name)}" for name in self.fuse}
        grid = {keys.get(key, key): values for key, values in self.tune.grid.items()}
        return found.model_copy(update={"tune": self.tune.model_copy(update={"grid": grid})})

    @property
    def hyperparameters(self) -> Mapping[str, Hyperparameter]:
        return fusion_hyperparameters(self.fuse, self.method)

    @property
    def fixed(self) -> dict[str, float]:
        given = (self.model_extra or {}).keys() & self.hyperparameters.keys()
        values = {name: getattr(self.fusion, name) for name in sorted(given)}
        weights = zip(self.fuse, self.weights, strict=False)  # no weights, or one for each
        return values | {f"weights.{name}": weight for name, weight in weights}

    @property
    def _settings(self) -> dict[str, Any]:
        """The method's hyperparameters that are no numbers and so cannot be tuned."""
        values = self.fusion.model_dump().items()
        return {name: value for name, value in values if isinstance(value, str)}

    def step(self, name: str, topic_set: str, study: RetrievalStudy) -> "FusionStep":
        members = [study.run_of(member, topic_set) for member in self.fuse]
        return FusionStep(name, self, topic_set, study, members)

    def untuned_fingerprint_inputs(self, name: str, study: RetrievalStudy) -> dict[str, Any]:
        runs = [[study.run_of(one, each) for each in study.recipe.topics] for one in self.fuse]
        return {
            "method": self.method,
            **FUSION.origin(self.method),
            **self._settings,
            "members": [[run.fingerprint for run in each] for each in runs],
        }

    def tunable(self, name: str, study: RetrievalStudy, context: Context) -> TunableFusion:
        return self.over({one: study.joined(one) for one in self.fuse}, study.recipe.most)

    def over(self, runs: Mapping[str, Run], depth: int | None) -> TunableFusion:
        """The fusion of runs, with hyperparameters left open."""
        settings = self._settings
        return TunableFusion(runs, self.method, fixed=self.fixed, settings=settings, depth=depth)


class FusionStep(RunStep):
    """The fusion of runs."""

    recipe: Fusion
    inputs: list[Answer]

    @property
    def shares(self) -> object:
        return tuple(member.path for member in self.inputs)

    def fingerprint_inputs(self) -> dict[str, Any]:
        system = self.recipe
        return {
            "method": system.method,
            **FUSION.origin(system.method),
            "hyperparameters": system.fusion.model_dump(),
            "weights": list(system.weights),
            "members": [member.fingerprint for member in self.inputs],
        }

    def produce(self, context: Context) -> Made:
        system, settings = self.recipe, FUSION.settings(self.recipe.fusion, "method")
        run = fuse(
            [member.read() for member in self.inputs],
            system.method,
            weights=system.weights or None,
            depth=self.study.recipe.most,
            tag=self.tag,
            **system.fusion.model_dump(),
        )
        settings["depth"] = self.study.recipe.depth
        if system.weights:
            settings["weights"] = list(system.weights)
        settings["runs"] = [
            {
                "system": member.system,
                "file": context.shown(member.path),
                "fingerprint": member.fingerprint,
            }
            for member in self.inputs
        ]
        note = f"{counted(run, self.topics)}, fused of {len(self.inputs)} runs"
        return Made(run, note, {"fusion": settings})
