"""What the tests of selectors share: a tiny model."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "models"))

from tiny import tiny_bert


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny BERT without a head."""
    return tiny_bert(tmp_path_factory.mktemp("models") / "tiny-bert")
