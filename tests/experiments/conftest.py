"""Studies, unless a file has its own."""

from pathlib import Path

import pytest
from experiment_studies import GIVEN, Study


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study(tmp_path / "study")


@pytest.fixture
def given(tmp_path: Path) -> Study:
    return Study(tmp_path / "study", GIVEN)
