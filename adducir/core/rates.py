"""How fast this machine works, as ``adducir doctor --measure`` found it, for estimates.

One file of JSON keeps the figures, ``rates.json`` in the user's cache folder or the file that
``ADDUCIR_RATES`` names. They are kept by all that they depend on, so that those of another machine,
device or version are never taken for those of this one.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from adducir.core.errors import AdducirError
from adducir.core.files import read_settings_text, writing_text
from adducir.core.fingerprint import fingerprint
from adducir.core.folders import cache_folder

RATES_VARIABLE = "ADDUCIR_RATES"
"""Names the file of the figures in place of that in the cache."""


@dataclass(frozen=True)
class Rates:
    """What was measured.

    Attributes:
        measured: The day, as ISO 8601 has it.
        machine: All that the figures depend on.
        rates: Units of work per second, by the name of the work.
        starts: Seconds that a part of the program takes to begin with, by its name.
        memory: Bytes of a process at its peak with little work of a part.
        shares: Bytes of what is built for each byte of text, by its name.
    """

    measured: str
    machine: Mapping[str, Any]
    rates: Mapping[str, float] = field(default_factory=dict)
    starts: Mapping[str, float] = field(default_factory=dict)
    memory: Mapping[str, float] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)


def rates_file() -> Path | None:
    """Where the figures are kept; None where nothing can be."""
    named = os.environ.get(RATES_VARIABLE)
    if named:
        return Path(named).expanduser()
    cache = cache_folder()
    return None if cache is None else cache / "rates.json"


def kept_rates(machine: Mapping[str, Any]) -> Rates | None:
    """The figures of this machine; None where there are none that can be read."""
    found = _kept().get(fingerprint(machine))
    if not isinstance(found, dict):
        return None
    try:
        parts = {
            name: {str(key): float(value) for key, value in found[name].items() if value > 0}
            for name in ("rates", "starts", "memory", "shares")
        }
        return Rates(str(found["measured"]), machine, **parts)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def keep_rates(rates: Rates) -> Path | None:
    """Keep figures in place of earlier ones of the same machine; returns the file.

    Raises:
        AdducirError: ``ADDUCIR_RATES`` names a file that cannot be written.
    """
    path = rates_file()
    if path is None:
        return None
    kept = _kept() | {fingerprint(rates.machine): asdict(rates)}
    with writing_text(path) as handle:
        json.dump({"machines": kept}, handle, indent=2, sort_keys=True)
        handle.write("\n")
    return path


def _kept() -> dict[str, Any]:
    path = rates_file()
    if path is None or not path.is_file():
        return {}
    with suppress(AdducirError, ValueError, RecursionError):
        found = json.loads(read_settings_text(path))
        machines = found.get("machines") if isinstance(found, dict) else None
        return machines if isinstance(machines, dict) else {}
    return {}
