"""Measures a trained model on passages that it did not learn from, beside what it must beat."""

from pathlib import Path

from adducir.deepct.model import TermWeighter
from adducir.deepct.recovery import (
    Recovery,
    Weigh,
    by_model,
    by_tf_idf,
    constant,
    recoveries,
)
from adducir.deepct.training import Course, teach
from adducir.models.machine import Precision, choose_device, using_threads
from adducir.study.errors import InputError
from adducir.study.progress import SILENT, Progress


def evaluate_recovery(
    course: Course,
    model: Path,
    *,
    device: str = "auto",
    precision: Precision = "float32",
    threads: int | None = None,
    progress: Progress = SILENT,
) -> tuple[list[Recovery], str]:
    """The average precision of a model and of what it must beat, on passages held out.

    Args:
        course: The recipe that the model was trained by.
        model: The model's folder.
        device: See :func:`adducir.models.machine.choose_device`.
        precision: What the networks compute in.
        threads: Of torch.
        progress: Told of the examples.

    Returns:
        One entry each for the trained model, the untrained one, tf-idf and constant weights; and
        whether the passages are of the ``test`` or the ``validation`` part.

    Raises:
        InputError: The corpus or the model cannot be read, or no passage held out has a term.
    """
    place = choose_device(device)
    trained = TermWeighter.load(model).to(place)
    untrained = TermWeighter.untrained(
        course.base, course.settings, course.recipe.training.seed
    ).to(place)
    taught = teach(course, trained, progress)
    part, examples = taught.unseen
    if not any(any(example.targets) for example in examples):
        raise InputError("no passage held out has a reference term.", path=course.corpus.source)
    ways: dict[str, Weigh] = {
        "trained": by_model(trained, precision),
        "untrained": by_model(untrained, precision),
        "tf-idf": by_tf_idf(taught.training),
        "constant": constant,
    }
    with using_threads(threads):
        return recoveries(ways, examples), part
