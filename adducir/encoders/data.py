"""The masked spans that a recipe names, divided by their groups: books or questions."""

from pathlib import Path

from adducir.corpora.spans import MaskedSpan, read_spans
from adducir.training.division import DataPart, Division


def spans_of(part: DataPart, folder: Path) -> Division[MaskedSpan]:
    """The spans of a recipe, each with its part; a group is in one part only."""
    return Division(
        part,
        folder,
        read_spans,
        unit=lambda span: span.group,
        group=lambda span: span.group,
        groups="groups",
    )
