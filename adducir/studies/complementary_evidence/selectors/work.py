"""Selection.

A shard's file is one of selected sets (:mod:`adducir.studies.complementary_evidence.questions`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from adducir.core.chunks import NOT_LOADED, TEMPORARY, Chunking, Local
from adducir.core.errors import InputError
from adducir.core.executors import Place
from adducir.core.names import Seen
from adducir.models.artifacts import model_versions
from adducir.models.batches import batch_rule
from adducir.models.machine import Precision, device_kind, device_of_worker, settle_threads
from adducir.models.sources import ModelSource, trained_folder
from adducir.studies.complementary_evidence.questions import (
    EvidenceQuestion,
    SelectedSet,
    read_selected,
    write_selected,
)
from adducir.studies.complementary_evidence.selectors.selecting import (
    EvidenceModel,
    load_evidence_model,
    select,
    without_model,
)
from adducir.studies.complementary_evidence.selectors.selector import SELECTORS, Selector

SHARD = 64
"""Questions in a shard: what a kill can lose."""


@dataclass(frozen=True)
class SelectionWork:
    """The sets of questions; see :mod:`adducir.core.chunks`.

    Attributes:
        model: A model's folder or recipe; None where the selector needs no model.
        questions: Read anew each time.
        loaded: The model, in the process that has it.
        device: See :func:`adducir.models.machine.choose_device`.
        threads: Of each worker that has a process of its own.
        tokens: Padded tokens that are computed at a time.
    """

    model: Path | None
    questions: Iterable[EvidenceQuestion]
    selection: Selector
    precision: Precision = "float32"
    loaded: Local = NOT_LOADED
    device: str = "auto"
    threads: int | None = None
    tokens: int | None = None
    size: int = SHARD
    total: int | None = None
    doing: str = "selecting"
    unit: str = "questions"

    def identity(self) -> Mapping[str, Any]:
        """See :class:`.Work`: all that determines the sets."""
        if self.model is None:
            model = SELECTORS.name_of(type(self.selection))
        else:
            model = ModelSource(str(self.model), trained_folder(self.model)).identity()
        return {
            "model": model,
            "selection": self.selection.model_dump(mode="json"),
            "precision": self.precision,
            "batches": batch_rule(self.tokens),
            "versions": model_versions(),
        }

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "questions": ()}  # a worker is given its own

    def check(self) -> None:
        """See :class:`.Work`: whoever made it has loaded the model."""

    def items(self, *, check: bool) -> Iterator[EvidenceQuestion]:
        seen = Seen()
        for question in self.questions:
            if check and seen.add(question.id):
                raise InputError(
                    f"question {question.id!r} comes twice.", hint="Give each question once."
                )
            yield question

    def describe(self, item: EvidenceQuestion) -> tuple[str, bytes]:
        """See :class:`.Work`: the question and its passages."""
        return item.id, orjson.dumps([item.question, item.passages])

    def builder(self, place: Place) -> "_Builder":
        return _Builder(self, place)


class _Builder:
    """A model that selects sets."""

    def __init__(self, work: SelectionWork, place: Place) -> None:
        settle_threads(work.threads, place)
        device = device_of_worker(work.device, place)
        self.device = device_kind(device)
        self._work = work
        self._model: EvidenceModel = work.loaded.value or (
            without_model(work.selection)
            if work.model is None
            else load_evidence_model(work.model, device)
        )

    def make(self, items: Sequence[EvidenceQuestion], path: Path) -> None:
        work = self._work
        found = select(
            self._model, items, work.selection, precision=work.precision, tokens=work.tokens
        )
        write_selected(list(found), path)


@contextmanager
def selected_by_shards(
    work: SelectionWork, chunking: Chunking = TEMPORARY
) -> Iterator[Iterator[SelectedSet]]:
    """The selected set of each question, in their order; shards go when the block ends well.

    Args:
        sharding: Who selects, and beside which output shards are kept.

    Raises:
        IncompleteError, MachineError, ArtifactError: See :func:`.make_chunks`.
    """
    with (
        chunking.made(work) as made,
    ):
        yield (one for path in made.files for one in read_selected(path))
