"""The models and losses of Mou et al. (2020, section 2.2), and their baseline DRN with BERT.

The complementary model has one encoder, which reads the question alone, ``[CLS] q [SEP]``, and each
passage with its question, ``[CLS] q [SEP] title. text [SEP]``; the last layer's hidden states
represent them. A fully connected layer with a sigmoid on a passage's vector gives P(p|q). So each
passage is encoded once per question, whatever sets it is in. The loss is that of equations 4 to
7::

    L = L_sup + alpha L_d + beta L_c

- L_sup, relevance: the cross-entropy of P(p|q) over a question's passages. The paper prints
  - sum y log f(p) (equation 5), which P = 1 for every passage would minimise; its name and its
    relevance baseline imply both classes, so the other passages add - log(1 - f(p)).
- L_d, diversity: the sum of 1 - l1(p_i, p_j) over pairs of gold passages, each pair once, with the
  bounded distance of :mod:`adducir.studies.complementary_evidence.selection`.
- L_c, compactness: over the labelled sets the sum of PyTorch's CosineEmbeddingLoss of the question
  and the sum of the members: 1 - cos for a gold set, max(0, cos - margin) for a negative one.

Passages are encoded once for all sets of a question, so L_sup and L_d count once per question. The
terms are sums, as in the paper; a batch's loss is the mean over its questions.

DRN (section 3.2; after Harel et al., 2019) has two models, each of which encodes questions and
passages separately: one finds the most relevant passage, the other scores how much a second passage
adds to the first. BERT replaces the LSTM. Harel et al. score with an extension of a neural tensor
network; here relevance is such a network over (q, p), and novelty one over (p1, p2) with q as a
further linear term, with ``slices`` slices of W::

    s(a, b; c) = u . tanh(a' W b + V [a; b; c] + v) + w
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional

from adducir.core.errors import ArtifactError, InputError
from adducir.models.artifacts import ModelSettings
from adducir.models.loading import load_model, load_tokenizer, longest_input
from adducir.models.machine import Precision, computing_in, seed_of
from adducir.models.sources import ModelSource, trained_folder
from adducir.models.work import in_order, padded
from adducir.rerankers.pairs import fitted
from adducir.studies.complementary_evidence.questions import EvidenceQuestion
from adducir.studies.complementary_evidence.selection import (
    CandidatePool,
    DRNSelection,
    NoveltyPool,
    Positive,
    Selection,
)

Pooling = Literal["first", "mean"]
HEAD_FILE = "head.safetensors"
TOGETHER = 64
"""Questions whose vectors are in memory at a time."""
_ZERO = 1e-12


class SelectorSettings(ModelSettings):
    file: ClassVar = "evidence.json"
    what: ClassVar = "not an evidence selector"

    kind: Literal["complementary", "drn"] = "complementary"
    """What the model is."""
    length: Annotated[int, Field(ge=8)] | None = None
    """Maximum tokens of an input; by default the model's maximum."""
    pooling: Pooling = "first"
    """How tokens' vectors are pooled."""
    slices: Positive = 4
    """DRN's slices."""
    selection: Selection | DRNSelection = Selection()
    """How sets are selected."""


@dataclass(frozen=True)
class Input:
    """An input of a network: (n,) token ids, segments (0 or 1), and 1 at its own tokens."""

    ids: NDArray[np.int64]
    types: NDArray[np.int64]
    own: NDArray[np.int64]


class QuestionReader:
    """Builds the inputs of a question and its passages, read with it or alone."""

    def __init__(self, tokenizer: Any, length: int, *, together: bool) -> None:
        self.tokenizer, self.length, self.together = tokenizer, length, together

    def read(self, question: EvidenceQuestion) -> list[Input]:
        """Passages are cut at the end; a question only if it leaves them less than a quarter."""
        texts = [passage.titled for passage in question.passages]
        pairs = [(question.question, text) for text in texts] if self.together else texts
        encoded = self.tokenizer.backend_tokenizer.encode_batch([question.question])
        encoded += self.tokenizer.backend_tokenizer.encode_batch(pairs) if pairs else []
        return [
            self._input(encoding, int(self.together and n > 0))
            for n, encoding in enumerate(encoded)
        ]

    def _input(self, encoding: Any, side: int) -> Input:
        sides = np.array([-1 if side is None else side for side in encoding.sequence_ids])
        special, first, second = (np.flatnonzero(sides == place) for place in (-1, 0, 1))
        texts = fitted(first, second, self.length - len(special))
        kept = np.sort(np.concatenate([special, *texts]))
        values = encoding.ids, encoding.type_ids, sides == side
        return Input(*(np.array(some, dtype=np.int64)[kept] for some in values))


