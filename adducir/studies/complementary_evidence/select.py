"""The selection of sets for many questions, in chunks that survive a kill."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import orjson

from adducir.core.chunks import TEMPORARY, Chunking
from adducir.core.errors import InputError, UsageError
from adducir.core.recipe import Recipe, validated
from adducir.models.artifacts import read_shard
from adducir.models.sources import ModelSource, trained_folder
from adducir.models.work import Arrays, ModelWork
from adducir.studies.complementary_evidence.questions import EvidenceQuestion, SelectedSet
from adducir.studies.complementary_evidence.selection import SELECTORS, Selector

if TYPE_CHECKING:
    import torch


def changed(selection: Recipe, changes: Mapping[str, str]) -> Recipe:
    made, errors = validated(type(selection), {**selection.model_dump(), **changes})
    if made is None:
        known = ", ".join(type(selection).model_fields)
        what = "; ".join(f"--set {'.'.join(map(str, one.path))}: {one.what}" for one in errors)
        raise UsageError(f"{what}.", hint=f"This model has: {known}.")
    return made


@dataclass(frozen=True, kw_only=True)
class SelectionWork(ModelWork):
    """The sets of questions, by a trained model (a folder or recipe) or a selector without one."""

    doing: ClassVar[str] = "selecting"
    unit: ClassVar[str] = "questions"
    size: int = 64
    model: Path | None
    questions: Sequence[EvidenceQuestion]
    selection: Recipe | None

    @property
    def total(self) -> int:
        return len(self.questions)

    def identity(self) -> Mapping[str, Any]:
        if self.model is None:
            model = SELECTORS.name_of(type(self.selection))  # type: ignore[arg-type]
        else:
            model = ModelSource(str(self.model), trained_folder(self.model)).identity()
        selection = self.selection.model_dump(mode="json") if self.selection else None
        how = {"model": model, "selection": selection, "precision": self.running.precision}
        return {**super().identity(), **how}

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

    def load(self, device: "torch.device") -> Callable[[Sequence[Any]], Arrays]:
        if self.model is None:
            return partial(self._arrays, None)
        from adducir.studies.complementary_evidence.model import load_evidence_model

        return partial(self._arrays, load_evidence_model(self.model).to(device))

    def _arrays(self, model: Any, items: Sequence[EvidenceQuestion]) -> Arrays:
        selection = self.selection
        if isinstance(selection, Selector):
            sets = selection.choose(items)
        else:
            selection = selection or model.settings.selection
            most = getattr(selection, "candidates", 0)
            how = {"precision": self.running.precision, "tokens": self.running.tokens}
            pools = model.pools(items, most, **how)
            best = [pool.best(selection) for pool in pools]
            sets = [
                SelectedSet(question.id, tuple(question.passages[n].id for n in numbers), score)
                for question, (numbers, score) in zip(items, best, strict=True)
            ]
        return {"sets": np.frombuffer(orjson.dumps(sets), dtype=np.uint8)}


@contextmanager
def selected(
    work: SelectionWork, chunking: Chunking = TEMPORARY
) -> Iterator[Iterator[SelectedSet]]:
    """The selected set of each question, in their order; chunks go when the block ends well."""
    with chunking.made(work) as made:
        chunks = (orjson.loads(read_shard(path)["sets"].tobytes()) for path in made.files)
        yield (SelectedSet(**one) for chunk in chunks for one in chunk)
