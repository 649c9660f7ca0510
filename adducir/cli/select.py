"""``adducir select``."""

from pathlib import Path
from typing import Annotated

import typer

from adducir.cli import options
from adducir.cli.hyperparameters import with_hyperparameters
from adducir.cli.outputs import LINES, SOURCE
from adducir.rerankers.complementary.selector import SELECTORS


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
            "--output", "-o", metavar="FILE", help="The chosen sets, JSONL, such as X.jsonl.gz."
        ),
        LINES,
    ],
    device: options.Device = options.DeviceName.AUTO,
    precision: options.PrecisionOption = options.Precision.FLOAT32,
    threads: options.Threads = None,
    *,
    hyperparameters: dict[str, str],
) -> None:
    """Choose the set of passages that answers a question together.

    Passages are encoded once a question; the set is found by beam search in the vector space. Where
    nothing else is asked for, settings are those chosen on the recipe's validation questions.
    """
    from adducir.cli.console import note, open_progress
    from adducir.corpora.evidence_sets.chosen import write_chosen
    from adducir.corpora.evidence_sets.record_files import read_questions
    from adducir.models.machine import choose_device, using_threads
    from adducir.rerankers.complementary import selecting

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
        count = write_chosen(chosen, output)
    note(f"wrote {output}: sets for {count:,} questions")
