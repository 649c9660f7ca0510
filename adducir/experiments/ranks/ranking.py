"""Ranks the truths of a data set by one system: BM25, vectors, or late interaction."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from adducir.corpora.spans.record import context
from adducir.encoders.maxsim import MultiVectors
from adducir.encoders.ranking import (
    Distinct,
    Floats,
    SpanTask,
    Standings,
    by_maxsim,
    by_vectors,
    standings,
)
from adducir.encoders.reading import shared_room
from adducir.experiments.evaluation.ranks import GoldRanks
from adducir.experiments.evaluation.rouge import RougeL
from adducir.experiments.ranks.recipe import ContextRecipe, LexicalPart
from adducir.models.batches import computed, token_batches
from adducir.models.machine import Precision
from adducir.models.precision import computing_in
from adducir.study.progress import SILENT, Progress

if TYPE_CHECKING:
    from adducir.encoders.model import DualEncoder
    from adducir.rerankers.colbert import LateInteraction, Tokens

Texts = dict[int, Any]
"""What was made of the candidates of each task, by its place: they depend on no context."""


def by_bm25(
    tasks: Sequence[SpanTask],
    part: LexicalPart,
    read: ContextRecipe,
    threads: int | None = None,
    *,
    rouge: bool = False,
) -> GoldRanks:
    """The ranks that BM25 gives, with the statistics of each set of candidates by itself.

    Args:
        tasks: What is ranked.
        part: The formula's parameters and the analysis.
        read: What is read of contexts.
        threads: Threads that score; by default one a core.
        rouge: Whether ROUGE-L of what is ranked first is wanted, for which all is scored again.
    """
    from adducir.indexes.analysis import Analysis
    from adducir.indexes.candidates import (
        RankingTask,
        gold_ranks_of_sets,
        lower_split,
        rank_sets,
    )
    from adducir.indexes.models import Okapi

    # The tokens of BM25 are words.
    words = min((one for one in (read.words, read.tokens) if one is not None), default=None)

    def sets() -> Iterator[RankingTask]:
        for task in tasks:
            pairs = (context(span, read.left, read.right, words) for span in task.spans)
            queries = [" ".join(side for side in pair if side) for pair in pairs]
            yield RankingTask(task.texts, queries, task.gold.tolist())

    model = Okapi(k1=part.k1, b=part.b, epsilon=part.epsilon)
    options: dict[str, Any] = {
        "analysis": lower_split if part.analysis == "split" else Analysis(),
        "threads": threads,
    }
    found = []
    against = gold_ranks_of_sets(sets(), model, ties="against", **options)
    expected = gold_ranks_of_sets(sets(), model, ties="expected", **options)
    best = rank_sets(sets(), model, 1, **options) if rouge else repeat(None, len(tasks))
    for task, last, middle, top in zip(tasks, against, expected, best, strict=True):
        # last = better + tied, middle = better + (tied + 1) / 2
        tied = np.rint(2 * (last - middle) + 1).astype(np.int64)
        size = np.full(len(last), len(task.texts), dtype=np.int64)
        first = None if top is None else top.numbers[:, 0].astype(np.int64)
        found.append(Standings(last - tied, tied, size, first))
    return gold_ranks(tasks, found)


def by_encoder(
    encoder: "DualEncoder",
    tasks: Sequence[SpanTask],
    kept: Texts,
    *,
    precision: Precision = "float32",
    progress: Progress = SILENT,
) -> GoldRanks:
    """The ranks that a dual encoder gives; its settings say what is read of contexts.

    Args:
        encoder: The encoder.
        tasks: What is ranked.
        kept: The candidates' vectors, as far as they are there; those that are not are added.
        precision: What the network computes in.
        progress: Told of each text.
    """
    options: dict[str, Any] = {"precision": precision, "told": progress.advance}

    def scores(place: int, task: SpanTask, texts: list[str]) -> Callable[[int, int], Floats]:
        if place not in kept:
            kept[place] = encoder.encode_documents(texts, **options)
        return by_vectors(encoder.encode_contexts(task.spans, **options), kept[place])

    return _ranked(tasks, kept, scores, progress)


def by_late_interaction(
    model: "LateInteraction",
    tasks: Sequence[SpanTask],
    kept: Texts,
    read: ContextRecipe,
    *,
    progress: Progress = SILENT,
) -> GoldRanks:
    """The ranks that late interaction gives to all candidates; see :func:`by_encoder`.

    A context that is longer than a query may be is cut at its outer ends.
    """

    def scores(place: int, task: SpanTask, texts: list[str]) -> Callable[[int, int], Floats]:
        if place not in kept:
            kept[place] = _vectors(model, model.documents(texts), progress)
        pairs = [context(span, read.left, read.right, read.words) for span in task.spans]
        room = model.room_of_queries
        queries = [nearest(model.tokenizer, *pair, room, read.tokens) for pair in pairs]
        return by_maxsim(_vectors(model, model.queries(queries), progress), kept[place])

    return _ranked(tasks, kept, scores, progress)


def _ranked(
    tasks: Sequence[SpanTask],
    kept: Texts,
    scores: Callable[[int, SpanTask, list[str]], Callable[[int, int], Floats]],
    progress: Progress,
) -> GoldRanks:
    found = []
    same = [Distinct(task.texts) for task in tasks]
    total = sum(len(task.spans) for task in tasks)
    total += sum(len(one.firsts) for place, one in enumerate(same) if place not in kept)
    progress.start("encoding", total, "texts")
    try:
        for place, (task, one) in enumerate(zip(tasks, same, strict=True)):
            texts = [task.texts[first] for first in one.firsts.tolist()]
            given = scores(place, task, texts)
            stood = standings(given, one.of[task.gold], one.counts, block=1 << 22)
            found.append(replace(stood, first=one.firsts[stood.first]))
    finally:
        progress.finish()
    return gold_ranks(tasks, found)


def _vectors(
    model: "LateInteraction", encoded: "Sequence[Tokens]", progress: Progress
) -> MultiVectors:
    """The vectors that count, of each text."""
    import torch

    parts: list[Any] = [None] * len(encoded)
    width = 0

    def compute(numbers: Any) -> Any:
        with torch.inference_mode(), computing_in(model.precision, model.network):
            return model.vectors([encoded[number] for number in numbers]).cpu().numpy()

    model.network.eval()
    batches = token_batches([len(one) for one in encoded], device=model.network.device)
    for numbers, values in computed(batches, compute):
        width = values.shape[2]
        for row, number in enumerate(numbers):
            counts = encoded[number].counts.astype(bool)
            parts[number] = values[row, : len(counts)][counts]
        progress.advance(len(numbers))
    return MultiVectors.of(parts, width)


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


def gold_ranks(tasks: Sequence[SpanTask], found: Sequence[Standings]) -> GoldRanks:
    """The standings of all tasks together, with the contexts' keys and ROUGE-L."""
    names = list(tasks[0].keys)
    rouge = RougeL()
    near = [
        rouge.score(task.texts[gold], task.texts[first])
        for task, one in zip(tasks, found, strict=True)
        if one.first is not None
        for gold, first in zip(task.gold.tolist(), one.first.tolist(), strict=True)
    ]
    return GoldRanks(
        tuple(span.id for task in tasks for span in task.spans),
        np.concatenate([one.better for one in found]),
        np.concatenate([one.tied for one in found]),
        np.concatenate([one.candidates for one in found]),
        {name: tuple(value for task in tasks for value in task.keys[name]) for name in names},
        rouge=np.array(near) if near else None,
    )
