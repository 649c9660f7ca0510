"""Which k passages of an example's closed set a step computes with.

A closed set is two lists: the first r passages of the retriever and of the guide, with the scores
of that moment. Passages are drawn without replacement by softmax(score / temperature): to each
log-weight a Gumbel variable is added, and the k greatest are taken, which is drawing one after the
other from what is left (Yellott, 1977; Kool et al., ICML 2019).
"""

from collections.abc import Callable
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
        sampler: ``guide`` or ``retriever``: drawn from that list; ``top`` or ``guide-top``: the
            first of the retriever's or the guide's list; ``mixture``: from the retriever's list
            with probability ``alpha``, else from the guide's; ``posterior``: half from what both
            lists have and half from what the guide's alone has; ``guided``: a quarter each from
            what both have, the retriever's alone, the guide's alone, and all passages.
        alpha: See ``mixture``.
        mixture: Whether that coin is tossed for each ``example`` or for each ``passage``.
        temperature: Of the scores in a draw.
    """

    k: Annotated[int, Field(ge=1)] = 8
    sampler: Literal["guide", "retriever", "top", "guide-top", "mixture", "posterior", "guided"] = (
        "mixture"
    )
    alpha: Annotated[float, Field(ge=0, le=1)] = 0.0
    mixture: Literal["example", "passage"] = "example"
    temperature: Annotated[float, Field(gt=0)] = 1.0


def sample(recipe: SampleRecipe, closed: Closed, size: int, seed: int) -> Numbers:
    """(k,) different passages of an example, or fewer where its lists are shorter.

    Args:
        recipe: How.
        closed: The lists.
        size: How many passages there are in all; they are numbered from 0.
        seed: Decides the draw.
    """
    if recipe.sampler in ("top", "guide-top"):
        return (closed.retriever if recipe.sampler == "top" else closed.guide)[: recipe.k]
    draw = np.random.default_rng(seed)
    return _SAMPLERS[recipe.sampler](recipe, closed, size, draw)


def drawn(
    passages: Numbers, scores: Floats, temperature: float, draw: np.random.Generator
) -> Numbers:
    """All passages, in the order in which they are drawn without replacement."""
    keys = scores / temperature + draw.gumbel(size=len(scores))
    return passages[np.argsort(-keys, kind="stable")]


def _of_guide(
    recipe: SampleRecipe, closed: Closed, size: int, draw: np.random.Generator
) -> Numbers:
    del size
    return drawn(closed.guide, closed.guide_scores, recipe.temperature, draw)[: recipe.k]


def _of_retriever(
    recipe: SampleRecipe, closed: Closed, size: int, draw: np.random.Generator
) -> Numbers:
    del size
    return drawn(closed.retriever, closed.retriever_scores, recipe.temperature, draw)[: recipe.k]


def _mixture(recipe: SampleRecipe, closed: Closed, size: int, draw: np.random.Generator) -> Numbers:
    if recipe.mixture == "example":
        sampler = _of_retriever if draw.random() < recipe.alpha else _of_guide
        return sampler(recipe, closed, size, draw)
    from_retriever = draw.random(recipe.k) < recipe.alpha
    lists = [
        drawn(closed.guide, closed.guide_scores, recipe.temperature, draw).tolist(),
        drawn(closed.retriever, closed.retriever_scores, recipe.temperature, draw).tolist(),
    ]
    return _in_turn([lists[int(one)] for one in from_retriever], [lists[0]], recipe.k)


def _posterior(
    recipe: SampleRecipe, closed: Closed, size: int, draw: np.random.Generator
) -> Numbers:
    del size
    guide = drawn(closed.guide, closed.guide_scores, recipe.temperature, draw)
    common = np.isin(guide, closed.retriever)
    both, alone = guide[common].tolist(), guide[~common].tolist()
    half = recipe.k // 2
    return _in_turn([both] * half + [alone] * (recipe.k - half), [guide.tolist()], recipe.k)


def _guided(recipe: SampleRecipe, closed: Closed, size: int, draw: np.random.Generator) -> Numbers:
    guide = drawn(closed.guide, closed.guide_scores, recipe.temperature, draw)
    retriever = drawn(closed.retriever, closed.retriever_scores, recipe.temperature, draw)
    common = np.isin(guide, retriever)
    # Any 3 lists of r and a random k: so many that none runs short of passages to take.
    most = min(size, recipe.k + len(guide) + len(retriever))
    at_random = draw.choice(size, size=most, replace=False)
    parts = [
        guide[common].tolist(),
        retriever[~np.isin(retriever, guide)].tolist(),
        guide[~common].tolist(),
        at_random.tolist(),
    ]
    turns = [parts[place * 4 // recipe.k] for place in range(recipe.k)]
    return _in_turn(turns, [guide.tolist(), retriever.tolist()], recipe.k)


def _in_turn(turns: list[list[int]], rest: list[list[int]], k: int) -> Numbers:
    """The next passage of each turn's list that was not taken; what is lacking from the rest."""
    taken: dict[int, None] = {}
    following = {id(one): iter(one) for one in turns}
    for one in turns:
        new = next((passage for passage in following[id(one)] if passage not in taken), None)
        if new is not None:
            taken[new] = None
    for one in rest:
        for passage in one:
            if len(taken) < k:
                taken.setdefault(passage)
    return np.array(list(taken), dtype=np.int64)


_SAMPLERS: dict[str, Callable[[SampleRecipe, Closed, int, np.random.Generator], Numbers]] = {
    "guide": _of_guide,
    "retriever": _of_retriever,
    "mixture": _mixture,
    "posterior": _posterior,
    "guided": _guided,
}
