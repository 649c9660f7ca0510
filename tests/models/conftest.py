"""What the tests of models share."""

from pathlib import Path

import pytest
from tiny import tiny_bert


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny BERT."""
    return tiny_bert(tmp_path_factory.mktemp("models") / "tiny-bert")
