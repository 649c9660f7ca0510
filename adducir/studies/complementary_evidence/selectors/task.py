"""What is learnt of questions with labelled sets, by either kind of model."""

from abc import abstractmethod
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from torch import Tensor

from adducir.core.errors import InputError
from adducir.studies.complementary_evidence.selectors.data import questions_of, split_examples
from adducir.studies.complementary_evidence.selectors.drn import DRNModel, drn_loss
from adducir.studies.complementary_evidence.selectors.examples import inputs_of
from adducir.studies.complementary_evidence.selectors.gold import GoldLabels, Labels
from adducir.studies.complementary_evidence.selectors.losses import LossTerms, complementary_loss
from adducir.studies.complementary_evidence.selectors.model import ComplementaryModel
from adducir.studies.complementary_evidence.selectors.reading import EncodedQuestion
from adducir.studies.complementary_evidence.selectors.recipe import (
    ComplementaryRecipe,
    DRNRecipe,
    grid_of,
)
from adducir.studies.complementary_evidence.selectors.scoring import Weights
from adducir.studies.complementary_evidence.selectors.selecting import tune
from adducir.training.card import Card
from adducir.training.example_work import Order
from adducir.training.preparation import Preparation
from adducir.training.store import Array, Numbers, StoreWriter, share_columns
from adducir.training.task import Examples, TrainingTask, write_parts

M = TypeVar("M", ComplementaryModel, DRNModel)

_USAGE = """```sh
adducir complementary-evidence select -m {name} -q questions.jsonl.gz --output chosen.jsonl
adducir complementary-evidence sets chosen.jsonl --questions questions.jsonl.gz
```"""


class EvidenceTask(TrainingTask, Generic[M]):
    """Learns of questions, each with all its passages; the losses are the questions'.

    Args:
        model: What is to learn, with the layers frozen that its recipe names.
    """

    unit = "questions"

    def __init__(
        self,
        model: M,
        recipe: ComplementaryRecipe | DRNRecipe,
        folder: Path,
        preparation: Preparation,
    ) -> None:
        self.model: M = model
        self.recipe = recipe.training
        self.tokens = recipe.training.at_once
        self.preparation = preparation
        self._stated, self._folder = recipe, folder

    def write(self, folder: Path) -> dict[str, Any]:
        """Write the parts of the questions beside their token ids."""
        found = questions_of(self._stated.data, self._folder)
        parts = {"train": array("q"), "validation": array("q")}
        passages, sets, order = 0, 0, Order()
        with self.given(folder) as prepared:
            for row, (question, part) in enumerate(split_examples(self._stated.data, found)):
                order.add(question.id)
                parts[part].append(row)
                if part == "train":
                    passages += len(question.passages)
                    sets += len(question.sets)
            self._refuse_none(len(parts["train"]), found.files["train"][0])
            order.refuse_other(prepared, self.unit)
            with StoreWriter(folder) as writer:
                writer.extend(sum(map(len, parts.values())), {})
            share_columns(prepared, folder)
        write_parts(folder, training=parts["train"], held_out=parts["validation"])
        return {
            "questions_read": found.read,
            "questions_excluded": found.excluded,
            "questions_unused": found.read - found.excluded - sum(map(len, parts.values())),
            "training_questions": len(parts["train"]),
            "training_passages": passages,
            "training_sets": sets,
            "validation_questions": len(parts["validation"]),
        }

    @staticmethod
    def _refuse_none(count: int, path: Path) -> None:
        if not count:
            raise InputError(
                "no question with a gold set is left to learn from.",
                path=path,
                hint="Look at `data.shares`, `data.without` and the key `gold` of the file.",
            )

    def lengths_of(self, examples: Examples) -> Numbers:
        """(n,) tokens of each question with all its passages."""
        return examples.column("tokens").astype(np.int64)

    def encoded(self, examples: list[dict[str, Array]]) -> list[EncodedQuestion]:
        """What the network reads of questions."""
        every = map(inputs_of, examples)
        return [EncodedQuestion(question, tuple(passages)) for question, *passages in every]

    def summary(self, counts: Mapping[str, Any]) -> str:
        """The questions."""
        return (
            f"{counts['training_questions']:,} questions to learn from, "
            f"{counts['validation_questions']:,} held out"
        )

    def measure(self) -> dict[str, Any]:
        """The settings of the selection, chosen on the validation questions if there are any."""
        found: dict[str, Any] = {}
        if len(self.held_out):
            every = split_examples(self._stated.data, questions_of(self._stated.data, self._folder))
            held_out = [question for question, part in every if part == "validation"]
            tuned = tune(
                self.model,
                held_out,
                grid_of(self._stated),
                precision=self.recipe.precision,
                tokens=self.tokens,
            )
            chosen = {"selection": tuned.selection}
            self.model.settings = self.model.settings.model_copy(update=chosen)
            found = {
                "settings_tried": tuned.tried,
                "validation_exact_match": round(tuned.exact_match, 4),
                "validation_f1": round(tuned.f1, 4),
            }
        return found | {f"selected_{key}": value for key, value in self.model.settings.selection}

    def save(self, folder: Path) -> None:
        """Write weights, tokenizer and settings."""
        self.model.save(folder)

    @property
    @abstractmethod
    def details(self) -> str:
        """What the model does, for its card."""

    def card(self, counts: Mapping[str, Any]) -> Card:
        """What it learnt from."""
        recipe = self._stated
        return Card(
            self.details,
            ("complementary-evidence", "question-answering", "information-retrieval"),
            recipe.base,
            _USAGE,
            {
                "Data": {
                    **recipe.data.card("questions"),
                    "relevance is learnt from": recipe.data.passages,
                }
            },
            recipe.model_dump(mode="json", exclude={"description", "data", "base"}),
        )


