"""Every command, from what is typed to what comes out, held to golden files.

``python -m pytest tests/journeys --regenerate`` writes the golden files anew (with ``-m ''`` those
of slow journeys too); a commit that changes one says why.
"""

import difflib
import os
import re
import sys
from pathlib import Path

import pytest
from journey_runner import COLLECTIONS, HERE, Journey, Parts, all_journeys, travel

JOURNEYS = all_journeys()
FLOAT = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same terminal everywhere, this Python first in the shell, and no network."""
    plain = {"COLUMNS": "160", "NO_COLOR": "1", "TERM": "dumb", "HF_HUB_OFFLINE": "1"}
    plain["ADDUCIR_VERIFY"] = ""  # a journey sets it for its own process
    for name, value in plain.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)


def _marked(journey: Journey) -> object:
    return pytest.param(journey, id=journey.name, marks=[pytest.mark.slow] * journey.slow)


@pytest.mark.parametrize("journey", [_marked(one) for one in JOURNEYS])
def test_journey(
    journey: Journey, parts: Parts, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    for name in journey.needs:
        if not (COLLECTIONS and Path(COLLECTIONS, name).is_dir()):
            pytest.skip(f"ADDUCIR_COLLECTIONS has no {name}")
    folder = tmp_path / "study"
    folder.mkdir()
    for name in journey.uses:
        parts.put(name, folder)
    told = travel(journey, folder, subprocesses=parts.subprocesses)
    path = HERE / "golden" / f"{journey.name}.txt"
    if pytestconfig.getoption("--regenerate", default=False):
        path.write_text(told, encoding="utf-8")
        return
    assert path.exists(), f"no {path.name}: write it with --regenerate"
    expected = path.read_text(encoding="utf-8")
    if not _equal(expected, told, journey.near):
        old, new = expected.splitlines(), told.splitlines()
        if len(old) == len(new):  # what is near enough is no part of the difference
            near = [a if _close(a, b, journey.near) else b for a, b in zip(old, new, strict=True)]
            new = near if journey.near else new
        diff = list(difflib.unified_diff(old, new, lineterm="", n=2))
        first = _context(expected, told)
        pytest.fail(
            f"{journey.name}: differs first after {first}\n" + "\n".join(diff[2:60]), pytrace=False
        )


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("$ ")]


def _equal(expected: str, told: str, near: float) -> bool:
    old, new = _lines(expected), _lines(told)
    if not near or len(old) != len(new):
        return old == new
    return all(_close(a, b, near) for a, b in zip(old, new, strict=True))


def _close(a: str, b: str, near: float) -> bool:
    """Whether two lines differ in numbers alone, and in these by little."""
    if a == b:
        return True
    if FLOAT.sub("#", a) != FLOAT.sub("#", b):
        return False
    pairs = zip(FLOAT.findall(a), FLOAT.findall(b), strict=True)
    return all(
        x == y or ("." in x + y and abs(float(x) - float(y)) <= near * max(1, abs(float(x))))
        for x, y in pairs
    )


def _context(expected: str, told: str) -> str:
    command = ""
    for a, b in zip(expected.splitlines(), told.splitlines(), strict=False):
        command = b if b.startswith("$ ") else command
        if a != b and not b.startswith("$ "):
            break
    return command
