"""Folders for the finished parts of long work, which survive a kill.

Work that makes the product ``NAME`` keeps its parts in the hidden sibling ``.NAME.parts-DIGEST``,
where DIGEST is of the product's fingerprint: work on another recipe never takes them for its own.
They are removed when a product is published at that place.
"""

import os
import shutil
from pathlib import Path

_DIGITS = 16


def parts_folder(product: Path, fingerprint: str) -> Path:
    """The folder for parts of the product with this fingerprint, made if missing.

    To be called under the product's lock, as a product's maker is.

    Args:
        product: The product's folder, which need not be there.
        fingerprint: From :func:`adducir.study.products.product_fingerprint`.

    Raises:
        OSError: It cannot be made.
    """
    target = Path(os.path.realpath(product))
    folder = target.with_name(f"{_start(target)}{fingerprint[:_DIGITS]}")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def parts_of(product: Path) -> list[Path]:
    """The folders for parts of all work on a product, of whatever fingerprint."""
    target = Path(os.path.realpath(product))
    return [path for path in target.parent.iterdir() if path.name.startswith(_start(target))]


def remove_parts(product: Path) -> None:
    """Remove the parts of all work on a product; to be called under its lock."""
    for folder in parts_of(product):
        shutil.rmtree(folder, ignore_errors=True)


def _start(target: Path) -> str:
    return f".{target.name}.parts-"
