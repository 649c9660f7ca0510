"""What the attacks share: every test here is slow, and the seed stands in the report."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
sys.path.insert(0, str(Path(__file__).parents[1] / "encoders"))
sys.path.insert(0, str(Path(__file__).parents[1] / "rerankers"))
sys.path.insert(0, str(Path(__file__).parents[1] / "studies" / "complementary_evidence"))

from attack_counts import COUNTS
from attack_settings import SCALE, SEED
from attack_study import make_study

HERE = Path(__file__).parent


def pytest_report_header() -> str:
    return f"attack: ADDUCIR_ATTACK={SCALE:g} ADDUCIR_ATTACK_SEED={SEED}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with an input for every command; copied, never changed."""
    return make_study(tmp_path_factory.mktemp("attack") / "study")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if COUNTS:
        terminalreporter.section("attack")
    for what, number in sorted(COUNTS.items()):
        terminalreporter.write_line(f"{number:>7,} {what}")
