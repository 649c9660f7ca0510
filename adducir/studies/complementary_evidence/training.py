"""Training of evidence selectors: ``rerankers/NAME.yaml`` builds ``rerankers/NAME/``.

``kind: complementary`` is the model of Mou et al. (2020); with both weights 0 it is their baseline,
the relevance-only ranker. ``kind: drn`` is their other baseline, DRN with BERT. The weights with
the lowest validation loss are kept; then the selection settings with the best exact match (then F1,
then the first) on the validation questions are chosen.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np
import orjson
from pydantic import Field, TypeAdapter, ValidationError

from adducir.core.errors import InputError, UsageError
from adducir.core.recipe import Recipe
from adducir.core.texts import same_text
from adducir.studies.complementary_evidence.measures import values_of
from adducir.studies.complementary_evidence.questions import (
    EvidenceQuestion,
    LabelledSet,
    read_questions,
)
from adducir.studies.complementary_evidence.selection import (
    DRNSelection,
    Positive,
    Selection,
    Weight,
)
from adducir.training.data import DataPart, Rows, TrainingData, divided, stored
from adducir.training.recipe import ModelRecipe, TrainingRecipe
from adducir.training.trainable import Trainable

if TYPE_CHECKING:
    import torch

    from adducir.studies.complementary_evidence.model import EvidenceModel, SelectorSettings

Share = Annotated[float, Field(ge=0, le=1)]
Counts = Positive | Annotated[tuple[Positive, ...], Field(min_length=1)]
Weights = Weight | Annotated[tuple[Weight, ...], Field(min_length=1)]
Shares = Share | Annotated[tuple[Share, ...], Field(min_length=1)]
_USAGE = """

## Use

```sh
adducir complementary-evidence select -m {name} -q questions.jsonl.gz --output chosen.jsonl
adducir complementary-evidence sets chosen.jsonl --questions questions.jsonl.gz
```"""
_QUESTION = TypeAdapter(EvidenceQuestion)


class EvidenceData(DataPart):
    """The questions to train on; relevance is trained on all passages or those in the sets."""

    passages: Literal["all", "sets"] = "all"
    """What relevance is trained on: all passages, or those in labelled sets."""


class WeightsPart(Recipe):
    """The weights of the loss terms; relevance has weight 1; 0 removes a term."""

    diversity: Weight = 1.0
    """The weight of diversity (w_d)."""
    compactness: Weight = 1.0
    """The weight of compactness (w_c)."""


class SelectionPart(Recipe):
    """How sets are selected: one value each, or several to choose from on the validation questions.

    Weights are by default those of the loss.
    """

    size: Positive = 2
    """L, the passages per set."""
    beam: Counts = 3
    """M, the sets kept at each step."""
    candidates: Counts = 4
    """N, the most relevant passages, of which sets are made."""
    diversity: Weights | None = None
    """The weight of diversity in a set's score."""
    compactness: Weights | None = None
    """The weight of compactness in a set's score."""


class DRNSelectionPart(Recipe):
    """How DRN selects, with several values of ``novelty`` to choose from."""

    size: Positive = 2
    """L, the passages per set."""
    novelty: Shares = (0.1, 0.25, 0.5, 0.75, 0.9)
    """The weight of novelty against relevance."""


class EvidenceTraining(TrainingRecipe):
    batch_size: Annotated[int, Field(ge=1)] = 4
    """Questions per batch, each with all its passages."""


class EvidenceRecipe(ModelRecipe):
    length: Annotated[int, Field(ge=8)] | None = None
    """Maximum tokens of an input; by default the model's maximum."""
    pooling: Literal["first", "mean"] = "first"
    """How tokens' vectors are pooled."""
    layers: Positive | None = None
    """How many top layers are trained; by default all."""
    data: EvidenceData
    """The questions to train on."""
    training: EvidenceTraining = EvidenceTraining()


