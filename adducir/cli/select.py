"""``adducir select``."""

from pathlib import Path
from typing import Annotated

from adducir.cli import options
from adducir.cli.hyperparameters import hyperparameters_of
from adducir.cli.outputs import LINES, SOURCE
from adducir.cli.parameters import option
from adducir.cli.shards import ShardOptions
from adducir.selectors.selector import SELECTORS


def select(
    model: Annotated[
        Path,
        option(
            "A trained model, its recipe (rerankers/X.yaml), or a selector that needs none.",
            "-m",
            metavar="MODEL",
        ),
    ],
    questions: Annotated[
        list[Path],
        option("Questions with their passages, JSONL; can be repeated.", "-q", metavar="FILE"),
        SOURCE,
    ],
    output: Annotated[Path, option("The selected sets, JSONL, such as X.jsonl.gz.", "-o"), LINES],
    device: options.Device = "auto",
    precision: options.PrecisionOption = "float32",
    threads: options.Threads = None,
    *,
    shards: ShardOptions,
    hyperparameters: Annotated[
        dict[str, str], hyperparameters_of(SELECTORS, default="the model's")
    ],
) -> None:
    """Select the set of passages that together answer a question.

    Passages are encoded once a question; the set is found by beam search in the vector space. Where
    nothing else is asked for, settings are those chosen on the recipe's validation questions. Work
    that was killed resumes.
    """
    from adducir.cli.console import note, open_progress
    from adducir.core.chunks import Chunking
    from adducir.core.work import Local
    from adducir.datasets.evidence_sets.record_files import questions_in
    from adducir.datasets.evidence_sets.selected import write_selected
    from adducir.models.machine import choose_device, using_threads
    from adducir.selectors import selecting
    from adducir.selectors.work import SelectionWork, selected_by_shards

    asked = questions_in(questions)
    with open_progress() as progress, using_threads(threads):
        loaded = selecting.load_evidence_model(model, choose_device(device))
        work = SelectionWork(
            None if selecting.names_selector(model) else model,
            asked,
            selecting.changed(loaded.settings.selection, hyperparameters),
            precision,
            Local(loaded),
            device,
            threads,
            shards.batch_tokens,
        )
        with selected_by_shards(work, Chunking(output, shards.execution()), progress) as chosen:
            count = write_selected(chosen, output)
    note(f"wrote {output}: sets for {count:,} questions")
