"""log P(y|x,z) over closed sets, from which come the posteriors that the guide is to approach.

With a uniform prior P(z|x,y) is their softmax (Hindsight, figures 4 and 5); with the retriever as
prior it is the softmax of their sums with its scores.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adducir.models.arrays import read_shard, write_shard
from adducir.models.batches import batch_rule
from adducir.studies.grounded_generation.hindsight.closed import ClosedSets
from adducir.studies.grounded_generation.hindsight.context_work import Computing, ContextWork
from adducir.studies.grounded_generation.hindsight.model import Data, Hindsight
from adducir.studies.grounded_generation.hindsight.token_work import Loader, Making

Numbers = NDArray[np.int64]
Floats = NDArray[np.float32]

SHARD = 256
"""Contexts in a shard."""


@dataclass(frozen=True)
class Targets:
    """Targets and the passages that they may be grounded in; see :class:`.Computing`.

    Attributes:
        model: The three parts.
        data: What they read.
        rows: (n,) the places of contexts that have one.
        closed: What is ranked for the contexts.
    """

    model: Hindsight
    data: Data
    rows: Numbers
    closed: ClosedSets

    def write(self, rows: Numbers, path: Path) -> None:
        of, generator = self.rows[rows], self.model.eval().generator
        given = self.data.texts, self.closed.contexts[of], self.closed.retriever[of]
        found = generator.likelihoods(*given).float().cpu().numpy()
        write_shard(path, {"values": found})


def likelihoods(targets: Loader[Targets], names: Sequence[str], how: Making) -> Floats:
    """(n, r) log P(y|x,z) of whole targets.

    Args:
        targets: The targets.
        names: (n,) the contexts' ids.
        how: How shards are made.

    Raises:
        IncompleteError, MachineError, ArtifactError: See :func:`.make_chunks`.
    """
    none = np.zeros((0, targets.get(how.chosen()).closed.retriever.shape[1]), dtype=np.float32)
    computing = Loader[Computing](targets.load, targets.loaded)
    work = ContextWork.of(computing, names, SHARD, "scoring targets", how, batch_rule(how.tokens))
    with (
        how.chunking.made(work) as made,
    ):
        return np.concatenate([none, *(read_shard(path)["values"] for path in made.files)])
