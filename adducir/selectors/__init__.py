"""Complementary evidence (Mou et al., 2020): sets of passages that answer a question together.

Three things make a set good: each passage is relevant, the passages differ (diversity), and their
sum points where the question does (compactness). Scores, losses and the search for the best set
are pure functions of tensors, whatever model makes those:

- (Q, K) for K passages of each of Q questions, padded, with a mask that is True at passages;
- (Q, K, d) for the passages' vectors, each conditioned on the question;
- (Q, d) for the questions' vectors.
"""

from adducir.core.lazy import offering

_HOMES = {
    "Weights": "scoring",
    "distances": "scoring",
    "set_scores": "scoring",
    "LossTerms": "losses",
    "complementary_loss": "losses",
    "BeamSettings": "beam",
    "Selection": "beam",
    "HOTPOTQA50": "beam",
    "MNLI12": "beam",
    "select_sets": "beam",
    "ComplementaryModel": "model",
    "DRNModel": "drn",
    "load_evidence_model": "selecting",
    "select": "selecting",
}

__getattr__ = offering(__name__, _HOMES)


def __dir__() -> list[str]:
    """The names that can be imported from here."""
    return sorted(_HOMES)
