"""Which installed packages compute the figures of a table, beside Adducir."""

from collections.abc import Iterable
from typing import Any

from adducir.core.registry import Family
from adducir.evaluation.formulas import MEASURES
from adducir.evaluation.measures import Measure
from adducir.experiments.sections import ComparisonRecipe
from adducir.statistics.corrections import CORRECTIONS
from adducir.statistics.tests import TESTS


def packages(
    comparison: ComparisonRecipe | None, measures: Iterable[Measure] = ()
) -> dict[str, Any]:
    """For provenance: package and version of each kind of another package; empty for none."""
    named: list[tuple[str, Family[Any], str]] = [
        ("measure", MEASURES, str(getattr(one, "NAME", ""))) for one in measures
    ]
    if comparison is not None:
        test, correction = comparison.test_and_correction
        named += [("test", TESTS, test), ("correction", CORRECTIONS, correction)]
    found = {f"{what} {name}": family.origin(name) for what, family, name in named}
    known = {what: origin for what, origin in sorted(found.items()) if origin}
    return {"packages": known} if known else {}
