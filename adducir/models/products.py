"""Products that a model makes or is: work that takes long, and goes on where a kill cut it off."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

from adducir.models.machine import AnyPrecision, Precision, choose_device, using_threads
from adducir.models.probe import fastest_precision
from adducir.study.fingerprint import fingerprint
from adducir.study.products import Manifest, build, is_current, product_fingerprint
from adducir.study.progress import SILENT, Progress
from adducir.study.scratch import parts_folder

MakeByParts = Callable[[Path, Path], Mapping[str, Any]]
"""Fills the empty folder of a product, keeps finished parts in another one, returns the counts."""


def build_by_parts(
    output: Path,
    make: MakeByParts,
    *,
    kind: str,
    recipe: Mapping[str, Any],
    inputs: Mapping[str, str],
    maker_version: int,
    cut: int | None = None,
    threads: int | None = None,
    versions: Mapping[str, str] | None = None,
    rebuild: bool = False,
    progress: Progress = SILENT,
) -> Manifest:
    """Build a product whose finished parts survive a kill.

    For the rest it is as :func:`adducir.study.products.build`, which says what is raised.

    Args:
        output: The product's folder.
        make: Fills it, under torch's threads.
        kind: What it is.
        recipe: All that decides its content.
        inputs: The fingerprints of what it is made from.
        maker_version: Raised whenever the maker would make something else.
        cut: How large parts are, where that decides nothing else: parts of another cut are not
            taken.
        threads: Of torch; by default its own choice.
        versions: Of engines that take part beside torch and transformers.
        rebuild: Build even if the product is current.
        progress: Told what is waited for.
    """
    wanted = product_fingerprint(kind, recipe, inputs, maker_version)

    def making(folder: Path) -> Mapping[str, Any]:
        with using_threads(threads):
            return make(folder, parts_folder(output, fingerprint([wanted, cut])))

    return build(
        output,
        kind=kind,
        recipe=recipe,
        inputs=inputs,
        maker_version=maker_version,
        make=making,
        rebuild=rebuild,
        versions={**model_versions(), **(versions or {})},
        progress=progress,
    )


def settled_precision(
    wanted: AnyPrecision,
    device: str,
    output: Path,
    fingerprint_in: Callable[[Precision], str],
    *,
    progress: Progress = SILENT,
) -> Precision:
    """The precision of a product that may leave it to the machine.

    With ``auto`` it is that of the product that is there already, wherever it was made; else what
    is faster on the device.

    Args:
        wanted: What the user said.
        device: See :func:`adducir.models.machine.choose_device`.
        output: The product's folder.
        fingerprint_in: The product's fingerprint, were it made in a precision.
        progress: Told why, where the machine decides.
    """
    if wanted != "auto":
        return wanted
    known: tuple[Precision, ...] = get_args(Precision)
    for precision in known:
        if is_current(output, fingerprint_in(precision)):
            return precision
    return fastest_precision(choose_device(device), progress=progress)


def model_versions() -> dict[str, str]:
    """The versions of the libraries that decide a model's figures."""
    import torch
    import transformers

    return {"torch": torch.__version__, "transformers": transformers.__version__}
