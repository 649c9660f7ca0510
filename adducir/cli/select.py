"""``adducir select``."""

from pathlib import Path
from typing import Annotated

import typer

from adducir.cli import options
from adducir.cli.hyperparameters import with_hyperparameters
from adducir.cli.outputs import LINES, SOURCE
from adducir.selectors.selector import SELECTORS


@with_hyperparameters(SELECTORS, default="the model's")
def select(
    model: Annotated[
        Path,
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="A trained model, its recipe (rerankers/X.yaml), or a selector that needs none.",
        ),
    ],
    questions: Annotated[
        list[Path],
        typer.Option(
            "--questions",
            "-q",
            metavar="FILE",
            help="Questions with their passages, JSONL; can be repeated.",
        ),
        SOURCE,
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The selected sets, JSONL, such as X.jsonl.gz."
        ),
        LINES,
    ],
    device: options.Device = options.DeviceName.AUTO,
    precision: options.PrecisionOption = options.Precision.FLOAT32,
    threads: options.Threads = None,
    *,
    hyperparameters: dict[str, str],
) -> None:
    """Select the set of passages that together answer a question.

    Passages are encoded once a question; the set is found by beam search in the vector space. Where
    nothing else is asked for, settings are those chosen on the recipe's validation questions.
    """
    from adducir.cli.console import note, open_progress
    from adducir.datasets.evidence_sets.record_files import read_questions
    from adducir.datasets.evidence_sets.selected import write_selected
    from adducir.models.machine import choose_device, using_threads
    from adducir.selectors import selecting

    asked = [question for path in questions for question in read_questions(path)]
    with open_progress() as progress, using_threads(threads):
        loaded = selecting.load_evidence_model(model, choose_device(device.value))
        chosen = selecting.select(
            loaded,
            asked,
            selecting.changed(loaded.settings.selection, hyperparameters),
            precision=precision.value,
            progress=progress,
        )
        count = write_selected(chosen, output)
    note(f"wrote {output}: sets for {count:,} questions")
