"""``python -m adducir``, the same as ``adducir``; for ``torchrun -m adducir``."""

import sys

from adducir.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
