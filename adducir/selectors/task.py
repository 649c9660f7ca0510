"""What is learnt of questions with labelled sets, by either kind of model."""

from abc import abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from torch import Tensor

from adducir.core.errors import InputError
from adducir.core.progress import SILENT, Progress
from adducir.datasets.evidence_sets.record import EvidenceQuestion
from adducir.selectors.data import questions_of, split_examples
from adducir.selectors.drn import DRNModel, drn_loss
from adducir.selectors.gold import GoldLabels, Labels, packed_labels
from adducir.selectors.losses import LossTerms, complementary_loss
from adducir.selectors.model import ComplementaryModel
from adducir.selectors.network import Vectoriser
from adducir.selectors.reading import EncodedQuestion, Input
from adducir.selectors.recipe import ComplementaryRecipe, DRNRecipe, grid_of
from adducir.selectors.scoring import Weights
from adducir.selectors.selecting import tune
from adducir.training.card import Card
from adducir.training.store import Array, Numbers, Store, StoreWriter
from adducir.training.task import Examples, TrainingTask, write_parts

M = TypeVar("M", ComplementaryModel, DRNModel)

INPUTS = "inputs"
_BELOW = "below"
_USAGE = """```sh
adducir select --model {name} --questions questions.jsonl.gz --output chosen.jsonl
adducir sets chosen.jsonl --questions questions.jsonl.gz
```"""


class EvidenceTask(TrainingTask, Generic[M]):
    """Learns of questions, each with all its passages; the losses are the questions'.

    Beside the questions lies a store of inputs: of each question the question itself, then its
    passages, and what the frozen layers make of these.

    Args:
        model: What is to learn, with the layers frozen that its recipe names.
    """

    unit = "questions"

    def __init__(self, model: M, recipe: ComplementaryRecipe | DRNRecipe, folder: Path) -> None:
        self.model: M = model
        self.recipe = recipe.training
        self.tokens = recipe.training.at_once
        self._stated, self._folder = recipe, folder

    @property
    @abstractmethod
    def encoder(self) -> Vectoriser:
        """The network whose frozen layers are run once."""

    def write(self, folder: Path, progress: Progress = SILENT) -> dict[str, Any]:
        """Write the questions of the recipe as token ids."""
        found = questions_of(self._stated.data, self._folder)
        counts = self.put(folder, split_examples(self._stated.data, found))
        if not counts["training_questions"]:
            raise InputError(
                "no question with a gold set is left to learn from.",
                path=found.files["train"][0],
                hint="Look at `data.shares`, `data.without` and the key `gold` of the file.",
            )
        kept = counts["training_questions"] + counts["validation_questions"]
        details = {"questions_read": found.read, "questions_excluded": found.excluded}
        return details | {"questions_unused": found.read - found.excluded - kept} | counts

    def put(
        self, folder: Path, questions: Iterable[tuple[EvidenceQuestion, str]]
    ) -> dict[str, Any]:
        """Write questions, each with its part, and count them."""
        parts = {"train": array("q"), "validation": array("q")}
        rows = {"train": array("q"), "validation": array("q")}
        passages = sets = 0
        (folder / INPUTS).mkdir()
        with StoreWriter(folder) as writer, StoreWriter(folder / INPUTS) as inputs:
            for question, part in questions:
                encoded: EncodedQuestion = self.model.read(question)
                first = len(inputs)
                for one in (encoded.question, *encoded.passages):
                    rows[part].append(inputs.add(**_packed(one)))
                count, tokens = len(encoded.passages), len(encoded)
                details = {"first": first, "passages": count, "tokens": tokens}
                parts[part].append(writer.add(**details, **packed_labels(question)))
                if part == "train":
                    passages, sets = passages + count, sets + len(question.sets)
        write_parts(folder, training=parts["train"], held_out=parts["validation"])
        if self.encoder.is_frozen:
            self._prepare(folder / INPUTS, [np.asarray(some) for some in rows.values()])
        return {
            "training_questions": len(parts["train"]),
            "training_passages": passages,
            "training_sets": sets,
            "validation_questions": len(parts["validation"]),
        }

    def _prepare(self, folder: Path, parts: Sequence[Numbers]) -> None:
        """Write what the frozen layers make of the inputs, part by part."""
        with Store(folder) as store:
            lengths = store.lengths("ids")
            with store.add_column(_BELOW, "ids", self.encoder.width) as filler:
                for rows in parts:
                    made = self.encoder.prepared(
                        _Inputs(store, rows), lengths[rows], precision=self.recipe.precision
                    )
                    for number, below in made:
                        filler.put(int(rows[number]), below)

    def read(self, folder: Path) -> None:
        """Open the questions and their inputs."""
        super().read(folder)
        self._inputs = Store(folder / INPUTS)

    def close(self) -> None:
        """Close their files."""
        super().close()
        self._inputs.close()

    def lengths_of(self, examples: Examples) -> Numbers:
        """(n,) tokens of each question with all its passages."""
        return examples.column("tokens").astype(np.int64)

    def encoded(self, examples: list[dict[str, Array]]) -> list[EncodedQuestion]:
        """What the network reads of questions."""
        found = []
        for one in examples:
            first = int(one["first"])
            rows = range(first, first + 1 + int(one["passages"]))
            question, *passages = (_input(self._inputs.get(row)) for row in rows)
            found.append(EncodedQuestion(question, tuple(passages)))
        return found

    def summary(self, counts: Mapping[str, Any]) -> str:
        """The questions."""
        return (
            f"{counts['training_questions']:,} questions to learn from, "
            f"{counts['validation_questions']:,} held out"
        )

    def measure(self, progress: Progress = SILENT) -> dict[str, Any]:
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

    @property
    def encoder(self) -> Vectoriser:
        """The one encoder."""
        return self.model.encoder

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

    @property
    def encoder(self) -> Vectoriser:
        """That of relevance: the frozen layers are alike in both networks."""
        return self.model.relevance.encoder

    def losses_of(self, examples: list[dict[str, Array]]) -> tuple[Tensor, int]:
        """The questions' losses."""
        states = self.model(self.encoded(examples), self.tokens)
        labels = [Labels.of(one) for one in examples]
        gold = GoldLabels.of(labels, states.mask.shape[1], states.mask.device)
        return drn_loss(states, gold.relevant) * len(examples), len(examples)


class _Inputs(Sequence[Input]):
    """Some rows of a store as inputs, read as they are asked for."""

    def __init__(self, store: Store, rows: Numbers) -> None:
        self._store, self._rows = store, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, number: Any) -> Any:
        return _input(self._store.get(self._rows[number], ("ids", "types", "own")))

    def __iter__(self) -> Iterator[Input]:
        return (self[number] for number in range(len(self)))


def _packed(one: Input) -> dict[str, Array]:
    return {
        "ids": one.ids.astype(np.int32),
        "types": one.types.astype(np.int8),
        "own": one.own.astype(np.int8),
    }


def _input(record: Mapping[str, Array]) -> Input:
    ids, types, own = (record[name].astype(np.int64) for name in ("ids", "types", "own"))
    return replace(Input(ids, types, own), below=record.get(_BELOW))
