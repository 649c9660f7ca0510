"""A tiny bed: passages, contexts and random vectors, computed in float64."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from adducir.core.chunks import make_chunks
from adducir.encoders.span_vectors import MultiVectors
from adducir.studies.grounded_generation.experiment.making import NumberedWork
from adducir.studies.grounded_generation.generators.lexical import Lexical
from adducir.studies.grounded_generation.hindsight import closed
from adducir.studies.grounded_generation.hindsight.closed import ClosedRequest
from adducir.studies.grounded_generation.hindsight.model import Data, Hindsight, Kept, Scorer
from adducir.studies.grounded_generation.hindsight.recipe import ClosedRecipe, RetrieverRecipe

PASSAGES = ["cats run fast", "cats sleep", "dogs run", "dogs bark at cats", "birds sing", "mice"]
TARGETS = ["cats run", "dogs bark", "birds", "mice sleep"]
WIDTH = 5


def vectors(counts: list[int], seed: int) -> Kept:
    draw = np.random.default_rng(seed)
    parts = [draw.normal(size=(count, WIDTH)) for count in counts]
    starts = np.cumsum([0, *counts])
    return Kept(MultiVectors(np.concatenate(parts), starts), torch.device("cpu"))


def bed(*, several: bool = False, **recipe) -> tuple[Hindsight, Data]:
    """A model whose guide is not its retriever, and what it reads; all in float64."""
    torch.manual_seed(11)
    settings = RetrieverRecipe(**{"adapter": "full", "scale": 2.0, "train_scale": True, **recipe})
    parts = [Scorer(settings, WIDTH, None).double() for _ in range(2)]
    with torch.no_grad():
        for parameter in (one for part in parts for one in part.parameters()):
            parameter += torch.randn_like(parameter) * 0.1
    model = Hindsight(parts[0], Lexical(0.4).double(), parts[1])
    counts = [[2, 3, 1, 4], [3, 2, 2, 1], [3, 1, 2, 4, 1, 2]] if several else [[1] * 4] * 2
    counts = counts if several else [*counts, [1] * 6]
    passages = vectors(counts[2], 3)
    texts = model.generator.read([""] * 4, TARGETS, PASSAGES)
    data = Data(vectors(counts[0], 1), vectors(counts[1], 2), passages, passages, texts)
    return model, data


def request(model, data, contexts, depth, *, candidates=None, precision="float32") -> ClosedRequest:
    some = candidates and closed.Candidates(*candidates)
    recipe = ClosedRecipe(depth=depth, precision=precision)
    return ClosedRequest(model, data, contexts, recipe, some)


def closed_sets(*given, **more):
    """Closed sets, made in this process."""
    own = request(*given, **more)
    with TemporaryDirectory() as folder:

        def chunks(name, count, size, load, compute):
            work = NumberedWork(
                name=name, key="", count=count, size=size, source=load, compute=compute
            )
            return make_chunks(work, Path(folder) / name).files

        return closed.closed_sets(lambda device: own, torch.device("cpu"), chunks)
