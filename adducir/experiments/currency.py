"""Whether what an experiment needs is there already, and if not, why not."""

from pathlib import Path
from typing import Any

from adducir.indexes.build import IndexSettings
from adducir.runs.metadata import metadata_for, read_metadata
from adducir.study.errors import InputError, ProductError
from adducir.study.files import file_digest
from adducir.study.products import Manifest, read_manifest
from adducir.study.verified import changes

MISSING = "it is missing"
ASKED = "all is to be made anew"


def why_index(path: Path, wanted: str, kind: str, settings: IndexSettings) -> str | None:
    """Why the index at ``path`` has to be built; None if it is current.

    Args:
        path: The product's folder.
        wanted: The fingerprint it is to have.
        kind: The kind of product it is to be.
        settings: How it is to be built, with the fields named.

    Raises:
        ProductError: Something else stands there, which a build would not replace.
    """
    if _is_absent(path):
        return MISSING
    manifest = read_manifest(path)
    if manifest.kind != kind:
        raise ProductError(
            f"this is a product of another kind ({manifest.kind}), which an index of that name "
            "would replace.",
            path=path,
            mend="Give the index another name, or move away what is there.",
        )
    if manifest.fingerprint == wanted:
        damaged = changes(path, manifest)
        return f"it is damaged ({': '.join(next(iter(damaged.items())))})" if damaged else None
    return _difference(manifest, settings)


def _is_absent(path: Path) -> bool:
    """Whether there is nothing, or an empty folder; another process may be at work there."""
    try:
        return next(path.iterdir(), None) is None
    except FileNotFoundError:
        return True
    except NotADirectoryError:
        return False


def _difference(manifest: Manifest, settings: IndexSettings) -> str:
    recipe = settings.recipe()
    changed = [key for key in recipe if manifest.recipe.get(key) != recipe[key]]
    if changed:
        return f"the one that is there differs in {', '.join(changed).replace('_', ' ')}"
    return "the one that is there is of other documents, or by another version of Adducir"


def why_run(path: Path, wanted: str) -> str | None:
    """Why the run at ``path`` has to be made; None if it is current.

    A run is current if its metadata say that it was made by what ``wanted`` is the fingerprint
    of, and that it was written with just the bytes that it has now.
    """
    if not path.is_file():
        return MISSING
    if not metadata_for(path).is_file():
        return "the one that is there has no metadata"
    facts = run_facts(path)
    if facts is None:
        return "the metadata of the one that is there cannot be read"
    if facts["adducir"]["fingerprint"] != wanted:
        return "the one that is there was made otherwise"
    if facts["run file"]["sha256"] != file_digest(path):
        return "the one that is there was changed since it was made"
    return None


def run_facts(path: Path) -> dict[str, Any] | None:
    """The metadata of a run that an experiment made; None where they do not tell that."""
    try:
        facts = read_metadata(path)
    except InputError:
        return None
    for section, key in (("adducir", "fingerprint"), ("run file", "sha256")):
        part = facts.get(section)
        if not isinstance(part, dict) or key not in part:
            return None
    return facts
