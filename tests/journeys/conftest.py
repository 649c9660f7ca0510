"""Options of the journeys, and the parts of a scratch study that they share."""

from pathlib import Path

import pytest
from journey_runner import Parts


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--regenerate", action="store_true", help="write the journeys' golden files anew"
    )
    parser.addoption(
        "--subprocesses",
        action="store_true",
        help="run each command of the journeys as a process of its own",
    )


@pytest.fixture(scope="session")
def parts(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Parts:
    """Indexes, runs and tiny models, each made when first needed, once for all test processes."""
    root = tmp_path_factory.getbasetemp()
    if hasattr(pytestconfig, "workerinput"):
        root = root.parent
    folder = Path(root) / "journeys"
    folder.mkdir(exist_ok=True)
    return Parts(folder, subprocesses=pytestconfig.getoption("--subprocesses", default=False))
