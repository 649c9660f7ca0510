"""Systems that rank with vectors: dual encoders, trained or not, and late interaction."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import model_validator

from adducir.core.config import load, validate
from adducir.core.errors import InputError, gathering
from adducir.core.fingerprint import fingerprint
from adducir.core.planning import reads
from adducir.core.recipe import Several, as_tuple
from adducir.core.texts import same_text
from adducir.corpora.sources import expanded, file_path
from adducir.corpora.spans import MaskedSpan, context
from adducir.encoders.kinds import EncoderSource, encoder_source
from adducir.encoders.ranking import DualVectors, Encode, Floats, SpanSide, SpanTask, VectorSource
from adducir.encoders.reading import ContextPart, ContextRecipe, LengthPart, shared_room
from adducir.encoders.settings import EncodingSettings
from adducir.encoders.training import EncoderRecipe, EncoderTraining, spans_of
from adducir.evaluation.gold_ranks import GoldRanks
from adducir.evaluation.scores import run_name
from adducir.experiments.known_item.system import RankingSystem, RankStep, SpanData, folder_name
from adducir.experiments.sections import Opening
from adducir.experiments.step import Context, ModelStep, folders_of
from adducir.models.artifacts import model_versions
from adducir.models.running import Running
from adducir.models.sources import RECIPES, ModelSource, model_source
from adducir.rerankers.colbert import ColBERTRecipe, LateInteraction, MaxSimRecipe
from adducir.training.data import DataPart

if TYPE_CHECKING:
    import torch


class _Vectors(RankingSystem):
    kind: ClassVar[str] = "vectors"

    def source_in(self, folder: Path) -> Any:
        """The model, named from the study's folder."""
        raise NotImplementedError

    def source(self, step: RankStep) -> Any:
        """The model, which must exist."""
        return self.source_in(step.data.folder)

    def open(self, opening: Opening, data: Mapping[str, SpanData]) -> Iterable[tuple[str, str]]:
        self.source_in(opening.folder).identity()
        return ()

    def uses(self, folder: Path) -> Sequence[Path]:
        return folders_of(self.source_in(folder))

    def identities(self, step: RankStep) -> Mapping[str, str]:
        trained = step.models
        return {"model": trained[-1].fingerprint if trained else self.source(step).identity()}

    def vectors(self, step: RankStep) -> VectorSource:
        source, lengths = self.source(step), self._read_as
        masked = source.settings.context.mask if source.settings else False
        how: dict[str, Any] = {
            "context": ContextPart(**step.read_of_context.model_dump(), mask=masked),
            "lengths": None if lengths == LengthPart() else lengths,
        }
        return DualVectors(source, how)

    @property
    def _read_as(self) -> LengthPart:
        return getattr(self, "lengths", LengthPart())

    def fingerprint_inputs(self, step: RankStep) -> Mapping[str, Any]:
        return {
            "kind": self.kind,
            "lengths": self._read_as.model_dump(mode="json"),
            "precision": step.precision,
        }

    def versions(self) -> Mapping[str, str]:
        return model_versions()

    def ranks(self, step: RankStep, tasks: Sequence[SpanTask], context: Context) -> GoldRanks:
        return step.by_vectors(self.vectors(step), tasks, context)


class Pretrained(_Vectors, EncodingSettings):
    """An encoder without training; the keys of its statement are set beside its name."""

    encoder: str
    """Its name."""
    lengths: LengthPart = LengthPart()
    """Maximum tokens."""

    def source_in(self, folder: Path) -> EncoderSource:
        return encoder_source(expanded(self.encoder), folder, encoding=self)


class Trained(_Vectors):
    """An encoder trained separately for each context."""

    train: Several
    """Its recipe; each of several continues from the one before."""
    set: tuple[str, ...] = ()
    """Changes to the recipes, as in ``--set``."""

    @model_validator(mode="after")
    def _fits(self) -> "Trained":
        if not as_tuple(self.train):
            raise ValueError("`train` must name a recipe")
        return self

    def is_trained(self, folder: Path) -> bool:
        return True

    def source(self, step: RankStep) -> EncoderSource:
        return encoder_source(str(step.models[-1].path))

    def open(self, opening: Opening, data: Mapping[str, SpanData]) -> Iterator[tuple[str, str]]:
        """Open the recipes, and check training against test data."""
        folder = opening.folder
        with gathering() as gathered:
            for number, recipe_name in enumerate(as_tuple(self.train)):
                document = load(file_path(recipe_name, folder))
                recipe = validate(document, EncoderRecipe, self.set)
                if number == 0:
                    if recipe.base.endswith(RECIPES):
                        raise InputError(
                            f"it continues from {recipe.base}.",
                            path=document.path,
                            line=document.line_of(("base",)),
                            hint=f"Name both: train: [{recipe.base}, {recipe_name}].",
                        )
                    gathered(partial(EncoderTraining, recipe, folder))
                if (training := recipe.data) is None:
                    raise InputError(
                        "it is trained from `examples`; known items need one of masked spans.",
                        path=document.path,
                        line=document.line_of(("examples",)),
                    )
                if gathered(partial(training.identity, folder)) is not None:
                    for tested, count in _learned(training, folder, data):
                        yield (
                            tested,
                            f"{count:,} gold items of {tested} read like spans that "
                            f"{opening.name} was trained on ({document.path.name}).",
                        )

    def models(self, opening: Opening, part: str, read: ContextRecipe) -> Sequence[ModelStep]:
        context = read.model_dump(mode="json")
        changes = [*self.set, *(f"context.{key}={json.dumps(context[key])}" for key in context)]
        if opening.seed is not None:
            changes.append(f"training.seed={opening.seed}")
        folder, steps, names = opening.folder, list[ModelStep](), as_tuple(self.train)
        home = folder / "encoders" / opening.planner.name
        home /= folder_name(run_name(opening.name, opening.seed))
        for number, name in enumerate(names, 1):
            document = load(file_path(name, folder))
            bases = [str(step.path.relative_to(folder)) for step in steps[-1:]]
            named = [f"base={json.dumps(base)}" for base in bases]
            recipe = validate(document, EncoderRecipe, (*changes, *named))
            before = (steps[-1].plan, steps[-1].path) if steps else None
            plan = EncoderTraining(recipe, folder, before=before)
            label = folder_name(part) + (f"-{number}" if number < len(names) else "")
            key = fingerprint(recipe.model_dump(mode="json", exclude={"description"}))
            path = opening.trainings.folders.setdefault(key, home / label)
            steps.append(opening.trainings.step(path, plan, opening.place, steps[-1:]))
        return steps


