"""``adducir new`` and ``adducir demo``."""

from pathlib import Path

from adducir.cli import common
from adducir.cli.command import option
from adducir.core.errors import ArtifactError, UsageError
from adducir.core.files import FOLDERS, writing_bytes
from adducir.core.recipe import Recipe

DEMO = Path("adducir-demo")
FILE = Path("experiments", "demo.yaml")
STARTER = Path(__file__).parent / "starter"


class New(Recipe):
    folder: Path = option("A new or empty folder.", metavar="FOLDER", argument=True)


def new(settings: New) -> None:
    """Create the folders of a new study.

    The study holds an experiment file that runs as it is, on the collection that comes with
    Adducir.

    Examples:
        adducir new my-study
        adducir new studies/touche
    """
    from adducir.cli.console import note

    make_study(settings.folder)
    note(
        f"made the study {settings.folder}; try: cd {settings.folder} && adducir experiment {FILE}"
    )


class Demo(Recipe):
    folder: Path | None = option(
        "The study to make or to use.",
        default=None,
        shown=f"this one, if it has {FILE}, or else {DEMO}",
        writes=common.FOLDER,
    )
    rebuild: common.Rebuild = False


def demo(settings: Demo) -> None:
    """Run the bundled experiment, from corpus to table.

    It indexes the collection that comes with Adducir, searches it with four systems, writes their
    runs, evaluates them and prints the table. It needs no network and a few seconds.

    Examples:
        adducir demo
        adducir demo --folder study
    """
    from adducir.cli.console import note
    from adducir.cli.experiment import Experiment, experiment

    study = settings.folder or (Path() if FILE.is_file() else DEMO)
    if not (study / FILE).is_file():
        make_study(study)
        note(f"made the study {study}")
    experiment(Experiment(file=study / FILE, rebuild=settings.rebuild))
    note(f"the same again: adducir experiment {study / FILE}")


def make_study(folder: Path) -> None:
    """Make a study in a folder that does not exist yet, or holds nothing but ``.git``.

    What a killed call left unfinished is finished: ``README.md`` comes last.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file.", hint="Name a folder that does not exist yet.")
    readme = (STARTER / "readme.txt").read_text(encoding="utf-8")
    contents = {
        FILE: (STARTER / "demo.yaml").read_bytes(),
        Path("deepct", "demo.yaml"): (STARTER / "deepct.yaml").read_bytes(),
        Path(".gitignore"): (STARTER / "gitignore.txt").read_bytes(),
        Path("README.md"): readme.replace("{name}", folder.resolve().name).encode(),
    }
    there = {path.relative_to(folder) for path in folder.rglob("*")} if folder.is_dir() else set()
    there = {path for path in there if path.parts[0] != ".git"}
    own = {*map(Path, FOLDERS), *contents}
    if strange := there - own or there & {Path("README.md")}:
        raise ArtifactError(
            f"this folder is not empty: it holds {min(strange)}.",
            path=folder,
            hint="Name a folder that is empty or does not exist yet.",
        )
    for child in FOLDERS:
        (folder / child).mkdir(parents=True, exist_ok=True)
    for path, data in contents.items():
        with writing_bytes(folder / path) as handle:
            handle.write(data)
