"""The selection of sets for many questions, in chunks that survive a kill."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from adducir.core.chunks import ANY, TEMPORARY, Chunking
from adducir.core.errors import InputError, UsageError
from adducir.core.executors import Place
from adducir.core.recipe import Recipe, validated
from adducir.models.artifacts import model_versions
from adducir.models.batches import batch_rule
from adducir.models.machine import (
    Precision,
    device_kind,
    device_of_worker,
    settle_threads,
)
from adducir.models.sources import ModelSource, trained_folder
from adducir.studies.complementary_evidence.questions import (
    EvidenceQuestion,
    SelectedSet,
    read_selected,
    write_selected,
)
from adducir.studies.complementary_evidence.selection import SELECTORS, Selector
from adducir.studies.complementary_evidence.training import load_evidence_model

if TYPE_CHECKING:
    from adducir.studies.complementary_evidence.model import EvidenceModel


def changed(selection: Recipe, changes: Mapping[str, str]) -> Recipe:
    """A model's settings of the selection with some of them changed."""
    made, errors = validated(type(selection), {**selection.model_dump(), **changes})
    if made is None:
        known = ", ".join(type(selection).model_fields)
        what = "; ".join(f"--set {'.'.join(map(str, one.path))}: {one.what}" for one in errors)
        raise UsageError(f"{what}.", hint=f"This model has: {known}.")
    return made


@dataclass(frozen=True)
class SelectionWork:
    """The sets of questions; see :class:`adducir.core.chunks.Work`.

    Attributes:
        model: A trained model's folder or recipe; None where the selector needs no model.
        selection: The selector, or the settings of the model's selection; None for its own.
        tokens: Padded tokens that are computed at a time.
    """

    model: Path | None
    questions: Sequence[EvidenceQuestion]
    selection: Recipe | None
    precision: Precision = "float32"
    device: str = "auto"
    threads: int | None = None
    tokens: int | None = None
    size: int = 64
    doing: str = "selecting"
    unit: str = "questions"

    @property
    def total(self) -> int:
        return len(self.questions)

    def identity(self) -> Mapping[str, Any]:
        if self.model is None:
            model = SELECTORS.name_of(type(self.selection))  # type: ignore[arg-type]
        else:
            model = ModelSource(str(self.model), trained_folder(self.model)).identity()
        return {
            "model": model,
            "selection": self.selection.model_dump(mode="json") if self.selection else None,
            "precision": self.precision,
            "batches": batch_rule(self.tokens),
            "versions": model_versions(),
        }

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "questions": ()}  # a worker is given its own

    def check(self) -> None:
        if self.model is not None:
            trained_folder(self.model)

    def items(self, *, check: bool) -> Iterator[EvidenceQuestion]:
        if check and len({question.id for question in self.questions}) < len(self.questions):
            raise InputError("a question is duplicated.", hint="Give each question once.")
        return iter(self.questions)

    def describe(self, item: EvidenceQuestion) -> tuple[str, bytes]:
        return item.id, orjson.dumps([item.question, item.passages])

    def builder(self, place: Place) -> "_Builder":
        return _Builder(self, place)


class _Builder:
    """Selects sets by a selector, or with a model that it loads."""

    device = ANY

    def __init__(self, work: SelectionWork, place: Place) -> None:
        self._work = work
        self._model: EvidenceModel | None = None
        if work.model is not None:
            settle_threads(work.threads, place)
            device = device_of_worker(work.device, place)
            self.device = device_kind(device)
            self._model = load_evidence_model(work.model).to(device)

    def make(self, items: Sequence[EvidenceQuestion], path: Path) -> None:
        write_selected(self._chosen(items), path)

    def _chosen(self, items: Sequence[EvidenceQuestion]) -> Iterator[SelectedSet]:
        work, selection = self._work, self._work.selection
        if self._model is None:
            if isinstance(selection, Selector):
                yield from selection.choose(items)
            return
        selection = selection or self._model.settings.selection
        most = getattr(selection, "candidates", 0)
        pools = self._model.pools(items, most, precision=work.precision, tokens=work.tokens)
        for question, pool in zip(items, pools, strict=True):
            numbers, score = pool.best(selection)
            yield SelectedSet(question.id, tuple(question.passages[n].id for n in numbers), score)


@contextmanager
def selected(
    work: SelectionWork, chunking: Chunking = TEMPORARY
) -> Iterator[Iterator[SelectedSet]]:
    """The selected set of each question, in their order; chunks go when the block ends well."""
    with chunking.made(work) as made:
        yield (one for path in made.files for one in read_selected(path))
