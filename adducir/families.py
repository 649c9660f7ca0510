"""All families of kinds in one place; a family is imported on demand."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from adducir.core.errors import MachineError, UsageError
from adducir.core.meanings import meaning
from adducir.core.packages import imported, points_of
from adducir.core.texts import nearest, visible

if TYPE_CHECKING:
    from adducir.core.recipe import Recipe
    from adducir.core.registry import Family

FAMILIES = {
    "tasks": "adducir.experiments.tasks:TASKS",
    "systems": "adducir.experiments.retrieval.runs:SYSTEMS",
    "ranking_systems": "adducir.experiments.known_item.system:RANKING_SYSTEMS",
    "corpora": "adducir.experiments.retrieval.corpora:CORPORA",
    "indexes": "adducir.indexes.kinds:INDEXES",
    "models": "adducir.indexes.kinds:MODELS",
    "feedback": "adducir.indexes.kinds:FEEDBACK",
    "languages": "adducir.indexes.kinds:LANGUAGES",
    "formats": "adducir.corpora.documents:FORMATS",
    "fusion": "adducir.runs.kinds:FUSION",
    "encoders": "adducir.encoders.kinds:ENCODERS",
    "contexts": "adducir.encoders.ranking:CONTEXTS",
    "rerankers": "adducir.rerankers.recipe:RERANKERS",
    "measures": "adducir.evaluation.formulas:MEASURES",
    "tests": "adducir.statistics.settings:TESTS",
    "corrections": "adducir.statistics.settings:CORRECTIONS",
    "tables": "adducir.tables.formats:TABLES",
    "training": "adducir.training.trainable:KINDS",
    "losses": "adducir.training.losses:LOSSES",
    **{point.name: point.value for point in sorted(points_of("families"))},
}
"""Each family's location by its entry-point group without ``adducir.``; the studies' families are
themselves entry points of the group ``adducir.families``."""


def family(name: str) -> "Family[Any]":
    """The family of a name.

    Raises:
        UsageError: The name is unknown.
    """
    if name not in FAMILIES:
        raise UsageError(
            f"unknown family {name!r}{nearest(name, FAMILIES) or '.'}",
            hint=f"The families are {', '.join(FAMILIES)}.",
        )
    return cast("Family[Any]", imported(FAMILIES[name]))


def recipe_of(kind: type[Any]) -> "type[Recipe]":
    """The recipe whose fields are a kind's keys: the kind itself, but for kinds of training."""
    return cast("type[Recipe]", getattr(kind, "recipe_type", kind))


def listing(names: "tuple[str, ...]" = ()) -> str:
    """The kinds of some or all families, with their hyperparameters, as Markdown.

    Raises:
        UsageError: A family is unknown.
    """
    lines = list[str]()
    for name in names or FAMILIES:
        try:
            lines += _lines(family(name))
        except MachineError as error:
            lines += [f"## {name}", "", f"Not available: {error.paragraph()}", ""]
    return "\n".join(lines)


def _lines(family: "Family[Any]") -> Iterator[str]:
    prefix, separator, members = family.what.partition("kind of ")
    yield f"## Kinds of {members}" if separator else f"## {prefix[0].upper()}{prefix[1:]}s"
    yield ""
    yield f"Entry points `adducir.{family.name}`."
    base = recipe_of(family.base)
    if shared := getattr(base, "model_fields", {}):
        fields = "; ".join(_field(base, key) for key in shared)
        yield markdown(f"All have {fields}.")
    yield ""
    yield "| Kind | What it is | Hyperparameters |"
    yield "| --- | --- | --- |"
    for name, kind in family.states().items():
        origin = " ".join(family.origin(name).values())
        if isinstance(kind, MachineError):
            description, fields = f"Not available: {kind.paragraph()}", ""
        else:
            description = (kind.__doc__ or "").strip().partition("\n")[0]
            recipe = recipe_of(kind)
            keys = [key for key in recipe.model_fields if key not in shared]
            fields = "; ".join(_field(recipe, key) for key in keys)
        cells = (f"`{name}`", description + (f" ({origin})" if origin else ""), fields)
        yield markdown(f"| {' | '.join(cell(text) for text in cells)} |")
    yield ""


def _field(kind: "type[Recipe]", key: str) -> str:
    default = kind.model_fields[key].default
    shown = isinstance(default, str | int | float) and default != ""
    text = meaning(kind, key).rstrip(".")
    lower = text[:1].lower() + text[1:] if text[1:2].islower() else text
    return f"`{key}`{f' ({default})' if shown else ''}{f': {lower}' if lower else ''}"


def cell(text: str) -> str:
    """A text as a cell of a Markdown table: on one line, without bars."""
    return visible(" ".join(text.split())).replace("|", "\\|")


def markdown(text: str) -> str:
    """The text without docstring roles."""
    return re.sub(r":\w+:`[.~]?([^`]+)`", r"`\1`", text).replace("``", "`")
