"""Texts that are written from retrieved passages.

Each of the first passages is read by itself, and a text is written from it: no sum over passages
is taken. In thorough decoding (RAG-Sequence; Lewis et al., NeurIPS 2020) every hypothesis of every
beam is scored by log sum_z P(z|x) P(y|x,z) over these passages, and the most probable one comes
first, with the passage that it was written from.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from adducir.core.progress import SILENT, Progress
from adducir.generators.generator import Decoding
from adducir.hindsight.building import Problem
from adducir.hindsight.closed import ClosedSets
from adducir.hindsight.model import Data, Hindsight

_CONTEXTS = 16
"""Contexts whose texts are written at a time."""

Written = tuple[str, str]
"""A text, and the docno of the passage that it was written from."""


def answers(
    model: Hindsight,
    data: Data,
    problem: Problem,
    closed: ClosedSets,
    decoding: Decoding,
    *,
    progress: Progress = SILENT,
) -> Iterator[tuple[int, list[Written]]]:
    """Yield for each context its number and what is written, by the rank of the passage.

    Args:
        model: The three parts.
        data: What they read.
        problem: Contexts and passages.
        closed: What was ranked for the contexts.
        decoding: How.
        progress: Notified of each context.
    """
    model.eval()
    generator = model.generator
    progress.start("writing", len(closed.contexts), "contexts")
    try:
        for first in range(0, len(closed.contexts), _CONTEXTS):
            contexts = closed.contexts[first : first + _CONTEXTS]
            passages = closed.retriever[first : first + _CONTEXTS, : decoding.passages]
            scores = closed.retriever_scores[first : first + _CONTEXTS, : decoding.passages]
            of = np.repeat(contexts, passages.shape[1])
            written = generator.write(data.texts, of, passages.ravel(), decoding)
            for row, number in enumerate(contexts):
                own = written[row * passages.shape[1] : (row + 1) * passages.shape[1]]
                docnos = [problem.docnos[one] for one in passages[row]]
                found = [(texts[0], docno) for texts, docno in zip(own, docnos, strict=True)]
                if decoding.thorough:
                    x = problem.contexts[number].input
                    text, place = _thorough(model, data, x, passages[row], scores[row], own)
                    found = [(text, docnos[place]), *found[1:]]
                yield int(number), found
            progress.advance(len(contexts))
    finally:
        progress.finish()


def _thorough(
    model: Hindsight,
    data: Data,
    input_: str,
    passages: NDArray[np.int64],
    scores: NDArray[np.float32],
    written: Sequence[Sequence[str]],
) -> tuple[str, int]:
    """The most probable hypothesis, and the place of the first passage that it was written from."""
    places: dict[str, int] = {}
    for place, some in enumerate(written):
        for text in some:
            places.setdefault(text, place)
    hypotheses, generator = list(places), model.generator
    read = generator.other_contexts(data.texts, [input_] * len(hypotheses), hypotheses)
    with torch.inference_mode():
        prior = torch.from_numpy(scores).log_softmax(dim=-1)
        likelihood = [
            generator.log_likelihood(read, np.array([one]), passages[None]).cpu()
            for one in range(len(hypotheses))
        ]
        total = (torch.cat(likelihood) + prior).logsumexp(dim=-1)
    best = hypotheses[int(total.argmax())]
    return best, places[best]
