"""The facts beside a run, in the ir_metadata format.

``runs/bm25.trec.gz`` has its facts in ``runs/bm25.trec.gz.ir-metadata.yml``: plain YAML with the
sections of PRIMAD (platform, research goal, implementation, method, actor, data), as
https://www.ir-metadata.org describes them, version 0.1 (Breuer, Keller and Schaer, SIGIR 2022),
and ``resources`` as TIREx adds it. TIREx and TIRA recognise such files by their ending.

What is not known is left out. Nobody's name is written unless the caller gives an ``actor``, no
host name ever, and the user's home folder is written ``~``.
"""

import os
import platform
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib import metadata as installed
from pathlib import Path
from typing import Any

from adducir.core.config import as_yaml, parse
from adducir.core.files import read_text
from adducir.version import __version__

SCHEMA_VERSION = 0.1
SUFFIX = ".ir-metadata.yml"
_TOOLKITS = ("pyserini", "python-terrier")


def metadata_for(path: Path | str) -> Path:
    """Where the metadata of the run at ``path`` is."""
    path = Path(path)
    return path.with_name(path.name + SUFFIX)


def read_metadata(path: Path | str) -> dict[str, Any]:
    """Read the metadata of the run at ``path``.

    Raises:
        InputError: The run has none, or it is no YAML mapping as recipes are; with the line.
    """
    place = metadata_for(path)
    text = re.sub(
        r"\Air_metadata\.start\n|^ir_metadata\.end\s*\Z", "\n", read_text(place), flags=re.M
    )
    return parse(text, place).data


def part_of(facts: Any, *path: str | int) -> dict[str, Any]:
    """What metadata hold at a path; nothing where a user has made something else of it."""
    for key in path:
        try:
            facts = facts[key]
        except (LookupError, TypeError):
            return {}
    return facts if isinstance(facts, dict) else {}


def reranked_method(before: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The section ``method`` of a run that was reranked: how its candidates were found, handed on.

    Args:
        before: That section of the candidates' run, or nothing.
        settings: Of this reranking, which comes after those before it.
    """
    earlier = before.get("reranking")
    first = {key: before[key] for key in ("retrieval", "fusion", "python") if key in before}
    return first | {"reranking": [*(earlier if isinstance(earlier, list) else []), settings]}


def metadata_text(*layers: Mapping[str, Any]) -> str:
    """Metadata as YAML, with platform and versions filled in.

    Args:
        layers: Sections and what they hold, merged; a later layer wins over an earlier one, and
            any of them over what is filled in.
    """
    facts: dict[str, Any] = {
        "schema-version": SCHEMA_VERSION,
        "run-version": 1.0,
        "tag": "",
        "platform": platform_facts(),
        "implementation": {"source": {"lang": ["python", "java"]}},
    }
    for layer in layers:
        facts = _merged(facts, layer)
    return as_yaml(_plain(facts))


def now() -> str:
    """The time in UTC, to the second, as ISO 8601 has it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@cache
def platform_facts() -> dict[str, Any]:
    """Hardware, operating system and versions of libraries; nothing that shows whose they are."""
    import psutil

    bits = "64-bit" if platform.architecture()[0] == "64bit" else "32-bit"
    return {
        "hardware": {
            "cpu": {
                "model": _processor(),
                "architecture": platform.machine(),
                "operation mode": bits,
                "number of cores": os.cpu_count(),
            },
            "ram": f"{psutil.virtual_memory().total / 2**30:.0f} GB",
        },
        "operating system": {
            "kernel": f"{platform.system()} {platform.release()}",
            "distribution": _distribution(),
        },
        "software": {
            "libraries": {"python": [f"python=={platform.python_version()}", *_libraries()]},
            "retrieval toolkit": [f"adducir=={__version__}", *_versions(_TOOLKITS)],
        },
    }


def _libraries() -> list[str]:
    """Names and versions of what Adducir depends on."""
    try:
        wanted = installed.requires("adducir") or []
    except installed.PackageNotFoundError:  # run from a folder of sources
        return _versions(["numpy", "polars", "pyserini", "torch"])
    names = [re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in wanted if "extra ==" not in line]
    return _versions(sorted(names, key=str.lower))


def _versions(names: list[str] | tuple[str, ...]) -> list[str]:
    found = []
    for name in names:
        try:
            found.append(f"{name}=={installed.version(name)}")
        except installed.PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    """The processor's name; what the system calls its family where it shows no more."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return f"{platform.system()} {platform.version()}"


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with the values of ``over``, mapping by mapping."""
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            result[key] = _merged(old, value)
        else:
            result[key] = value
    return result


def _plain(value: Any) -> Any:
    """The value in types that safe YAML knows, with the home folder shortened."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        return [_plain(item) for item in items]
    if hasattr(value, "tolist"):  # an array or a scalar of numpy
        return value.tolist()
    if value is None or isinstance(value, bool | int | float):
        return value
    home = str(Path("~").expanduser())
    text = str(value)
    return re.sub(rf"{re.escape(home)}(?=/|\\|$)", "~", text) if len(home) > 1 else text
