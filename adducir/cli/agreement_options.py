"""Options of the commands about human judgements."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from adducir.cli.parameters import option

if TYPE_CHECKING:
    from adducir.evaluation.agreement import summary


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """How intervals are made."""

    confidence: Annotated[float, option("Level of the intervals.")] = 0.95
    samples: Annotated[int, option("Samples of the bootstrap intervals.", min=1)] = 2000
    seed: Annotated[int, option("Seed of the bootstrap.", min=0)] = 0

    def drawing(self) -> "summary.Drawing":
        """The same, as the packages have it."""
        from adducir.evaluation.agreement.summary import Drawing as Drawn

        return Drawn(self.samples, self.seed, self.confidence)
