"""Options of the commands about human judgements."""

from enum import StrEnum
from typing import Annotated

from adducir.cli.evaluate_options import NOT_IN_CSV
from adducir.cli.parameters import option


class Level(StrEnum):
    """What ratings mean (:mod:`adducir.evaluation.agreement.counts`)."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"
    RATIO = "ratio"


Confidence = Annotated[float, option("Level of the intervals.")]
Samples = Annotated[int, option("Samples of the bootstrap intervals.", min=1)]
Seed = Annotated[int, option("Seed of the bootstrap.", min=0)]
Decimals = Annotated[int, option("Digits after the point.", min=0, max=15), NOT_IN_CSV]
