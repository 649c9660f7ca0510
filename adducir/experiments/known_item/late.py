"""``colbert:`` and ``maxsim:``: late interaction of every context with every candidate."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from adducir.core.chunks import NOT_LOADED, Local
from adducir.corpora.references import expanded
from adducir.corpora.spans import MaskedSpan, context
from adducir.encoders.ranking import Floats, SpanTask
from adducir.encoders.reading import LengthPart, shared_room
from adducir.encoders.span_vectors import Encode, SpanSide
from adducir.evaluation.gold_ranks import GoldRanks
from adducir.experiments.known_item.system import ContextRecipe, RankingSystem, RankStep
from adducir.models.artifacts import model_versions
from adducir.models.machine import Precision
from adducir.models.sources import ModelSource, model_source
from adducir.rerankers.colbert import ColBERTRecipe, LateInteraction, MaxSimRecipe, Reading

if TYPE_CHECKING:
    import torch

    from adducir.experiments.context import Context
    from adducir.experiments.known_item.study import KnownItemStudy


class _Late(RankingSystem):
    """Late interaction.

    Attributes:
        lengths: Tokens that are read.
    """

    lengths: LengthPart = LengthPart()

    @property
    @abstractmethod
    def model(self) -> tuple[str, str]:
        """What it is called, and the model's name."""

    @abstractmethod
    def reading(self) -> Reading:
        """How texts are read."""

    def _source(self, study: "KnownItemStudy") -> ModelSource:
        return model_source(expanded(self.model[1]), study.folder)

    def open(self, name: str, study: "KnownItemStudy") -> None:
        self._source(study).identity()

    def fingerprint_inputs(self, study: "KnownItemStudy") -> Mapping[str, Any]:
        return {
            "kind": self.model[0],
            "lengths": self.lengths.model_dump(mode="json"),
            "pooling": None,
            "precision": study.recipe.precision,
        }

    def versions(self) -> Mapping[str, str]:
        return model_versions()

    def identities(self, step: RankStep) -> Mapping[str, str]:
        return {"model": self._source(step.study).identity()}

    def ranks(self, step: RankStep, tasks: Sequence[SpanTask], context: "Context") -> GoldRanks:
        source, precision = self._source(step.study), step.study.recipe.precision
        late = LateVectors(source, self.reading(), precision, step.read_of_context)
        if context.execution.is_here:
            late = replace(late, loaded=Local(late.model()))
        return step.by_vectors(late, tasks, context)


class ColBERT(_Late):
    """A ColBERT.

    Attributes:
        colbert: Its name.
    """

    colbert: str

    @property
    def model(self) -> tuple[str, str]:
        return "colbert", self.colbert

    def reading(self) -> Reading:
        own = ColBERTRecipe()
        return Reading(
            self.lengths.context or own.query_length,
            self.lengths.span or own.document_length,
            markers=own.markers,
        )


class MaxSim(_Late):
    """Late interaction of any encoder's token vectors.

    Attributes:
        maxsim: Its name.
    """

    maxsim: str

    @property
    def model(self) -> tuple[str, str]:
        return "maxsim", self.maxsim

    def reading(self) -> Reading:
        return Reading(
            self.lengths.context or MaxSimRecipe(base=self.maxsim).query_length,
            self.lengths.span,
            markers=None,
            special=False,
            fill=False,
        )


@dataclass(frozen=True)
class LateVectors:
    """Vectors of tokens; a context longer than a query may be is cut at its outer ends."""

    source: ModelSource
    reading: Reading
    precision: Precision
    read: ContextRecipe
    loaded: Local = NOT_LOADED

    def identity(self, side: SpanSide) -> Mapping[str, Any]:
        read = {} if side == "candidates" else self.read.model_dump(mode="json")
        model, reading = self.source.identity(), asdict(self.reading)
        return {"model": model, "reading": reading, "precision": self.precision, "context": read}

    def model(self) -> LateInteraction:
        """The model that this process has, or loads."""
        found: LateInteraction = self.loaded.value or LateInteraction.load(
            self.source, self.reading
        )
        found.precision = self.precision
        return found

    def load(self, device: "torch.device", tokens: int | None) -> tuple[Encode, Encode]:
        model, read = self.model(), self.read
        model.to(device)
        model.network.eval()

        def of_spans(spans: Sequence[MaskedSpan]) -> list[Floats]:
            pairs = [context(span, read.left, read.right, read.words) for span in spans]
            room = model.room_of_queries
            texts = [nearest(model.tokenizer, *pair, room=room, side=read.tokens) for pair in pairs]
            return model.token_vectors(model.queries(texts), tokens)

        return lambda texts: model.token_vectors(model.documents(texts), tokens), of_spans


def nearest(tokenizer: Any, left: str, right: str, room: int, side: int | None = None) -> str:
    """Left and right text, cut at their outer ends: to ``room`` tokens together.

    Before that each is cut to ``side`` tokens.
    """
    before, after = (
        one.offsets
        for one in tokenizer.backend_tokenizer.encode_batch([left, right], add_special_tokens=False)
    )
    most = len(before) + len(after) if side is None else side
    of_left, of_right = shared_room(min(len(before), most), min(len(after), most), room)
    if of_left < len(before):
        left = left[before[-of_left][0] :] if of_left else ""
    if of_right < len(after):
        right = right[: after[of_right - 1][1]] if of_right else ""
    return " ".join(side for side in (left, right) if side)
