"""Commands in a process that has what ``pip install adducir`` brings, and nothing else: no Java."""

import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))[
    "project"
]

WITHOUT = """
import sys
sys.modules.update(dict.fromkeys({absent!r}))
"""


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def base_distributions() -> set[str]:
    """Adducir and all that it requires without an extra, directly or not."""
    found, waiting = set[str](), ["adducir"]
    while waiting:
        if (name := normalized(waiting.pop())) in found:
            continue
        found.add(name)
        try:
            lines = PROJECT["dependencies"] if name == "adducir" else requires(name) or []
        except PackageNotFoundError:  # of another platform
            continue
        needed = map(Requirement, lines)
        waiting += [
            one.name for one in needed if not one.marker or one.marker.evaluate({"extra": ""})
        ]
    return found


@cache
def absent_modules() -> list[str]:
    """Every module of this environment that the base package does not bring."""
    base = base_distributions()
    return sorted(
        module
        for module, names in packages_distributions().items()
        if base.isdisjoint(map(normalized, names)) and not module.startswith("__editable__")
    )


def in_base(code: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run code in ``folder``; Java is neither on the path nor in the usual folders."""
    env = {name: value for name, value in os.environ.items() if "JAVA" not in name}
    env |= {"PATH": "", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    script = WITHOUT.format(absent=absent_modules()) + code
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
