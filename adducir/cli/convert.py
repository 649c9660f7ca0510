"""``adducir convert``."""

from pathlib import Path
from typing import Annotated

from adducir.cli import options
from adducir.cli.outputs import ARTIFACT, SOURCE
from adducir.cli.parameters import argument, option


def convert(
    model: Annotated[
        str,
        argument(
            "A folder, or a name of the Hugging Face Hub, with @REVISION if need be.", "MODEL"
        ),
        SOURCE,
    ],
    output: Annotated[
        Path | None,
        option(
            "The folder of the converted model.",
            "-o",
            shown="models/ and the last part of the name",
        ),
        ARTIFACT,
    ] = None,
    tokenizer: Annotated[
        str | None,
        option(
            "A model whose tokenizer goes into the folder, for a checkpoint without one.",
            metavar="MODEL",
        ),
    ] = None,
    rebuild: options.Rebuild = False,
) -> None:
    """Convert pickled weights (pytorch_model.bin) to safetensors.

    Adducir loads no pickled weights, since loading a pickle may run what is in it. This command
    reads them in a process of its own that makes nothing but tensors, and writes a folder that
    every recipe takes as a model. A file that holds anything else is refused.

    For example, a model of the Hub, and a folder that comes without a tokenizer:

    adducir convert castorini/monot5-base-msmarco

    adducir convert downloads/monobert --output models/monobert --tokenizer bert-large-uncased
    """
    from adducir.cli.console import near, note, open_progress
    from adducir.models.conversion import convert as made
    from adducir.models.sources import model_source

    source = model_source(model, tokenizer=tokenizer)
    name = Path(model).expanduser().resolve().name if source.folder else Path(source.name).name
    target = output or Path("models") / name
    with open_progress() as progress:
        manifest = made(source, target, rebuild=rebuild, progress=progress)
    size = sum(e.bytes for name, e in manifest.files.items() if name.endswith(".safetensors"))
    note(f"{near(target)}: {size / 1e6:,.1f} MB of weights; name it as the model or base")
