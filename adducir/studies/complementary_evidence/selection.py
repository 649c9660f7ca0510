"""Selecting a set of passages: the settings, the score of a set, and the search for the best.

The score is equation 8 of Mou et al. (2020)::

    g = sum_i P(p_i | q) + alpha cos(sum_i p_i, q) + beta sum_{i != j} l1(p_i, p_j)

The paper swaps alpha and beta between its loss and this score, so the two weights are named by what
they weight: ``compactness`` the cosine, ``diversity`` the distances. What the paper leaves open:

- The distance must be bounded, or the loss 1 - l1 would fall without limit as vectors grow. It is
  the L1 distance of the two vectors normalised to (Euclidean) length 1, divided by its maximum,
  2 sqrt(d): 0 for equal directions, at most 1. PyTorch's L1Loss, a mean of absolute differences, is
  twice this on vectors whose components have a root mean square of 1.
- A sum over i != j includes every unordered pair once.
- A sum shorter than a millionth of its members' lengths is rounding error: its cosine counts 0.

The search is algorithm 1. The N passages with the highest P(p|q) are the candidates, and the best M
of them the first beam. Then, L - 1 times, each set in the beam is extended by each candidate, in
order of P, and the best M sets are kept: O((L - 1) M N) sets are scored instead of O(K^L). A set
already found, in any order, is skipped; a set in the beam gives at most M + 1 new sets; equal
scores keep the order in which they were found; a question with fewer than L passages gets all.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from adducir.core.errors import UsageError
from adducir.core.recipe import Recipe
from adducir.core.registry import Family
from adducir.studies.complementary_evidence.questions import EvidenceQuestion, SelectedSet

Floats = NDArray[np.float64]
Positive = Annotated[int, Field(ge=1)]
Weight = Annotated[float, Field(ge=0)]
_SHORT, _ZERO = 1e-6, 1e-12


class Selector(Recipe):
    """A way to select sets that needs no trained model (entry points ``adducir.selectors``)."""

    @abstractmethod
    def choose(self, questions: Sequence[EvidenceQuestion]) -> list[SelectedSet]:
        """The set of each question, passages in order of selection."""


class BM25Selection(Selector):
    """The passages that BM25 ranks highest; a question's passages are its collection."""

    size: Positive = 2
    """L, the passages per set."""
    k1: float = Field(0.9, ge=0)
    """Saturation of term frequency."""
    b: float = Field(0.4, ge=0, le=1)
    """Weight of length."""
    analysis: Literal["lucene", "split"] = "lucene"
    """Anserini's English analysis, or lower case split at white space."""

    def choose(self, questions: Sequence[EvidenceQuestion]) -> list[SelectedSet]:
        """The score of a set is the sum of its passages' scores."""
        from adducir.indexes.analysis import Analysis
        from adducir.indexes.candidates import CandidateSet
        from adducir.indexes.models import BM25
        from adducir.indexes.vocabulary import lower_split, vocabulary_of

        analysis = vocabulary_of(Analysis()) if self.analysis == "lucene" else lower_split
        model, selected = BM25(k1=self.k1, b=self.b), []
        for question in questions:
            ids: tuple[str, ...] = ()
            score = 0.0
            if question.passages:
                texts = [passage.titled for passage in question.passages]
                candidates = CandidateSet.of_texts(texts, analysis)
                ranking = candidates.rank([question.question], model, self.size)
                ids = tuple(question.passages[number].id for number in ranking.numbers[0])
                score = float(ranking.scores[0].sum())
            selected.append(SelectedSet(question.id, ids, score))
        return selected


SELECTORS = Family("selectors", Selector, {"bm25": f"{__name__}:BM25Selection"}, what="selector")


