"""What a study holds, in a form in which two runs of one command must give the same."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

# What says when, and how long it took, is struck out: all else must be equal.
_MOMENTS = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[0-9.+:Z-]*")
_SECONDS = re.compile(
    rb"in [0-9.,]+ (s|min|h)\b|(?<=\"seconds\": )[0-9.e+-]+|(?<=wallclock: )[0-9.e+-]+"
)
_COSTS = re.compile(rb'<section id="costs".*?</section>', re.DOTALL)
LUCENE = "lucene"


def snapshot(folder: Path) -> dict[str, bytes]:
    """The content of every file below ``folder`` by its path; locks stay, and are left out.

    Times are struck out. Of a Lucene index only the manifest counts, as its files hold random ids
    of segments; whether it finds the same is for the search after it. Kept scores are reported as
    one table of keys and values, whatever files they lie in.
    """
    found: dict[str, bytes] = {}
    scores: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_dir() or path.name.endswith(".lock"):
            continue
        name = str(path.relative_to(folder))
        if path.name == "manifest.json":
            found[name] = _manifest(path)
        elif path.parent.name == LUCENE:
            found[f"{path.parent.relative_to(folder)}/"] = b"an index"
        elif path.name.startswith("scores-"):
            scores.setdefault(f"{path.parent.relative_to(folder)}/scores", []).append(path)
        else:
            found[name] = _SECONDS.sub(b"", _MOMENTS.sub(b"", _COSTS.sub(b"", path.read_bytes())))
    return found | {name: _scores(paths) for name, paths in scores.items()}


def outputs(folder: Path, study: dict[str, bytes]) -> dict[str, bytes]:
    """What a command added to a copy of the study, or changed in it."""
    return {name: data for name, data in snapshot(folder).items() if study.get(name) != data}


def differences(found: dict[str, bytes], wanted: dict[str, bytes]) -> list[str]:
    """The names of files that are missing, left behind, or different."""
    lines = [f"missing: {name}" for name in sorted(wanted.keys() - found.keys())]
    lines += [f"left behind: {name}" for name in sorted(found.keys() - wanted.keys())]
    both = sorted(found.keys() & wanted.keys())
    return lines + [f"different: {name}" for name in both if found[name] != wanted[name]]


def _manifest(path: Path) -> bytes:
    """A manifest without times, and without the digests of files, some of which hold times."""
    try:
        plain: Any = json.loads(path.read_bytes())
    except ValueError:
        return path.read_bytes()
    for key in ("started", "seconds", "digest"):  # the last is of all the others
        plain.pop(key, None)
    if plain.get("kind") == "results":  # their inputs are the digests of their files
        del plain["inputs"], plain["fingerprint"]
    plain["files"] = sorted(name for name in plain["files"] if not name.startswith(f"{LUCENE}/"))
    return json.dumps(plain, sort_keys=True).encode()


def _scores(paths: list[Path]) -> bytes:
    known: dict[bytes, float] = {}
    for path in paths:
        tensors = load_file(path)
        keys = [key.tobytes() for key in np.ascontiguousarray(tensors["keys"])]
        known.update(zip(keys, tensors["values"].tolist(), strict=True))
    return repr(sorted(known.items())).encode()
