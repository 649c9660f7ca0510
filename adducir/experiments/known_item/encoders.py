"""``encoder:`` and ``train:``: vectors of contexts and candidates by a dual encoder."""

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import model_validator

from adducir.core.absent import gathering, may_read
from adducir.core.chunks import NOT_LOADED, Chunking, Local
from adducir.core.config import Document, load, validate
from adducir.core.errors import AdducirError, InputError
from adducir.core.fingerprint import fingerprint
from adducir.corpora.references import expanded, file_path
from adducir.encoders.data import spans_of
from adducir.encoders.filed_ranks import filed_ranks
from adducir.encoders.ranking import SpanTask
from adducir.encoders.recipe import EncoderRecipe
from adducir.encoders.settings import ContextPart, LengthPart
from adducir.encoders.sources import EncoderSource, encoder_source
from adducir.encoders.span_work import Rows, Sides, SpanWork
from adducir.encoders.training import EncoderPlan
from adducir.evaluation.gold_ranks import GoldRanks
from adducir.experiments.context import Context
from adducir.experiments.known_item.ranking import BLOCK, gold_ranks
from adducir.experiments.known_item.system import RankingSystem, folder_name
from adducir.experiments.step import ModelStep, Sharing, Step
from adducir.models.artifacts import model_versions
from adducir.models.sources import RECIPES
from adducir.training.recipe import Several, listed

if TYPE_CHECKING:
    from adducir.experiments.known_item.study import KnownItemStudy, RankStep

Pooling = Literal["first", "mean", "pooler"]


class _Encoder(RankingSystem):
    """A dual encoder."""

    def source(self, step: "RankStep") -> EncoderSource:
        """The encoder, which must be there."""
        raise NotImplementedError

    def read_as(self) -> tuple[LengthPart, Pooling | None]:
        """The tokens that are read, and how token vectors become one."""
        return LengthPart(), None

    def base(self, study: "KnownItemStudy") -> str:
        """The model that it begins with."""
        raise NotImplementedError

    def fingerprint_inputs(self, study: "KnownItemStudy") -> Mapping[str, Any]:
        lengths, pooling = self.read_as()
        return {
            "kind": "vectors",
            "lengths": lengths.model_dump(mode="json"),
            "pooling": pooling,
            "precision": study.recipe.precision,
        }

    def identities(self, step: "RankStep") -> Mapping[str, str]:
        return {"model": self.source(step).identity()}

    def versions(self) -> Mapping[str, str]:
        return model_versions()

    def ranks(self, step: "RankStep", tasks: Sequence[SpanTask], context: Context) -> GoldRanks:
        from adducir.encoders.model import DualEncoder

        source, (lengths, pooling) = self.source(step), self.read_as()
        masked = source.settings.context.mask if source.settings else False
        how: dict[str, Any] = {
            "context": ContextPart(**step.reads_of_context.model_dump(), mask=masked),
            "lengths": None if lengths == LengthPart() else lengths,
            "pooling": pooling,
        }
        is_alone = context.execution.is_here
        work = SpanWork(
            source,
            partial(list, tasks) if is_alone else step.data.tasks,
            how,
            step.study.recipe.precision,
            loaded=Local(DualEncoder.load(source, **how)) if is_alone else NOT_LOADED,
            device=context.device,
            threads=context.threads,
            tokens=context.batch_tokens,
        )
        own = context.chunking(step.path)
        with step.keeping(context) as kept:
            return by_encoder(work, tasks, kept, own)


class Pretrained(_Encoder):
    """An encoder as it is.

    Attributes:
        encoder: Its name.
        lengths: Tokens that are read.
        pooling: How token vectors become one; by default as its folder says.
    """

    encoder: str
    lengths: LengthPart = LengthPart()
    pooling: Pooling | None = None

    def open(self, name: str, study: "KnownItemStudy") -> None:
        encoder_source(expanded(self.encoder), study.folder).identity()

    def source(self, step: "RankStep") -> EncoderSource:
        return encoder_source(expanded(self.encoder), step.study.folder)

    def base(self, study: "KnownItemStudy") -> str:
        return self.encoder

    def read_as(self) -> tuple[LengthPart, Pooling | None]:
        return self.lengths, self.pooling


class Trained(_Encoder):
    """An encoder that is trained for each context anew.

    Attributes:
        train: Its recipe; with several, each goes on from the one before.
        set: Changes of the recipes, as ``--set`` has them.
    """

    train: Several
    set: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _fits(self) -> "Trained":
        if not listed(self.train):
            raise ValueError("`train` names no recipe")
        return self

    def is_trained(self, folder: Path) -> bool:
        del folder
        return True

    def open(self, name: str, study: "KnownItemStudy") -> None:
        """Open the recipes, and hold what they learn from to what is tested on."""
        folder = study.folder
        with gathering() as each:
            for number, recipe_name in enumerate(listed(self.train)):
                document = load(file_path(recipe_name, folder))
                recipe = validate(document, EncoderRecipe, self.set)
                if number == 0:
                    if recipe.base.endswith(RECIPES):
                        raise InputError(
                            f"it goes on from {recipe.base}.",
                            path=document.path,
                            line=document.line_of(("base",)),
                            hint=f"Name both: train: [{recipe.base}, {recipe_name}].",
                        )
                    each(partial(EncoderPlan, recipe, folder))
                if each(partial(recipe.data.identity, folder)) is not None:
                    _check_examples(name, document, recipe, study)

    def training(self, name: str, context: str, study: "KnownItemStudy") -> Sequence[Step]:
        """See :meth:`RankingSystem.training`; what would be the same is trained once."""
        return study.details("chains", lambda: _chains(study))[name, context]

    def source(self, step: "RankStep") -> EncoderSource:
        return encoder_source(str(step.inputs[-1].path))

    def identities(self, step: "RankStep") -> Mapping[str, str]:
        return {"model": step.inputs[-1].fingerprint}

    def base(self, study: "KnownItemStudy") -> str:
        document = load(file_path(listed(self.train)[0], study.folder))
        return validate(document, EncoderRecipe, self.set).base


