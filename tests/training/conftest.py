"""Where helpers of other rooms' tests lie."""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parents[1] / one) for one in ("models", "encoders", "plugins")]
