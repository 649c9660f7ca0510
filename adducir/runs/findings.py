"""What a check finds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True)
class Finding:
    """One thing to know about a run.

    Attributes:
        severity: ``error`` where figures would be wrong or missing, ``warning`` where they may
            mislead, ``info`` otherwise.
        code: A stable name for the kind of finding, such as ``ties``.
        message: What was found and what it means, in one or two sentences.
        where: The file, with the line where there is one, or else the run's tag.
    """

    severity: Severity
    code: str
    message: str
    where: str | None = None


def some(names: Sequence[str], limit: int = 3) -> str:
    """The first few of the names, and how many more there are."""
    shown = ", ".join(names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown


def counted(number: int, noun: str) -> str:
    """The number with its noun, whose plural is formed with s."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
