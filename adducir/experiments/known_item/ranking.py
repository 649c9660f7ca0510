"""From the scores of candidates to the rank of each gold item."""

from collections.abc import Callable, Container, Sequence
from dataclasses import replace

import numpy as np

from adducir.core.progress import Progress
from adducir.encoders.ranking import ContextRanks, Distinct, SpanTask
from adducir.evaluation.gold_ranks import GoldRanks
from adducir.evaluation.rouge import RougeL

BLOCK = 1 << 22
"""Scores that are held at a time: 16 MB."""


def ranked(
    tasks: Sequence[SpanTask],
    kept: Container[int],
    rank: Callable[[int, SpanTask, Distinct], ContextRanks],
    progress: Progress,
) -> GoldRanks:
    """The ranks of all tasks.

    Args:
        tasks: What is ranked.
        kept: The tasks, by their place, of whose candidates what is needed is there.
        rank: Gives the ranks of a task, by its place, among its distinct candidates.
        progress: Notified of each text.
    """
    found = []
    total = sum(len(task.spans) for task in tasks)
    total += sum(len(task.same.firsts) for place, task in enumerate(tasks) if place not in kept)
    progress.start("encoding", total, "texts")
    try:
        for place, task in enumerate(tasks):
            stood = rank(place, task, task.same)
            found.append(replace(stood, first=task.same.firsts[stood.first]))
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
