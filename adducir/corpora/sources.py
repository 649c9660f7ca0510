"""Tell what a source is: a part of the bundle, a file or folder, or an ir_datasets id."""

from pathlib import Path

from adducir.corpora.bundled import PREFIX, bundled
from adducir.study.errors import InputError

_DATA_SUFFIXES = frozenset(
    {".jsonl", ".json", ".ndjson", ".tsv", ".txt", ".trec", ".sgml", ".sgm", ".xml"}
    | {".gz", ".bz2", ".qrels", ".topics", ".csv", ".zip"}
)


def resolve(source: str | Path) -> Path | str:
    """The path of a local source, or the id of what should be an ir_datasets data set.

    An existing file or folder is preferred to a data set of the same name.

    Returns:
        A path that exists, or the unchanged id (not yet looked up).

    Raises:
        InputError: The source is empty, unknown to the bundle, or reads like a path and is not
            there.
    """
    text = str(source)
    if not text.strip() or "\0" in text:
        raise InputError(
            f"{text!r} names no source.", mend="Name a file, a folder or an ir_datasets id."
        )
    if text.startswith(PREFIX):
        return bundled(text)
    path = Path(source).expanduser() if text.startswith("~") else Path(source)
    try:
        there = path.exists()
    except OSError as error:
        raise InputError(f"cannot be looked up: {error.strerror}.", path=path) from error
    if there:
        return path
    if isinstance(source, Path) or _reads_like_a_path(text):
        raise InputError(
            "there is no such file or folder.",
            path=path,
            mend=f"The name was looked up from {Path.cwd()}.",
            absent=True,
        )
    return text


def _reads_like_a_path(text: str) -> bool:
    """Whether nobody would write an ir_datasets id like this."""
    suffix = Path(text).suffix.lower()
    return text.startswith(("/", ".", "~")) or text.endswith("/") or suffix in _DATA_SUFFIXES
