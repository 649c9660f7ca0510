"""``adducir demo``."""

from pathlib import Path
from typing import Annotated

from adducir.cli import options
from adducir.cli.outputs import STUDY
from adducir.cli.parameters import option

FOLDER = Path("adducir-demo")
FILE = Path("experiments", "demo.yaml")


def demo(
    folder: Annotated[
        Path | None,
        option(
            "The study to make or to use.", shown=f"this one, if it has {FILE}, or else {FOLDER}"
        ),
        STUDY,
    ] = None,
    rebuild: options.Rebuild = False,
) -> None:
    """Run the bundled experiment, from corpus to table.

    It indexes the collection that comes with Adducir, searches it with four systems, writes their
    runs, evaluates them and prints the table. It needs no network and a few seconds.
    """
    from adducir.cli.console import note
    from adducir.cli.experiment import run
    from adducir.cli.study import make_study

    study = folder or (Path() if FILE.is_file() else FOLDER)
    if not (study / FILE).is_file():
        make_study(study)
        note(f"made the study {study}")
    run(study / FILE, rebuild=rebuild)
    note(f"the same again: adducir experiment {study / FILE}")
