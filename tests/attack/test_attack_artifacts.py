"""Damaged files of saved artifacts: a clear error or the same figures, never other figures.

A file of the artifact gets another bit or byte, is cut, zeroed in part, lengthened, emptied,
removed or replaced by another of its files; then the commands that read it run. Never does a
process end by a signal, or with exit code 70.
"""

import json
import shutil
from pathlib import Path

import pytest
from attack_corruption import ARTIFACTS, Artifact, attack
from attack_counts import count
from attack_process import Ended, call, run
from attack_settings import SEED, scaled

CORRUPTIONS = 2000
"""Corruptions of the whole run, shared out evenly among the artifacts."""

_EXPECTED = frozenset({2, 3, 4, 5})


def results_of(artifact: Artifact, folder: Path, cases: int) -> list[tuple[str, int, str, str]]:
    """What came of each case: the damage, the exit code or signal, figures, message."""
    results, begun = folder / "results", folder / "begun"
    found: list[tuple[str, int, str, str]] = []
    while len(found) < cases + 1:
        results.unlink(missing_ok=True)
        begun.unlink(missing_ok=True)
        ended: Ended = call(attack, folder, artifact, folder, SEED, len(found) - 1, cases)
        lines = results.read_text().splitlines() if results.exists() else []
        found += [tuple(json.loads(line)[1:]) for line in lines]
        if len(found) < cases + 1:
            what = begun.read_text().splitlines()[-1] if begun.exists() else "at the beginning"
            found.append((what, ended.code, "", ended.last))
            assert begun.exists(), ended.last
    return found


def error_of(result: tuple[str, int, str, str], wanted: str) -> str | None:
    """What is wrong with how commands took a damage."""
    what, code, figures, stderr = result
    if code == 0:
        return None if figures == wanted else f"{what}: other figures, and no error"
    if code in _EXPECTED and "error:" in stderr:
        return None
    return f"{what}: ended with {code}: {stderr}"


@pytest.mark.parametrize("artifact", ARTIFACTS, ids=lambda artifact: artifact.name)
def test_a_damaged_artifact(study: Path, tmp_path: Path, artifact: Artifact) -> None:
    folder = shutil.copytree(study, tmp_path / "study")
    for line in artifact.make:
        ended = run(line.split(), folder)
        assert ended.code == 0, ended.last
    cases = scaled(-(-CORRUPTIONS // len(ARTIFACTS)))
    first, *found = results_of(artifact, folder, cases)
    assert first[1] == 0, first
    count("corruptions of artifacts", len(found))
    count("corruptions that gave an error", sum(code != 0 for _, code, _, _ in found))
    errors = [problem for one in found if (problem := error_of(one, first[2])) is not None]
    assert not errors, f"seed {SEED}: {len(errors)} of {cases}\n" + "\n".join(errors[:25])
