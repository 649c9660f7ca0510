"""Many small collections, each ranked in full for its own queries, in memory.

A candidate set is a collection of its own: its document frequencies and its mean length come from
its candidates alone. A book's passages of n sentences (RELiC), all example units (EGRET) and the
fifty paragraphs of a question (HotpotQA) are such sets. No files are built.

The names below are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from adducir.core.lazy import offering

if TYPE_CHECKING:
    from adducir.indexes.candidates.batch import (
        RankingTask,
        gold_ranks_of_sets,
        rank_sets,
        score_sets,
    )
    from adducir.indexes.candidates.parts import rank_parts
    from adducir.indexes.candidates.ranking import Ranking
    from adducir.indexes.candidates.sets import CandidateSet
    from adducir.indexes.candidates.vocabulary import lower_split

__all__ = [  # noqa: RUF022  (in the order of use)
    "CandidateSet",
    "lower_split",
    "Ranking",
    "RankingTask",
    "rank_sets",
    "rank_parts",
    "score_sets",
    "gold_ranks_of_sets",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = offering(
        __name__,
        {
            "adducir.indexes.candidates.batch": "RankingTask gold_ranks_of_sets "
            "rank_sets score_sets",
            "adducir.indexes.candidates.parts": "rank_parts",
            "adducir.indexes.candidates.ranking": "Ranking",
            "adducir.indexes.candidates.sets": "CandidateSet",
            "adducir.indexes.candidates.vocabulary": "lower_split",
        },
    )
