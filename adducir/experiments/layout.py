"""How the tables of an experiment file look."""

from collections.abc import Mapping, Sequence
from typing import Any

from adducir.experiments.sections import TableRecipe
from adducir.tables.builder import Layout
from adducir.tables.material import Material
from adducir.tables.style import Style


def layout_of(
    table: TableRecipe,
    name: str,
    *,
    description: str = "",
    of: str = "",
    notes: Sequence[str] = (),
    provenance: Mapping[str, Any],
    measure_names: Mapping[str, str] | None = None,
    sections: Mapping[str, str] | None = None,
    material: Material | None = None,
) -> Layout:
    """The layout of a table.

    Args:
        table: What the experiment file says of it.
        name: The file's name, for a label where it gives none.
        description: The title where the file gives no caption.
        of: What the table is of, where there are several.
        notes: Sentences for below it.
        provenance: How it was made.
        measure_names: Printed names of measures; by default those of the file.
        sections: The section of each system.
        material: What the report shows beyond the table.
    """
    title = table.caption or description
    return Layout(
        title=f"{title.rstrip('.')}: {of}" if of else title,
        label=(table.label or f"tab:{name}") + (f"-{of}" if of else ""),
        style=Style(
            table.decimals,
            table.leading_zero,
            table.show,
            table.fit,
            table.footer,
            table.critical_difference,
        ),
        measure_names=table.measure_names if measure_names is None else measure_names,
        system_names=table.system_names,
        sections=sections or {},
        notes=list(notes),
        provenance=provenance,
        material=material or Material(),
    )
