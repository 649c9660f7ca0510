"""``adducir new``."""

from pathlib import Path
from typing import Annotated

from adducir.cli.parameters import argument


def new(
    folder: Annotated[Path, argument("A new or empty folder.", "FOLDER", shown=True)],
) -> None:
    """Create the folders of a new study.

    The study holds an experiment file that runs as it is, on the collection that comes with
    Adducir.
    """
    from adducir.cli.console import note
    from adducir.cli.study import make_study

    make_study(folder)
    note(f"made the study {folder}; try: cd {folder} && adducir experiment experiments/demo.yaml")
