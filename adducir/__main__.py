"""``python -m adducir``, which ``torchrun -m adducir`` needs: the same as ``adducir``."""

import sys

from adducir.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
