"""Journeys: commands in a scratch folder, read from YAML, run, and told as text.

A journey imports nothing of the package: it types ``python -m adducir``. To be fast that runs in
this process, its streams redirected; with ``--subprocesses``, and where a step says ``process``, it
is a process of its own.
"""

import contextlib
import io
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import journey_materials
import journey_render
import pytest
import yaml
from filelock import FileLock

HERE = Path(__file__).parent
COLLECTIONS = os.environ.get("ADDUCIR_COLLECTIONS", "")
OUTPUTS = (".trec", ".txt", ".csv", ".tsv", ".json", ".jsonl")
OUTPUTS += (".md", ".tex", ".html", ".qrels", ".yml")


@dataclass
class Step:
    """A command line, and what is expected of it beside its golden output."""

    line: str
    exit: int = 0
    says: list[str] = field(default_factory=list)
    process: bool = False
    silent: bool = False
    words: bool = False

    @classmethod
    def of(cls, given: str | dict[str, Any]) -> Self:
        return cls(given) if isinstance(given, str) else cls(given.pop("do"), **given)

    @property
    def argv(self) -> list[str]:
        return shlex.split(self.line, comments=True)


@dataclass
class Journey:
    """Steps in one folder, in which ``uses`` names the parts that lie there already."""

    name: str
    run: list[Step]
    uses: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    near: float = 0.0
    slow: bool = False
    needs: list[str] = field(default_factory=list)
    same: list[list[str]] = field(default_factory=list)
    ignore: list[str] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)
    """Systems trained from nothing, whose close scores change places from processor to processor:
    of what is told of them the numbers are left out, and whether there is one (a constant
    difference has no effect size); so are those of the sentences below a table."""

    def told(self, name: str, lines: list[str]) -> list[str]:
        words = "|".join(map(re.escape, self.loose))
        if not words:
            return lines
        if re.search(rf"(?<![a-zA-Z])({words})(?![a-zA-Z])", name):
            return [f"{len(lines)} lines"]
        line_of = re.compile(rf"({words})[ .]")
        found = [journey_render.without_numbers(x) if line_of.match(x) else x for x in lines]
        return ["~" if line.startswith("~ ") else line for line in found]


def read(path: Path) -> list[Journey]:
    """The journeys of a YAML file; an entry without ``run`` holds what others take by ``<<``."""
    entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    found = []
    for name, entry in entries.items():
        if "run" in entry:
            run = [Step.of(step) for step in entry.pop("run")]
            found.append(Journey(name, run, **entry))
    return found


def all_journeys() -> list[Journey]:
    return [
        one
        for path in sorted(HERE.glob("*.yaml"))
        if path.name != "parts.yaml"
        for one in read(path)
    ]


@dataclass
class Done:
    """What a command came to."""

    code: int
    out: str
    err: str


@contextlib.contextmanager
def _streams(folder: Path) -> Iterator[dict[str, Path]]:
    """Both streams into files, as far as file descriptors go, which the JVM writes to."""
    paths = {"out": folder / ".stdout", "err": folder / ".stderr"}
    kept = sys.stdout, sys.stderr, os.dup(1), os.dup(2)
    with paths["out"].open("wb") as out, paths["err"].open("wb") as err:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "wb", closefd=False), "utf-8")
        sys.stderr = io.TextIOWrapper(io.FileIO(2, "wb", closefd=False), "utf-8")
        try:
            yield paths
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            sys.stdout, sys.stderr = kept[:2]
            for number, descriptor in zip((1, 2), kept[2:], strict=True):
                os.dup2(descriptor, number)
                os.close(descriptor)


def here(words: list[str], folder: Path, given: Any = None) -> Done:
    """Run the program in this process as one of its own in a folder."""
    argv, place, kept = sys.argv, Path.cwd(), sys.stdin
    code: Any = 0
    with _streams(folder.parent) as paths:
        sys.argv, sys.stdin = ["adducir", *words], given
        os.chdir(folder)
        try:
            runpy.run_module("adducir", run_name="__main__")
        except SystemExit as end:
            code = end.code or 0
        finally:
            sys.argv, sys.stdin = argv, kept
            os.chdir(place)
    out, err = (paths[name].read_text(encoding="utf-8") for name in ("out", "err"))
    return Done(int(code), out, err)


def command(step: Step, folder: Path, *, subprocesses: bool = False) -> Done:
    """Run one step; a first word other than ``adducir`` is a program of the shell."""
    words = [os.path.expandvars(word) for word in step.argv]
    source = None
    if "<" in words:
        source = folder / words[words.index("<") + 1]
        words = words[: words.index("<")]
    is_here = words[0] == "adducir" and not (subprocesses or step.process)
    if words[0] == "adducir" and not is_here:
        words = [sys.executable, "-m", *words]
    with (source or Path(os.devnull)).open() as given:
        if is_here:
            return here(words[1:], folder, given)
        done = subprocess.run(words, cwd=folder, stdin=given, capture_output=True, text=True)
    return Done(done.returncode, done.stdout, done.stderr)


