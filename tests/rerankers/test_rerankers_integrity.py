"""Damaged shards of kept scores are left out: no score is ever another one."""

import random
from pathlib import Path

import numpy as np
import pytest
from file_damage import damage

from adducir.core.progress import Progress
from adducir.rerankers.cache import ScoreCache, pair_keys

PAIRS = [(f"query {n % 7}", f"text {n}") for n in range(200)]


class Notes(Progress):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


@pytest.mark.parametrize("count", [60, pytest.param(500, marks=pytest.mark.slow)])
def test_a_damaged_file_gives_no_other_scores(tmp_path: Path, count: int) -> None:
    keys, scores = pair_keys(PAIRS, "cpu"), np.random.default_rng(1).normal(size=len(PAIRS))
    cache = ScoreCache(tmp_path, {"model": 1})
    cache.add(keys[:100], scores[:100])
    cache.add(keys[100:], scores[100:])
    _, second = sorted(cache.folder.glob("scores-*.safetensors"))
    whole, draw, lost = second.read_bytes(), random.Random(2), 0
    for _ in range(count):
        damage(second, draw)
        notes = Notes()
        with notes:
            found = ScoreCache(tmp_path, {"model": 1}).load().look_up(keys)
        known = ~np.isnan(found)
        assert (found[known] == scores[known]).all()
        assert known[:100].all()
        if not known[100:].all():
            lost += 1
            assert not known[100:].any()
            assert f"{second}: these scores are damaged and are computed anew" in notes.notes[0]
        second.write_bytes(whole)
    assert lost >= 0.9 * count


def test_a_file_that_does_not_tell_its_digest_is_left_out(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    cache = ScoreCache(tmp_path, {"model": 1})
    cache.folder.mkdir()
    keys = pair_keys(PAIRS, "cpu")
    save_file({"keys": keys, "values": np.zeros(200)}, cache.folder / "scores-1.safetensors")
    assert not len(cache.load())
