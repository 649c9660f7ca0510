"""Losses of a matrix of scores: what a trained ranker minimises, named by ``loss:`` in its recipe.

A loss sees the scores s of queries and candidate texts, each query's positive p, which candidates
are its own (its positive and its hard negatives), which of them are false negatives, and a
teacher's scores t of its own. So one loss trains dual encoders, late interaction, sparse encoders
and cross-encoders alike. The values are those of sentence-transformers' losses on the same batch.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import BeforeValidator, Field, PlainSerializer

from adducir.core.recipe import Kind
from adducir.core.registry import Family, chosen_beside

if TYPE_CHECKING:
    from torch import Tensor

COSINE_TEMPERATURE = 0.05
"""Cosines lie between -1 and 1: undivided, they could not separate one text from a hundred."""


@dataclass(frozen=True)
class ScoredBatch:
    """Scores of Q queries and C candidates.

    Attributes:
        scores: (Q, C), with gradient.
        positive: (Q,) the column of each query's positive; -1 for a query that has none.
        own: (Q, C) whether a candidate is the query's own: its positive or a hard negative.
        false: (Q, C) whether a candidate is a false negative: it has the text of one of the query's
            positives. Never the positive's own column.
        teacher: (Q, C) a teacher's scores, NaN where there is none; None without a teacher.
        temperature: What divides the scores unless the loss has its own temperature.
    """

    scores: "Tensor"
    positive: "Tensor"
    own: "Tensor"
    false: "Tensor"
    teacher: "Tensor | None" = None
    temperature: float = 1.0

    @property
    def is_positive(self) -> "Tensor":
        """(Q, C) True in the positive's column."""
        import torch

        columns = torch.arange(self.scores.shape[1], device=self.scores.device)
        return columns == self.positive[:, None]

    def lists(self) -> "ScoredBatch":
        """Only each query's own candidates, its positive first: (Q, longest list)."""
        import torch

        rank = self.own.int() + self.is_positive.int()
        order = rank.argsort(dim=1, descending=True, stable=True)[:, : int(self.own.sum(1).max())]
        own, false, scores = (m.gather(1, order) for m in (self.own, self.false, self.scores))
        teacher = None if self.teacher is None else self.teacher.gather(1, order)
        first = torch.where(self.positive < 0, -1, 0)
        return replace(self, scores=scores, positive=first, own=own, false=false, teacher=teacher)


class Loss(Kind):
    """A loss of a matrix of scores."""

    in_batch: ClassVar[bool] = False  # other queries' candidates are negatives, too
    needs_negatives: ClassVar[bool] = False  # each query needs a negative of its own
    needs_teacher: ClassVar[bool] = False
    of_pairs: ClassVar[bool] = False  # each pair of query and text counts by itself

    temperature: Annotated[float, Field(gt=0)] | None = None
    """Divides the scores; by default 0.05 for cosines, otherwise 1."""

    @abstractmethod
    def __call__(self, batch: ScoredBatch) -> "Tensor":
        """The mean loss, with gradient."""

    def scaled(self, batch: ScoredBatch) -> "Tensor":
        return batch.scores * (1 / (self.temperature or batch.temperature))


class InBatchNegatives(Loss):
    """In-batch negatives (InfoNCE): -log(exp(s_p) / sum of exp(s)) over all candidates of a batch.

    van den Oord et al. (2018); other queries' texts are negatives, except false ones.
    """

    in_batch: ClassVar[bool] = True

    def __call__(self, batch: ScoredBatch) -> "Tensor":
        import torch

        scores = self.scaled(batch).masked_fill(batch.false, -torch.inf)
        return torch.nn.functional.cross_entropy(scores, batch.positive)


class CrossEntropy(Loss):
    """Cross-entropy over a query's own list: its positive against its hard negatives."""

    needs_negatives: ClassVar[bool] = True

    def __call__(self, batch: ScoredBatch) -> "Tensor":
        import torch

        out = ~batch.own | batch.false
        scores = self.scaled(batch).masked_fill(out, -torch.inf)
        return torch.nn.functional.cross_entropy(scores, batch.positive)


