"""Measures a trained model on passages that it did not learn from, beside what it must beat."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from adducir.core.errors import InputError
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
from adducir.deepct.splitting import Divided, Divider
from adducir.deepct.task import packed_example, unpacked_example
from adducir.models.machine import Precision, choose_device, using_threads
from adducir.training.store import Store, StoreWriter


def evaluate_recovery(
    opened: OpenedRecipe,
    model: Path,
    *,
    device: str = "auto",
    precision: Precision = "float32",
    threads: int | None = None,
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
    with TemporaryDirectory() as folder, _stored(opened, Path(folder)) as held:
        store, parts = held
        some = [unpacked_example(store.get(number)) for number in parts.unseen]
        if not len(parts.measured):
            raise InputError("no passage held out has a reference term.", path=opened.corpus.source)
        known = by_tf_idf(unpacked_example(store.get(number)) for number in parts.known)
    ways: dict[str, PredictWeights] = {
        "trained": by_model(trained, precision),
        "untrained": by_model(opened.untrained().to(place), precision),
        "tf-idf": known,
        "constant": constant,
    }
    with using_threads(threads):
        return recoveries(ways, some), "test" if len(parts.test) else "validation"


@contextmanager
def _stored(opened: OpenedRecipe, folder: Path) -> Iterator[tuple[Store, Divided]]:
    """The examples on the disk, and their parts; only passages held out are measured on."""
    divider = Divider(opened.recipe)
    with StoreWriter(folder) as writer:
        for one in opened.examples(opened.cutter, Counts()):
            writer.add(**packed_example(one))
            divider.add(one.docno, one.number, one.group, has_target=any(one.targets))
    with Store(folder) as store:
        yield store, divider.divided()
