"""What an option needs to have an effect, said beside the option and checked in one place.

An option that does nothing, given the others, is a mistake of whoever typed it: results that do not
come from what was asked for would look as if they did.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from adducir.core.errors import UsageError

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Effect:
    """A condition under which an option has an effect; part of the option's annotation.

    Attributes:
        otherwise: What is said where it does not hold, behind "--option means nothing".
        holds: Whether it does, given the values of all parameters by name.
    """

    otherwise: str
    holds: Callable[[Values], bool]


def with_any(*names: str, rare: bool = False) -> Effect:
    """It needs one of these options to be given."""
    condition = " or ".join(f"--set {name}" if rare else _shown(name) for name in names)
    return Effect(f"without {condition}", lambda values: any(map(bool, map(values.get, names))))


def where(name: str, *wanted: str | None) -> Effect:
    """It needs the option ``name`` to have one of these values; None: not to be given."""
    condition = f"without {_shown(name)} {' or '.join(one for one in wanted if one is not None)}"
    return Effect(condition, lambda values: values.get(name) in wanted)


def without(name: str) -> Effect:
    """It has no effect beside this option."""
    return Effect(f"with {_shown(name)}", lambda values: not values.get(name))


def check_effects(option: str, effects: Iterable[Effect], values: Values) -> None:
    """Refuse an option without effect.

    Raises:
        UsageError: A condition does not hold.
    """
    for effect in effects:
        if not effect.holds(values):
            raise UsageError(f"{option} means nothing {effect.otherwise}.")


def _shown(name: str) -> str:
    return f"--{name.replace('_', '-')}"
