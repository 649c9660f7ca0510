"""``colbert:`` and ``maxsim:``: late interaction of every context with every candidate."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adducir.core.progress import SILENT, Progress
from adducir.corpora.references import expanded
from adducir.datasets.spans.record import context
from adducir.encoders.maxsim import MultiVectors
from adducir.encoders.ranking import (
    ContextRanks,
    Distinct,
    Floats,
    SpanTask,
    by_maxsim,
    context_ranks,
)
from adducir.encoders.reading import shared_room
from adducir.encoders.settings import LengthPart
from adducir.encoders.vector_file import FiledVectors, VectorFile
from adducir.evaluation.gold_ranks import GoldRanks
from adducir.experiments.context import Context
from adducir.experiments.known_item.ranking import BLOCK, ranked
from adducir.experiments.known_item.system import ContextRecipe, Opened, Ranking, RankingSystem
from adducir.experiments.work import (
    BYTES_PER_TOKEN,
    LONGEST,
    PROJECTED,
    Work,
    forward,
    size_of_model,
    together,
)
from adducir.models.artifacts import model_versions
from adducir.models.batches import computed, token_batches
from adducir.models.machine import choose_device
from adducir.models.precision import computing_in
from adducir.models.sources import ModelSource, model_source
from adducir.rerankers.colbert import ColBERTRecipe, LateInteraction, MaxSimRecipe, Reading, Tokens

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
    def kind(self) -> str:
        """What it is called."""

    @property
    @abstractmethod
    def model(self) -> str:
        """The model's name."""

    @abstractmethod
    def reading(self) -> Reading:
        """How texts are read."""

    def _source(self, study: Opened) -> ModelSource:
        return model_source(expanded(self.model), study.folder)

    def open(self, name: str, study: Opened) -> None:
        """See :meth:`RankingSystem.open`."""
        self._source(study).identity()

    def fingerprint_inputs(self, study: Opened) -> Mapping[str, Any]:
        """See :meth:`RankingSystem.fingerprint_inputs`."""
        return {
            "kind": self.kind,
            "lengths": self.lengths.model_dump(mode="json"),
            "pooling": None,
            "precision": study.recipe.precision,
        }

    def identities(self, step: Ranking) -> Mapping[str, str]:
        """See :meth:`RankingSystem.identities`."""
        return {"model": self._source(step.study).identity()}

    def versions(self) -> Mapping[str, str]:
        """See :meth:`RankingSystem.versions`."""
        return model_versions()

    def work(self, step: Ranking) -> Work | None:
        """See :meth:`RankingSystem.work`: all text is read, and each token's vector compared.

        Queries have as many tokens as they may, and candidates' vectors lie on the disk meanwhile.
        """
        text, compared = step.data.bytes, step.data.compared
        size = size_of_model(self.model, step.study.folder)
        if text is None or compared is None or size is None:
            return None
        reading, width = self.reading(), size.width if self.kind == "maxsim" else PROJECTED
        products = 2.0 * width * reading.query_length * compared / BYTES_PER_TOKEN
        length = min(reading.document_length or LONGEST, LONGEST / 2)
        read = forward(size, text / BYTES_PER_TOKEN, length, step.study.recipe.precision)
        return together(read, Work(("networks",), {"products": products}))

    def load(self, study: Opened) -> LateInteraction:
        """The model, reading as many tokens as the file says."""
        model = LateInteraction.load(self._source(study), self.reading())
        model.precision = study.recipe.precision
        return model

    def ranks(self, step: Ranking, tasks: Sequence[SpanTask], context: Context) -> GoldRanks:
        """See :meth:`RankingSystem.ranks`."""
        model = self.load(step.study)
        model.to(choose_device(context.device))
        model.tokens = context.batch_tokens
        where = (step.data.recipe, step.system)
        kept = context.latest("vectors", where, lambda: VectorFile(step.study.folder))
        read = step.reads_of_context
        return by_late_interaction(model, tasks, kept, read, progress=context.progress)


