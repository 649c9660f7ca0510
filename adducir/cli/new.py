"""``adducir new`` and ``adducir demo``."""

import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from adducir.cli import common
from adducir.cli.command import option, optional
from adducir.cli.console import note
from adducir.core.errors import ArtifactError, UsageError
from adducir.core.files import FOLDERS, writing_bytes
from adducir.core.recipe import Recipe

DEMO = Path("adducir-demo")
FILE = Path("experiments", "demo.yaml")
STARTER = Path(__file__).parent / "starter"


class NewOptions(Recipe):
    folder: Path = option("A new or empty folder.", argument=True)
    plugin: bool = option("Create a package for your own measures and rerankers.", default=False)


def new(settings: NewOptions) -> None:
    """Create the folders of a new study, or a plug-in.

    The study contains an experiment file that runs unchanged on the bundled collection. A plug-in
    is a package with a measure, a reranker, its recipe and their test, which work once it is
    installed: pip install -e FOLDER.

    Examples:
        adducir new my-study
        adducir new --plugin my-measures
    """
    folder = settings.folder
    if settings.plugin:
        make_plugin(folder)
        note(
            f"created the plug-in {folder}; try: pip install -e {folder} && adducir kinds measures"
        )
    else:
        make_study(folder)
        note(f"created the study {folder}; try: cd {folder} && adducir experiment {FILE}")


class DemoOptions(Recipe):
    folder: Path | None = optional(
        "The study to create or use.",
        shown=f"this folder if it has {FILE}, else {DEMO}",
        writes=common.FOLDER,
    )
    rebuild: common.Rebuild = False


def demo(settings: DemoOptions) -> None:
    """Run the bundled experiment, from corpus to table.

    It indexes the bundled collection, searches it with four systems, writes their runs, evaluates
    them and prints the table, in a few seconds and without a network.

    Examples:
        adducir demo
        adducir demo --folder study
    """
    from adducir.cli.experiment import ExperimentOptions, experiment

    study = settings.folder or (Path() if FILE.is_file() else DEMO)
    if not (study / FILE).is_file():
        make_study(study)
        note(f"created the study {study}")
    experiment(ExperimentOptions(file=study / FILE, rebuild=settings.rebuild))
    note(f"to run it again: adducir experiment {study / FILE}")


def make_study(folder: Path) -> None:
    files = {
        FILE: "demo.yaml",
        Path("deepct", "demo.yaml"): "deepct.yaml",
        Path(".gitignore"): "gitignore.txt",
        Path("README.md"): "readme.txt",
    }
    _make(folder, files, FOLDERS, name=folder.resolve().name)


def make_plugin(folder: Path) -> None:
    name = folder.resolve().name
    module = re.sub(r"[-. ]", "_", name).lower()
    if not (module.isidentifier() and module.isascii()) or find_spec(module) is not None:
        message = f"{name!r} cannot be a package's name: it is taken or not a valid Python name."
        raise UsageError(message, hint="Use letters, digits and hyphens, such as my-measures.")
    files = {
        Path("pyproject.toml"): "plugin/pyproject.txt",
        Path(module, "__init__.py"): "plugin/init.txt",
        Path(module, "measures.py"): "plugin/measures.txt",
        Path(module, "rerankers.py"): "plugin/rerankers.txt",
        Path("rerankers", "overlap.yaml"): "plugin/recipe.txt",
        Path("tests", f"test_{module}.py"): "plugin/test.txt",
        Path("README.md"): "plugin/readme.txt",
    }
    _make(folder, files, name=name, module=module)


def _make(folder: Path, files: dict[Path, str], folders: Sequence[str] = (), **names: str) -> None:
    """Write the starter's files into a new folder, or one with only ``.git``.

    Completes the files of a killed call: ``README.md`` is written last.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file.", hint="Name a new folder.")
    there = {path.relative_to(folder) for path in folder.rglob("*")} if folder.is_dir() else set()
    there = {path for path in there if path.parts[0] != ".git"}
    ours = {*map(Path, folders), *files, *(place for path in files for place in path.parents)}
    if strange := there - ours or there & {Path("README.md")}:
        raise ArtifactError(
            f"this folder is not empty: it contains {min(strange)}.",
            path=folder,
            hint="Name an empty or new folder.",
        )
    for child in folders:
        (folder / child).mkdir(parents=True, exist_ok=True)
    for path, source in files.items():
        text = (STARTER / source).read_text(encoding="utf-8")
        for key, value in names.items():
            text = text.replace(f"{{{key}}}", value)
        with writing_bytes(folder / path) as handle:
            handle.write(text.encode())
