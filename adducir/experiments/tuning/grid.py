"""The settings to try: every combination of the parameters' values, in a fixed order.

A parameter's values stand in ascending order, whatever the order they were written in, and the
parameter named last varies fastest. So "the first of equal settings" means: the one with the
smallest value of the parameter named first, among these of the second, and so on.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from math import inf, prod

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from adducir.core.errors import UsageError
from adducir.core.texts import nearest
from adducir.experiments.tuning.values import Number, decimal, plain

Setting = dict[str, Number]
"""A value for each parameter, in the order of the grid."""


@dataclass(frozen=True)
class Hyperparameter:
    """What values a parameter can have at all.

    Attributes:
        whole: Whether only whole numbers make sense.
        low: The least value that makes sense.
        high: The greatest.
    """

    whole: bool = False
    low: float = -inf
    high: float = inf


def hyperparameters_of(kind: type[BaseModel]) -> dict[str, Hyperparameter]:
    """The numeric fields of a recipe, which can be tuned, with the bounds that they state."""
    return {
        name: Hyperparameter(
            whole=field.annotation is int,
            low=_bound(field, "ge", -inf),
            high=_bound(field, "le", inf),
        )
        for name, field in kind.model_fields.items()
        if field.annotation in (int, float)
    }


def _bound(field: FieldInfo, which: str, default: float) -> float:
    stated = [getattr(one, which) for one in field.metadata if hasattr(one, which)]
    return float(stated[0]) if stated else default


@dataclass(frozen=True)
class Parameter:
    """A parameter and the values to try, ascending."""

    name: str
    values: tuple[Number, ...]
    hyperparameter: Hyperparameter

    def is_edge(self, value: Number) -> bool:
        """Whether a value is the first or last one tried, and one beyond it could be tried."""
        if len(self.values) < 2:
            return False
        first, last = self.values[0], self.values[-1]
        low, high = first > self.hyperparameter.low, last < self.hyperparameter.high
        return (value == first and low) or (value == last and high)


@dataclass(frozen=True)
class Grid:
    """All settings, numbered from 0."""

    parameters: tuple[Parameter, ...]

    @classmethod
    def of(
        cls,
        values: Mapping[str, Sequence[Number | Decimal]],
        hyperparameters: Mapping[str, Hyperparameter],
    ) -> "Grid":
        """Check values and make their grid.

        Args:
            values: By parameter, in the order that breaks ties between equal settings.
            hyperparameters: The parameters there are.

        Raises:
            UsageError: A parameter is unknown, has no value, has one twice, or one that it
                cannot have; or there is no parameter.
        """
        if not values:
            raise UsageError("there is nothing to tune.", hint="Name a parameter and its values.")
        return cls(
            tuple(_parameter(name, given, hyperparameters) for name, given in values.items())
        )

    def __len__(self) -> int:
        return prod(len(parameter.values) for parameter in self.parameters)

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names."""
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def open(self) -> tuple[Parameter, ...]:
        """The parameters that have two values or more."""
        return tuple(parameter for parameter in self.parameters if len(parameter.values) > 1)

    def places(self, number: int) -> tuple[int, ...]:
        """For each parameter, the place of its value in a setting."""
        found = []
        for parameter in reversed(self.parameters):
            number, place = divmod(number, len(parameter.values))
            found.append(place)
        return tuple(reversed(found))

    def setting(self, number: int) -> Setting:
        """The setting of a number."""
        return {
            parameter.name: parameter.values[place]
            for parameter, place in zip(self.parameters, self.places(number), strict=True)
        }

    def settings(self) -> Iterator[Setting]:
        """All settings in order."""
        return (self.setting(number) for number in range(len(self)))

    def label(self, number: int) -> str:
        """``k1 = 0.9, b = 0.4``."""
        return ", ".join(f"{name} = {plain(value)}" for name, value in self.setting(number).items())


def _parameter(
    name: str, given: Sequence[Number | Decimal], hyperparameters: Mapping[str, Hyperparameter]
) -> Parameter:
    if name not in hyperparameters:
        known = f" Parameters are {', '.join(hyperparameters)}." if hyperparameters else ""
        guess = nearest(name, hyperparameters) or "."
        raise UsageError(f"there is no parameter `{name}` to tune{guess}{known}")
    hyperparameter = hyperparameters[name]
    values = sorted(decimal(value) for value in given)
    if not values:
        raise UsageError(f"{name} has no values.")
    for value, after in pairwise(values):
        if value == after:
            raise UsageError(f"{name} has the value {plain(value)} twice.")
    for value in values:
        if hyperparameter.whole and value != value.to_integral_value():
            raise UsageError(f"{name} takes whole numbers, not {plain(value)}.")
        if not hyperparameter.low <= value <= hyperparameter.high:
            raise UsageError(f"{name} takes values {_between(hyperparameter)}, not {plain(value)}.")
    kind = int if hyperparameter.whole else float
    return Parameter(name, tuple(kind(value) for value in values), hyperparameter)


def _between(hyperparameter: Hyperparameter) -> str:
    if hyperparameter.high == inf:
        return f"from {hyperparameter.low:g} up"
    return f"from {hyperparameter.low:g} to {hyperparameter.high:g}"
