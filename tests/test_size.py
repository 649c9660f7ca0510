"""The house stays small: the next capability makes as much unnecessary as it adds."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST_LINES = {"adducir": 64_000, "adducir without studies": 55_350, "tests": 37_200}
MOST_FILES, LONGEST_FILE = 330, 450


def lines_of(folder: str) -> dict[Path, int]:
    paths = (ROOT / folder).rglob("*.py")
    return {path: len(path.read_text(encoding="utf-8").splitlines()) for path in paths}


@pytest.mark.parametrize("part", MOST_LINES)
def test_it_does_not_grow(part: str) -> None:
    folder, _, left_out = part.partition(" without ")
    lines = lines_of(folder)
    if left_out:
        studies = ROOT / folder / left_out
        lines = {path: count for path, count in lines.items() if studies not in path.parents}
    assert 0 < sum(lines.values()) <= MOST_LINES[part]


def test_files_are_few_and_short() -> None:
    lines = lines_of("adducir")
    assert len(lines) <= MOST_FILES
    assert {str(path): count for path, count in lines.items() if count > LONGEST_FILE} == {}
