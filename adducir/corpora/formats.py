"""Which format a file or a folder of documents has, and which files of a folder belong to it.

Of a folder all files of one format are read, also in its subfolders, sorted by path. Hidden
files are ignored. What has no such name, and a ``.txt``, ``.md`` or ``.xml`` file without ``<DOC>``
(a README), is not read either, and reported. Where there is nothing but such ``.txt`` and ``.md``
files, each of them is a document. A file whose name has no suffix at all but that of its
compression, such as ``wiki_00.bz2``, is ``jsonl`` if it begins like a JSON object. Files of two
formats are refused, unless the format is given: then those of this format are read, or where none
has such a name, all (TREC's disks have files without a suffix), but for TREC only those with
``<DOC>``.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from adducir.core.errors import InputError, reading_error
from adducir.core.json_lines import is_json
from adducir.core.streams import BrokenStream, blocks, suffix_of
from adducir.corpora.readers import FORMATS, CorpusFormat

_HEAD = 1 << 16
_EXAMPLES = 3


def format_of(path: Path) -> str:
    """The format that a file's name shows.

    Raises:
        InputError: It shows none.
    """
    formats = FORMATS.kinds()
    kind = _format_by_name(path, formats) or _format_by_content(path)
    if kind is None:
        raise InputError(
            "its name does not show the format.",
            path=path,
            hint=f"Name the format, one of {', '.join(FORMATS)}, or rename it: "
            f"{_known_suffixes(formats)}.",
        )
    return kind


def choose_files(folder: Path, wanted: str | None) -> tuple[str, list[Path], list[Path]]:
    """The format of a folder, its files of that format, and those that are ignored.

    Args:
        folder: An existing folder.
        wanted: The format to read, where the user named it.

    Raises:
        InputError: There is no readable file, or there are files of several formats.
    """
    files = sorted(files_below(folder))
    kind, chosen = _choose(folder, files, wanted)
    taken = set(chosen)
    return kind, chosen, [file for file in files if file not in taken]


def _choose(folder: Path, files: list[Path], wanted: str | None) -> tuple[str, list[Path]]:
    """The format of a folder, and its files of that format."""
    formats = FORMATS.kinds()
    by_format: dict[str, list[Path]] = {}
    for file in files:
        kind = _format_by_name(file, formats) or _format_by_content(file)
        if kind and not formats[kind].is_last_resort and FORMATS.make(kind).accepts(file):
            by_format.setdefault(kind, []).append(file)
    for kind, one in formats.items():
        rest = [file for file in files if suffix_of(file) in one.suffixes]
        is_wanted = wanted == kind or (wanted is None and not by_format)
        if one.is_last_resort and rest and is_wanted:
            by_format = {kind: rest}
    if wanted is None and len(by_format) > 1:
        examples = ", ".join(f"{kind} ({found[0].name})" for kind, found in by_format.items())
        raise InputError(
            f"the folder holds files of several formats: {examples}.",
            path=folder,
            hint="Name the format to read, or the file.",
        )
    kind = wanted or next(iter(by_format), None)
    chosen = by_format.get(kind or "", [])
    if wanted and not chosen:
        chosen = [file for file in files if FORMATS.make(wanted).accepts(file)]
    if kind is None or not chosen:
        raise InputError(
            f"there is no readable file among the {len(files)} of this folder.",
            path=folder,
            hint=f"Readable by their names are {_known_suffixes(formats)}, also with .gz or .bz2; "
            "for other names give the format.",
        )
    return kind, chosen


def why_skipped(paths: Iterable[Path], kind: str) -> dict[str, list[Path]]:
    """Why files of a folder that is read as ``kind`` are not read, and which."""
    formats = FORMATS.kinds()
    found: dict[str, list[Path]] = {}
    for path in paths:
        known = [name for name, one in formats.items() if suffix_of(path) in one.suffixes]
        rest = next((name for name in known if formats[name].is_last_resort), None)
        if not known:
            reason = f"no format has such a name ({suffix_of(path) or 'without an ending'})"
        elif rest is not None and rest != kind:
            reason = f"beside documents of the format {kind} (--format {rest} reads it)"
        else:
            reason = f"not of the format {kind}"
        found.setdefault(reason, []).append(path)
    return found


def skipped_note(folder: Path, reasons: Mapping[str, Sequence[Path]]) -> str:
    """What to tell users of files of a folder that are not read: how many, examples, why."""
    parts = []
    for reason, paths in reasons.items():
        shown = [path.relative_to(folder).as_posix() for path in paths[:_EXAMPLES]]
        dots = ", …" if len(paths) > _EXAMPLES else ""
        parts.append(f"{len(paths):,} {reason}: {', '.join(shown)}{dots}")
    count = sum(map(len, reasons.values()))
    are = "file is" if count == 1 else "files are"
    return f"{folder}: {count:,} {are} not read: {'; '.join(parts)}"


def files_below(folder: Path) -> Iterable[Path]:
    """The files below a folder that are not hidden; linked folders are followed, each once."""
    seen: set[Path] = set()
    for where, folders, names in os.walk(folder, onerror=_forbidden, followlinks=True):
        place = Path(where).resolve()
        if place in seen:
            folders.clear()
            continue
        seen.add(place)
        folders[:] = [name for name in folders if not name.startswith(".")]
        for path in (Path(where, name) for name in names if not name.startswith(".")):
            if path.is_file() or not path.exists():  # a broken link is for its reader to report
                yield path


def _forbidden(error: OSError) -> NoReturn:
    raise reading_error(error, Path(error.filename)) from error


def _known_suffixes(formats: Mapping[str, type[CorpusFormat]]) -> str:
    return ", ".join(dict.fromkeys(suffix for one in formats.values() for suffix in one.suffixes))


def _format_by_name(path: Path, formats: Mapping[str, type[CorpusFormat]]) -> str | None:
    suffix = suffix_of(path)
    return next((name for name, one in formats.items() if suffix in one.suffixes), None)


def _format_by_content(path: Path) -> str | None:
    if suffix_of(path) or not path.is_file():
        return None
    try:
        head = next(blocks(path), b"")
    except BrokenStream:
        return None
    start = head[:_HEAD].decode("utf-8", "ignore").lstrip("\ufeff \t\r\n")
    return "jsonl" if start.startswith("{") and is_json(start) else None