class Encoder(torch.nn.Module):
    """A transformers network, and how its last layer becomes a vector."""

    def __init__(self, source: ModelSource, pooling: Pooling) -> None:
        super().__init__()
        self.network: Any = load_model(source)
        self.pooling = pooling
        self.width = int(self.network.config.hidden_size)
        self._has_types = int(getattr(self.network.config, "type_vocab_size", 0) or 0) > 1
        self._filler = int(self.network.config.pad_token_id or 0)

    def forward(self, inputs: Sequence[Input]) -> Tensor:
        """(n, d) the vectors of one batch, in single precision."""
        device = self.network.device
        ids, mask = padded([item.ids for item in inputs], self._filler, device)
        more: dict[str, Tensor] = {}
        if self._has_types:
            more["token_type_ids"] = padded([item.types for item in inputs], 0, device)[0]
        states: Tensor = self.network(ids, attention_mask=mask, **more).last_hidden_state.float()
        if self.pooling == "first":
            return states[:, 0]
        is_own = padded([item.own for item in inputs], 0, device)[0].to(states.dtype)[..., None]
        return (states * is_own).sum(1) / is_own.sum(1).clamp(min=1)

    def vectors(self, inputs: Sequence[Input], tokens: int | None) -> NDArray[np.float32]:
        """(n, d) the vectors of many inputs, in batches of a number of padded tokens."""

        def compute(numbers: NDArray[np.int64]) -> list[Any]:
            return list(self([inputs[number] for number in numbers]).cpu().numpy())

        lengths, device = [len(item.ids) for item in inputs], self.network.device
        return np.array(in_order(lengths, compute, tokens=tokens, device=device), dtype=np.float32)

    def freeze(self, trained: int | None) -> None:
        """Freeze all but the top layers; None: train all, including the embeddings."""
        if trained is None:
            return
        layers = getattr(getattr(self.network, "encoder", None), "layer", None)
        if layers is None:
            kind = type(self.network).__name__
            raise InputError(
                f"the layers of a {kind} are not known, so none can be frozen.",
                hint="Leave `layers` out.",
            )
        self.network.requires_grad_(False)
        for layer in layers[max(0, len(layers) - trained) :]:
            layer.requires_grad_(True)


def batch_of(
    encoder: Encoder, questions: Sequence[Sequence[Input]]
) -> tuple[Tensor, Tensor, Tensor]:
    """(Q, d) vectors of questions, (Q, K, d) of passages, (Q, K) True at passages."""
    vectors = encoder([item for inputs in questions for item in inputs])
    counts = torch.tensor([len(inputs) for inputs in questions], device=vectors.device)
    there = torch.arange(max(2, int(counts.max())), device=vectors.device) < counts[:, None]
    whole = vectors.new_zeros((*there.shape, encoder.width))
    whole = whole.masked_scatter(there[..., None], vectors)
    return whole[:, 0], whole[:, 1:], there[:, 1:]


def relevance_loss(logits: Tensor, relevant: Tensor, mask: Tensor) -> Tensor:
    """(Q,) equation 5, of (Q, K) logits; ``mask`` is True at passages."""
    clean = logits.masked_fill(~mask, 0)
    target = relevant.to(clean.dtype)
    losses = functional.binary_cross_entropy_with_logits(clean, target, reduction="none")
    return losses.masked_fill(~mask, 0).sum(-1)


def complementary_loss(
    logits: Tensor, vectors: Tensor, question: Tensor, mask: Tensor, batch: Any, recipe: Any
) -> Tensor:
    """Equation 4 of (Q, K) logits and (Q, K, d) vectors of passages and (Q, d) of questions."""
    gold, sets, weights = batch["relevant"] & mask, batch["sets"], recipe.weights
    total = relevance_loss(logits, gold, mask).mean()
    if weights.diversity:
        gold_vectors = vectors.masked_fill(~gold[..., None], 0)
        unit = functional.normalize(gold_vectors, dim=-1, eps=_ZERO)
        apart = torch.cdist(unit, unit, p=1.0) / (2 * vectors.shape[-1] ** 0.5)
        pairs = (gold[:, :, None] & gold[:, None, :]).triu(1)
        diversity = (1 - apart).masked_fill(~pairs, 0).sum((-2, -1))
        total = total + weights.diversity * diversity.mean()
    if weights.compactness:
        clean, is_member = vectors.masked_fill(~mask[..., None], 0), sets >= 0
        numbers = sets.clamp(min=0).flatten(1)[..., None].expand(-1, -1, clean.shape[-1])
        members = clean.gather(1, numbers).reshape(*sets.shape, -1)
        sums = members.masked_fill(~is_member[..., None], 0).sum(2)
        cosine = functional.cosine_similarity(sums, question[:, None], dim=-1, eps=_ZERO)
        false = (cosine - recipe.margin).clamp(min=0)
        losses = torch.where(batch["labels"], 1 - cosine, false)
        compactness = losses.masked_fill(~is_member.any(-1), 0).sum(-1)
        total = total + weights.compactness * compactness.mean()
    return total


