"""What the tests of kinds of sharded work share."""

import sys
from pathlib import Path

for name in (
    "core",
    "models",
    "indexes",
    "rerankers",
    "encoders",
    "studies/complementary_evidence",
    "studies/grounded_generation",
    "experiments",
    "sharding",
):
    sys.path.insert(0, str(Path(__file__).parents[1] / name))
