"""Write runs in TREC's format, in the same order for every tool, with metadata beside them.

The metadata, ``runs/bm25.trec.gz.ir-metadata.yml``, are in the ir_metadata format: YAML with the
sections of PRIMAD, https://www.ir-metadata.org, version 0.1 (Breuer, Keller and Schaer, SIGIR
2022), and TIREx's ``resources``. Unknown facts are left out. For privacy, names are written only if
the caller gives an ``actor``, host names never, and the user's home folder is written ``~``.
"""

import glob
import gzip
import hashlib
import io
import json
import os
import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib import metadata as installed
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from adducir.core.artifacts import refuse_other
from adducir.core.errors import InputError, UsageError
from adducir.core.files import file_digest, is_standard_output, publishing, read_text, sync
from adducir.core.processes import locked
from adducir.core.progress import progress
from adducir.corpora.columns import RUN, regular_lines
from adducir.corpora.frames import Floats
from adducir.runs.run import Run, strictly_decreasing
from adducir.version import __version__

SUFFIX = ".ir-metadata.yml"


def metadata_for(path: Path | str) -> Path:
    return Path(f"{path}{SUFFIX}")


def costs_for(run: Path) -> Path:
    """Where what language models took for a run is written."""
    return run.with_name(f"{run.name.partition('.')[0]}.costs.jsonl")


def read_metadata(path: Path | str) -> dict[str, Any]:
    """The metadata of the run at ``path``; an InputError if they are missing or not YAML."""
    place = metadata_for(path)
    return deepcopy(_parsed(read_text(place), place))


def facts_at(path: Path | str) -> dict[str, Any]:
    """The metadata of the run at ``path``; empty if it has none."""
    return read_metadata(path) if metadata_for(path).is_file() else {}


