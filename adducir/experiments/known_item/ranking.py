"""From the scores of candidates to the rank of each gold item."""

from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from adducir.core.progress import Progress
from adducir.encoders.ranking import ContextRanks, Distinct, Floats, SpanTask, context_ranks
from adducir.evaluation.gold_ranks import GoldRanks
from adducir.evaluation.rouge import RougeL

Texts = dict[int, Any]
"""What was made of the candidates of each task, by its place: they depend on no context."""


def ranked(
    tasks: Sequence[SpanTask],
    kept: Container[int],
    scores: Callable[[int, SpanTask, list[str]], Callable[[int, int], Floats]],
    progress: Progress,
) -> GoldRanks:
    """The ranks that scores give.

    Args:
        tasks: What is ranked.
        kept: The tasks, by their place, of whose candidates what is needed is there.
        scores: Of a task, by its place, and its distinct candidates: what scores a block of them.
        progress: Notified of each text.
    """
    found = []
    same = [Distinct(task.texts) for task in tasks]
    total = sum(len(task.spans) for task in tasks)
    total += sum(len(one.firsts) for place, one in enumerate(same) if place not in kept)
    progress.start("encoding", total, "texts")
    try:
        for place, (task, one) in enumerate(zip(tasks, same, strict=True)):
            texts = [task.texts[first] for first in one.firsts.tolist()]
            given = scores(place, task, texts)
            stood = context_ranks(given, one.of[task.gold], one.counts, block=1 << 22)
            found.append(replace(stood, first=one.firsts[stood.first]))
    finally:
        progress.finish()
    return gold_ranks(tasks, found)


def gold_ranks(tasks: Sequence[SpanTask], found: Sequence[ContextRanks]) -> GoldRanks:
    """The ranks of all tasks together, with the contexts' keys and ROUGE-L."""
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