class ComplementaryRecipe(EvidenceRecipe):
    """The complementary model; see docs/evidence-sets.md for its keys."""

    kind: Literal["complementary"] = "complementary"
    """What the recipe trains."""
    weights: WeightsPart = WeightsPart()
    """The weights of the loss terms."""
    margin: Annotated[float, Field(ge=-1, le=1)] = 0.1
    """The margin of compactness (gamma)."""
    selection: SelectionPart = SelectionPart()
    """How sets are selected."""


class DRNRecipe(EvidenceRecipe):
    """DRN with BERT; see docs/evidence-sets.md for its keys."""

    kind: Literal["drn"]
    """What the recipe trains."""
    slices: Positive = 4
    """DRN's slices."""
    selection: DRNSelectionPart = DRNSelectionPart()
    """How sets are selected."""


R = TypeVar("R", bound=ComplementaryRecipe | DRNRecipe)


class EvidenceTrainable(Trainable[R]):
    artifact = "evidence-selector"
    unit = "questions"

    def __init__(self, recipe: R, folder: Path) -> None:
        super().__init__(recipe, folder)
        self.base = recipe.source(folder)
        self.inputs  # noqa: B018 - report what is missing now
        self.selection = self._selections()[0]

    def _selections(self) -> list[Selection | DRNSelection]:
        """All valid combinations of selection settings, the last key changing fastest."""
        recipe, kind = self.recipe, DRNSelection if self.recipe.kind == "drn" else Selection
        stated = recipe.selection.model_dump(exclude_none=True)
        if isinstance(recipe, ComplementaryRecipe):
            stated = recipe.weights.model_dump() | stated
        grid = {
            key: stated[key] if isinstance(stated[key], tuple) else (stated[key],)
            for key in kind.model_fields
        }
        selections: list[Selection | DRNSelection] = []
        for values in product(*grid.values()):
            try:
                selections.append(kind.model_validate(dict(zip(grid, values, strict=True))))
            except ValidationError:
                continue
        if not selections:
            raise UsageError("none of the combinations of selection values is valid.")
        return selections

    @property
    def settings(self) -> dict[str, Any]:
        values = self.recipe.fingerprinted({"data": {"train", "validation", "without"}})
        return values | {"held_out": bool(self.recipe.data.validation)}

    @cached_property
    def inputs(self) -> dict[str, str]:
        return {"base": self.base.identity(), **self.recipe.data.identity(self.folder)}

    @property
    def model_settings(self) -> "SelectorSettings":
        from adducir.studies.complementary_evidence.model import SelectorSettings

        keys = {"kind", "length", "pooling", "slices"}
        return SelectorSettings(selection=self.selection, **self.recipe.model_dump(include=keys))

    def _questions(self) -> Iterator[tuple[EvidenceQuestion, str]]:
        """The questions, each with its split; equal texts are one question, whatever their ids."""
        return divided(
            self.recipe.data,
            self.folder,
            read_questions,
            group=lambda question: same_text(question.question),
            groups="questions",
        )

    def dataset(self, folder: Path) -> TrainingData:
        data = stored(folder, {"question": "large_string", "length": "int64"}, self._rows)
        if not len(data.train):
            raise InputError(
                "questions with a gold set to train on are missing.",
                path=self.recipe.data.files(self.folder)["train"][0],
                hint="Check `data.shares`, `data.without` and the file's key `gold`.",
            )
        return data

    def _rows(self, counts: dict[str, Any]) -> Rows:
        """The questions that can be trained on: those with a gold passage."""
        questions, passages, sets = 0, 0, 0
        for question, part in self._questions():
            questions += 1
            if not question.relevant or part == "test":
                continue
            kept = question
            if part == "train":
                kept = in_sets(question) if self.recipe.data.passages == "sets" else question
                passages, sets = passages + len(kept.passages), sets + len(kept.sets)
            text = orjson.dumps(kept).decode()
            yield part, {"question": text, "length": len(text) // 4}  # tokens, about
        counts.update(questions=questions, training_passages=passages, training_sets=sets)

    def model(self) -> "EvidenceModel":
        from adducir.studies.complementary_evidence.model import MODELS

        seed = self.recipe.training.seed
        model = MODELS[self.recipe.kind].untrained(self.base, self.model_settings, seed)
        for encoder in model.encoders:
            encoder.freeze(self.recipe.layers)
        self._reader = model.reader
        return model

    def collate(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        import torch

        questions = [_QUESTION.validate_json(row["question"]) for row in rows]
        most = max(1, *(len(question.passages) for question in questions))
        labelled = max(len(question.sets) for question in questions)
        largest = max(
            (len(some.members) for question in questions for some in question.sets), default=1
        )
        relevant = torch.zeros((len(questions), most), dtype=torch.bool)
        members = torch.full((len(questions), labelled, largest), -1)
        labels = torch.zeros((len(questions), labelled), dtype=torch.bool)
        for row, question in enumerate(questions):
            relevant[row, list(question.relevant)] = True
            for place, labelled_set in enumerate(question.sets):
                members[row, place, : len(labelled_set.members)] = torch.tensor(
                    labelled_set.members
                )
                labels[row, place] = labelled_set.label
        read = [self._reader.read(question) for question in questions]
        return {"relevant": relevant, "sets": members, "labels": labels, "questions": read}

    def measure(self, model: Any, data: TrainingData) -> dict[str, Any]:
        """Choose the selection settings; each question is encoded once for all of them."""
        held_out = [
            question
            for question, part in (self._questions() if len(data.validation) else ())
            if part == "validation" and question.relevant
        ]
        tried, report = self._selections(), dict[str, Any]()
        totals = np.zeros((len(tried), 2))
        most = max(getattr(selection, "candidates", 0) for selection in tried)
        pools = model.pools(held_out, most, precision=self.recipe.training.precision)
        for question, pool in zip(held_out, pools, strict=True):
            for total, selection in zip(totals, tried, strict=True):
                numbers, _ = pool.best(selection)
                chosen = frozenset(question.passages[number].id for number in numbers)
                total += values_of(chosen, question.gold_ids)[:2]
        if held_out:
            best = max(range(len(tried)), key=lambda place: (*totals[place], -place))
            self.selection = tried[best]
            exact, f1 = (totals[best] / len(held_out)).round(4).tolist()
            report = {"settings_tried": len(tried), "validation_exact_match": exact}
            report["validation_f1"] = f1
        return report | {f"selected_{key}": value for key, value in self.selection}

    def save(self, model: Any, folder: Path) -> None:
        model.settings = self.model_settings
        model.save(folder)

    def loss(self, model: Any, batch: dict[str, Any]) -> "torch.Tensor":
        return model.loss(batch, self.recipe)


class ComplementaryTrainable(EvidenceTrainable[ComplementaryRecipe]):
    """The complementary model, which selects sets of evidence."""

    recipe_type: ClassVar = ComplementaryRecipe
    card: ClassVar = (
        "Selects the set of passages that together answer a question: relevant, diverse and "
        "compact (Mou et al., 2020). A cross-encoder gives each passage a probability and a "
        "vector; a beam search in the vector space selects the set. With both weights 0 it ranks "
        f"passages by probability only, which is that paper's baseline.{_USAGE}"
    )


class DRNTrainable(EvidenceTrainable[DRNRecipe]):
    """The dual reinforcement of relevance and novelty (DRN)."""

    recipe_type: ClassVar = DRNRecipe
    card: ClassVar = (
        "Selects the most relevant passage and then the most novel one: DRN with BERT, a "
        f"baseline of Mou et al. (2020) after Harel et al. (2019).{_USAGE}"
    )


def in_sets(question: EvidenceQuestion) -> EvidenceQuestion:
    """The question with only the passages in its labelled and gold sets."""
    kept = sorted(question.relevant.union(*(labelled.members for labelled in question.sets)))
    new = {number: place for place, number in enumerate(kept)}
    sets = (
        LabelledSet(tuple(new[n] for n in labelled.members), labelled.label)
        for labelled in question.sets
    )
    return replace(
        question,
        passages=tuple(question.passages[number] for number in kept),
        gold=tuple(tuple(new[number] for number in members) for members in question.gold),
        sets=tuple(sets),
    )
