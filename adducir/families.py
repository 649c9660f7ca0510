"""All families of kinds, in one place; a family is imported when it is asked for."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from adducir.study.errors import UsageError
from adducir.study.nearest import nearest

if TYPE_CHECKING:
    from adducir.study.registry import Family

FAMILIES = {
    "formats": "adducir.corpora.readers:FORMATS",
    "fusion": "adducir.runs.fusion:FUSION",
    "encoders": "adducir.encoders.kinds:ENCODERS",
    "rerankers": "adducir.rerankers.registry:RERANKERS",
    "selectors": "adducir.rerankers.complementary.selector:SELECTORS",
    "measures": "adducir.experiments.evaluation.formulas:MEASURES",
    "tests": "adducir.experiments.significance.tests:TESTS",
    "corrections": "adducir.experiments.significance.corrections:CORRECTIONS",
    "tables": "adducir.experiments.tables.render:TABLES",
}
"""Where each family is, by the name of its entry points' group behind ``adducir.``."""


def family(name: str) -> "Family[Any]":
    """The family of a name.

    Raises:
        UsageError: There is none.
    """
    if name not in FAMILIES:
        raise UsageError(
            f"there is no family {name!r}{nearest(name, FAMILIES) or '.'}",
            mend=f"The families are {', '.join(FAMILIES)}.",
        )
    module, _, attribute = FAMILIES[name].partition(":")
    found: Family[Any] = getattr(import_module(module), attribute)
    return found
