"""Popular models in their makers' layouts: the values that their makers publish, or a reason."""

import re
from pathlib import Path

import pytest
from published import ROWS, Row, difference

from adducir.core.errors import AdducirError

PAGE = Path(__file__).parents[2] / "docs" / "published-models.md"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_published_model_is_read_as_published_or_refused(row: Row, tmp_path: Path) -> None:
    if row.refused is None:
        assert difference(row, tmp_path) < 1e-5
        return
    with pytest.raises(AdducirError, match=re.escape(row.refused)):
        difference(row, tmp_path)


def test_the_table_has_these_rows() -> None:
    rows = re.findall(r"^\| ([^|]+) \| (\w+) \| (\w+) \|", PAGE.read_text(), re.MULTILINE)
    wanted = [
        (row.name.replace(",", ", "), row.use, "refused" if row.refused else "yes") for row in ROWS
    ]
    assert rows == wanted
