"""What the tests of models share."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "rerankers"))

from tiny import tiny_bert, tiny_roberta
from tiny_t5 import tiny_t5


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny BERT."""
    return tiny_bert(tmp_path_factory.mktemp("models") / "tiny-bert")


@pytest.fixture(scope="session")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny BERT that has two classes."""
    folder = tmp_path_factory.mktemp("models") / "tiny-classifier"
    return tiny_bert(folder, kind="BertForSequenceClassification")


@pytest.fixture(scope="session")
def t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny T5, which is called a LiT5."""
    return tiny_t5(tmp_path_factory.mktemp("models") / "tiny-lit5")


@pytest.fixture(scope="session")
def roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny RoBERTa without a pooler."""
    return tiny_roberta(tmp_path_factory.mktemp("models") / "tiny-roberta")
