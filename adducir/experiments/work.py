"""How much work a step is, from what is known without reading data.

Sizes of files stand for texts (:mod:`adducir.corpora.sizes`): a token for every 4.5 bytes of a
file. Measured were 4.4 on CACM's abstracts in JSON, 4.9 on the bundled arguments.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adducir.core.errors import AdducirError
from adducir.corpora.references import expanded
from adducir.models.machine import Precision
from adducir.models.sizes import NetworkSize, network_size
from adducir.models.sources import model_source

if TYPE_CHECKING:
    from adducir.training.plan import TrainingPlan
    from adducir.training.preparation import Preparation

BYTES_PER_TOKEN = 4.5
QUERY_TOKENS = 16
"""Of a query, with the marks between it and a document."""
WEIGHT_BYTES = 2.5
"""Of a token's weight as it is kept: measured were 2.3 on the bundled arguments."""
LONGEST = 512
"""Tokens of a text that networks read, at most."""
SINGLE = 4
"""Bytes of a number in single precision."""
PROJECTED = 128
"""Numbers of a ColBERT's vector."""
COPIES = 4
"""Weights, gradients and AdamW's two moments."""
ACTIVATIONS = 60
"""Bytes for each token, layer and number of a state that a training step keeps (Korthikanti et al.
2022, https://arxiv.org/abs/2205.05198, has 34 in half precision without attention's scores)."""


@dataclass(frozen=True)
class Work:
    """How much there is to do.

    Attributes:
        parts: The parts of the program that take part, as :attr:`.Rates.memory` names them.
        amounts: Units of work, by the names of :attr:`.Rates.rates`.
        memory: Bytes beside those that the parts need anyway.
        disk: Bytes that are written and stay.
        shares: Bytes of text of which something is built whose size was measured, by the names of
            :attr:`.Rates.shares`.
    """

    parts: tuple[str, ...]
    amounts: Mapping[str, float] = field(default_factory=dict)
    memory: float = 0.0
    disk: float = 0.0
    shares: Mapping[str, float] = field(default_factory=dict)


def size_of_model(name: str, folder: Path) -> NetworkSize | None:
    """The size of a network by its name or folder; None where it is not here."""
    try:
        return network_size(model_source(expanded(name), folder))
    except AdducirError:
        return None


def together(first: Work | None, *others: Work | None) -> Work | None:
    """Several works, one after the other in one process; None where one is not known.

    What each holds in memory is taken to be held until the last has ended.
    """
    done = first
    for other in others:
        if done is None or other is None:
            return None
        done = Work(
            tuple(dict.fromkeys((*done.parts, *other.parts))),
            _sums(done.amounts, other.amounts),
            done.memory + other.memory,
            done.disk + other.disk,
            _sums(done.shares, other.shares),
        )
    return done


def _sums(one: Mapping[str, float], other: Mapping[str, float]) -> Mapping[str, float]:
    return {name: one.get(name, 0.0) + other.get(name, 0.0) for name in {**one, **other}}


def operations_in(precision: Precision, what: str = "forward") -> str:
    """The name of a network's operations among the rates."""
    return f"{what} operations" + ("" if precision == "float32" else f" in {precision}")


def forward(
    size: NetworkSize | None, tokens: float, length: float, precision: Precision = "float32"
) -> Work | None:
    """The work of reading texts with a network.

    Args:
        tokens: Of all texts.
        length: Of a text, at most.
    """
    if size is None:
        return None
    operations = size.operations(tokens, min(length, LONGEST))
    return Work(("networks",), {operations_in(precision): operations}, memory=float(size.bytes))


def training(plan: "TrainingPlan[Any]") -> Work | None:
    """The work of a training, all epochs; None where the size of its data or base is not known.

    All of its files' text is read in every epoch; early stopping and held-out parts make it less.
    """
    text, size = plan.text_bytes, size_of_model(plan.recipe.base, plan.folder)
    if text is None or size is None:
        return None
    how, length = plan.recipe.training, _length(plan.recipe)
    tokens = text / BYTES_PER_TOKEN
    in_batch = how.batch_size * length / how.gradient_accumulation
    activations = in_batch * size.layers * size.width * ACTIVATIONS
    operations = 3 * how.epochs * size.operations(tokens, length) * plan.networks
    weights = size.bytes * plan.networks
    return Work(
        ("training",),
        {operations_in(how.precision, "training"): operations},
        memory=weights * COPIES + activations,
        disk=weights + tokens * SINGLE,
    )


def preparing(preparation: "Preparation") -> Work | None:
    """The work of cutting passages; None where the size of the text is not known."""
    text = preparation.text_bytes
    if text is None:
        return None
    return Work(("passages",), {"passage bytes": text}, shares={"passages": text})


def _length(recipe: Any) -> float:
    """The tokens of an example, as a recipe has them in one key or another."""
    passages = getattr(getattr(recipe, "passages", None), "length", None)
    found = getattr(recipe, "length", None) or passages
    return float(min(found, LONGEST)) if isinstance(found, int) else LONGEST / 2