def _learned(
    training: DataPart, folder: Path, data: Mapping[str, SpanData]
) -> Iterator[tuple[str, int]]:
    """How many gold items read like training data; a dry run checks only small files."""
    files = training.files(folder)
    if not reads(*(path for paths in files.values() for path in paths)):
        return
    # Training data may exceed memory; test data does not.
    sought = {tested: {same_text(span.text) for span in data[tested].spans} for tested in data}
    groups: dict[str, set[str]] = {tested: set() for tested in sought}
    texts: dict[str, set[str]] = {tested: set() for tested in sought}
    for span, part in spans_of(training, folder):
        for tested, some in sought.items() if part != "test" else ():
            if span.group in data[tested].groups:
                groups[tested].add(span.group)
            if (text := same_text(span.text)) in some:
                texts[tested].add(text)
    for tested, tested_data in data.items():
        if groups[tested]:
            raise InputError(
                f"it is trained on {len(groups[tested])} groups of {tested}, such as "
                f"{min(groups[tested])!r}.",
                path=files["train"][0],
                hint="Use the study's `data.shares` and `data.seed`, or name the tested spans in "
                "`data.without`.",
            )
        if count := sum(same_text(span.text) in texts[tested] for span in tested_data.spans):
            yield tested, count


class _Late(_Vectors):
    """Late interaction; the kind's name is the key of the model."""

    lengths: LengthPart = LengthPart()
    """Maximum tokens."""

    like: ClassVar[type[MaxSimRecipe]]

    def source_in(self, folder: Path) -> ModelSource:
        return model_source(expanded(getattr(self, self.kind)), folder)

    def vectors(self, step: RankStep) -> "LateVectors":
        lengths = {"query_length": self.lengths.context, "document_length": self.lengths.span}
        stated = {name: count for name, count in lengths.items() if count is not None}
        recipe = self.like.model_validate({"base": getattr(self, self.kind), **stated})
        return LateVectors(self.source(step), recipe, step.read_of_context)


class ColBERT(_Late):
    """A ColBERT."""

    kind: ClassVar[str] = "colbert"
    like: ClassVar[type[MaxSimRecipe]] = ColBERTRecipe
    colbert: str
    """Its name."""


class MaxSim(_Late):
    """Late interaction of any encoder's token vectors."""

    kind: ClassVar[str] = "maxsim"
    like: ClassVar[type[MaxSimRecipe]] = MaxSimRecipe
    maxsim: str
    """Its name."""


@dataclass(frozen=True)
class LateVectors:
    source: ModelSource
    reading: MaxSimRecipe
    read: ContextRecipe

    def __reduce__(self) -> tuple[Any, ...]:  # workers load the model themselves
        return LateVectors, (self.source, self.reading, self.read)

    def identity(self, side: SpanSide) -> Mapping[str, Any]:
        read = {} if side == "candidates" else self.read.model_dump(mode="json")
        model, reading = self.source.identity(), self.reading.fingerprint_inputs
        return {"model": model, "reading": reading, "context": read}

    @cached_property
    def model(self) -> LateInteraction:
        return LateInteraction.load(self.source, self.reading)

    def load(self, device: "torch.device", running: Running) -> tuple[Encode, Encode]:
        model, read = self.model, self.read
        model.running = running
        model.to(device)

        def of_spans(spans: Sequence[MaskedSpan]) -> list[Floats]:
            pairs = [context(span, read.left, read.right, read.words) for span in spans]
            room = model.room_of_queries
            texts = [nearest(model.tokenizer, *pair, room=room, side=read.tokens) for pair in pairs]
            return model.token_vectors(model.queries(texts))

        return lambda texts: model.token_vectors(model.documents(texts)), of_spans


def nearest(tokenizer: Any, left: str, right: str, room: int, side: int | None = None) -> str:
    """Left and right text, cut at the outer ends: to ``side`` tokens each, ``room`` in total."""
    encode = tokenizer.backend_tokenizer.encode
    before, after = (encode(text, add_special_tokens=False).offsets for text in (left, right))
    most = len(before) + len(after) if side is None else side
    of_left, of_right = shared_room(min(len(before), most), min(len(after), most), room)
    if of_left < len(before):
        left = left[before[-of_left][0] :] if of_left else ""
    if of_right < len(after):
        right = right[: after[of_right - 1][1]] if of_right else ""
    return " ".join(side for side in (left, right) if side)
