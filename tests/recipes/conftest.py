"""The makers of tiny models that other tests have."""

import sys
from pathlib import Path

for _name in ("models", "rerankers"):
    sys.path.insert(0, str(Path(__file__).parents[1] / _name))
