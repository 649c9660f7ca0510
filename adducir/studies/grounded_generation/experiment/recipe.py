"""The experiment file of the task ``grounded-generation``."""

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from adducir.core.registry import chosen_by_key
from adducir.experiments.sections import Name, Natural, Seeds
from adducir.experiments.tasks import Task
from adducir.studies.grounded_generation.experiment.data import DataRecipe
from adducir.studies.grounded_generation.experiment.systems import GROUNDED_SYSTEMS, GroundedSystem
from adducir.studies.grounded_generation.generators.generator import Decoding
from adducir.studies.grounded_generation.generators.kinds import GENERATORS, AnyGenerator
from adducir.studies.grounded_generation.hindsight.recipe import (
    ClosedRecipe,
    GuideRecipe,
    RetrieverRecipe,
)
from adducir.training.recipe import listed

AnySystem = Annotated[
    SerializeAsAny[GroundedSystem],
    BeforeValidator(
        chosen_by_key(GROUNDED_SYSTEMS, "one of `bm25`, `untrained` and `train` is needed")
    ),
]


class GroundedGeneration(Task):
    """Contexts with targets and gold passages; see docs/hindsight.md for its keys.

    Attributes:
        task: ``grounded-generation``.
        data: Contexts and passages.
        retriever: What retriever and guide start from.
        guide: How the guide reads.
        generator: The generator, by key: ``lexical``, ``bart``, ``t5``.
        closed: The closed sets of a round.
        systems: What is compared.
        k: Sampled passages: every trained system is trained with each number, and each has a
            section in the tables. By default as the phases say.
        seeds: Of training: a run of each trained system for each. Figures are means over runs,
            tested over contexts and runs.
        decode: How texts are written; without it none are.
        common: The share of the training targets' words that common words make up; Novel-F1 leaves
            these words out.
        cutoffs: The k of Success@k.
        unit: What differences are tested over: ``context``, or ``group``, the means of the
            contexts of a group, which are not independent.
    """

    opener: ClassVar[str] = "adducir.studies.grounded_generation.experiment.study:open_study"
    task: Literal["grounded-generation"]
    data: DataRecipe
    retriever: RetrieverRecipe = RetrieverRecipe()
    guide: GuideRecipe = GuideRecipe()
    generator: AnyGenerator = GENERATORS.make("lexical")
    closed: ClosedRecipe = ClosedRecipe()
    systems: Annotated[dict[Name, AnySystem], Field(min_length=1)]
    k: tuple[Natural, ...] = ()
    seeds: Seeds = (0,)
    decode: Decoding | None = None
    common: Annotated[float, Field(ge=0, le=1)] = 0.5
    cutoffs: Annotated[tuple[Natural, ...], Field(min_length=1)] = (1, 5, 10)
    unit: Literal["context", "group"] = "context"

    @model_validator(mode="after")
    def _fits(self) -> "GroundedGeneration":
        for name, values in (("k", self.k), ("cutoffs", self.cutoffs)):
            if len(set(values)) < len(values):
                raise ValueError(f"`{name}` has one twice")
        depth = self.closed.depth
        own = [k for system in self.systems.values() for k in system.samples]
        wide = [k for k in self.k or own if k > depth]
        if wide:
            raise ValueError(f"{wide[0]} passages cannot be sampled of closed sets of {depth}")
        trained = [name for name, system in self.systems.items() if system.phases]
        if trained and self.data.passages and not listed(self.data.train):
            raise ValueError(f"{trained[0]!r} has nothing to learn from: `data` has no `train`")
        return self
