"""The table of the proxy task: judges, their majority, models and chance as rows."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any

from adducir.core.errors import UsageError
from adducir.core.texts import repeated
from adducir.statistics.agreement.summary import Drawing
from adducir.studies.literary_evidence.proxy.choices import Choices
from adducir.studies.literary_evidence.proxy.files import Key
from adducir.studies.literary_evidence.proxy.scoring import (
    CHANCE,
    Accuracy,
    accuracy,
    groups_of,
    judges_agreement,
    majority_accuracy,
)
from adducir.tables.build import Layout, figure_table
from adducir.tables.style import Style
from adducir.tables.table import Column, ResultTable

EVERYTHING = "all items"


@dataclass(frozen=True)
class Look:
    """What to show.

    Attributes:
        by_group: Add columns for each group of items.
        drawing: How the interval of kappa is made; its level is that of all intervals.
        notes: Sentences to add below.
        style: How numbers are printed.
        provenance: How the table was made.
    """

    by_group: bool = False
    drawing: Drawing = field(default_factory=Drawing)
    notes: Sequence[str] = ()
    style: Style = field(default_factory=Style)
    provenance: Mapping[str, Any] = field(default_factory=dict)


def proxy_table(
    key: Key, judges: Sequence[Choices], models: Sequence[Choices] = (), look: Look | None = None
) -> ResultTable:
    """Accuracy with Wilson's interval, of everyone and by groups.

    Args:
        key: The answers.
        judges: What people chose.
        models: What models chose.
        look: What to show.

    Raises:
        UsageError: Nobody chose; two have one name; groups are asked for and there are none.
    """
    look = look or Look()
    if not judges and not models:
        raise UsageError("there are no choices to score.")
    groups: list[str | None] = [None]
    if look.by_group:
        groups += groups_of(key)
        if len(groups) == 1:
            raise UsageError("the key has no groups of items to show.")
    found = {group: _accuracies(key, judges, models, group, look) for group in groups}
    shown = [CHANCE, *(one.name for one in found[None])]
    if twice := repeated(shown):
        raise UsageError(f"{twice[0]} is twice among those who chose.")
    columns = [
        Column(name, (group or EVERYTHING) if look.by_group else "", descriptive=True, summed=whole)
        for group in groups
        for name, whole in (
            ("Answered", True),
            ("Right", True),
            ("Accuracy", False),
            ("low", False),
            ("high", False),
        )
    ]
    rows = {
        name: [figure for group in groups for figure in _figures(name, found[group], key)]
        for name in shown
    }
    layout = Layout(
        notes=(*_footer(key, judges, look), *look.notes),
        facts={
            "accuracy": {
                group or EVERYTHING: [asdict(one) for one in many] for group, many in found.items()
            },
            "options": key.options,
            "task": key.mark,
        },
        provenance=look.provenance,
        style=look.style,
        head="Who",
    )
    return figure_table(columns, rows, layout)


def _accuracies(
    key: Key,
    judges: Sequence[Choices],
    models: Sequence[Choices],
    group: str | None,
    look: Look,
) -> list[Accuracy]:
    level = look.drawing.level
    many = [accuracy(one, key, group=group, level=level) for one in judges]
    if len(judges) > 1:
        many.append(majority_accuracy(judges, key, group=group, level=level))
    return many + [accuracy(one, key, group=group, level=level) for one in models]


def _figures(name: str, found: Sequence[Accuracy], key: Key) -> list[float | None]:
    if name == CHANCE:
        return [None, None, 1 / key.options, None, None]
    one = next(accuracy for accuracy in found if accuracy.name == name)
    figures = (float(one.answered), float(one.right), one.share, one.low, one.high)
    return [value if isfinite(value) else None for value in figures]


def _footer(key: Key, judges: Sequence[Choices], look: Look) -> list[str]:
    percent = f"{100 * look.drawing.level:g}%"
    sentences = [
        f"{len(key.answers):,} items with {key.options} candidates each; low and high: Wilson's "
        f"{percent} interval.",
    ]
    if len(judges) < 2:
        return sentences
    sentences.append("majority: more than half of an item's answers are the gold item.")
    agreement = judges_agreement(judges, key, look.drawing)
    kappa, interval = agreement.kappa, agreement.kappa_interval
    if kappa is None:
        sentences.append("Most items have one answer: there is no agreement to measure.")
        return sentences
    ends = f" ({percent} interval {interval.low:.3f} to {interval.high:.3f})" if interval else ""
    value = f"{kappa.kappa:.3f}{ends}" if isfinite(kappa.kappa) else "undefined"
    sentences.append(
        f"Judges, on {kappa.units:,} items with {kappa.raters} answers: Fleiss' kappa {value}, "
        f"free-marginal {kappa.free:.3f}; all agree on {kappa.all_agree:.1%}, none on "
        f"{kappa.none_agree:.1%}."
    )
    if agreement.left_out:
        sentences.append(
            f"{agreement.left_out:,} items with another number of answers are left out."
        )
    return sentences
