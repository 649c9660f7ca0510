"""Mutated files for every reader: a result or an error that names the file, and nothing else.

Each case is a valid small file with one to four changes (:mod:`attack_mutations`), read within 10
seconds of processor time and 2 GiB of memory. Cases of a reader run in a process of their own, so
that a crash is seen.
"""

from pathlib import Path

import pytest
from attack_counts import count
from attack_fuzzing import fuzz
from attack_process import call
from attack_readers import READERS
from attack_samples import SAMPLES
from attack_settings import SEED, scaled
from attack_study import RECIPES

CASES = 30_000
"""Cases of the whole run, shared out evenly among the readers."""


def samples_of(name: str, study: Path) -> list[bytes]:
    """The valid files that cases are made from."""
    if name == "manifest.json":
        return [(study / "indexes" / "memory" / name).read_bytes()]
    if name in SAMPLES:
        return SAMPLES[name]
    return [text.encode() for path, text in RECIPES.items() if Path(path).name == name]


@pytest.mark.parametrize("name", READERS)
def test_the_samples_are_valid(study: Path, tmp_path: Path, name: str) -> None:
    for sample in samples_of(name, study):
        path = tmp_path / name
        path.write_bytes(sample)
        for reader in READERS[name]:
            reader(path)


@pytest.mark.parametrize("name", READERS)
def test_a_mutated_file_gives_a_result_or_an_error(study: Path, tmp_path: Path, name: str) -> None:
    cases = scaled(-(-CASES // len(READERS)))
    ended = call(fuzz, tmp_path, name, samples_of(name, study), tmp_path, 0, cases, SEED)
    notes = tmp_path / "errors"
    errors = notes.read_text().splitlines() if notes.exists() else []
    if not (tmp_path / "done").exists():
        errors.append(f"the process ended with {ended.code}: {ended.last}")
    count("mutated files read", cases)
    assert not errors, f"seed {SEED}\n" + "\n".join(errors[:20])
