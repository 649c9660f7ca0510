"""What the tests of training share."""

import sys
from pathlib import Path

import pytest

sys.path += [
    str(Path(__file__).parents[1] / one)
    for one in ("models", "encoders", "studies/complementary_evidence", "plugins")
]

from kinds_study import kinds_study
from tiny import tiny_bert


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny BERT without dropout, so that a batch and its pieces draw alike."""
    return tiny_bert(tmp_path_factory.mktemp("models") / "tiny-bert")


@pytest.fixture
def study(tmp_path: Path, bert: Path) -> Path:
    """A study with a recipe and data of every kind."""
    return kinds_study(tmp_path, bert)
