"""Every test here is slow."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
for room in ("models", "encoders", "rerankers", "studies/complementary_evidence"):
    sys.path.insert(0, str(HERE.parent / room))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.slow)
