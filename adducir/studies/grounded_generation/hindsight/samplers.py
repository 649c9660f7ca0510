"""Which k passages of an example's closed set a step computes with.

A closed set is two lists: the first r passages of the retriever and of the guide, with the scores
of that moment. Passages are drawn without replacement by softmax(score / temperature): to each
log-weight a Gumbel variable is added, and the k greatest are taken, which is drawing one after the
other from what is left (Yellott, 1977; Kool et al., ICML 2019).
"""

from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from adducir.core.recipe import Recipe

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]


class Closed(NamedTuple):
    """The closed set of one example: passages and scores of each list, the best first."""

    retriever: Numbers
    retriever_scores: Floats
    guide: Numbers
    guide_scores: Floats


class SampleRecipe(Recipe):
    """How passages are sampled.

    Attributes:
        k: Passages of an example.
        sampler: ``guide`` or ``retriever``: drawn from that list; ``top``: the first of the
            retriever's; ``mixture``: from the retriever's list with probability ``alpha``, else
            from the guide's.
        alpha: See ``mixture``.
        temperature: Of the scores in a draw.
    """

    k: Annotated[int, Field(ge=1)] = 8
    sampler: Literal["guide", "retriever", "top", "mixture"] = "mixture"
    alpha: Annotated[float, Field(ge=0, le=1)] = 0.0
    temperature: Annotated[float, Field(gt=0)] = 1.0


def sample(recipe: SampleRecipe, closed: Closed, seed: int) -> Numbers:
    """(k,) different passages of an example, or fewer where its lists are shorter."""
    if recipe.sampler == "top":
        return closed.retriever[: recipe.k]
    draw = np.random.default_rng(seed)
    of_retriever = recipe.sampler == "retriever"
    if recipe.sampler == "mixture":
        of_retriever = bool(draw.random() < recipe.alpha)
    passages, scores = closed[:2] if of_retriever else closed[2:]
    return drawn(passages, scores, recipe.temperature, draw)[: recipe.k]


def drawn(
    passages: Numbers, scores: Floats, temperature: float, draw: np.random.Generator
) -> Numbers:
    """All passages, in the order in which they are drawn without replacement."""
    keys = scores / temperature + draw.gumbel(size=len(scores))
    return passages[np.argsort(-keys, kind="stable")]
