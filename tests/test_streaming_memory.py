"""What is held of each further text, span or passage: bytes, not the text with all made of it.

Each way is gone with few texts and with many, in processes of their own; what their greatest
resident memory (VmHWM) grows by is divided by the further texts. When these were held it was 2,600
bytes (``opening``), 1,100 (``grounded``), 53,000 (``late``)
and 3,100 (``flat``, of 1,536 bytes a vector).
"""

import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="VmHWM is Linux's"),
]

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))


def bytes_each(few, many, count):
    """Of each of so many further texts."""
    taken = [one["peak"] - one["before"] for one in (few, many)]
    return (taken[1] - taken[0]) * 1e6 / count


@pytest.mark.parametrize(
    ("what", "few", "many", "most", "part"),
    [
        ("opening", 1000, 16_000, 800, None),
        ("grounded", 10_000, 80_000, 300, None),
        ("late", 2000, 8000, 8000, None),
        ("flat", 25_000, 100_000, 2200, None),
    ],
)
def test_memory_does_not_grow_with_texts(what, few, many, most, part):
    from streaming_memory import measured_apart

    figures = [measured_apart(what, count, part) for count in (few, many)]
    assert bytes_each(*figures, many - few) < most


def test_memory_does_not_grow_with_what_deepct_learns_from():
    """Passages cut in shards, targets laid on them, a few steps; the words stay the same ones."""
    from deepct_memory import measured

    few, many = (measured(count, different=3000) for count in (8000, 32_000))
    grown = [
        many[stage] - many["before"] - few[stage] + few["before"] for stage in ("cut", "trained")
    ]
    assert max(grown) * 1e6 / (many["examples"] - few["examples"]) < 600


@pytest.mark.parametrize(
    ("kind", "few", "many", "most"),
    [
        ("dual-encoder", 4000, 18_000, 3000),
        ("cross-encoder", 1500, 9000, 2500),
    ],
)
def test_memory_does_not_grow_with_what_other_kinds_learn_from(kind, few, many, most):
    """Token ids made in shards, states of frozen layers (``drn``), parts and groups.

    Texts of 200 words with their token ids would be 6,000 bytes (``dual-encoder``), 3,000
    (``cross-encoder``, where pairs are kept meanwhile), 12,000 and, with states, 50,000.
    """
    from examples_memory import measured

    one, other = (measured(kind, count, words=200, steps=1) for count in (few, many))
    grown = other["written"] - other["before"] - one["written"] + one["before"]
    assert grown * 1e6 / (other["examples"] - one["examples"]) < most
