"""Where commands write, and what they may replace there (:mod:`adducir.core.origins`)."""

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from adducir.core.errors import InputError, UsageError
from adducir.core.folders import results_folder
from adducir.core.origins import Origin, refuse_other
from adducir.core.standard_output import is_standard_output
from adducir.core.writable import refuse_unwritable

_OTHERS = (
    *(
        ".bz2",
        ".csv",
        ".doc",
        ".docx",
        ".html",
        ".json",
        ".jsonl",
        ".md",
        ".ods",
        ".odt",
        ".parquet",
    ),
    *(".pdf", ".png", ".svg", ".tex", ".tsv", ".xls", ".xlsx", ".xml", ".xz", ".yaml", ".yml"),
    *(".zip", ".zst"),
)
"""Endings of formats that no run has; for the rest runs are called as people like."""


@dataclass(frozen=True)
class Writes:
    """Marks a parameter that names what a command writes; part of its annotation.

    Attributes:
        what: ``run``, ``table``, ``file``; ``folder`` for files in a folder; ``artifact`` for a
            folder that shows its own origin; ``study``; ``results`` for the tables of the
            experiment file that is named.
        endings: Those that a file's name may have, ``.gz`` apart; none where any will do.
        chosen_by: The parameter that chooses the format where it is given, whatever the ending.
        parts: The parameter with the shares of the parts that the file is divided into.
    """

    what: str
    endings: tuple[str, ...] = ()
    chosen_by: str = ""
    parts: str = ""

    def known_endings(self) -> tuple[str, ...]:
        """Those that a file's name may have: of a table, those of all its formats."""
        if self.what != "table":
            return self.endings
        from adducir.tables.formats import TABLES

        return tuple(one.ending for one in TABLES.kinds().values())

    @property
    def metavar(self) -> str:
        """What stands for its name in the help."""
        return "FILE" if self.is_file else "FOLDER"

    @property
    def is_file(self) -> bool:
        """Whether it is a single file."""
        return self.what in ("run", "table", "file")

    def paths(self, path: Path, values: Mapping[str, Any]) -> list[Path]:
        """The files and folders that are written in its name."""
        if self.what == "results":
            return [results_folder(path)]
        from adducir.cli.shares import part_path, shares_of

        shares = shares_of(values.get(self.parts)) if self.parts else None
        return [part_path(path, part) for part in shares] if shares else [path]


@dataclass(frozen=True)
class Source:
    """Marks a parameter that names what a command reads.

    Attributes:
        is_principal: Whether, of another one, another thing is made.
    """

    is_principal: bool = True


RUN = Writes("run")
TABLE = Writes("table", chosen_by="format_name")
LINES = Writes("file", (".jsonl", ".ndjson", ".json"))
QRELS = Writes("file", (".qrels", ".txt", ".tsv"))
LINES_IN_PARTS = Writes("file", (".jsonl", ".ndjson", ".json"), parts="shares")
JSON_IN_PARTS = Writes("file", (".json",), parts="shares")
ARTIFACT = Writes("artifact")
STUDY = Writes("study")
RESULTS = Writes("results")
FILES = Writes("folder")
SOURCE = Source()
READ = Source(is_principal=False)


def check_name(option: str, path: Path, writes: Writes, values: Mapping[str, Any]) -> None:
    """Refuse a name that cannot be written, before the work.

    Raises:
        UsageError: Its ending says another format, or a folder is to be standard output.
        InputError: It is a folder where a file is written.
    """
    if is_standard_output(path):
        if not writes.is_file:
            raise UsageError(f"{option} is a folder here: it cannot be standard output.")
        return
    if not writes.is_file:
        if os.path.realpath(path) == os.path.realpath(path.anchor or os.sep):
            raise UsageError(f"{option} is the root of the file system: name a folder in it.")
        return
    if path.is_dir():
        raise InputError("this is a folder, where a file is to be written.", path=path)
    ending = Path(path.name.removesuffix(".gz")).suffix
    if writes.what == "run":
        if ending.lower() in _OTHERS:
            raise UsageError(
                f"{option} {path}: no run ends in {ending}.",
                hint="Let it end in .trec or .trec.gz.",
            )
        return
    known = writes.known_endings()
    if known and _is_ending(ending) and ending.lower() not in known:
        if values.get(writes.chosen_by):
            return
        raise UsageError(
            f"{option} {path}: the ending {ending} is not known here.",
            hint=f"Use one of {', '.join(known)}"
            + (", or say --format." if writes.chosen_by else " (with .gz to compress)."),
        )


