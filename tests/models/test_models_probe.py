"""Which precision is faster is tried, once per machine, and said with its reason."""

import json

import pytest
import torch

from adducir.core.progress import Silent
from adducir.models import probe as probing
from adducir.models.probe import Probe, fastest_precision, probe

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(probing, "_SIZES", {"cpu": (1, 4, 24)})
    return tmp_path / "cache" / "adducir"


class Clock:
    """A timer by which single precision takes one second a layer, and bfloat16 ``half``."""

    def __init__(self, half):
        self.half, self.now, self.calls = half, 0.0, 0

    def __call__(self):
        pair = self.calls // 2
        if self.calls % 2:
            self.now += self.half if pair % 2 else 1.0
        self.calls += 1
        return self.now


@pytest.mark.parametrize(
    ("half", "expected"), [(0.4, "bfloat16"), (0.9, "float32"), (1.7, "float32")]
)
def test_what_is_faster_is_taken_whatever_the_processor_lists(monkeypatch, half, expected):
    for listed in ({"avx512_bf16": True, "amx_bf16": True}, {}):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda message=listed: message)
        clock = Clock(half)
        assert fastest_precision(CPU, timer=clock) == expected
        assert clock.calls == 2 * 2 * (1 + probing.ROUNDS)  # it was tried on each


def test_it_is_tried_once_on_each_machine(cache, monkeypatch):
    first, second = Clock(0.4), Clock(1.7)
    assert fastest_precision(CPU, timer=first) == "bfloat16"
    assert fastest_precision(CPU, timer=second) == "bfloat16"
    assert second.calls == 0
    monkeypatch.setattr(probing, "processor", lambda: "another")
    assert fastest_precision(CPU, timer=second) == "float32"
    kept = {json.loads(path.read_text())["machine"] for path in cache.glob("precision-*.json")}
    assert len(kept) == 2


@pytest.mark.parametrize("text", ["", "{", "[]", '{"machine": "x", "float32": 0}'])
def test_a_damaged_cache_is_written_anew(cache, text):
    probe(CPU, timer=Clock(0.4))
    (path,) = cache.glob("precision-*.json")
    path.write_text(text)
    assert probe(CPU, timer=Clock(1.7)).fastest == "float32"
    assert json.loads(path.read_text())["bfloat16"] == pytest.approx(1.7)


def test_nothing_need_be_kept(monkeypatch):
    monkeypatch.setattr(probing, "cache_folder", lambda: None)
    assert probe(CPU, timer=Clock(0.4)).fastest == "bfloat16"


def test_a_device_that_cannot_is_left_in_single_precision(monkeypatch):
    def refuse(precision, network):
        raise RuntimeError("no bfloat16 here")

    half = probing.computing_in
    monkeypatch.setattr(
        probing, "computing_in", lambda p, n: (half if p == "float32" else refuse)(p, n)
    )
    found = probe(CPU)
    assert found.bfloat16 is None
    assert found.reason.startswith("float32, since ")


def test_the_reason_is_reported():
    lines = []

    class Recorded(Silent):
        def note(self, message):
            lines.append(message)

    fastest_precision(CPU, progress=Recorded(), timer=Clock(1.7))
    (line,) = lines
    assert line.startswith("computing in float32: a layer takes 1.7e+03 ms in bfloat16, 1e+03 ms")
    assert Probe("X", 0.5, 0.25).reason == (
        "bfloat16: a layer takes 250 ms in bfloat16, 500 ms in float32 (X)"
    )