class ColBERT(_Late):
    """A ColBERT.

    Attributes:
        colbert: Its name.
    """

    colbert: str

    @property
    def kind(self) -> str:
        """See :attr:`_Late.kind`."""
        return "colbert"

    @property
    def model(self) -> str:
        """See :attr:`_Late.model`."""
        return self.colbert

    def reading(self) -> Reading:
        """See :meth:`_Late.reading`."""
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
    def kind(self) -> str:
        """See :attr:`_Late.kind`."""
        return "maxsim"

    @property
    def model(self) -> str:
        """See :attr:`_Late.model`."""
        return self.maxsim

    def reading(self) -> Reading:
        """See :meth:`_Late.reading`."""
        return Reading(
            self.lengths.context or MaxSimRecipe(base=self.maxsim).query_length,
            self.lengths.span,
            markers=None,
            special=False,
            fill=False,
        )


def by_late_interaction(
    model: LateInteraction,
    tasks: Sequence[SpanTask],
    kept: VectorFile,
    read: ContextRecipe,
    *,
    progress: Progress = SILENT,
) -> GoldRanks:
    """The ranks that late interaction gives to all candidates; see :func:`by_encoder`.

    The candidates' vectors lie in a file, and are scored as they are read from it, some at a time.
    A context that is longer than a query may be is cut at its outer ends.
    """

    def rank(place: int, task: SpanTask, same: Distinct) -> ContextRanks:
        if place not in kept:
            kept[place] = _filed(model, same.picked(task.texts), kept, progress)
        pairs = [context(span, read.left, read.right, read.words) for span in task.spans]
        room = model.room_of_queries
        queries = [nearest(model.tokenizer, *pair, room, read.tokens) for pair in pairs]
        score = by_maxsim(_vectors(model, model.queries(queries), progress), kept[place])
        return context_ranks(score, same.of[task.gold], same.counts, block=BLOCK)

    return ranked(tasks, kept, rank, progress)


class _Inputs(Sequence[Tokens]):
    """Documents as a model reads them, five bytes of memory for each token.

    Args:
        model: The model.
        texts: The documents.

    Attributes:
        lengths: (N,) tokens of each.
        counted: (N,) how many of them count.
    """

    def __init__(self, model: LateInteraction, texts: Sequence[str]) -> None:
        ids, counts = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.bool_)]
        lengths, counted = [], []
        for first in range(0, len(texts), _READ):
            some = model.documents(texts[first : first + _READ])
            ids.append(np.concatenate([one.ids for one in some]).astype(np.int32))
            counts.append(np.concatenate([one.counts for one in some]).astype(np.bool_))
            lengths += [len(one) for one in some]
            counted += [int(one.counts.sum()) for one in some]
        self._ids, self._counts = np.concatenate(ids), np.concatenate(counts)
        self.lengths = np.array(lengths, dtype=np.int64)
        self.counted = np.array(counted, dtype=np.int64)
        self._starts = np.append(0, np.cumsum(self.lengths))

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, place: Any) -> Any:
        some = slice(self._starts[place], self._starts[place + 1])
        ids = self._ids[some].astype(np.int64)
        return Tokens(ids, np.ones_like(ids), self._counts[some].astype(np.int64))


def _filed(
    model: LateInteraction, texts: Sequence[str], kept: VectorFile, progress: Progress
) -> FiledVectors:
    """The vectors of documents that count, in a file."""
    encoded = _Inputs(model, texts)
    found = FiledVectors(kept, encoded.counted)
    for number, vectors in _computed(model, encoded, encoded.lengths, progress):
        found.put(number, vectors)
    return found


def _vectors(model: LateInteraction, encoded: Sequence[Tokens], progress: Progress) -> MultiVectors:
    """The vectors that count, of each text."""
    found = dict(_computed(model, encoded, list(map(len, encoded)), progress))
    width = found[0].shape[1] if found else 0
    return MultiVectors.of([found[number] for number in range(len(found))], width)


def _computed(
    model: LateInteraction,
    encoded: Sequence[Tokens],
    lengths: Sequence[int] | NDArray[np.int64],
    progress: Progress,
) -> Iterator[tuple[int, Floats]]:
    """The number of each text, and its vectors that count."""
    import torch

    def compute(numbers: Any) -> Any:
        with torch.inference_mode(), computing_in(model.precision, model.network):
            return model.vectors([encoded[number] for number in numbers]).cpu().numpy()

    model.network.eval()
    batches = token_batches(lengths, model.tokens, model.network.device)
    for numbers, values in computed(batches, compute):
        for row, number in enumerate(numbers):
            counts = encoded[number].counts.astype(bool)
            yield int(number), values[row, : len(counts)][counts]
        progress.advance(len(numbers))


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
