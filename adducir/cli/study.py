"""``adducir new`` and ``adducir demo``: a study, made all at once or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from adducir.cli import options
from adducir.cli.outputs import STUDY
from adducir.cli.parameters import argument, option
from adducir.core.errors import ArtifactError, UsageError
from adducir.core.processes import here, is_alive

DEMO = Path("adducir-demo")
FILE = Path("experiments", "demo.yaml")
FOLDERS = ("indexes", "deepct", "encoders", "rerankers", "experiments", "runs")
STARTER = Path(__file__).parent / "starter"
_HARMLESS = frozenset({".git"})
_WHOLE = {*FOLDERS, ".gitignore", "README.md"}
_STAGING = f".adducir-new-{here()}-"


def new(
    folder: Annotated[Path, argument("A new or empty folder.", "FOLDER", shown=True)],
) -> None:
    """Create the folders of a new study.

    The study holds an experiment file that runs as it is, on the collection that comes with
    Adducir.

    Examples:
        adducir new my-study
        adducir new studies/touche
    """
    from adducir.cli.console import note

    make_study(folder)
    note(f"made the study {folder}; try: cd {folder} && adducir experiment {FILE}")


def demo(
    folder: Annotated[
        Path | None,
        option("The study to make or to use.", shown=f"this one, if it has {FILE}, or else {DEMO}"),
        STUDY,
    ] = None,
    rebuild: options.Rebuild = False,
) -> None:
    """Run the bundled experiment, from corpus to table.

    It indexes the collection that comes with Adducir, searches it with four systems, writes their
    runs, evaluates them and prints the table. It needs no network and a few seconds.

    Examples:
        adducir demo
        adducir demo --folder study
    """
    from adducir.cli.console import note
    from adducir.cli.experiment import run

    study = folder or (Path() if FILE.is_file() else DEMO)
    if not (study / FILE).is_file():
        make_study(study)
        note(f"made the study {study}")
    run(study / FILE, rebuild=rebuild)
    note(f"the same again: adducir experiment {study / FILE}")


def make_study(folder: Path) -> None:
    """Make a study in a folder that does not exist yet, or is empty but for ``.git``.

    Raises:
        ArtifactError: The folder holds something.
        UsageError: It is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file.", hint="Name a folder that does not exist yet.")
    beside = folder if folder.is_dir() else folder.resolve().parent
    if folder.is_dir() and _finished_left_behind(folder):
        return
    _remove_left_behind(beside)
    held = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    strange = [name for name in held if name not in _HARMLESS]
    if strange:
        raise ArtifactError(
            f"this folder is not empty: it holds {', '.join(strange[:3])}"
            f"{' and more' if len(strange) > 3 else ''}.",
            path=folder,
            hint="Name a folder that is empty or does not exist yet.",
        )
    existed = folder.is_dir()
    beside.mkdir(parents=True, exist_ok=True)
    staging = beside / f"{_STAGING}{os.getpid()}-{secrets.token_hex(4)}"
    try:
        staging.mkdir()
        _fill(staging, folder.resolve().name)
        if existed:
            _move_in(staging, folder)
        else:
            staging.rename(folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _fill(folder: Path, name: str) -> None:
    for child in FOLDERS:
        (folder / child).mkdir()
    shutil.copyfile(STARTER / "demo.yaml", folder / "experiments" / "demo.yaml")
    shutil.copyfile(STARTER / "deepct.yaml", folder / "deepct" / "demo.yaml")
    shutil.copyfile(STARTER / "gitignore.txt", folder / ".gitignore")
    text = (STARTER / "readme.txt").read_text(encoding="utf-8")
    (folder / "README.md").write_text(text.replace("{name}", name), encoding="utf-8")


def _move_in(staging: Path, folder: Path) -> None:
    """Move what is in ``staging`` to ``folder``, or leave ``folder`` as it was."""
    moved: list[Path] = []
    try:
        for child in sorted(staging.iterdir()):
            target = folder / child.name
            child.rename(target)
            moved.append(target)
    except BaseException:
        for target in moved:
            target.rename(staging / target.name)
        raise


def _left_behind(beside: Path) -> Iterator[Path]:
    """The hidden folders of processes of this machine that were killed."""
    for left in beside.glob(f"{_STAGING}*"):
        pid = left.name.removeprefix(_STAGING).split("-")[0]
        if pid.isdigit() and not is_alive(int(pid)):
            yield left


def _finished_left_behind(folder: Path) -> bool:
    """Finish a study whose maker was killed while it moved it in; whether there was one."""
    for left in _left_behind(folder):
        to_come = {child.name for child in left.iterdir()}
        names = {child.name for child in folder.iterdir()} - _HARMLESS
        there = {name for name in names if not name.startswith(_STAGING)}
        if there and not there & to_come and there | to_come == _WHOLE:
            _move_in(left, folder)
            shutil.rmtree(left, ignore_errors=True)
            return True
    return False


def _remove_left_behind(beside: Path) -> None:
    for left in _left_behind(beside):
        shutil.rmtree(left, ignore_errors=True)