def remade(facts: Mapping[str, Any], method: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a run made from one with ``facts``."""
    topics = part_of(facts, "data", "topics")
    return {"method": method, **({"data": {"topics": topics}} if topics else {})}


@lru_cache(maxsize=1024)
def _parsed(text: str, place: Path) -> dict[str, Any]:
    from adducir.core.config import parse

    marks = r"\Air_metadata\.start\n|^ir_metadata\.end\s*\Z"
    return parse(re.sub(marks, "\n", text, flags=re.M), place).data


def part_of(facts: Any, *path: str | int) -> dict[str, Any]:
    """The mapping at a path of the metadata; empty if a user has changed its type."""
    for key in path:
        try:
            facts = facts[key]
        except (LookupError, TypeError):
            return {}
    return facts if isinstance(facts, dict) else {}


_FIRST = ("retrieval", "query2doc", "fusion", "python", "tuning")
"""Sections of a method that describe how a reranker's candidates were retrieved."""


def reranked_method(before: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The section ``method`` of a reranked run, from its candidates' run's or from {}."""
    earlier = before.get("reranking")
    first = {key: before[key] for key in _FIRST if key in before}
    return first | {"reranking": [*(earlier if isinstance(earlier, list) else []), settings]}


def metadata_text(*layers: Mapping[str, Any]) -> str:
    """Metadata as YAML: platform and versions, overridden by the layers, later ones first."""
    return _yaml(_merged_facts(*layers))


def _merged_facts(*layers: Mapping[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "schema-version": 0.1,
        "run-version": 1.0,
        "tag": "",
        "platform": platform_facts(),
        "implementation": {"source": {"lang": ["python", "java"]}},
    }
    for layer in layers:
        facts = _merged(facts, layer)
    text = json.dumps(facts, default=_plain, ensure_ascii=False)
    home = json.dumps(str(Path("~").expanduser()), ensure_ascii=False)[1:-1]
    if len(home) > 1:
        text = re.sub(rf"(?<![\w./~-]){re.escape(home)}(?=[/\\\"])", "~", text)
    merged: dict[str, Any] = json.loads(text)
    return merged


def _yaml(facts: Mapping[str, Any]) -> str:
    from ruamel.yaml import YAML

    yaml: Any = YAML(typ="safe", pure=True)  # read alike by YAML 1.1 and 1.2
    text = StringIO()
    yaml.version, yaml.width, yaml.default_flow_style = (1, 1), 100, False
    yaml.sort_base_mapping_type_on_output = False
    yaml.dump(facts, text)
    return text.getvalue().partition("---\n")[2]


@cache
def platform_facts() -> dict[str, Any]:
    """Hardware, operating system and versions of libraries; nothing that identifies the user."""
    import psutil

    requirements: list[str] = []
    with suppress(installed.PackageNotFoundError):  # run from a source folder
        requirements = installed.requires("adducir") or []
    names = set[str]()
    for requirement in requirements:
        if "extra ==" not in requirement:
            names.add(re.split(r"[^\w.-]", requirement, maxsplit=1)[0])
    libraries = [f"python=={platform.python_version()}", *_versions(*sorted(names, key=str.lower))]
    return {
        "hardware": {
            "cpu": {
                "model": _found("/proc/cpuinfo", r"model name\s*: (.+)") or platform.machine(),
                "architecture": platform.machine(),
                "operation mode": platform.architecture()[0].replace("bit", "-bit"),
                "number of cores": os.cpu_count(),
            },
            "ram": f"{psutil.virtual_memory().total / 2**30:.0f} GB",
        },
        "operating system": {
            "kernel": f"{platform.system()} {platform.release()}",
            "distribution": _found("/etc/os-release", 'PRETTY_NAME="?([^"\n]+)')
            or platform.version(),
        },
        "software": {
            "libraries": {"python": libraries},
            "retrieval toolkit": [
                f"adducir=={__version__}",
                *_versions("pyserini", "python-terrier"),
            ],
        },
    }


def _versions(*names: str) -> list[str]:
    pinned = []
    for name in names:
        with suppress(installed.PackageNotFoundError):
            package = installed.distribution(name)
            # `package.version` parses the whole file, which takes five times as long.
            version = re.search(r"^Version: (\S+)", package.read_text("METADATA") or "", re.M)
            pinned.append(f"{name}=={version[1] if version else package.version}")
    return pinned


def _found(path: str, pattern: str) -> str:
    with suppress(OSError):
        if match := re.search(f"^{pattern}", Path(path).read_text(encoding="utf-8"), re.M):
            return match[1].strip()
    return ""


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            result[key] = _merged(old, value)
        else:
            result[key] = value
    return result


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    return value.tolist() if hasattr(value, "tolist") else str(value)  # a numpy value or a path


# Level 6 takes five times as long as level 1 and saves a tenth of the bytes.
_GZIP_LEVEL = 1
_UNWRITABLE = r"[ \t\n\r\x0b\x0c\x00]|^$"


def write_run(
    run: Run,
    path: Path | str,
    metadata: Mapping[str, Any] | None = None,
    *,
    topics: Iterable[str] | None = None,
) -> None:
    """See :func:`adducir.write_run`, which takes more than runs."""
    path = Path(path)
    if (np.diff(run.topics) < 0).any():
        raise UsageError("a topic's documents are not contiguous; make the run with Run.ranked().")
    for qid, docno in run.duplicates().head(1).rows():
        raise UsageError(f"topic {qid} ranks document {docno} twice.")
    scores = strictly_decreasing(run.frame["score"].to_numpy(), run.topics)
    content = _lines(run, scores)
    if content and regular_lines(content, len(RUN.columns)) is None:
        for values in (pl.Series("tag", [run.tag]), run.frame["qid"], run.frame["docno"]):
            for value in values.filter(values.str.contains(_UNWRITABLE)).head(1):
                message = (
                    f"the {values.name} {value!r} does not fit a run: it is empty or contains a"
                )
                raise UsageError(f"{message} blank.")
    if path.suffix == ".gz":
        content = gzip.compress(content, _GZIP_LEVEL, mtime=0)
    if is_standard_output(path) or (path.exists() and not path.is_file()):
        with publishing(path) as hidden:
            hidden.write_bytes(content)
        return
    searched = set[str]() if topics is None else {*map(str, topics)}
    moved = np.count_nonzero(scores != run.frame["score"].to_numpy())
    facts = {
        "tag": run.tag,
        "method": {
            "automatic": True,
            "score ties": "later documents of a tie get the next smaller single-precision scores",
        },
        "run file": {
            "name": path.name,
            "sha256": hashlib.sha256(content).hexdigest(),
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "topics": len(run.qids),
            "documents": len(run),
            "depth": run.depth,
            "scores moved to break ties": moved,
            "topics without documents": sorted(searched - {*run.qids}),
        },
    }
    beside = Path(os.path.realpath(metadata_for(path)))
    with locked(path):
        _refuse_other_metadata(path)
        text = _yaml(
            _with_fields_added_by_hand(_merged_facts(facts, metadata or run.metadata), path)
        )
        # After a kill a run may lack metadata but never has another run's.
        with publishing(beside) as hidden_facts:
            hidden_facts.write_text(text, encoding="utf-8")
            sync(hidden_facts)
            old = hidden_facts.with_suffix(".old.tmp")
            with publishing(path) as hidden:
                hidden.write_bytes(content)
                if beside.is_file():
                    sync(hidden)
                    beside.replace(old)
        old.unlink(missing_ok=True)


_GENERATED = "generated fields"
"""A field of ``run file``: eight digits of the digest of each field that Adducir wrote."""


def refuse_other_run(path: Path) -> None:
    """Refuse to replace a run, or metadata beside it, that Adducir did not write.

    A user's own fields among the metadata of Adducir's run are kept when the run is replaced.
    """
    if path.is_file() and path.stat().st_size and not is_own_run(path):
        refuse_other(path, "Adducir did not write this run, or it was changed since")
    _refuse_other_metadata(path)


def is_own_run(path: Path) -> bool:
    """Whether metadata beside the run say that Adducir wrote these bytes."""
    before = ""
    while (digest := file_digest(path)) != before:  # again if it was replaced just now
        before = digest
        for place in _metadata_places(path):
            with suppress(FileNotFoundError):
                if f"sha256: {digest}" in place.read_text(encoding="utf-8", errors="replace"):
                    return True
    return False


def _metadata_places(path: Path) -> list[Path]:
    """The metadata beside a run, or the hidden ones of a killed writer."""
    beside = metadata_for(path)
    if beside.is_file():
        return [beside]
    return [*filter(Path.is_file, beside.parent.glob(f".{glob.escape(beside.name)}.*.tmp"))]


def _refuse_other_metadata(path: Path) -> None:
    beside = metadata_for(path)
    if not beside.is_file() or not beside.stat().st_size:
        return
    try:
        about = part_of(read_metadata(path), "run file")
    except InputError as error:
        if error.absent:  # another process is replacing the run
            return
        about = {}
    if _GENERATED not in about or about.get("name") != path.name:
        refuse_other(beside, "Adducir did not write these metadata of this run")


def _with_fields_added_by_hand(facts: dict[str, Any], path: Path) -> dict[str, Any]:
    """New metadata with the fields that somebody added to the old ones."""
    fields = dict(_fields(facts))
    marks = "".join(sorted(_mark(*item) for item in fields.items()))
    facts = _merged(facts, {"run file": {_GENERATED: marks}})
    changed = list[str]()
    for beside in _metadata_places(path):
        with suppress(InputError):
            old = _parsed(beside.read_text(encoding="utf-8", errors="replace"), beside)
            for place, value in _added_by_hand(old):
                if place not in fields:
                    facts = _merged(_nested(place, value), facts)
                elif fields[place] != value:
                    changed.append(".".join(place))
    if changed:
        edited = f"{', '.join(changed)}: edited by hand; the new run's values replace them"
        progress().note(f"{metadata_for(path)}: {edited}.")
    return facts


def _added_by_hand(facts: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    written = str(part_of(facts, "run file").get(_GENERATED, ""))
    marks = {written[start : start + 8] for start in range(0, len(written), 8)}
    for place, value in _fields(facts) if marks else ():
        if place != ("run file", _GENERATED) and _mark(place, value) not in marks:
            yield place, value


def _nested(place: tuple[str, ...], value: Any) -> dict[str, Any]:
    return {place[0]: _nested(place[1:], value) if place[1:] else value}


def _fields(facts: Mapping[str, Any], *above: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The path and value of each field that is not a section."""
    for key, value in facts.items():
        if isinstance(value, Mapping) and value:
            yield from _fields(value, *above, str(key))
        else:
            yield (*above, str(key)), value


def _mark(place: tuple[str, ...], value: Any) -> str:
    text = json.dumps([*place, value], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _lines(run: Run, scores: Floats) -> bytes:
    score = pl.Series("score", scores)
    with np.errstate(over="ignore"):
        single = scores.astype(np.float32)
    if (single == scores).all():
        # Lucene's scores are single precision: 12.3456 is as exact as 12.345600128173828.
        score = pl.Series("score", single)
    buffer = io.BytesIO()
    run.frame.select(
        pl.col("qid"),
        pl.lit("Q0").alias("Q0"),
        pl.col("docno"),
        pl.Series("rank", run.ranks + 1),
        score,
        pl.lit(run.tag).alias("tag"),
    ).write_csv(buffer, include_header=False, separator=" ", quote_style="never")
    return buffer.getvalue()
