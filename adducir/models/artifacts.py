"""Artifacts that a model makes or is: work that takes long, and goes on where a kill cut it off."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from adducir.core.artifacts import Manifest, artifact_fingerprint, build, parts_folder
from adducir.core.progress import SILENT, Progress
from adducir.models.machine import using_threads

MakeByParts = Callable[[Path, Path], Mapping[str, Any]]
"""Fills an artifact's empty folder, keeps finished parts in another, returns the counts."""


def build_by_parts(
    output: Path,
    make: MakeByParts,
    *,
    kind: str,
    recipe: Mapping[str, Any],
    inputs: Mapping[str, str],
    builder_version: int,
    threads: int | None = None,
    versions: Mapping[str, str] | None = None,
    rebuild: bool = False,
    progress: Progress = SILENT,
) -> Manifest:
    """Build an artifact whose finished parts survive a kill.

    For the rest it is as :func:`adducir.core.artifacts.build`, which says what is raised.

    Args:
        make: Fills it, under torch's threads.
        recipe: All that determines its content.
        inputs: The fingerprints of what it is made from.
        builder_version: Raised whenever the builder's output changes.
        versions: Of engines that take part beside torch and transformers.
    """
    wanted = artifact_fingerprint(kind, recipe, inputs, builder_version)

    def making(folder: Path) -> Mapping[str, Any]:
        with using_threads(threads):
            return make(folder, parts_folder(output, wanted))

    return build(
        output,
        kind=kind,
        recipe=recipe,
        inputs=inputs,
        builder_version=builder_version,
        make=making,
        rebuild=rebuild,
        versions={**model_versions(), **(versions or {})},
        progress=progress,
    )


def model_versions() -> dict[str, str]:
    """The versions of the libraries that decide a model's figures."""
    import torch
    import transformers

    return {"torch": torch.__version__, "transformers": transformers.__version__}