def refuse_overwriting(option: str, path: Path, inputs: Iterable[Path | str]) -> None:
    """Refuse to write over something that the command reads.

    Raises:
        UsageError: ``path`` is one of the inputs.
    """
    for one in map(Path, inputs):
        if path.exists() and one.exists() and one.samefile(path):
            raise UsageError(
                f"{option} is {one}, which this command reads.", hint="Name another file."
            )


def refuse_one_for_several(outputs: Mapping[str, Path]) -> None:
    """Refuse to write two things, each the value of an option, to one file.

    Raises:
        UsageError: Two of the paths are one.
    """
    options: dict[Path, str] = {}
    for option, path in outputs.items():
        other = options.setdefault(Path(os.path.realpath(path)), option)
        if other != option:
            raise UsageError(f"{other} and {option} are one file.", hint="Name two.")


def _is_ending(text: str) -> bool:
    return re.fullmatch(r"\.[A-Za-z]\w*", text) is not None


@contextmanager
def claiming(paths: Sequence[Path], what: str, origin: Origin) -> Iterator[None]:
    """Write files, or a folder of files, as ``origin`` within the block.

    Nothing is replaced that another origin has; what the block writes is known as this one's.

    Raises:
        ArtifactError: Something stands there that this origin did not make.
        MachineError, InputError: As :func:`adducir.core.writable.refuse_unwritable`.
    """
    from adducir.core import register

    kept = [path for path in paths if _can_be_lost(path)]
    with ExitStack() as ended:
        for path in sorted(kept):
            ended.enter_context(register.held(path, partial(_report_waiting, path)))
        _refuse_others(kept, what, origin)
        for path in kept:
            ended.callback(register.begin(path, origin))
        yield


def _report_waiting(path: Path) -> None:
    from adducir.cli.console import note

    note(f"waiting for another process that writes {path}")


def _refuse_others(paths: Sequence[Path], what: str, origin: Origin) -> None:
    for path in paths:
        refuse_unwritable(path)
        if not _is_empty(path):
            refuse_other(path, what, origin, _origin(path, what))


def _can_be_lost(path: Path) -> bool:
    """Whether writing there replaces what was there: not so for streams and devices."""
    return not is_standard_output(path) and (path.is_file() or path.is_dir() or not path.exists())


def _is_empty(path: Path) -> bool:
    if path.is_dir():
        return next(path.iterdir(), None) is None
    return not path.exists() or not path.stat().st_size


def _origin(path: Path, what: str) -> Origin | None:
    from adducir.core import register

    origin_of = {"run": _origin_of_run, "results": _origin_of_results}.get(what)
    return register.origin_of(path) or (origin_of(path) if origin_of else None)


def _origin_of_run(path: Path) -> Origin | None:
    """What the metadata beside a run records, where they are this run's."""
    from adducir.core.files import file_digest
    from adducir.runs.metadata import metadata_for, read_metadata

    if not metadata_for(path).is_file():
        return None
    try:
        facts = read_metadata(path)
    except InputError:
        return None
    if _at(facts, "run file", "sha256") != file_digest(path):
        return None
    if _at(facts, "adducir", "experiment"):
        return Origin.of("adducir experiment", {"file": [_at(facts, "adducir", "experiment")]})
    method, topics = _at(facts, "method"), _at(facts, "data", "topics", "source")
    stages = {"reranking": "rerank", "fusion": "fuse", "retrieval": "search"}
    last = next((name for key, name in stages.items() if method and key in method), None)
    sources = {"topics": [topics]} if isinstance(topics, str) else {}
    return Origin.of(f"adducir {last}", sources) if last else None


def _origin_of_results(folder: Path) -> Origin | None:
    """The experiment file that the tables in a folder name."""
    import json

    for path in sorted(folder.glob("*.json")):
        try:
            facts = _at(json.loads(path.read_bytes()), "provenance")
            words = shlex.split(_at(facts, "command") or "")
        except (OSError, ValueError, RecursionError):
            continue
        name = words[2] if words[:2] == ["adducir", "experiment"] else _at(facts, "file")
        if isinstance(name, str):
            return Origin.of("adducir experiment", {"file": [folder.parent.parent / name]})
    return None


def _at(facts: Any, *keys: str) -> Any:
    for key in keys:
        facts = facts.get(key) if isinstance(facts, dict) else None
    return facts
