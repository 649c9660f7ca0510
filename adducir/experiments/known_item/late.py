"""``colbert:`` and ``maxsim:``: late interaction of every context with every candidate."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from adducir.core.chunks import NOT_LOADED, Local
from adducir.core.fingerprint import fingerprint
from adducir.core.progress import progress
from adducir.corpora.references import expanded
from adducir.corpora.spans import context
from adducir.encoders.filed_ranks import PART as BLOCK
from adducir.encoders.maxsim import maxsim_packed
from adducir.encoders.ranking import Integers, SpanTask, context_ranks
from adducir.encoders.reading import shared_room
from adducir.encoders.settings import LengthPart
from adducir.encoders.token_work import (
    SHARDS,
    Inputs,
    Loader,
    Making,
    Readable,
    encoded,
)
from adducir.evaluation.gold_ranks import GoldRanks
from adducir.experiments.known_item.system import (
    SCORES,
    ContextRecipe,
    RankingSystem,
    RankStep,
    gold_ranks,
)
from adducir.models.artifacts import model_versions
from adducir.models.machine import Precision, choose_device, computing_in
from adducir.models.sources import ModelSource, model_source
from adducir.rerankers.colbert import ColBERTRecipe, LateInteraction, MaxSimRecipe, Reading

if TYPE_CHECKING:
    import torch

    from adducir.experiments.context import Context
    from adducir.experiments.known_item.study import KnownItemStudy

LEAST = 1000
"""Texts of a shard, at least: starting a process takes as long as encoding some hundreds."""


class _Late(RankingSystem):
    """Late interaction.

    Attributes:
        lengths: Tokens that are read.
    """

    lengths: LengthPart = LengthPart()

    @property
    @abstractmethod
    def model(self) -> tuple[str, str]:
        """What it is called, and the model's name."""

    @abstractmethod
    def reading(self) -> Reading:
        """How texts are read."""

    def _source(self, study: "KnownItemStudy") -> ModelSource:
        return model_source(expanded(self.model[1]), study.folder)

    def open(self, name: str, study: "KnownItemStudy") -> None:
        self._source(study).identity()

    def fingerprint_inputs(self, study: "KnownItemStudy") -> Mapping[str, Any]:
        return {
            "kind": self.model[0],
            "lengths": self.lengths.model_dump(mode="json"),
            "pooling": None,
            "precision": study.recipe.precision,
            "block": BLOCK,  # larger sets are cut into blocks before batches
        }

    def versions(self) -> Mapping[str, str]:
        return model_versions()

    def identities(self, step: RankStep) -> Mapping[str, str]:
        return {"model": self._source(step.study).identity()}

    def ranks(self, step: RankStep, tasks: Sequence[SpanTask], context: "Context") -> GoldRanks:
        study, device = step.study, context.device
        late = Late(self._source(study), self.reading(), study.recipe.precision, step.data.tasks)
        late = replace(late, known=Local(tasks))
        if context.execution.is_here:
            late = replace(late, model=Local(late.load(choose_device(device))))
        given = device, context.threads, context.batch_tokens
        of_system = [step.data.identity, self.fingerprint_inputs(study), self.identities(step)]
        own = context.chunking(step.path)
        with step.keeping(context) as kept:
            of_candidates = Making(fingerprint(of_system), kept, *given)
            of_contexts = Making(step.fingerprint, own, *given)
            return by_late_interaction(
                late, tasks, step.read_of_context, of_candidates, of_contexts
            )


class ColBERT(_Late):
    """A ColBERT.

    Attributes:
        colbert: Its name.
    """

    colbert: str

    @property
    def model(self) -> tuple[str, str]:
        return "colbert", self.colbert

    def reading(self) -> Reading:
        own = ColBERTRecipe()
        return Reading(
            self.lengths.context or own.query_length,
            self.lengths.span or own.document_length,
            markers=own.markers,
        )


class MaxSim(_Late):
    """Late interaction of any encoder's token vectors.

    Attributes:
        maxsim: Its name.
    """

    maxsim: str

    @property
    def model(self) -> tuple[str, str]:
        return "maxsim", self.maxsim

    def reading(self) -> Reading:
        return Reading(
            self.lengths.context or MaxSimRecipe(base=self.maxsim).query_length,
            self.lengths.span,
            markers=None,
            special=False,
            fill=False,
        )


