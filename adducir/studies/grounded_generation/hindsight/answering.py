"""Texts that are written from retrieved passages, and how probable targets are given them.

Each of the first passages is read by itself, and a text is written from it: no sum over passages is
taken. With a uniform prior P(z|x,y) is the softmax of log P(y|x,z) over a closed set (Hindsight,
figures 4 and 5); with the retriever as prior it is that of their sums with its scores, and what the
guide is to approach.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import orjson
import torch
from numpy.typing import NDArray

from adducir.core.files import writing_text
from adducir.models.arrays import read_shard
from adducir.models.work import Arrays
from adducir.studies.grounded_generation.generators.generator import Decoding
from adducir.studies.grounded_generation.hindsight.building import Problem
from adducir.studies.grounded_generation.hindsight.closed import ClosedSets
from adducir.studies.grounded_generation.hindsight.model import Data, Hindsight
from adducir.studies.grounded_generation.hindsight.work import Making, NumberedWork, Numbers

_AT_ONCE = 16
"""Contexts whose texts are written at a time."""


@dataclass(frozen=True)
class Answering:
    """What answers contexts.

    Attributes:
        model: The three parts.
        data: What they read.
        problem: Contexts and passages.
        closed: What was ranked for the contexts.
        decoding: How texts are written.
    """

    model: Hindsight
    data: Data
    problem: Problem
    closed: ClosedSets
    decoding: Decoding | None

    @property
    def with_target(self) -> Numbers:
        """The rows of the closed sets whose contexts have a target."""
        contexts = self.problem.contexts
        rows = [row for row, number in enumerate(self.closed.contexts) if contexts[number].target]
        return np.array(rows, dtype=np.int64)


Load = Callable[[torch.device], Answering]


class _Writing(NumberedWork[Answering]):
    """Lines of JSON, one for each context."""

    doing: ClassVar[str] = "writing"
    unit: ClassVar[str] = "contexts"

    def arrays(self, source: Answering, items: Sequence[int]) -> Arrays:
        first = range(0, len(items), _AT_ONCE)
        lines = (_lines(source, np.array(items[start : start + _AT_ONCE])) for start in first)
        return {"lines": np.frombuffer(b"".join(lines), dtype=np.uint8)}


def _lines(answering: Answering, rows: Numbers) -> bytes:
    decoding = answering.decoding or Decoding()
    generator = answering.model.eval().generator
    contexts = answering.closed.contexts[rows]
    passages = answering.closed.retriever[rows, : decoding.passages]
    of = np.repeat(contexts, passages.shape[1])
    written = iter(generator.write(answering.data.texts, of, passages.ravel(), decoding))
    problem, lines = answering.problem, []
    for number, own in zip(contexts, passages, strict=True):
        outputs = [{"text": next(written), "docno": problem.docnos[one]} for one in own]
        record = {"id": problem.contexts[number].id, "outputs": outputs}
        lines.append(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
    return b"".join(lines)


def write_answers(answering: Answering, load: Load, how: Making, path: Path) -> None:
    """Write texts for all contexts, a line of JSON each; ``load`` is for other processes."""
    work = _Writing.of(answering, load, len(answering.closed.contexts), 4 * _AT_ONCE, how)
    with work.files(how.chunking) as files, writing_text(path) as handle:
        for file in files:
            handle.write(read_shard(file)["lines"].tobytes().decode())


class _Scoring(NumberedWork[Answering]):
    """log P(y|x,z) of targets."""

    doing: ClassVar[str] = "scoring targets"
    unit: ClassVar[str] = "contexts"

    def arrays(self, source: Answering, items: Sequence[int]) -> Arrays:
        rows, generator = source.with_target[list(items)], source.model.eval().generator
        given = source.data.texts, source.closed.contexts[rows], source.closed.retriever[rows]
        return {"values": generator.likelihoods(*given).float().cpu().numpy()}


def likelihoods(answering: Answering, load: Load, how: Making) -> NDArray[np.float32]:
    """(n, r) log P(y|x,z) of whole targets, of the contexts that have one."""
    none = np.zeros((0, answering.closed.retriever.shape[1]), dtype=np.float32)
    work = _Scoring.of(answering, load, len(answering.with_target), 256, how)
    with work.files(how.chunking) as files:
        return np.concatenate([none, *(read_shard(file)["values"] for file in files)])