class Selection(Recipe):
    """How the complementary model selects: L, M and N, and the weights; relevance has weight 1."""

    size: Positive = 2
    """L, the passages per set."""
    beam: Positive = 3
    """M, the sets kept at each step."""
    candidates: Positive = 4
    """N, the most relevant passages, of which sets are made."""
    diversity: Weight = 1.0
    """The weight of diversity in a set's score."""
    compactness: Weight = 1.0
    """The weight of compactness in a set's score."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.candidates < self.size:
            raise ValueError(f"{self.candidates} candidates form no set of {self.size}")
        return self


class DRNSelection(Recipe):
    """How DRN selects; relevance has weight 1 - ``novelty``."""

    size: Positive = 2
    """L, the passages per set."""
    novelty: Annotated[float, Field(ge=0, le=1)] = 0.5
    """The weight of novelty against relevance."""


@dataclass(frozen=True)
class CandidatePool:
    """What g needs from the N most relevant passages of a question, in order of P(p|q)."""

    numbers: NDArray[np.int64]  # (N,) the passages
    relevance: Floats  # (N,) P(p|q)
    towards: Floats  # (N,) inner products with the question's unit vector
    products: Floats  # (N, N) inner products
    apart: Floats  # (N, N) bounded distances

    @classmethod
    def of(
        cls, relevance: NDArray[Any], vectors: NDArray[Any], question: NDArray[Any], most: int
    ) -> "CandidatePool":
        """The pool of candidates among K passages, from (K,) P(p|q), (K, d) and (d,) vectors."""
        order = np.argsort(-relevance, kind="stable")[:most]
        parts = relevance[order], vectors[order], question
        chances, p, q = (values.astype(np.float64) for values in parts)
        if not all(np.isfinite(values).all() for values in (chances, p, q)):
            raise UsageError("a relevance or a vector is not finite.")
        unit = p / np.linalg.norm(p, axis=1, keepdims=True).clip(min=_ZERO)
        apart = np.abs(unit[:, None] - unit[None]).sum(-1) / (2 * p.shape[1] ** 0.5)
        towards = p @ (q / max(float(np.linalg.norm(q)), _ZERO))
        return cls(order, chances, towards, p @ p.T, apart)

    def scores(self, sets: Sequence[tuple[int, ...]], selection: Selection) -> Floats:
        """(S,) g of sets of equal size, as places in the pool."""
        members = np.array(sets)
        pairs = members[:, :, None], members[:, None, :]
        length = np.sqrt(self.products[pairs].sum((1, 2)).clip(min=0))
        longest = np.sqrt(self.products.diagonal())[members].sum(1)
        cosine = self.towards[members].sum(1) / length.clip(min=_ZERO)
        compactness = np.where(length <= _SHORT * longest, 0, cosine)
        diversity = self.apart[pairs].sum((1, 2)) / 2
        relevance = self.relevance[members].sum(1)
        return relevance + selection.compactness * compactness + selection.diversity * diversity

    def best(self, selection: Selection) -> tuple[list[int], float]:
        """The best set, passages in order of selection, and its score."""
        count = min(selection.candidates, len(self.numbers))
        if not count:
            return [], 0.0
        beam: list[tuple[int, ...]] = [(n,) for n in range(min(selection.beam, count))]
        scores = self.scores(beam, selection)
        for _ in range(1, min(selection.size, count)):
            grown: dict[frozenset[int], tuple[int, ...]] = {}
            for members in beam:
                before = len(grown)
                for n in range(count):
                    if n not in members and len(grown) - before <= selection.beam:
                        grown.setdefault(frozenset((*members, n)), (*members, n))
            sets = list(grown.values())
            scores_of_sets = self.scores(sets, selection)
            order = np.argsort(-scores_of_sets, kind="stable")[: selection.beam]
            beam, scores = [sets[n] for n in order], scores_of_sets[order]
        return self.numbers[list(beam[0])].tolist(), float(scores[0])


@dataclass(frozen=True)
class NoveltyPool:
    """(K,) P(p|q) of K passages, and (K, K) how much the second adds to the first."""

    relevance: Floats
    novelty: Floats

    def best(self, selection: DRNSelection) -> tuple[list[int], float]:
        """The most relevant passage, then those with the highest (1 - w) P(p|q) + w novelty.

        Novelty is the minimum over the passages already selected; ties are broken by number.
        """
        taken: list[int] = []
        total, share, least = 0.0, 0.0, np.ones_like(self.relevance)
        for _ in range(min(selection.size, len(self.relevance))):
            score = (1 - share) * self.relevance + share * least
            score[taken] = -np.inf
            taken.append(int(score.argmax()))
            total += float(score[taken[-1]])
            least = np.minimum(least, self.novelty[taken[-1]])
            share = selection.novelty
        return taken, total
