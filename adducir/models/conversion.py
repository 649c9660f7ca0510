"""Makes safetensors of pickled weights: ``adducir convert``.

The result is a folder that every recipe takes as a model: the weights under the names that they
had, with the configuration and the tokenizer beside them. It is an artifact: its manifest has the
digests of the source's files (``inputs``) and of its own (``files``).
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from adducir.core.artifacts import Manifest, build
from adducir.core.errors import InputError, MachineError
from adducir.core.files import file_digest
from adducir.core.json_lines import json_document, json_object
from adducir.core.manifest import MANIFEST
from adducir.core.progress import SILENT, Progress
from adducir.models.artifacts import model_versions
from adducir.models.loading import load_tokenizer
from adducir.models.sources import TEXTS, ModelSource
from adducir.models.unpickling import LACKING

KIND = "checkpoint"
_BUILDER_VERSION = 1
_PICKLED, _INDEX = "pytorch_model.bin", "pytorch_model.bin.index.json"
_SHARDS = "pytorch_model-*.bin"
_SECONDS, _BYTES_PER_SECOND = 600, 5_000_000


def convert(
    source: ModelSource, output: Path, *, rebuild: bool = False, progress: Progress = SILENT
) -> Manifest:
    """Convert a checkpoint, unless ``output`` holds the result already.

    Args:
        source: The checkpoint; the files of a tokenizer that it names go into the result.

    Returns:
        The manifest. Its counts: ``source`` (the name), ``files`` that were converted.

    Raises:
        InputError: There is nothing to convert, or a file holds more than weights or is damaged.
        MachineError: The checkpoint cannot be fetched, or memory or disk do not suffice.
        ArtifactError: ``output`` holds something that is not ours to replace.
    """
    found = _checkpoint(source)
    inputs = {name: file_digest(found.folder / name) for name in found.names}
    if source.tokenizer is not None:
        inputs["tokenizer"] = source.tokenizer.identity()

    def make(folder: Path) -> Mapping[str, Any]:
        for name in found.copied:
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(found.folder / name, folder / name)
        for place, files in found.pickled.items():
            (folder / place).mkdir(exist_ok=True)
            progress.note(f"converting {files[0]}" + (f" to {files[-1]}" if files[1:] else ""))
            _unpickle([found.folder / place / name for name in files], folder / place)
        if source.tokenizer is not None:
            made = ModelSource(source.name, folder, tokenizer=source.tokenizer)
            load_tokenizer(made).save_pretrained(folder)
        return {"source": source.name, "files": sum(map(len, found.pickled.values()))}

    return build(
        output,
        kind=KIND,
        recipe={},
        inputs=inputs,
        builder_version=_BUILDER_VERSION,
        make=make,
        rebuild=rebuild,
        versions=model_versions(),
        sources={"model": [source.folder or source.name]},
        progress=progress,
    )


@dataclass(frozen=True)
class _Checkpoint:
    """The files of a checkpoint.

    Attributes:
        pickled: The names of the pickled files of each folder in it, the root's under an empty one.
        copied: The relative paths of all others that the result has.
    """

    folder: Path
    pickled: dict[str, list[str]]
    copied: list[str]

    @property
    def names(self) -> list[str]:
        """The relative paths of all files that decide the result."""
        pickled = [
            Path(place, name).as_posix() for place, some in self.pickled.items() for name in some
        ]
        return sorted([*pickled, *self.copied])


def _checkpoint(source: ModelSource) -> _Checkpoint:
    """What a checkpoint consists of.

    Raises:
        InputError: It has no pickled weights, or an index names a file that is not there.
        MachineError: It cannot be fetched.
    """
    weights = (_PICKLED, f"*/{_PICKLED}", _SHARDS)
    folder = source.folder or replace(source, tokenizer=None).fetched((*TEXTS, *weights))
    pickled: dict[str, list[str]] = {}
    copied: list[str] = []
    for place in ("", *_modules(folder)):
        kept = [
            path.name
            for path in sorted((folder / place).iterdir())
            if path.is_file()
            and any(fnmatch(path.name, part) for part in (*TEXTS, "*.safetensors"))
        ]
        has_weights = any(name.endswith(".safetensors") for name in kept)
        files = [] if has_weights else _pickled(folder / place)
        if files:
            pickled[place] = files
        copied += [Path(place, name).as_posix() for name in kept if name not in (_INDEX, MANIFEST)]
    if not pickled:
        raise InputError(
            f"there is nothing to convert: no {_PICKLED} without safetensors beside it.",
            path=folder,
            hint="If it has safetensors, take it as it is.",
        )
    return _Checkpoint(folder, pickled, copied)


def _modules(folder: Path) -> list[str]:
    """The folders of a sentence encoder's layers behind the transformer."""
    path = folder / "modules.json"
    if not path.is_file():
        return []
    modules = json_document(path)
    named = [one.get("path") for one in modules if isinstance(one, dict)] if modules else []
    return sorted({str(name) for name in named if name and _is_inside(str(name), folder)})


def _is_inside(name: str, folder: Path) -> bool:
    return Path(name).name == name and (folder / name).is_dir()


def _pickled(folder: Path) -> list[str]:
    """The names of a folder's files of pickled weights, in order."""
    if (folder / _PICKLED).is_file():
        return [_PICKLED]
    if not (folder / _INDEX).is_file():
        return []
    places = json_object(folder / _INDEX).get("weight_map")
    names = sorted({str(name) for name in places.values()}) if isinstance(places, dict) else []
    absent = [name for name in names if Path(name).name != name or not (folder / name).is_file()]
    if absent or not names:
        what = f"it names {absent[0]!r}, which is not there." if absent else "it names no file."
        raise InputError(what, path=folder / _INDEX)
    return names


def _unpickle(files: list[Path], output: Path) -> None:
    """Convert files in a process of its own, bounded in memory and time.

    Raises:
        InputError: They hold more than weights, or are damaged.
        MachineError: Memory, disk or time do not suffice.
    """
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    size = sum(path.stat().st_size for path in files)
    try:
        done = subprocess.run(  # noqa: S603 - this program itself, by its full path
            [sys.executable, "-P", "-m", "adducir.models.unpickling", output, *files],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_SECONDS + size / _BYTES_PER_SECOND,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise MachineError("these weights took too long to convert.", path=files[0]) from error
    if done.returncode == 0:
        return
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    message = lines[-1].rstrip(".") if lines else "nothing was reported"
    if done.returncode == LACKING or -done.returncode == signal.SIGKILL:
        message = message if done.returncode == LACKING else "the process was killed"
        raise MachineError(
            f"the weights could not be converted: {message}.",
            path=files[0],
            hint="It takes about twice the memory and once the disk space of the weights.",
        )
    if done.returncode < 0:
        message = f"reading them ended the process (signal {-done.returncode})"
    raise InputError(
        f"these weights are refused: {message}.",
        path=files[0].parent,
        hint="Nothing in them was run. Take the weights from where they were first published.",
    )
