"""``adducir new``."""

from pathlib import Path
from typing import Annotated

import typer


def new(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new or empty folder.")],
) -> None:
    """Create the folders of a new study.

    The study holds an experiment file that runs as it is, on the collection that comes with
    Adducir.
    """
    from adducir.cli.console import note
    from adducir.cli.study import make_study

    make_study(folder)
    note(f"made the study {folder}; try: cd {folder} && adducir experiment experiments/demo.yaml")
