"""``colbert:`` and ``maxsim:``: late interaction of every context with every candidate."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from adducir.core.chunks import NOT_LOADED, Local
from adducir.core.fingerprint import fingerprint
from adducir.corpora.references import expanded
from adducir.corpora.spans import context
from adducir.encoders.filed_ranks import PART as BLOCK
from adducir.encoders.ranking import ContextRanks, Integers, SpanTask, by_maxsim, context_ranks
from adducir.encoders.reading import shared_room
from adducir.encoders.settings import LengthPart
from adducir.encoders.token_work import (
    SHARDS,
    Inputs,
    Loader,
    Making,
    Readable,
    VectorFiles,
    encoded,
)
from adducir.evaluation.gold_ranks import GoldRanks
from adducir.experiments.known_item.ranking import BLOCK as SCORES
from adducir.experiments.known_item.ranking import Contexts, RankingWork, listed_sizes, ranked
from adducir.experiments.known_item.system import ContextRecipe, RankingSystem, RankStep
from adducir.models.artifacts import model_versions
from adducir.models.machine import Precision, choose_device, computing_in, device_kind
from adducir.models.sources import ModelSource, model_source
from adducir.rerankers.colbert import ColBERTRecipe, LateInteraction, MaxSimRecipe, Reading, Tokens

if TYPE_CHECKING:
    import torch

    from adducir.experiments.context import Context
    from adducir.experiments.known_item.study import KnownItemStudy

LEAST = 1000
"""Texts of a shard, at least: starting a process takes as long as encoding some hundreds."""
_READ = 1024
"""Documents that are cut into tokens at a time."""


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

    def ranked(self) -> list[SpanTask]:
        """What is ranked, as this process has or reads it."""
        return list(self.tasks()) if self.known.value is None else self.known.value

    def candidates(self, device: "torch.device") -> Mapping[str, Readable]:
        """The different candidates of each task, by its place."""
        model = self.load(device)

        def documents(task: SpanTask, numbers: Integers) -> Inputs:
            inputs = _Inputs(model, [task.texts[place] for place in task.same.firsts[numbers]])
            return Inputs(inputs.lengths, partial(_encoded, model, inputs))

        return {
            name: Readable(partial(documents, task), np.arange(len(task.same.firsts)), device)
            for name, task in _named("candidates", self.ranked())
        }

    def contexts(self, read: ContextRecipe, device: "torch.device") -> Mapping[str, Readable]:
        """The contexts of each task; one longer than a query may be is cut at its outer ends."""
        model = self.load(device)
        nearest_of = partial(nearest, model.tokenizer, room=model.room_of_queries, side=read.tokens)

        def queries(task: SpanTask, numbers: Integers) -> Inputs:
            spans = [task.spans[number] for number in numbers]
            pairs = [context(span, read.left, read.right, read.words) for span in spans]
            inputs = model.queries([nearest_of(*pair) for pair in pairs])
            return Inputs(list(map(len, inputs)), partial(_encoded, model, inputs))

        return {
            name: Readable(partial(queries, task), np.arange(len(task.spans)), device)
            for name, task in _named("contexts", self.ranked())
        }


class LateRanker:
    """Late interaction by vectors that lie in files; see :class:`.Ranker`."""

    def __init__(self, late: Late, candidates: VectorFiles, contexts: VectorFiles) -> None:
        import torch

        self.device = device_kind(torch.device("cpu"))
        self._tasks, self._candidates, self._contexts = late.ranked(), candidates, contexts
        self._latest: tuple[int, Any] = (-1, None)

    def rank(self, some: Contexts) -> ContextRanks:
        if self._latest[0] != some.task:
            sides = (("candidates", self._candidates), ("contexts", self._contexts))
            files = [of.packed(_name(side, some.task)) for side, of in sides]
            self._latest = some.task, files
        candidates, contexts = self._latest[1]
        task, queries = self._tasks[some.task], contexts.rows(some.first, some.end)
        gold = task.same.of[task.gold[some.first : some.end]]
        return context_ranks(by_maxsim(queries, candidates), gold, task.same.counts, block=SCORES)


def by_late_interaction(
    late: Late,
    tasks: Sequence[SpanTask],
    read: ContextRecipe,
    kept: Making,
    own: Making,
    block: int = SCORES,
) -> GoldRanks:
    """The ranks that late interaction gives to all candidates; see :func:`by_encoder`.

    The vectors lie in files, and are scored as they are read, some candidates at a time.
    """
    names, sizes = listed_sizes(tasks)
    of_contexts, of_candidates = (
        {_name(side, place): pair[which] for place, pair in enumerate(sizes)}
        for which, side in enumerate(("contexts", "candidates"))
    )
    read_contexts, cut = Loader(partial(late.contexts, read)), (BLOCK, SHARDS, LEAST)
    with (
        encoded(Loader(late.candidates), of_candidates, kept, *cut) as (candidates, _),
        encoded(read_contexts, of_contexts, own, *cut) as (contexts, beside),
    ):
        load = partial(LateRanker, late, candidates, contexts)
        key = fingerprint([own.key, candidates.names, contexts.names])
        work = RankingWork(load, names, sizes, key, NOT_LOADED, own.threads, block)
        return ranked(work, tasks, beside)


def _name(side: str, place: int) -> str:
    return f"{side} of set {place + 1},"


def _named(side: str, tasks: Sequence[SpanTask]) -> Iterator[tuple[str, SpanTask]]:
    return ((_name(side, place), task) for place, task in enumerate(tasks))


def _encoded(model: LateInteraction, inputs: Sequence[Tokens], places: Integers) -> Any:
    """The padded vectors of some texts, and which of them count."""
    with computing_in(model.precision, model.network):
        return model.encoded([inputs[place] for place in places])


class _Inputs(Sequence[Tokens]):
    """Documents as a model reads them, five bytes of memory for each token.

    Args:
        model: The model.
        texts: The documents.

    Attributes:
        lengths: (N,) tokens of each.
    """

    def __init__(self, model: LateInteraction, texts: Sequence[str]) -> None:
        ids, counts = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.bool_)]
        lengths = []
        for first in range(0, len(texts), _READ):
            some = model.documents(texts[first : first + _READ])
            ids.append(np.concatenate([one.ids for one in some]).astype(np.int32))
            counts.append(np.concatenate([one.counts for one in some]).astype(np.bool_))
            lengths += [len(one) for one in some]
        self._ids, self._counts = np.concatenate(ids), np.concatenate(counts)
        self.lengths = np.array(lengths, dtype=np.int64)
        self._starts = np.append(0, np.cumsum(self.lengths))

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, place: Any) -> Any:
        some = slice(self._starts[place], self._starts[place + 1])
        ids = self._ids[some].astype(np.int64)
        return Tokens(ids, np.ones_like(ids), self._counts[some].astype(np.int64))


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