def _outputs(folder: Path) -> dict[str, tuple[int, int]]:
    """Files that a reader would open, by their names; other files are artifacts' insides."""
    found = {}
    for place, folders, files in _walked(folder):
        if "manifest.json" in files and _is_artifact(place):
            folders.clear()
            continue
        for name in files:
            path = Path(place, name)
            told = Path(name.removesuffix(".gz")).suffix in OUTPUTS and path.is_file()
            told = told and name not in ("manifest.json", "README.md")
            if told and "ir-metadata" not in str(path):
                stat = path.stat()
                found[path.relative_to(folder).as_posix()] = (stat.st_mtime_ns, stat.st_size)
    return found


def _walked(folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    for place, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if not one.startswith((".", "__pycache__"))]
        yield place, folders, [one for one in files if not one.startswith(".")]


def _is_artifact(folder: str) -> bool:
    """An index, vectors, a model or its examples: not what it holds is told, but what it does."""
    return any(
        one == "lucene" or one.endswith((".npy", ".safetensors", ".values"))
        for _, folders, files in os.walk(folder)
        for one in (*folders, *files)
    )


def _all_files(folder: Path) -> dict[str, int]:
    """Every file but hidden ones, with its time: what a failed command must not change."""
    return {
        path: Path(path).stat().st_mtime_ns
        for place, _, files in _walked(folder)
        for path in (f"{place}/{name}" for name in files)
        if Path(path).is_file()
    }


def travel(journey: Journey, folder: Path, *, subprocesses: bool = False) -> str:
    """Run a journey, and tell what came out; fails where a step ends unexpectedly."""
    for name, text in journey.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    told: list[str] = []
    problems: list[str] = []
    digests: dict[str, str] = {}
    for step in journey.run:
        before, everything = _outputs(folder), _all_files(folder) if step.exit > 1 else {}
        done = command(step, folder, subprocesses=subprocesses)
        said = re.sub(r"\s+", " ", done.err + done.out)
        wrong = [f"did not say {words!r}" for words in step.says if words not in said]
        if done.code != step.exit:
            wrong.append(f"ended with {done.code}, not {step.exit}")
        if step.exit > 1 and "Traceback" in said and "--debug" not in step.line:
            wrong.append("showed a traceback")
        if step.exit > 1 and _all_files(folder) != everything:
            wrong.append("changed files though it failed")
        if wrong:
            problems.append(f"{step.line}\n  {'; '.join(wrong)}:\n{done.out}{done.err}")
            if not step.exit:
                break
        told.append(f"$ {step.line}")
        if step.exit:
            told.append(f"exit {step.exit}")
        if step.argv[0] != "adducir" or step.silent:
            continue
        if not step.says:
            lines = journey_render.stdout(done.out, step.line, journey.near, words=step.words)
            told += journey.told("", lines)
        for name, state in sorted(_outputs(folder).items()):
            if before.get(name) == state or any(Path(name).match(glob) for glob in journey.ignore):
                continue
            lines = journey_render.file(folder / name, journey.near)
            told += [f"[{name}]", *journey.told(name, lines)]
            if ".trec" in name:
                digests[name] = journey_render.untagged(folder / name)
    if problems:
        pytest.fail("\n\n".join(problems), pytrace=False)
    _all_differ(journey, digests)
    return "\n".join(told) + "\n"


def _all_differ(journey: Journey, digests: dict[str, str]) -> None:
    """Each run of a journey differs: an option that has no effect tests nothing."""
    alike: dict[str, list[str]] = {}
    for name, digest in digests.items():
        alike.setdefault(digest, []).append(name)
    groups = sorted(sorted(names) for names in alike.values() if len(names) > 1)
    if groups != sorted(sorted(names) for names in journey.same):
        pytest.fail(f"equal runs: {groups}", pytrace=False)


@dataclass
class Parts:
    """Indexes, runs and models of the scratch studies, each made once and copied into them."""

    root: Path
    subprocesses: bool

    def __post_init__(self) -> None:
        self.recipes = {one.name: one for one in read(HERE / "parts.yaml")}

    def put(self, name: str, folder: Path) -> None:
        if name == "data":
            shutil.copytree(HERE / "data", folder, dirs_exist_ok=True)
            return
        with FileLock(self.root / f"{name}.lock"):
            made = self.root / name
            if not made.exists():
                new = self.root / f"{name}.new" / "study"
                shutil.rmtree(new, ignore_errors=True)
                new.mkdir(parents=True)
                if name == "models":
                    journey_materials.models(new)
                else:
                    for other in self.recipes[name].uses:
                        self.put(other, new)
                    travel(self.recipes[name], new, subprocesses=self.subprocesses)
                new.rename(made)
        shutil.copytree(made, folder, dirs_exist_ok=True)
