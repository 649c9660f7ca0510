"""What tests of judges share: a cache of answers."""

import pytest

from adducir.judges.answers import AnswerCache


@pytest.fixture
def cache(tmp_path):
    made = AnswerCache(tmp_path / "answers.sqlite")
    yield made
    made.close()


@pytest.fixture
def instant(monkeypatch):
    """Waits between tries take no time."""
    monkeypatch.setattr("adducir.judges.server._LONGEST_WAIT", 0.0)