def _check_examples(
    name: str, document: Document, recipe: EncoderRecipe, study: "KnownItemStudy"
) -> None:
    """Hold what a recipe learns from to what is tested on; a dry run does so for small files."""
    files = recipe.data.files(study.folder)
    if not may_read(*(path for paths in files.values() for path in paths)):
        return
    # What is learnt from may be more than memory holds; what is tested is not.
    sought = {tested: {span.text for span in one.spans} for tested, one in study.data.items()}
    shared: dict[str, set[str]] = {tested: set() for tested in sought}
    texts: dict[str, set[str]] = {tested: set() for tested in sought}
    groups = {tested: one.groups for tested, one in study.data.items()}
    for span, part in spans_of(recipe.data, study.folder):
        if part == "test":
            continue
        for tested, some in sought.items():
            if span.group in groups[tested]:
                shared[tested].add(span.group)
            if span.text in some:
                texts[tested].add(span.text)
    for tested, one in study.data.items():
        if shared[tested]:
            raise InputError(
                f"{len(shared[tested])} groups of {tested} are learnt from, such as "
                f"{min(shared[tested])!r}.",
                path=files["train"][0],
                hint="Give `data.shares` and `data.seed` the values that they have in the "
                "study, or name the tested spans in `data.without`.",
            )
        count = sum(span.text in texts[tested] for span in one.spans)
        if count:
            study.learnt.setdefault(tested, []).append(
                f"{count:,} gold items of {tested} read like spans that {name} learnt "
                f"from ({document.path.name})."
            )


@dataclass(frozen=True)
class _Training:
    """One training of one system's chain, before it has a place."""

    document: Document
    changes: tuple[str, ...]
    key: str
    place: Path
    system: str


def _chains(study: "KnownItemStudy") -> dict[tuple[str, str], list[ModelStep]]:
    """The trainings of each system with each context; what would make the same is made once.

    A training that several chains begin with has the place of the system whose encoder it is, or
    else that of the first of them.
    """
    trainings = {
        (name, context): _trainings(study, name, system, context)
        for name, system in study.recipe.systems.items()
        if isinstance(system, Trained)
        for context in study.recipe.contexts_of(name)
    }
    places: dict[str, Path] = {}
    last = [one[-1] for one in trainings.values() if one]
    for training in (*last, *(one for some in trainings.values() for one in some)):
        places.setdefault(training.key, training.place)
    steps: dict[str, ModelStep] = {}
    sharing = Sharing()
    chains: dict[tuple[str, str], list[ModelStep]] = {}
    for where, some in trainings.items():
        chain: list[ModelStep] = []
        for one in some:
            if one.key not in steps:
                step = _step(one, places[one.key], chain[-1:], study.folder)
                steps[one.key] = step
                if not chain:
                    with suppress(AdducirError):  # what is absent is reported where it is needed
                        sharing.add(step)
            chain.append(steps[one.key])
        chains[where] = chain
    return chains


def _step(training: _Training, path: Path, before: Sequence[ModelStep], folder: Path) -> ModelStep:
    named = [f"base={json.dumps(str(one.path.relative_to(folder)))}" for one in before]
    changes = (*training.changes, *named)

    def plan() -> EncoderPlan:
        recipe = validate(training.document, EncoderRecipe, changes)
        base = [(one.plan, one.path) for one in before]
        return EncoderPlan(recipe, folder, before=base[-1] if base else None)

    reads = [("systems", training.system)]
    return ModelStep(path, plan, list(before), reads)


def _trainings(
    study: "KnownItemStudy", name: str, system: Trained, context: str
) -> list[_Training]:
    """The trainings of a system with one context."""
    recipes = listed(system.train)
    given = study.recipe.contexts[context].model_dump(mode="json")
    seed = study.seed_of("systems", name)
    own = () if seed is None else (f"training.seed={seed}",)
    changes = (
        *system.set,
        *own,
        *(f"context.{key}={json.dumps(value)}" for key, value in given.items()),
    )
    found: list[_Training] = []
    for number, recipe in enumerate(recipes, 1):
        document = load(file_path(recipe, study.folder))
        stated = validate(document, EncoderRecipe, changes).model_dump(
            mode="json", exclude={"description"} | ({"base"} if found else set())
        )
        key = fingerprint([stated, *(one.key for one in found[-1:])])
        more = f"-{number}" if number < len(recipes) else ""
        place = study.folder / "encoders" / study.name / folder_name(name)
        place /= f"{folder_name(context)}{more}"
        found.append(_Training(document, changes, key, place, name))
    return found


def by_encoder(
    work: SpanWork, tasks: Sequence[SpanTask], kept: Chunking, own: Chunking
) -> GoldRanks:
    """The ranks that a dual encoder gives."""
    with ExitStack() as stack:

        def rows(sides: Sides, chunking: Chunking) -> Rows:
            one = replace(work, sides=sides)
            return Rows(one, stack.enter_context(chunking.made(one)))

        candidates = rows("candidates", kept)
        contexts = rows("contexts", own)
        found = []
        for task in tasks:
            same, queries = task.same, contexts.take(len(task.spans))
            vectors, gold = queries.rows(0, len(queries)).values, same.of[task.gold]
            among = candidates.take(len(same.firsts))
            found.append(filed_ranks(vectors, among, gold, same.counts, block=BLOCK))
        return gold_ranks(tasks, found)
