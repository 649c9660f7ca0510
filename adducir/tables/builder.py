"""Result tables from comparisons: :func:`build_table`.

A table over one topic set takes one :class:`~adducir.statistics.comparison.results.Comparison`;
one over several (years, say) takes a mapping from the name of each topic set to its comparison,
and shows each as a group of columns. Nothing is tested here and nothing is rounded.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from adducir.core.errors import UsageError
from adducir.evaluation.scores import Scores
from adducir.statistics.comparison.results import Comparison
from adducir.tables.cells import is_summed, references, table_cell
from adducir.tables.footer import footer
from adducir.tables.material import Material
from adducir.tables.style import Style
from adducir.tables.table import Column, ResultTable, Row


@dataclass(frozen=True)
class Layout:
    """How a table is arranged and named.

    Attributes:
        title: Caption.
        label: LaTeX label.
        style: How numbers are printed.
        system_names: Printed name of each system, where it differs from the system's name.
        measure_names: Printed name of each measure, by its exact name.
        sections: Section (say a corpus variant) of each system; sections come in the order of
            their first systems, systems without one stand in a section without a name.
        notes: Sentences to add to the footer.
        evaluated: Whether Adducir computed the values, and knows how unjudged documents counted.
        provenance: How the table was made: commands, versions, fingerprints.
        material: What the report shows beyond the table.
    """

    title: str = ""
    label: str = "tab:results"
    style: Style = field(default_factory=Style)
    system_names: Mapping[str, str] = field(default_factory=dict)
    measure_names: Mapping[str, str] = field(default_factory=dict)
    sections: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    evaluated: bool = True
    provenance: Mapping[str, Any] = field(default_factory=dict)
    material: Material = field(default_factory=Material)


@dataclass(frozen=True)
class _Source:
    """One topic set: its name, its comparison, the scores behind it."""

    name: str
    comparison: "Comparison"
    scores: Mapping[str, "Scores"]


def build_table(
    comparison: "Comparison | Mapping[str, Comparison]",
    scores: "Sequence[Scores] | Mapping[str, Sequence[Scores]]" = (),
    *,
    layout: Layout | None = None,
) -> ResultTable:
    """A result table.

    Args:
        comparison: The outcome of
            :func:`adducir.statistics.comparison.comparison.compare`, or one for each named topic
            set.
        scores: The scores that were compared, likewise; with them the table holds the values per
            topic and its footer says about negative grades and topics without judgements.
        layout: Names, order and style.

    Raises:
        UsageError: No comparison, or scores of another form or of other systems or topics.
    """
    layout = layout or Layout()
    sources = _sources(comparison, scores)
    columns = tuple(
        _column(source, measure, layout)
        for source in sources
        for measure in source.comparison.measures
    )
    first = sources[0].comparison.settings
    compared = [source.comparison for source in sources]
    tested = next((one for one in compared if one.p_best or one.has_tests), compared[0])
    return ResultTable(
        columns=columns,
        rows=_rows(sources, layout),
        baselines=tuple(
            dict.fromkeys(name for source in sources for name in references(source.comparison))
        ),
        pairs=first.family == "pairs",
        equivalence_against=first.against,
        non_inferiority=first.non_inferiority,
        alpha=tested.settings.alpha,
        title=layout.title,
        label=layout.label,
        footer=footer(
            {source.name: (source.comparison, source.scores) for source in sources},
            layout.measure_names,
            layout.system_names,
            layout.notes,
            evaluated=layout.evaluated,
        ),
        facts={"topic_sets": [_facts(source) for source in sources]},
        provenance=layout.provenance,
        style=layout.style,
        material=layout.material,
    )


def _sources(
    comparison: "Comparison | Mapping[str, Comparison]",
    scores: "Sequence[Scores] | Mapping[str, Sequence[Scores]]",
) -> list[_Source]:
    """Every topic set with its scores by system, checked to belong together."""
    compared = comparison if isinstance(comparison, Mapping) else {"": comparison}
    given = scores if isinstance(scores, Mapping) else {"": scores} if scores else {}
    if not compared:
        raise UsageError("a table needs at least one comparison.")
    if given and set(given) != set(compared):
        raise UsageError(
            f"the comparisons are of {', '.join(compared)}, the scores of {', '.join(given)}.",
            hint="Give both for the same topic sets.",
        )
    sources = []
    for name, one in compared.items():
        by_system = {score.system: score for score in given.get(name, ())}
        if by_system and set(by_system) != set(one.systems):
            odd = sorted(set(by_system) ^ set(one.systems))
            raise UsageError(f"scores and comparison differ in their systems: {', '.join(odd)}.")
        for score in by_system.values():
            if len(score.qids) != one.topics:
                raise UsageError(
                    f"{score.system} has scores of {len(score.qids)} topics, "
                    f"the comparison is of {one.topics}."
                )
        sources.append(_Source(name, one, by_system))
    return sources


def _column(source: _Source, measure: Hashable, layout: Layout) -> Column:
    settings = source.comparison.settings
    qids = next((score.qids for score in source.scores.values()), ())
    return Column(
        measure=str(measure),
        group=source.name,
        label=layout.measure_names.get(str(measure), ""),
        higher_is_better=measure not in settings.lower_is_better,
        descriptive=measure in settings.descriptive,
        summed=is_summed(measure),
        topics=tuple(qids),
    )


def _rows(sources: Sequence[_Source], layout: Layout) -> tuple[Row, ...]:
    """One row a system, those of a section together, otherwise in the order given."""
    systems = dict.fromkeys(name for source in sources for name in source.comparison.systems)
    order = list(dict.fromkeys(layout.sections.get(name, "") for name in systems))
    ranked = sorted(systems, key=lambda name: order.index(layout.sections.get(name, "")))
    return tuple(
        Row(
            system=name,
            cells=tuple(
                table_cell(source.comparison, name, measure, source.scores.get(name))
                for source in sources
                for measure in source.comparison.measures
            ),
            label=layout.system_names.get(name, ""),
            section=layout.sections.get(name, ""),
        )
        for name in ranked
    )


def _facts(source: _Source) -> dict[str, Any]:
    """Settings and counts of one topic set, for machines."""
    comparison = source.comparison
    settings = asdict(comparison.settings)
    for name in ("descriptive", "lower_is_better"):
        settings[name] = sorted(map(str, settings[name]))
    any_scores = next(iter(source.scores.values()), None)
    return {
        "name": source.name,
        "topics": comparison.topics,
        "settings": settings,
        "tests_in_family": {str(m): n for m, n in comparison.tests_in_family.items()},
        "equivalence_tests_in_family": {
            str(m): n for m, n in comparison.equivalence_tests_in_family.items()
        },
        "missing": {name: list(qids) for name, qids in comparison.missing.items()},
        "extra": {name: list(one.extra) for name, one in source.scores.items() if one.extra},
        "negative_grades": any_scores
        and {"count": any_scores.negatives, "treated_as": any_scores.negative},
    }
