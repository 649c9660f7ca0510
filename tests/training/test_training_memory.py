"""What a training holds in memory does not grow with the text of its examples."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

EXAMPLES = 200_000


@pytest.mark.slow
def test_examples_on_the_disk_take_bytes_not_texts():
    from training_memory import measured

    few, many = (measured("disk", count, steps=5) for count in (1_000, EXAMPLES))
    held = measured("memory", EXAMPLES, steps=5)
    assert many["weights"] == held["weights"]
    # For each example: its length, its place in an order, its batch; 48 token ids would be 192.
    each = (many["examples"] - few["examples"]) * 1e6 / EXAMPLES
    assert each < 160
    assert held["examples"] > 5 * many["examples"]
