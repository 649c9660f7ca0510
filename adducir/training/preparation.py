"""What several trainings have in common of their examples: an artifact made by shards, once."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adducir.core.artifacts import Manifest, Sources, artifact_fingerprint, is_current
from adducir.core.progress import SILENT, Progress
from adducir.core.sharding.building import Order, build_sharded
from adducir.core.sharding.execution import HERE, Execution
from adducir.core.sharding.work import ArtifactWork

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
        sources: The names of its principal sources by their role.
        versions: Of the libraries that take part.
        text_bytes: Bytes of the text that is read, by the sizes of files; None if not known.
    """

    kind: str
    recipe: Mapping[str, Any]
    inputs: Mapping[str, str]
    version: int
    work: ArtifactWork
    sources: Sources
    versions: Mapping[str, str]
    text_bytes: float | None = None

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
        execution: Execution = HERE,
        rebuild: bool = False,
        progress: Progress = SILENT,
    ) -> Manifest:
        """Make it, unless it is there.

        Raises:
            PartMade, IncompleteError, ArtifactError, MachineError: As
                :func:`adducir.core.sharding.building.build_sharded`.
            InputError: The data cannot be read.
        """
        order = Order(
            path,
            self.kind,
            self.recipe,
            self.inputs,
            self.version,
            self.versions,
            self.sources,
            rebuild,
        )
        return build_sharded(order, self.work, execution, progress)
