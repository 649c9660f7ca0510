"""What tasks open their data with."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from adducir.core.config import Document
from adducir.core.progress import Progress
from adducir.core.recipe import KeyPath
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

    @property
    def output(self) -> Path:
        """The folder that takes the tables in all their formats."""
        return self.folder / "experiments" / self.name

    def refuse_files_for_folders(self) -> None:
        """Refuse what would only fail when the table is written."""
        for folder in (self.output, self.folder / "runs" / self.name):
            for place in (folder.parent, folder):
                if place.exists() and not place.is_dir():
                    what = f"{place}: a file stands where a folder is needed"
                    if place.samefile(self.path):
                        what = f"{what}: the experiment file's name needs an ending, such as .yaml"
                    self.errors.add((), what)

    def opening(self, place: KeyPath, opener: Callable[[], T]) -> T | None:
        """What ``opener`` returns; None where it raises, and the error is kept."""
        return self.errors.opening(place, opener)

    def source(self, place: KeyPath, source: str) -> str | None:
        """The source to open; None where there is none."""
        return self.opening(place, partial(source_path, source, self.folder))