class BinaryCrossEntropy(Loss):
    """Binary cross-entropy of each pair: the positive's label is 1, a hard negative's is 0."""

    needs_negatives: ClassVar[bool] = True
    of_pairs: ClassVar[bool] = True

    def __call__(self, batch: ScoredBatch) -> "Tensor":
        from torch.nn.functional import binary_cross_entropy_with_logits

        counts = batch.own & ~batch.false
        labels = batch.is_positive[counts].to(batch.scores.dtype)
        return binary_cross_entropy_with_logits(self.scaled(batch)[counts], labels)


class Pairwise(Loss):
    """RankNet: -log2 sigmoid(s_i - s_j) over pairs of a query's own texts of which i is better.

    Burges et al. (2005). The teacher's scores say which is better; without them, the positive is
    better than each negative.
    """

    needs_negatives: ClassVar[bool] = True

    def __call__(self, batch: ScoredBatch) -> "Tensor":
        from torch.nn.functional import logsigmoid

        own = batch.lists()
        counts, scores = own.own & ~own.false, self.scaled(own)
        targets = own.is_positive.to(scores.dtype) if own.teacher is None else own.teacher
        # A comparison with NaN, where the teacher is silent, is False.
        better = targets[:, :, None] > targets[:, None, :]
        better = better & counts[:, :, None] & counts[:, None, :]
        margins = (scores[:, :, None] - scores[:, None, :])[better]
        return -logsigmoid(margins).sum() / max(margins.numel(), 1) / math.log(2)


class MarginMSE(Loss):
    """Margin MSE: the mean of ((s_p - s) - (t_p - t))^2 over a query's own negatives.

    Distillation of Hofstätter et al. (2020): the student's margins become the teacher's.
    """

    needs_negatives: ClassVar[bool] = True
    needs_teacher: ClassVar[bool] = True

    def __call__(self, batch: ScoredBatch) -> "Tensor":
        own, taught = _taught(batch)
        scores = self.scaled(own)
        student, teacher = (values[:, :1] - values[:, 1:] for values in (scores, taught))
        scored = own.own[:, 1:] & ~teacher.isnan()
        errors = (student - teacher)[scored] ** 2
        return errors.sum() / max(errors.numel(), 1)


class KLDivergence(Loss):
    """Distillation: KL divergence of the student's from the teacher's softmax over own texts.

    Multiplied by the square of ``temperature``, if that is set, as Hinton et al. (2015) do.
    """

    needs_negatives: ClassVar[bool] = True
    needs_teacher: ClassVar[bool] = True
    teacher_temperature: Annotated[float, Field(gt=0)] = 1.0
    """Divides the teacher's scores."""

    def __call__(self, batch: ScoredBatch) -> "Tensor":
        import torch

        own, taught = _taught(batch)
        scored = own.own & ~taught.isnan()
        rows = scored.sum(1) > 1  # one text alone has nothing to teach
        scores, teacher = self.scaled(own), taught / self.teacher_temperature
        if not rows.any():
            return scores.sum() * 0
        student, target = (
            values.masked_fill(~scored, -torch.inf)[rows].log_softmax(1)
            for values in (scores, teacher.to(scores.dtype))
        )
        # Where a text is silent, both are -inf and the target's probability is 0.
        terms = target.exp() * (target - student).masked_fill(~scored[rows], 0)
        return terms.sum() / len(terms) * (self.temperature or 1) ** 2


def _taught(batch: ScoredBatch) -> "tuple[ScoredBatch, Tensor]":
    """Each query's own texts, and the teacher's scores of them."""
    own = batch.lists()
    silent = own.scores.detach() * math.nan
    return own, silent if own.teacher is None else own.teacher


LOSSES: Family[Loss] = Family(
    "losses",
    Loss,
    {
        "in-batch-negatives": "adducir.training.losses:InBatchNegatives",
        "cross-entropy": "adducir.training.losses:CrossEntropy",
        "binary-cross-entropy": "adducir.training.losses:BinaryCrossEntropy",
        "pairwise": "adducir.training.losses:Pairwise",
        "margin-mse": "adducir.training.losses:MarginMSE",
        "kl-divergence": "adducir.training.losses:KLDivergence",
    },
    what="kind of loss",
)


LossKey = Annotated[
    Loss | None,
    BeforeValidator(chosen_beside(LOSSES, "kind")),
    PlainSerializer(lambda loss: None if loss is None else LOSSES.settings(loss, "kind")),
]
"""A recipe's key ``loss``: ``margin-mse``, or ``{kind: kl-divergence, temperature: 2}``."""
