"""Entries of a recipe whose kind is chosen by one of their keys: ``{fuse: [A, B]}`` is a fusion.

The kinds are those of a :class:`~adducir.core.registry.Family`, so that installed packages add
theirs. Errors of an entry are reported at their places, as those of any recipe.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from adducir.core.errors import AdducirError
from adducir.core.recipe import Recipe
from adducir.core.recipe_errors import ErrorsAt, validated
from adducir.core.registry import Family
from adducir.core.texts import nearest

R = TypeVar("R", bound=Recipe)


def chosen_by_key(family: Family[Any], refusal: str) -> Callable[[Any], Any]:
    """A validator that takes an entry for the kind whose name is one of its keys.

    Args:
        family: The kinds.
        refusal: What is wrong where none of their names, or more than one, is a key.
    """

    def choose(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        names = [key for key in value if key in family]
        if len(names) != 1:
            raise ValueError(refusal)
        strange = {key for key in value if key not in keys_of(family, names[0])}
        # Only for this message: other kinds may have to import much to be asked for their keys.
        known = {key for name in family for key in keys_of(family, name)} if strange else set()
        if known & strange:
            listed = ", ".join(f"`{key}`" for key in sorted(known & strange))
            raise ValueError(f"{listed} means nothing beside `{names[0]}`")
        return entry(family.kind, names[0], value)

    return choose


def keys_of(family: Family[Any], name: str) -> Collection[str]:
    """The keys that an entry of a kind can have; none where the kind is not available."""
    try:
        kind = family.kind(name)
    except AdducirError:
        return ()
    return {*kind.model_fields, *getattr(kind, "more_keys", tuple)()}


def entry(kind_of: Callable[[str], type[R]], name: str, value: Mapping[str, Any]) -> R:
    """An entry as a recipe of its kind.

    Args:
        kind_of: The class of a name.
        name: The kind's name.
        value: The entry.

    Raises:
        ValueError: The kind is not available.
        ErrorsAt: What is wrong with the entry, at its places.
    """
    try:
        kind = kind_of(name)
    except AdducirError as error:
        raise ValueError(error.paragraph().rstrip(".")) from error
    found, errors = validated(kind, dict(value))
    if found is None:
        raise ErrorsAt(*((problem.path, problem.what) for problem in errors))
    return found


def hyperparameters(
    kind: type[R], name: str, given: Mapping[str, Any], others: Mapping[str, object] | None = None
) -> R:
    """A kind whose hyperparameters stand among the other keys of an entry.

    Args:
        kind: The kind.
        name: Its name.
        given: The keys of the entry that are not the entry's own.
        others: The entry's own keys, for guesses at what was meant.

    Raises:
        ErrorsAt: A key is no hyperparameter of the kind, or a value is not allowed.
    """
    known = kind.model_fields
    unknown = [key for key in given if key not in known]
    if unknown:
        listed = ", ".join(f"`{key}`" for key in known) or "none"
        what = f"is no hyperparameter of {name}, which has {listed}"
        raise ErrorsAt(
            *(((key,), what + nearest(key, [*known, *(others or ())])) for key in unknown)
        )
    return entry(lambda _: kind, name, given)