class EvidenceModel(torch.nn.Module, ABC):
    """A model that scores the passages of a question, encoded with it or separately."""

    together: ClassVar[bool]
    folders: ClassVar[tuple[str, ...]]
    """Where each encoder is saved with its head."""

    def __init__(self, settings: SelectorSettings, sources: Sequence[ModelSource]) -> None:
        super().__init__()
        self.settings = settings
        encoders = [Encoder(source, settings.pooling) for source in sources]
        tokenizer = load_tokenizer(sources[0])
        length = longest_input(encoders[0].network.config, tokenizer, settings.length)
        self.reader = QuestionReader(tokenizer, length, together=self.together)
        self.encoders: Any = torch.nn.ModuleList(encoders)
        heads = [self.head(encoder.width, number) for number, encoder in enumerate(encoders)]
        self.heads: Any = torch.nn.ModuleList(heads)

    @abstractmethod
    def head(self, width: int, number: int) -> torch.nn.Module:
        """The head of an encoder, with new weights."""

    @abstractmethod
    def loss(self, batch: Mapping[str, Any], recipe: Any) -> Tensor:
        """The mean loss of Q questions, with the recipe's weights.

        A batch has ``questions`` (inputs), (Q, K) ``relevant``, (Q, S, L) ``sets`` (the numbers of
        members, padded with -1) and (Q, S) ``labels``.
        """

    @abstractmethod
    def pool(self, vectors: Sequence[NDArray[np.float32]], most: int) -> Any:
        """What selection needs for a question, from each encoder's vectors of its inputs."""

    @classmethod
    def untrained(cls, base: ModelSource, settings: SelectorSettings, seed: int) -> Self:
        torch.manual_seed(seed_of(seed, "head"))
        return cls(settings, [base] * len(cls.folders)).eval()

    @classmethod
    def load(cls, folder: Path) -> Self:
        places = [folder / name for name in cls.folders]
        model = cls(
            SelectorSettings.load(folder), [ModelSource(str(folder), place) for place in places]
        )
        for head, place in zip(model.heads, places, strict=True):
            try:
                head.load_state_dict(load_file(place / HEAD_FILE))
            except (OSError, RuntimeError, SafetensorError) as error:
                message = f"the head's weights cannot be loaded: {error}."
                raise InputError(message, path=place / HEAD_FILE) from error
        return model.eval()

    def save(self, folder: Path) -> None:
        for encoder, head, name in zip(self.encoders, self.heads, self.folders, strict=True):
            encoder.network.save_pretrained(folder / name)
            self.reader.tokenizer.save_pretrained(folder / name)
            save_file(head.state_dict(), folder / name / HEAD_FILE)
        self.settings.save(folder)

    @torch.inference_mode()
    def pools(
        self,
        questions: Sequence[EvidenceQuestion],
        most: int,
        *,
        precision: Precision = "float32",
        tokens: int | None = None,
    ) -> list[Any]:
        """What a selection of ``most`` passages needs; ``tokens`` is the batch size."""
        self.eval()
        pools = []
        with computing_in(precision, self):
            for first in range(0, len(questions), TOGETHER):
                inputs_of_questions = [
                    self.reader.read(question) for question in questions[first : first + TOGETHER]
                ]
                ends = np.cumsum([len(inputs) for inputs in inputs_of_questions])
                inputs = [item for some in inputs_of_questions for item in some]
                whole = (
                    np.split(encoder.vectors(inputs, tokens), ends[:-1])
                    for encoder in self.encoders
                )
                pools += [self.pool(vectors, most) for vectors in zip(*whole, strict=True)]
        return pools


