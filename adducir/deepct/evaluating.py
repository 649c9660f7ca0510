"""Measures a trained model on passages that it did not learn from, beside what it must beat."""

from pathlib import Path

from adducir.core.errors import InputError
from adducir.core.progress import SILENT, Progress
from adducir.deepct.examples import Counts
from adducir.deepct.model import TermWeighter
from adducir.deepct.opened import OpenedRecipe
from adducir.deepct.recovery import (
    PredictWeights,
    Recovery,
    by_model,
    by_tf_idf,
    constant,
    recoveries,
)
from adducir.deepct.splitting import divided
from adducir.models.machine import Precision, choose_device, using_threads


def evaluate_recovery(
    opened: OpenedRecipe,
    model: Path,
    *,
    device: str = "auto",
    precision: Precision = "float32",
    threads: int | None = None,
    progress: Progress = SILENT,
) -> tuple[list[Recovery], str]:
    """The average precision of a model and of what it must beat, on passages held out.

    Args:
        opened: The recipe that the model was trained by.
        device: See :func:`adducir.models.machine.choose_device`.

    Returns:
        One entry each for the trained model, the untrained one, tf-idf and constant weights; and
        whether the passages are of the ``test`` or the ``validation`` part.

    Raises:
        InputError: The corpus or the model cannot be read, or no passage held out has a term.
    """
    place = choose_device(device)
    trained = TermWeighter.load(model).to(place)
    made = list(opened.examples(trained, Counts(), progress))
    parts = divided(made, opened.recipe)
    if not any(any(example.targets) for example in parts.unseen):
        raise InputError("no passage held out has a reference term.", path=opened.corpus.source)
    ways: dict[str, PredictWeights] = {
        "trained": by_model(trained, precision),
        "untrained": by_model(opened.untrained().to(place), precision),
        "tf-idf": by_tf_idf(parts.training),
        "constant": constant,
    }
    with using_threads(threads):
        return recoveries(ways, parts.unseen), "test" if parts.test else "validation"
