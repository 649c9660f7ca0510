"""Where commands write, and what they may replace there (:mod:`adducir.core.artifacts`)."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adducir.core.errors import InputError, UsageError
from adducir.core.files import is_standard_output, refuse_unwritable, results_folder

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


class Source:
    """Marks a parameter that names what a command reads."""


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


def refuse_to_replace(path: Path, what: str) -> None:
    """Refuse to write where something stands that is not replaced; see :mod:`.core.artifacts`.

    Args:
        what: As in :class:`Writes`: ``run``, ``table`` or ``file``.

    Raises:
        ArtifactError: A file stands there that is neither a run nor a table of Adducir's own.
        MachineError, InputError: As :func:`adducir.core.files.refuse_unwritable`.
    """
    if is_standard_output(path) or (path.exists() and not path.is_file()):
        return
    refuse_unwritable(path)
    if path.exists() and path.stat().st_size and not _is_own(path, what):
        from adducir.core.artifacts import refuse_other

        refuse_other(path, f"the {what} that stands here does not say that Adducir made it")


def _is_own(path: Path, what: str) -> bool:
    """Whether a file says that Adducir made it: a run by its metadata, some tables themselves."""
    from adducir.core.files import file_digest
    from adducir.runs.metadata import metadata_for, read_metadata

    if what == "table":
        return re.search(rb'"adducir": "|>adducir</th>', path.read_bytes()) is not None
    if what != "run" or not metadata_for(path).is_file():
        return False
    try:
        facts = read_metadata(path).get("run file")
    except InputError:
        return False
    return isinstance(facts, dict) and facts.get("sha256") == file_digest(path)