class ComplementaryModel(EvidenceModel):
    """The encoder with its relevance head, initialised like BERT's heads: N(0, 0.02)."""

    together = True
    folders = ("",)

    def head(self, width: int, number: int) -> torch.nn.Module:
        head = torch.nn.Linear(width, 1)
        torch.nn.init.normal_(head.weight, 0.0, 0.02)
        torch.nn.init.zeros_(head.bias)
        return head

    def loss(self, batch: Mapping[str, Any], recipe: Any) -> Tensor:
        question, passages, mask = batch_of(self.encoders[0], batch["questions"])
        logits = self.heads[0](passages)[..., 0]
        return complementary_loss(logits, passages, question, mask, batch, recipe)

    def pool(self, vectors: Sequence[NDArray[np.float32]], most: int) -> CandidatePool:
        question, passages = vectors[0][0], vectors[0][1:]
        device = self.encoders[0].network.device
        logits = self.heads[0](torch.from_numpy(passages).to(device))[:, 0]
        return CandidatePool.of(logits.sigmoid().cpu().numpy(), passages, question, most)


class TensorNetwork(torch.nn.Module):
    """A neural tensor network over two vectors, with a third in its linear part."""

    def __init__(self, width: int, slices: int, *, third: bool) -> None:
        super().__init__()
        self.bilinear = torch.nn.Parameter(torch.empty(slices, width, width))
        self.linear = torch.nn.Linear((3 if third else 2) * width, slices)
        self.out = torch.nn.Linear(slices, 1)
        torch.nn.init.normal_(self.bilinear, 0.0, 0.02 / width**0.5)

    def forward(self, first_vectors: Tensor, two: Tensor, third: Tensor | None = None) -> Tensor:
        """(..., A, B) scores of every pair of (..., A, d) and (..., B, d); third: (..., d)."""
        width = first_vectors.shape[-1]
        first, second, *others = torch.split(self.linear.weight, width, dim=1)
        linear = (first_vectors @ first.T)[..., :, None, :] + (two @ second.T)[..., None, :, :]
        if third is not None and others:
            linear = linear + (third @ others[0].T)[..., None, None, :]
        product = torch.einsum("...ad,sde,...be->...abs", first_vectors, self.bilinear, two)
        return self.out(torch.tanh(product + linear + self.linear.bias))[..., 0]


class DRNModel(EvidenceModel):
    """Relevance and novelty, each an encoder with a tensor network; no weights are shared."""

    together = False
    folders = ("relevance", "novelty")

    def head(self, width: int, number: int) -> torch.nn.Module:
        return TensorNetwork(width, self.settings.slices, third=number == 1)

    def loss(self, batch: Mapping[str, Any], recipe: Any) -> Tensor:
        """Train novelty with each gold passage as the first and the other gold ones as positives.

        All others, including the first itself, are negatives.
        """
        (question, question_passages, mask), (questions, passages, _) = (
            batch_of(encoder, batch["questions"]) for encoder in self.encoders
        )
        firsts = batch["relevant"] & mask
        relevance = relevance_loss(
            self.heads[0](question[:, None], question_passages)[:, 0], firsts, mask
        )
        pairs = firsts[:, :, None] & mask[:, None]
        novelty = self.heads[1](passages, passages, questions).masked_fill(~pairs, 0)
        same = torch.eye(firsts.shape[1], dtype=torch.bool, device=firsts.device)
        adds = (firsts[:, :, None] & firsts[:, None] & ~same).to(novelty.dtype)
        losses = functional.binary_cross_entropy_with_logits(novelty, adds, reduction="none")
        per_first = losses.masked_fill(~pairs, 0).sum((1, 2)) / firsts.sum(1).clamp(min=1)
        return (relevance + per_first).mean()

    def pool(self, vectors: Sequence[NDArray[np.float32]], most: int) -> NoveltyPool:
        device = self.encoders[0].network.device
        values, two = (torch.from_numpy(some).to(device) for some in vectors)
        relevance = self.heads[0](values[:1], values[1:])[0]
        novelty = self.heads[1](two[1:], two[1:], two[0])
        logits = (some.sigmoid().double().cpu().numpy() for some in (relevance, novelty))
        return NoveltyPool(*logits)


MODELS: dict[str, type[EvidenceModel]] = {"complementary": ComplementaryModel, "drn": DRNModel}


def load_evidence_model(path: Path) -> EvidenceModel:
    from adducir.training.trainable import note_older

    folder = trained_folder(path, error=ArtifactError)
    note_older(folder)
    return MODELS[SelectorSettings.load(folder).kind].load(folder)
