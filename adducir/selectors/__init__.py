"""Complementary evidence (Mou et al., 2020): sets of passages that answer a question together.

Three things make a set good: each passage is relevant, the passages differ (diversity), and their
sum points where the question does (compactness). Scores, losses and the search for the best set
are pure functions of tensors, whatever model makes those:

- (Q, K) for K passages of each of Q questions, padded, with a mask that is True at passages;
- (Q, K, d) for the passages' vectors, each conditioned on the question;
- (Q, d) for the questions' vectors.
"""

from typing import TYPE_CHECKING

from adducir.core.lazy import offering

if TYPE_CHECKING:
    from adducir.selectors.beam import HOTPOTQA50, MNLI12, BeamSettings, Selection, select_sets
    from adducir.selectors.drn import DRNModel
    from adducir.selectors.losses import LossTerms, complementary_loss
    from adducir.selectors.model import ComplementaryModel
    from adducir.selectors.scoring import Weights, distances, set_scores
    from adducir.selectors.selecting import load_evidence_model, select

__all__ = [
    "HOTPOTQA50",
    "MNLI12",
    "BeamSettings",
    "ComplementaryModel",
    "DRNModel",
    "LossTerms",
    "Selection",
    "Weights",
    "complementary_loss",
    "distances",
    "load_evidence_model",
    "select",
    "select_sets",
    "set_scores",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = offering(__name__)
