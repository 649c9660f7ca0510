"""Texts that are written from retrieved passages.

Each of the first passages is read by itself, and a text is written from it: no sum over passages
is taken. In thorough decoding (RAG-Sequence; Lewis et al., NeurIPS 2020) every hypothesis of every
beam is scored by log sum_z P(z|x) P(y|x,z) over these passages, and the most probable one comes
first, with the passage that it was written from.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
import torch
from numpy.typing import NDArray

from adducir.core.files import writing_text
from adducir.models.batches import batch_rule
from adducir.studies.grounded_generation.generators.generator import Decoding
from adducir.studies.grounded_generation.hindsight.building import Problem
from adducir.studies.grounded_generation.hindsight.closed import ClosedSets
from adducir.studies.grounded_generation.hindsight.context_work import Computing, ContextWork
from adducir.studies.grounded_generation.hindsight.model import Data, Hindsight
from adducir.studies.grounded_generation.hindsight.token_work import Loader, Making

_CONTEXTS = 16
"""Contexts whose texts are written at a time."""
SHARD = 4 * _CONTEXTS
"""Contexts in a shard."""

Written = tuple[str, str]
"""A text, and the docno of the passage that it was written from."""


@dataclass(frozen=True)
class Writing:
    """What writes texts for contexts; see :class:`.Computing`.

    Attributes:
        model: The three parts.
        data: What they read.
        problem: Contexts and passages.
        closed: What was ranked for the contexts.
        decoding: How.
    """

    model: Hindsight
    data: Data
    problem: Problem
    closed: ClosedSets
    decoding: Decoding

    def write(self, rows: NDArray[np.int64], path: Path) -> None:
        """See :meth:`.Computing.write`: a line for each context."""
        with writing_text(path) as handle:
            for first in range(0, len(rows), _CONTEXTS):
                for number, outputs in self.answers(rows[first : first + _CONTEXTS]):
                    written = [{"text": text, "docno": docno} for text, docno in outputs]
                    record = {"id": self.problem.contexts[number].id, "outputs": written}
                    handle.write(orjson.dumps(record).decode() + "\n")

    def answers(self, rows: NDArray[np.int64]) -> Iterator[tuple[int, list[Written]]]:
        """Yield for each context its number and what is written, by the rank of the passage."""
        generator, data, decoding = self.model.eval().generator, self.data, self.decoding
        contexts = self.closed.contexts[rows]
        passages = self.closed.retriever[rows, : decoding.passages]
        scores = self.closed.retriever_scores[rows, : decoding.passages]
        of = np.repeat(contexts, passages.shape[1])
        written = generator.write(data.texts, of, passages.ravel(), decoding)
        for row, number in enumerate(contexts):
            own = written[row * passages.shape[1] : (row + 1) * passages.shape[1]]
            docnos = [self.problem.docnos[one] for one in passages[row]]
            found = [(texts[0], docno) for texts, docno in zip(own, docnos, strict=True)]
            if decoding.thorough:
                x = self.problem.contexts[number].input
                text, place = _thorough(self.model, data, x, passages[row], scores[row], own)
                found = [(text, docnos[place]), *found[1:]]
            yield int(number), found


def write_answers(writing: Loader[Writing], names: Sequence[str], how: Making, path: Path) -> None:
    """Write texts for contexts, a line of JSON each.

    Args:
        writing: What writes.
        names: (n,) the contexts' ids.
        how: How shards are made.
        path: The file.

    Raises:
        IncompleteError, MachineError, ArtifactError: See :func:`.make_chunks`.
    """
    computing = Loader[Computing](writing.load, writing.loaded)
    work = ContextWork.of(computing, names, SHARD, "writing", how, batch_rule(how.tokens))
    with (
        how.chunking.made(work) as made,
        writing_text(path) as handle,
    ):
        for part in made.files:
            handle.write(part.read_text(encoding="utf-8"))


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
    likelihood = [
        generator.likelihoods(read, np.array([one]), passages[None]).cpu()
        for one in range(len(hypotheses))
    ]
    prior = torch.from_numpy(scores).log_softmax(dim=-1)
    total = (torch.cat(likelihood) + prior).logsumexp(dim=-1)
    best = hypotheses[int(total.argmax())]
    return best, places[best]
