"""What several trainings have in common of their examples: an artifact made by shards, once."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from adducir.core.artifacts import Manifest, artifact_fingerprint, is_current, parts_path
from adducir.core.chunks import build_in_chunks
from adducir.core.executors import HERE, Execution
from adducir.training.example_work import ExampleWork

_DIGITS = 16


@dataclass(frozen=True)
class Preparation:
    """What examples are made of, as far as other trainings have it in common.

    Attributes:
        kind: What it is called in manifests.
        recipe: The settings that determine it.
        inputs: The fingerprints of what it is made from.
        version: Raised whenever the same settings would make something else.
        work: Makes it.
    """

    kind: str
    recipe: Mapping[str, Any]
    inputs: Mapping[str, str]
    version: int
    work: ExampleWork[Any]

    @property
    def fingerprint(self) -> str:
        """The fingerprint of what is made."""
        return artifact_fingerprint(self.kind, self.recipe, self.inputs, self.version)

    def place_in(self, folder: Path) -> Path:
        """Where it lies in a folder that several trainings share."""
        return folder / self.fingerprint[:_DIGITS]

    def is_current(self, path: Path) -> bool:
        """Whether it is there."""
        return is_current(path, self.fingerprint)

    def make(
        self,
        path: Path,
        *,
        device: str = "auto",
        execution: Execution = HERE,
        rebuild: bool = False,
    ) -> Manifest:
        """Make it, unless it is there.

        Args:
            device: Of a network that takes part; see :func:`adducir.models.machine.choose_device`.

        Raises:
            IncompleteError, ArtifactError, MachineError: As
                :func:`adducir.core.chunks.make_chunks`.
            InputError: The data cannot be read.
        """
        return build_in_chunks(
            path,
            replace(self.work, device=device, spool=parts_path(path, self.fingerprint)),
            kind=self.kind,
            recipe=self.recipe,
            inputs=self.inputs,
            builder_version=self.version,
            versions=self.work.versions(),
            rebuild=rebuild,
            execution=execution,
        )

    @contextmanager
    def there(self, path: Path | None, folder: Path) -> Iterator[Path]:
        """Where it is, for the block: made for it beside a folder, where it is not there.

        Args:
            path: Where it was made, if it was.
            folder: A folder whose file system has the room.
        """
        if path is not None:
            yield path
            return
        with TemporaryDirectory(dir=folder.parent) as place:
            made = Path(place) / "prepared"
            self.make(made)
            yield made
