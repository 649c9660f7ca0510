"""What tasks open their data with."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from adducir.core.progress import Progress
from adducir.core.yaml import Document, KeyPath
from adducir.corpora.references import source_path
from adducir.experiments.errors import ErrorList

T = TypeVar("T")


@dataclass(frozen=True)
class Planner:
    """What a task is given to open its data with.

    Attributes:
        document: The experiment file as it was read.
        data: What the file says after the overrides, not validated.
        folder: The study's folder, where relative paths start.
        overrides: The overrides.
        errors: Takes what is wrong.
        progress: Notified of what ir_datasets downloads.
    """

    document: Document
    data: dict[str, object]
    folder: Path
    overrides: tuple[str, ...]
    errors: ErrorList
    progress: Progress

    @property
    def path(self) -> Path:
        """The experiment file."""
        return self.document.path

    @property
    def name(self) -> str:
        """The name of the folders that it gets."""
        return self.path.stem

    def opening(self, place: KeyPath, opener: Callable[[], T]) -> T | None:
        """What ``opener`` returns; None where it raises, and the error is kept."""
        return self.errors.opening(place, opener)

    def source(self, place: KeyPath, source: str) -> str | None:
        """The source to open; None where there is none."""
        return self.opening(place, partial(source_path, source, self.folder))
