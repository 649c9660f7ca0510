"""Which commands make parts of an artifact, so that one word finishes it.

Each part that begins leaves ``part-I-of-N.json`` beside the shards: the command's words without
``--part``, and the folder that it was given in.
"""

import json
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adducir.core.errors import ArtifactError
from adducir.core.files import writing_text
from adducir.core.scratch import parts_of
from adducir.core.sharding.executors.part import Part
from adducir.core.sharding.plan import Shard

_NAME = "part-{}-of-{}.json"


@dataclass(frozen=True)
class Command:
    """A command that made parts.

    Attributes:
        words: Without the program's name and ``--part``.
        folder: Where it was given.
    """

    words: tuple[str, ...]
    folder: Path


def note_part(folder: Path, part: Part, words: tuple[str, ...]) -> None:
    """Note that a part is being made."""
    value = {"command": list(words), "folder": str(Path.cwd())}
    with writing_text(folder / _NAME.format(part.number, part.count)) as handle:
        json.dump(value, handle, indent=1)


def part_of(folder: Path, shard: Shard) -> str:
    """Which part makes a shard, in words; empty where parts were cut in several ways, or none."""
    counts = {int(path.stem.rpartition("-")[2]) for path in folder.glob(_NAME.format("*", "*"))}
    if len(counts) != 1:
        return ""
    count = counts.pop()
    return f"part {shard.number % count + 1}/{count}"


def has_parts(artifact: Path) -> bool:
    """Whether parts of an artifact were begun and are not put together yet."""
    return any(_files(folder) for folder in parts_of(artifact))


def command_of(artifact: Path) -> Command:
    """The command whose parts of an artifact are there.

    Raises:
        ArtifactError: There are none, or of several commands.
    """
    try:
        found = _noted(parts_of(artifact))
        # What the command writes beside the artifact names it as well.
        near = artifact.parent.glob(".*.parts-*")
        found = found or {
            command: folders
            for command, folders in _noted(sorted(near)).items()
            if any(
                os.path.realpath(command.folder / word) == os.path.realpath(artifact)
                for word in command.words
            )
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ArtifactError("what its parts left is damaged.", path=artifact, hint=_HINT) from error
    if not found:
        raise ArtifactError(
            "there are no parts of this artifact.",
            path=artifact,
            hint="Name the artifact whose parts were made by --part I/N.",
        )
    if len(found) > 1:
        raise _several(artifact, found)
    return next(iter(found))


_HINT = "Give the command itself again without --part."


def _several(artifact: Path, found: Mapping[Command, Sequence[Path]]) -> ArtifactError:
    """The error for parts of several commands, which names them and where their parts lie."""
    folders = {folder for where in found.values() for folder in where}
    listed = "".join(
        f"\n  {', '.join(map(str, where))}: adducir {shlex.join(command.words)}"
        for command, where in found.items()
    )
    advice = "Delete the folder of the command that is not wanted, then finish again."
    if len(folders) == 1:
        advice = f"They share their parts. {_HINT}"
    return ArtifactError(
        f"parts of {len(found)} different commands are there:{listed}\n{advice}", path=artifact
    )


def _noted(folders: Iterable[Path]) -> dict[Command, list[Path]]:
    """The commands that left notes in some folders, each with its folders."""
    found: dict[Command, list[Path]] = {}
    for folder in sorted(folders):
        for command in dict.fromkeys(map(_read, _files(folder))):
            found.setdefault(command, []).append(folder)
    return found


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob(_NAME.format("*", "*")))


def _read(path: Path) -> Command:
    value = json.loads(path.read_bytes())
    return Command(tuple(map(str, value["command"])), Path(value["folder"]))
