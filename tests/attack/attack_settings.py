"""How much is tried, and which random numbers decide it.

``ADDUCIR_ATTACK`` scales every count: 1 is the whole run (``make attack``), the default of 0.1 is
what CI runs. ``ADDUCIR_ATTACK_SEED`` is the seed, which the report of pytest begins with.
"""

import os
import random

SCALE = float(os.environ.get("ADDUCIR_ATTACK", "0.1"))
SEED = int(os.environ.get("ADDUCIR_ATTACK_SEED", "11"))


def scaled(full: int, least: int = 1) -> int:
    """How many of ``full`` cases are tried at this scale."""
    return max(least, round(full * SCALE))


def draw_for(*names: object) -> random.Random:
    """Random numbers that depend on the seed and the names alone."""
    return random.Random(":".join(map(str, (SEED, *names))))


def chosen(items: list, *names: object) -> list:
    """A share of ``items``, as large as the scale says, in their order."""
    count = min(len(items), scaled(len(items)))
    kept = draw_for("chosen", *names).sample(range(len(items)), count)
    return [items[place] for place in sorted(kept)]
