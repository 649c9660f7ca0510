"""Options of the commands about human judgements."""

from enum import StrEnum
from typing import Annotated

import typer

from adducir.cli.evaluate_options import NOT_IN_CSV


class Level(StrEnum):
    """What ratings mean (:mod:`adducir.evaluation.agreement.counts`)."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"
    RATIO = "ratio"


Confidence = Annotated[float, typer.Option("--confidence", help="Level of the intervals.")]
Samples = Annotated[
    int, typer.Option("--samples", min=1, help="Samples of the bootstrap intervals.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the bootstrap.")]
Decimals = Annotated[
    int, typer.Option("--decimals", min=0, max=15, help="Digits after the point."), NOT_IN_CSV
]
