"""``adducir select``."""

from pathlib import Path
from typing import Annotated

import typer

from adducir.cli import options
from adducir.cli.outputs import LINES, SOURCE

BEAM = "The search, where the model's own settings are not wanted"


def select(
    model: Annotated[
        Path,
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="A trained model, or its recipe, such as rerankers/NAME.yaml.",
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
    size: Annotated[
        int | None,
        typer.Option(
            "--size",
            min=1,
            help="L, passages of a set.",
            show_default="the model's",
            rich_help_panel=BEAM,
        ),
    ] = None,
    beam: Annotated[
        int | None,
        typer.Option(
            "--beam", min=1, help="M, sets kept.", show_default="the model's", rich_help_panel=BEAM
        ),
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(
            "--candidates",
            min=1,
            help="N, the most relevant passages, of which sets are made.",
            show_default="the model's",
            rich_help_panel=BEAM,
        ),
    ] = None,
    diversity: Annotated[
        float | None,
        typer.Option(
            "--diversity",
            min=0,
            help="What the passages' distances count, where relevance counts 1.",
            show_default="the model's",
            rich_help_panel=BEAM,
        ),
    ] = None,
    compactness: Annotated[
        float | None,
        typer.Option(
            "--compactness",
            min=0,
            help="What the sum's cosine with the question counts, where relevance counts 1.",
            show_default="the model's",
            rich_help_panel=BEAM,
        ),
    ] = None,
    novelty: Annotated[
        float | None,
        typer.Option(
            "--novelty",
            min=0,
            max=1,
            help="Of DRN: what novelty counts, where relevance counts 1 less this.",
            show_default="the model's",
            rich_help_panel=BEAM,
        ),
    ] = None,
    device: options.Device = options.DeviceName.AUTO,
    precision: options.PrecisionOption = options.Precision.FLOAT32,
    threads: options.Threads = None,
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
    changes = {
        "size": size,
        "beam": beam,
        "candidates": candidates,
        "diversity": diversity,
        "compactness": compactness,
        "novelty": novelty,
    }
    with open_progress() as progress, using_threads(threads):
        loaded = selecting.load_evidence_model(model, choose_device(device.value))
        chosen = selecting.select(
            loaded,
            asked,
            selecting.changed(loaded.settings.selection, changes),
            precision=precision.value,
            progress=progress,
        )
        count = write_chosen(chosen, output)
    note(f"wrote {output}: sets for {count:,} questions")
