"""Several tables of the same columns as one: a section each, tested within it."""

from collections.abc import Mapping
from dataclasses import replace

from adducir.tables.table import ResultTable


def stacked(
    tables: Mapping[str, ResultTable], system_names: Mapping[str, str] | None = None
) -> ResultTable:
    """One table of several; how it was tested is taken from the first that was.

    Args:
        tables: The tables, by the name of their section; at least one.
        system_names: Printed names of systems, where they differ.
    """
    first = next(iter(tables.values()))
    if len(tables) == 1:
        return first
    tested = next((table for table in tables.values() if table.tested), first)
    named = system_names or {}
    rows = [
        replace(row, section=name, label=row.label or named.get(row.system, ""))
        for name, table in tables.items()
        for row in table.rows
    ]
    baselines = [name for table in tables.values() for name in table.baselines]
    return replace(
        first,
        rows=tuple(rows),
        baselines=tuple(dict.fromkeys(baselines)),
        pairs=tested.pairs,
        equivalence_against=tested.equivalence_against,
        non_inferiority=tested.non_inferiority,
        alpha=tested.alpha,
        footer=_footer(tables),
        facts={"sections": {name: table.facts for name, table in tables.items()}},
    )


def _footer(tables: Mapping[str, ResultTable]) -> tuple[str, ...]:
    """All sentences; one that holds for every section is said once, the others name theirs."""
    sentences: dict[str, None] = {}
    for name, table in tables.items():
        for sentence in table.footer:
            common = all(sentence in other.footer for other in tables.values())
            sentences[sentence if common else f"{name}: {sentence}"] = None
    return ("Differences are tested within each section.", *sentences)
