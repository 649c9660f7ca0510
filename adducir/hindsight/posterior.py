"""log P(y|x,z) over closed sets, from which come the posteriors that the guide is to approach.

With a uniform prior P(z|x,y) is their softmax (Hindsight, figures 4 and 5); with the retriever as
prior it is the softmax of their sums with its scores.
"""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from adducir.core.progress import SILENT, Progress
from adducir.hindsight.model import Data, Hindsight
from adducir.models.shards import is_whole, read_shard, write_shard

Numbers = NDArray[np.int64]
Floats = NDArray[np.float32]

_PART = 256
"""Contexts of a part that survives a kill."""


def likelihoods(
    model: Hindsight,
    data: Data,
    contexts: Numbers,
    passages: Numbers,
    *,
    parts: Path | None = None,
    progress: Progress = SILENT,
) -> Floats:
    """(n, r) log P(y|x,z) of whole targets.

    Args:
        model: The three parts.
        data: What they read.
        contexts: (n,) numbers of contexts that have a target.
        passages: (n, r) numbers of passages.
        parts: A folder that keeps what is done, so that a kill loses little.
        progress: Notified of each context.
    """
    model.eval()
    found = [np.zeros((0, passages.shape[1]), dtype=np.float32)]
    progress.start("scoring targets", len(contexts), "contexts")
    try:
        for first in range(0, len(contexts), _PART):
            path = None if parts is None else parts / f"likelihoods-{first}.safetensors"
            some = slice(first, first + _PART)
            if path is not None and is_whole(path):
                values = read_shard(path)["values"]
            else:
                values = _computed(model, data, contexts[some], passages[some])
                if path is not None:
                    write_shard(path, {"values": values})
            found.append(values)
            progress.advance(len(values))
    finally:
        progress.finish()
    return np.concatenate(found)


def _computed(model: Hindsight, data: Data, contexts: Numbers, passages: Numbers) -> Floats:
    size = max(1, model.generator.pairs // passages.shape[1])
    with torch.inference_mode():
        each = [
            model.generator.log_likelihood(
                data.texts, contexts[first : first + size], passages[first : first + size]
            )
            for first in range(0, len(contexts), size)
        ]
    found: Floats = torch.cat(each).float().cpu().numpy()
    return found
