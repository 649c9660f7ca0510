"""Artifacts that a model makes or is: work that takes long, and goes on where a kill cut it off."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

from adducir.core.artifacts import Manifest, Sources, artifact_fingerprint, build, is_current
from adducir.core.chunks import HERE, ArtifactWork, Execution, build_in_chunks
from adducir.core.errors import UsageError
from adducir.core.progress import SILENT, Progress
from adducir.core.scratch import parts_folder
from adducir.models.machine import AnyPrecision, Precision, choose_device, using_threads
from adducir.models.probe import fastest_precision

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
    sources: Sources | None = None,
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
        sources: The names of what it is made from.
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
        sources=sources,
        progress=progress,
    )


def build_by_shards(
    output: Path,
    work: ArtifactWork,
    *,
    kind: str,
    recipe: Mapping[str, Any],
    inputs: Mapping[str, str],
    builder_version: int,
    threads: int | None = None,
    versions: Mapping[str, str] | None = None,
    sources: Sources | None = None,
    rebuild: bool = False,
    execution: Execution = HERE,
    progress: Progress = SILENT,
) -> Manifest:
    """Build an artifact whose shards can be made anywhere; see :mod:`adducir.core.chunks`.

    For the rest it is as :func:`build_by_parts`.

    Raises:
        IncompleteError: Some shards cannot be made.
    """
    with using_threads(threads):
        return build_in_chunks(
            output,
            work,
            kind=kind,
            recipe=recipe,
            inputs=inputs,
            builder_version=builder_version,
            versions={**model_versions(), **(versions or {})},
            sources=sources,
            rebuild=rebuild,
            execution=execution,
            progress=progress,
        )


def settled_precision(
    wanted: AnyPrecision,
    device: str,
    output: Path,
    fingerprint_in: Callable[[Precision], str],
    *,
    execution: Execution = HERE,
    progress: Progress = SILENT,
) -> Precision:
    """The precision of an artifact that may leave it to the machine.

    With ``auto`` it is that of the artifact that is there already, wherever it was made; else what
    is faster on the device.

    Args:
        device: See :func:`adducir.models.machine.choose_device`.
        fingerprint_in: The artifact's fingerprint, were it made in a precision.

    Raises:
        UsageError: It is left to the machine where several machines take part.
    """
    if wanted != "auto":
        return wanted
    known: tuple[Precision, ...] = get_args(Precision)
    for precision in known:
        if is_current(output, fingerprint_in(precision)):
            return precision
    if execution.ray is not None or execution.slurm is not None:
        raise UsageError(
            "precision 'auto' is what is fastest on a machine, and several may take part here.",
            hint="Give --precision float32 or bfloat16.",
        )
    return fastest_precision(choose_device(device), progress=progress)


def model_versions() -> dict[str, str]:
    """The versions of the libraries that decide a model's figures."""
    import torch
    import transformers

    return {"torch": torch.__version__, "transformers": transformers.__version__}
