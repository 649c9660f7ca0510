"""Retriever, guide and generator as recipes have them, over the texts of a problem."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from adducir.encoders.kinds import Side
from adducir.encoders.maxsim import MultiVectors
from adducir.models.arrays import read_shard, write_shard
from adducir.models.machine import choose_device, seed_of
from adducir.studies.grounded_generation.contexts import GroundedContext
from adducir.studies.grounded_generation.generators.generator import Generator, Texts
from adducir.studies.grounded_generation.hindsight.model import Data, Hindsight, Scorer
from adducir.studies.grounded_generation.hindsight.recipe import GuideRecipe, RetrieverRecipe
from adducir.studies.grounded_generation.hindsight.vectors import Kept, Live, Network
from adducir.studies.grounded_generation.hindsight.work import (
    Encodable,
    EncodingWork,
    Making,
    Numbers,
    vectors_in,
)

BLOCK = 8192
"""Texts in a chunk of vectors."""
SIDES: Mapping[str, Side] = {"inputs": "query", "hindsight": "query", "passages": "document"}
"""The texts that a network reads, with the tower that does."""


@dataclass(frozen=True)
class Problem:
    """Contexts and passages.

    Attributes:
        contexts: All contexts, of training, validation and test.
        parts: The numbers of the contexts of ``train``, ``validation`` and ``test``.
        docnos: The passages' docnos.
        passages: Their texts, ``title | text`` where they have a title.
        relevant: By group, how many passages are equally relevant; empty where that is not known.
        pages: The Wikipedia pages of passages by docno, where they have a ``wikipedia_id``.
    """

    contexts: Sequence[GroundedContext]
    parts: Mapping[str, Numbers]
    docnos: Sequence[str]
    passages: Sequence[str]
    relevant: Mapping[str, int]
    pages: Mapping[str, str] = field(default_factory=dict)

    @property
    def inputs(self) -> list[str]:
        """X of all contexts."""
        return [one.input for one in self.contexts]

    def hindsight(self, guide: GuideRecipe) -> list[str]:
        """The guide's query of all contexts."""
        return [guide.query(one.input, one.target) for one in self.contexts]

    def contexts_of(self, parts: Sequence[str]) -> Numbers:
        """The numbers of the contexts of some parts."""
        return np.concatenate([self.parts[part] for part in parts])

    @property
    def texts(self) -> Texts:
        """What a generator reads."""
        return Texts(self.inputs, [one.target for one in self.contexts], self.passages)

    def texts_of(self, name: str, guide: GuideRecipe) -> Sequence[str]:
        """The texts of one of :data:`SIDES`."""
        given = {"inputs": lambda: self.inputs, "hindsight": lambda: self.hindsight(guide)}
        return given[name]() if name in given else self.passages


def encodable_texts(
    problem: Problem,
    retriever: RetrieverRecipe,
    guide: GuideRecipe,
    folder: Path,
    name: str,
    device: torch.device,
) -> Encodable:
    """The texts of one of :data:`SIDES`, each once: most contexts share inputs."""
    different = list(dict.fromkeys(problem.texts_of(name, guide)))
    network = Network(retriever, folder).eval().to(device)
    return Live(network, different, SIDES[name]).encodable()


def save_vectors(
    path: Path,
    problem: Problem,
    retriever: RetrieverRecipe,
    guide: GuideRecipe,
    folder: Path,
    load: Callable[[str, torch.device], Encodable],
    how: Making,
) -> int:
    """Write the vectors of all texts, of a network that is not trained; returns how many texts.

    Args:
        load: Gives another process what :func:`encodable_texts` gives here.
    """
    arrays: dict[str, NDArray[Any]] = {}
    count = 0
    with ExitStack() as stack:
        for name in SIDES:
            texts = problem.texts_of(name, guide)
            places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
            given = problem, retriever, guide, folder, name, choose_device(how.device)
            own = encodable_texts(*given)
            work = EncodingWork.of(own, partial(load, name), len(places), BLOCK, how, name=name)
            files = stack.enter_context(work.files(how.chunking, keep=bool(arrays)))
            parts = [vectors_in(file) for file in files]
            counts = np.concatenate([np.diff(one.starts) for one in parts])
            arrays[f"{name}.values"] = np.concatenate([one.values for one in parts])
            arrays[f"{name}.starts"] = np.append(0, np.cumsum(counts))
            arrays[f"{name}.places"] = np.array([places[text] for text in texts])
            count += len(texts)
    projection = None if retriever.vectors == "one" else Network(retriever, folder).projection
    if projection is not None:
        arrays["projection"] = projection.numpy()
    write_shard(path, arrays)
    return count


@dataclass(frozen=True)
class Frozen:
    """What a network that is not trained made of all texts, and what a generator has read.

    Attributes:
        data: The same for every system and seed.
        projection: What adapters begin as; None for the identity.
    """

    data: Data
    projection: torch.Tensor | None

    @classmethod
    def load(
        cls, path: Path, problem: Problem, generator: Generator, device: torch.device
    ) -> "Frozen":
        """Read the file of :func:`save_vectors`."""
        arrays = read_shard(path)
        inputs, hindsight, passages = (Kept(_of(arrays, name), device) for name in SIDES)
        projection, texts = arrays.get("projection"), generator.read(problem.texts)
        data = Data(inputs, hindsight, passages, passages, texts)
        return cls(data, None if projection is None else torch.from_numpy(projection))

    @property
    def width(self) -> int:
        """Numbers of a vector."""
        found, _ = self.data.inputs.batch(np.zeros(1, dtype=np.int64))
        return found.shape[-1]


def _of(arrays: Mapping[str, NDArray[Any]], name: str) -> MultiVectors:
    """The vectors of all texts of a name; equal texts have equal vectors."""
    values, starts = arrays[f"{name}.values"], arrays[f"{name}.starts"]
    places = arrays[f"{name}.places"]
    if len(values) == len(starts) - 1:
        return MultiVectors(values[places], np.arange(len(places) + 1))
    whole = MultiVectors(values, starts)
    parts = [whole.rows(place, place + 1).values for place in places]
    return MultiVectors.of(parts, values.shape[1])


def assemble(
    recipe: RetrieverRecipe,
    guide: GuideRecipe,
    folder: Path,
    problem: Problem,
    generator: Generator,
    frozen: Frozen | None,
    seed: int,
    device: torch.device,
) -> tuple[Hindsight, Data]:
    """The three parts before training, and what they read.

    Args:
        recipe: Of retriever and guide.
        folder: The study's, where relative paths start.
        frozen: What a network that is not trained made of the texts; None where it is trained.
        seed: Of new weights.
    """
    torch.manual_seed(seed_of(seed, "new weights"))
    if frozen is not None:
        scorer = Scorer(recipe, frozen.width, frozen.projection)
        return Hindsight(scorer, generator).to(device), frozen.data
    network = Network(recipe, folder)
    with torch.inference_mode():
        (found, _) = network.eval()(network.read(["a"], "document"), "document")
    scorer = Scorer(recipe, found.shape[-1], network.projection, network)
    model = Hindsight(scorer, generator).to(device)
    own, other = model.retriever.network, model.guide.network
    if own is None or other is None:
        raise ValueError("a network that is trained is part of retriever and guide.")
    queries = Live(own, problem.inputs, "query")
    passages, of_guide = Live(own, problem.passages, "document"), Live(other, [], "document")
    of_guide.inputs = passages.inputs  # the same tokens, read by another network of that kind
    hindsight = Live(other, problem.hindsight(guide), "query")
    return model, Data(queries, hindsight, passages, of_guide, generator.read(problem.texts))
