"""A synthetic collection for grounded generation from arguments, where what is true is known.

Arguments for one conclusion are many passages that are equally relevant to it. The input x of an
example is the conclusion, its passages are the premises, each cut to some words; the target y is a
sentence of one of them, of which words were dropped at random, and that passage is the gold one. So
a retriever that sees x alone can find the gold passage among those of its conclusion by chance
only: Success@k is min(1, k / passages of the conclusion) at most. Content words of x can be
replaced by nonce words, the same for the same word: the relation of x to its passages is then to be
learned, and y still shows it.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from adducir.core.errors import InputError
from adducir.core.recipe import Recipe
from adducir.corpora.records import DEFAULT_SHARES, part_of, read_values
from adducir.studies.grounded_generation.contexts import GroundedContext
from adducir.studies.sentences import sentence_bounds

_FREQUENT = 100  # so many of the passages' most frequent words carry no content


@dataclass(frozen=True, slots=True)
class _Argument:
    docno: str
    conclusion: str
    premise: str


class ArgumentsRecipe(Recipe):
    """How examples are made from arguments; docs/hindsight.md has the keys."""

    words: Annotated[int, Field(ge=1)] = 150
    least: Annotated[int, Field(ge=1)] = 3
    sentences: Annotated[int, Field(ge=1)] = 1
    shortest: Annotated[int, Field(ge=1)] = 8
    dropped: Annotated[float, Field(ge=0, lt=1)] = 0.4
    nonce: Annotated[float, Field(ge=0, le=1)] = 0.0
    shares: dict[str, float] = DEFAULT_SHARES
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0


class Bed(NamedTuple):
    """Texts by docno, contexts by part, and how many passages are equally relevant to a group."""

    passages: dict[str, str]
    contexts: dict[str, list[GroundedContext]]
    relevant: dict[str, int]


def build_bed(path: Path, recipe: ArgumentsRecipe) -> Bed:
    """Make passages and contexts from a file of arguments: docno, conclusion and premise.

    Equal premises are one passage. A conclusion's part depends on it and the seed alone.
    """
    passages: dict[str, str] = {}
    groups: dict[str, list[str]] = {}
    texts: set[str] = set()
    for _, argument in read_values(path, _Argument):
        words = argument.premise.split()[: recipe.words]
        text = " ".join(words)
        if len(words) >= recipe.shortest and text not in texts:
            texts.add(text)
            passages[argument.docno] = text
            conclusion = " ".join(argument.conclusion.lower().split())
            groups.setdefault(conclusion, []).append(argument.docno)
    groups = {name: docnos for name, docnos in groups.items() if len(docnos) >= recipe.least}
    if not groups:
        raise InputError(f"no conclusion has {recipe.least} passages.", path=path)
    draw = np.random.default_rng(recipe.seed)
    inputs = _inputs(groups, passages, recipe.nonce, draw)
    contexts: dict[str, list[GroundedContext]] = {name: [] for name in recipe.shares}
    for name, docnos in groups.items():
        some = contexts[part_of(name, recipe.shares, recipe.seed)]
        for docno in docnos:
            text = passages[docno]
            sentences = [text[first:past].split() for first, past in sentence_bounds(text)]
            long = [words for words in sentences if len(words) >= recipe.shortest]
            for number, place in enumerate(draw.permutation(len(long))[: recipe.sentences]):
                kept = [word for word in long[place] if draw.random() >= recipe.dropped]
                target, key = " ".join(kept or long[place][:1]), f"{docno}-{number}"
                some.append(GroundedContext(key, inputs[name], target, (docno,), name))
    return Bed(passages, contexts, {name: len(docnos) for name, docnos in groups.items()})


def _inputs(
    conclusions: Iterable[str], passages: dict[str, str], nonce: float, draw: np.random.Generator
) -> dict[str, str]:
    """The input of each conclusion: its words, some replaced by words of three syllables."""
    counts = Counter(word for text in passages.values() for word in text.lower().split())
    frequent = {word for word, _ in counts.most_common(_FREQUENT)}
    names: dict[str, str] = {}
    found = {}
    for conclusion in conclusions:
        words = conclusion.split()
        for place, word in enumerate(words):
            bare = word.strip(".,;:!?\"'()[]")
            if bare and bare not in frequent and draw.random() < nonce:
                while bare not in names:
                    made = "".join(
                        "bdfgklmnprstvz"[draw.integers(14)] + "aeiou"[draw.integers(5)]
                        for _ in range(3)
                    )
                    if made not in names.values():
                        names[bare] = made
                words[place] = names[bare]
        found[conclusion] = " ".join(words)
    return found
