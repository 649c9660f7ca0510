"""Retriever, guide and generator as recipes have them, over the texts of a problem."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from adducir.encoders.kinds import Side
from adducir.encoders.maxsim import MultiVectors
from adducir.models.arrays import read_shard, write_shard
from adducir.models.machine import seed_of
from adducir.studies.grounded_generation.contexts import GroundedContext
from adducir.studies.grounded_generation.generators.generator import Generator, Texts
from adducir.studies.grounded_generation.hindsight.model import Data, Hindsight, Scorer
from adducir.studies.grounded_generation.hindsight.recipe import GuideRecipe, RetrieverRecipe
from adducir.studies.grounded_generation.hindsight.token_work import (
    Loader,
    Making,
    Readable,
    encoded,
)
from adducir.studies.grounded_generation.hindsight.vectors import Kept, Live, Network, readable

Numbers = NDArray[np.int64]
VECTORS = ("inputs", "hindsight", "passages")


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

    def queries(self, guide: GuideRecipe) -> list[str]:
        """X of all contexts, and behind these the guide's queries."""
        return [*self.inputs, *self.hindsight(guide)]

    def contexts_of(self, parts: Sequence[str]) -> Numbers:
        """The numbers of the contexts of some parts."""
        return np.concatenate([self.parts[part] for part in parts])

    @property
    def texts(self) -> Texts:
        """What a generator reads."""
        return Texts(self.inputs, [one.target for one in self.contexts], self.passages)


def different_texts(
    problem: Problem, guide: GuideRecipe
) -> Mapping[str, tuple[Side, Sequence[str], list[str]]]:
    """The texts that a network which is not trained reads, each once: most contexts share inputs.

    Returns:
        By name: which tower reads them, all texts, and the different ones.
    """
    sides: Mapping[str, tuple[Side, Sequence[str]]] = {
        "inputs": ("query", problem.inputs),
        "hindsight": ("query", problem.hindsight(guide)),
        "passages": ("document", problem.passages),
    }
    return {name: (side, some, list(dict.fromkeys(some))) for name, (side, some) in sides.items()}


def readable_texts(
    problem: Problem,
    retriever: RetrieverRecipe,
    guide: GuideRecipe,
    folder: Path,
    device: torch.device,
) -> Mapping[str, Readable]:
    """The same, to be encoded."""
    network = Network(retriever, folder).eval().to(device)
    return {
        name: readable(network, different, side, device)
        for name, (side, _, different) in different_texts(problem, guide).items()
    }


def save_vectors(
    path: Path,
    problem: Problem,
    retriever: RetrieverRecipe,
    guide: GuideRecipe,
    folder: Path,
    load: Callable[[torch.device], Mapping[str, Readable]],
    how: Making,
) -> int:
    """Write the vectors of all texts, of a network that is not trained; returns how many texts.

    Args:
        path: The file.
        problem: The texts.
        retriever: The network.
        guide: How the guide reads.
        folder: The study's, where relative paths start.
        load: Gives the texts of :func:`readable_texts`.
        how: How shards of vectors are made.
    """
    texts = different_texts(problem, guide)
    counts = {name: len(different) for name, (_, _, different) in texts.items()}
    arrays: dict[str, NDArray[Any]] = {}
    with encoded(Loader(load), counts, how) as (files, _):
        for name, (_, some, different) in texts.items():
            made = files.read(name)
            places = {text: place for place, text in enumerate(different)}
            arrays |= {f"{name}.values": made.values, f"{name}.starts": made.starts}
            arrays[f"{name}.places"] = np.array([places[text] for text in some])
    projection = None if retriever.vectors == "one" else Network(retriever, folder).projection
    if projection is not None:
        arrays["projection"] = projection.numpy()
    write_shard(path, arrays)
    return sum(len(some) for _, some, _ in texts.values())


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
        """Read the file of :func:`save_vectors`.

        Raises:
            ArtifactError: It is damaged.
        """
        arrays = read_shard(path)
        kept = {name: Kept(_of(arrays, name), device) for name in VECTORS}
        projection = arrays.get("projection")
        passages, texts = kept["passages"], generator.read(problem.texts)
        data = Data(kept["inputs"], kept["hindsight"], passages, passages, texts)
        return cls(data, None if projection is None else torch.from_numpy(projection))

    @property
    def width(self) -> int:
        """Numbers of a vector."""
        found, _ = self.data.inputs.batch(np.zeros(1, dtype=np.int64))
        return found.shape[-1]


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
        guide: How the guide reads.
        folder: The study's, where relative paths start.
        problem: Contexts and passages.
        generator: The generator.
        frozen: What a network that is not trained made of the texts; None where it is trained.
        seed: Of new weights.
        device: Where all of it is computed.

    Raises:
        InputError, MachineError, ArtifactError: Something cannot be loaded.
    """
    torch.manual_seed(seed_of(seed, "new weights"))
    if frozen is not None:
        scorer = Scorer(recipe, frozen.width, frozen.projection)
        model = Hindsight(scorer, generator, add_prior=guide.add_prior).to(device)
        return model, frozen.data
    network = Network(recipe, folder)
    with torch.inference_mode():
        (found, _) = network.eval()(network.read(["a"], "document"), "document")
    scorer = Scorer(recipe, found.shape[-1], network.projection, network)
    model = Hindsight(scorer, generator, add_prior=guide.add_prior).to(device)
    own, other = model.retriever.network, model.guide.network
    if own is None or other is None:
        raise ValueError("a network that is trained is part of retriever and guide.")
    queries = Live(own, problem.inputs, "query")
    passages = Live(own, problem.passages, "document")
    hindsight = Live(other, problem.hindsight(guide), "query")
    texts = generator.read(problem.texts)
    return model, Data(queries, hindsight, passages, _read_by(other, passages), texts)


def _read_by(network: Network, passages: Live) -> Live:
    """The same tokens, read by another network of that kind."""
    other = Live(network, [], "document")
    other.inputs = passages.inputs
    return other


def _of(arrays: Mapping[str, NDArray[Any]], name: str) -> MultiVectors:
    """The vectors of all texts of a name; equal texts have equal vectors."""
    values, starts = arrays[f"{name}.values"], arrays[f"{name}.starts"]
    places = arrays[f"{name}.places"]
    if len(values) == len(starts) - 1:
        return MultiVectors(values[places], np.arange(len(places) + 1))
    whole = MultiVectors(values, starts)
    parts = [whole.rows(place, place + 1).values for place in places]
    return MultiVectors.of(parts, values.shape[1])
