"""Outputs in parts: training, validation and test, a file for each."""

from pathlib import Path

from adducir.core.errors import UsageError
from adducir.core.files import is_standard_output


def shares_of(text: str | None) -> dict[str, float] | None:
    """The shares of the parts, or None for one undivided file.

    Raises:
        UsageError: The text is not three numbers with commas, or they do not add up to 1.
    """
    if text is None:
        return None
    from adducir.corpora.splitting import PARTS, check_shares

    try:
        numbers = [float(one) for one in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != len(PARTS):
        raise UsageError(f"--shares takes three numbers with commas, not {text!r}.")
    shares = dict(zip(PARTS, numbers, strict=True))
    check_shares(shares)
    return {name: share for name, share in shares.items() if share}


def part_path(path: Path, part: str) -> Path:
    """``x.jsonl.gz`` as ``x.train.jsonl.gz``; the path itself where there are no parts.

    Raises:
        UsageError: Parts cannot all go to standard output.
    """
    if not part:
        return path
    if is_standard_output(path):
        raise UsageError("--shares makes several files, and standard output is one.")
    first, dot, endings = path.name.partition(".")
    return path.with_name(f"{first}.{part}{dot}{endings}")