@dataclass(frozen=True)
class Late:
    """What late interaction computes with, in every process."""

    source: ModelSource
    reading: Reading
    precision: Precision
    tasks: Callable[[], Iterable[SpanTask]]
    model: Local = NOT_LOADED
    known: Local = NOT_LOADED

    def load(self, device: "torch.device") -> LateInteraction:
        """The model that this process has, or loads."""
        found: LateInteraction = self.model.value or LateInteraction.load(self.source, self.reading)
        found.precision = self.precision
        found.to(device)
        found.network.eval()
        return found

    def candidates(self, device: "torch.device") -> Mapping[str, Readable]:
        """The different candidates of each task."""

        def read(model: LateInteraction, task: SpanTask, numbers: Integers) -> Sequence[Any]:
            return model.documents([task.texts[place] for place in task.same.firsts[numbers]])

        return self._readable("candidates", device, read)

    def contexts(self, how: ContextRecipe, device: "torch.device") -> Mapping[str, Readable]:
        """The contexts of each task; one longer than a query may be is cut at its outer ends."""

        def read(model: LateInteraction, task: SpanTask, numbers: Integers) -> Sequence[Any]:
            spans = [task.spans[number] for number in numbers]
            pairs = [context(span, how.left, how.right, how.words) for span in spans]
            room = model.room_of_queries
            texts = [nearest(model.tokenizer, *pair, room=room, side=how.tokens) for pair in pairs]
            return model.queries(texts)

        return self._readable("contexts", device, read)

    def _readable(
        self, side: str, device: "torch.device", read: Callable[..., Sequence[Any]]
    ) -> Mapping[str, Readable]:
        model = self.load(device)
        tasks = list(self.tasks()) if self.known.value is None else self.known.value

        def inputs_of(task: SpanTask, numbers: Integers) -> Inputs:
            inputs = read(model, task, numbers)
            return Inputs(list(map(len, inputs)), partial(_encoded, model, inputs))

        return {
            name: Readable(partial(inputs_of, task), np.arange(count), device)
            for (name, count), task in zip(_sizes(side, tasks).items(), tasks, strict=True)
        }


def by_late_interaction(
    late: Late,
    tasks: Sequence[SpanTask],
    read: ContextRecipe,
    kept: Making,
    own: Making,
    block: int = SCORES,
) -> GoldRanks:
    """The ranks that late interaction gives to all candidates.

    The vectors lie in files, and are scored as they are read, ``block`` scores at a time.
    """
    of_candidates, of_contexts = _sizes("candidates", tasks), _sizes("contexts", tasks)
    read_contexts, cut = Loader(partial(late.contexts, read)), (BLOCK, SHARDS, LEAST)
    found = []
    with (
        encoded(Loader(late.candidates), of_candidates, kept, *cut) as (candidates, _),
        encoded(read_contexts, of_contexts, own, *cut) as (contexts, _),
        progress().doing("ranking", sum(of_contexts.values()), "contexts"),
    ):
        for task, documents, name in zip(tasks, of_candidates, of_contexts, strict=True):
            among, queries = candidates.packed(documents), contexts.packed(name)

            def scores(first: int, end: int, among: Any = among, queries: Any = queries) -> Any:
                progress().advance(end - first)
                return maxsim_packed(queries.rows(first, end), among)

            gold, counts = task.same.of[task.gold], task.same.counts
            found.append(context_ranks(scores, gold, counts, block=block))
    return gold_ranks(tasks, found)


def _sizes(side: str, tasks: Sequence[SpanTask]) -> dict[str, int]:
    """How many different candidates, or contexts, each task has, by a name for each."""
    counts = [len(one.same.firsts if side == "candidates" else one.spans) for one in tasks]
    return {f"{side} of set {place},": count for place, count in enumerate(counts, 1)}


def _encoded(model: LateInteraction, inputs: Sequence[Any], places: Integers) -> Any:
    """The padded vectors of some texts, and which of them count."""
    with computing_in(model.precision, model.network):
        return model.encoded([inputs[place] for place in places])


def nearest(tokenizer: Any, left: str, right: str, room: int, side: int | None = None) -> str:
    """Left and right text, cut at their outer ends: to ``room`` tokens together.

    Before that each is cut to ``side`` tokens.
    """
    before, after = (
        one.offsets
        for one in tokenizer.backend_tokenizer.encode_batch([left, right], add_special_tokens=False)
    )
    most = len(before) + len(after) if side is None else side
    of_left, of_right = shared_room(min(len(before), most), min(len(after), most), room)
    if of_left < len(before):
        left = left[before[-of_left][0] :] if of_left else ""
    if of_right < len(after):
        right = right[: after[of_right - 1][1]] if of_right else ""
    return " ".join(side for side in (left, right) if side)
