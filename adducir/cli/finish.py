"""``adducir finish``."""

import os
from pathlib import Path
from typing import Annotated

from adducir.cli.outputs import ARTIFACT
from adducir.cli.parameters import argument, option


def finish(
    artifact: Annotated[
        Path, argument("The output whose parts were made by --part I/N.", "ARTIFACT"), ARTIFACT
    ],
    merge: Annotated[
        bool,
        option("Merge a memory index that was kept in parts, into one that is searched faster."),
    ] = False,
) -> None:
    """Put together what several jobs made by --part.

    Checks every shard by its digest, writes the artifact and whatever else the command
    writes. Nothing is computed here: what is missing is named, and what is damaged is dropped. The
    command itself, given without --part, makes it first. What is finished already stays as it is;
    with --merge an index in parts is merged then.
    """
    from adducir.cli.console import near, note, open_progress
    from adducir.cli.index import summary
    from adducir.core.sharding.commands import has_parts
    from adducir.indexes.memory.builder import is_in_parts, merge_parts

    made = artifact.absolute()  # the command may have been given elsewhere
    if has_parts(artifact) or not (merge and is_in_parts(artifact)):
        _finish_command(artifact)
    if merge and is_in_parts(made):
        with open_progress() as progress:
            note(f"{near(artifact)}: {summary(merge_parts(made, progress=progress))}")


def _finish_command(artifact: Path) -> None:
    """Give the command that made the parts once more, and let it make no shard."""
    from adducir.cli.app import run
    from adducir.cli.console import near, note
    from adducir.cli.shards import only_finishing
    from adducir.core.artifacts import MANIFEST, read_manifest
    from adducir.core.errors import ArtifactError, MachineError
    from adducir.core.sharding.commands import command_of, has_parts

    if (artifact / MANIFEST).is_file() and not has_parts(artifact):
        note(f"{near(artifact)}: it is finished already ({read_manifest(artifact).kind}).")
        return
    command = command_of(artifact)
    if command.words[:1] == ("experiment",):
        raise ArtifactError(
            f"the parts of an experiment made its shards: adducir {' '.join(command.words)}",
            path=artifact,
            hint="Give that command without --part: it ends all that they began.",
        )
    if not command.words:
        raise ArtifactError(
            "its parts were made from Python, not by a command.",
            path=artifact,
            hint="Call the function again without a part.",
        )
    note(f"{near(artifact)}: finishing `adducir {' '.join(command.words)}`")
    try:
        os.chdir(command.folder)
    except OSError as error:
        raise MachineError(
            "the folder in which the parts were made is not there.", path=command.folder
        ) from error
    with only_finishing():
        run(list(command.words))