class ComplementaryTask(EvidenceTask[ComplementaryModel]):
    """Learns by the loss of equation 4, of each question."""

    _stated: ComplementaryRecipe

    def terms(self, examples: list[dict[str, Array]]) -> LossTerms:
        """The loss of some questions and its terms."""
        states = self.model(self.encoded(examples), self.tokens)
        labels = [Labels.of(one) for one in examples]
        gold = GoldLabels.of(labels, states.mask.shape[1], states.mask.device)
        weights = Weights(self._stated.weights.diversity, self._stated.weights.compactness)
        return complementary_loss(
            states.logits,
            states.vectors,
            states.question,
            gold.relevant,
            states.mask,
            gold.sets,
            gold.labels,
            weights,
            self._stated.margin,
        )

    def losses_of(self, examples: list[dict[str, Array]]) -> tuple[Tensor, int]:
        """The questions' losses."""
        return self.terms(examples).total * len(examples), len(examples)

    @property
    def details(self) -> str:
        """What the model, or its baseline without further terms, does."""
        if not any(self._stated.weights.model_dump().values()):
            return (
                "Ranks passages by their probability to be evidence for a question, each by "
                "itself: the relevance-only baseline of Mou et al. (2020)."
            )
        return (
            "Selects the set of passages that answers a question together: relevant, diverse and "
            "compact (Mou et al., 2020). A cross-encoder gives each passage a probability and a "
            "vector; a beam search in the vector space selects the set."
        )


class DRNTask(EvidenceTask[DRNModel]):
    """Learns relevance and novelty of each question, each with its own parameters."""

    details = (
        "Selects the most relevant passage and then the most novel one: DRN with BERT, a "
        "baseline of Mou et al. (2020) after Harel et al. (2019)."
    )

    def losses_of(self, examples: list[dict[str, Array]]) -> tuple[Tensor, int]:
        """The questions' losses."""
        states = self.model(self.encoded(examples), self.tokens)
        labels = [Labels.of(one) for one in examples]
        gold = GoldLabels.of(labels, states.mask.shape[1], states.mask.device)
        return drn_loss(states, gold.relevant) * len(examples), len(examples)
