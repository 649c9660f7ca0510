"""The questions that a selector learns from as token ids, made by shards.

Where layers are frozen, what these make of the texts is computed here, too: a network's work, which
several devices can share. A store has of each question:

``ids``, ``types``, ``own``  what the network reads (:class:`.reading.Input`): the question's input,
                             then those of its passages, one behind the other
``lengths``                  int32, the tokens of each input
``tokens``                   int64, of all of them
``below``                    float32, what the frozen layers make of each token, where some are
``relevant``, ``members``, ``sizes``, ``labels``  see :func:`.gold.packed_labels`
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import orjson

from adducir.core.executors import Place
from adducir.models.artifacts import model_versions
from adducir.models.batches import batch_rule
from adducir.models.loading import load_config, load_tokenizer, longest_input
from adducir.models.machine import Precision, device_kind, device_of_worker, settle_threads
from adducir.models.sources import ModelSource
from adducir.studies.complementary_evidence.questions import EvidenceQuestion
from adducir.studies.complementary_evidence.selectors.data import questions_of, split_examples
from adducir.studies.complementary_evidence.selectors.gold import packed_labels
from adducir.studies.complementary_evidence.selectors.network import Vectoriser
from adducir.studies.complementary_evidence.selectors.reading import EncodedQuestion, Input, Reader
from adducir.studies.complementary_evidence.selectors.recipe import EvidenceData
from adducir.training.example_work import Encode, ExampleWork
from adducir.training.store import Array

KIND = "encoded-questions"
VERSION = 1
SHARD = 64


@dataclass(frozen=True)
class Frozen:
    """What computes the states below the trained layers.

    Attributes:
        layers: How many of the topmost layers are trained, and so not computed here.
        threads: Of torch, on the CPU.
    """

    layers: int
    precision: Precision
    threads: int


@dataclass(frozen=True)
class QuestionExamples(ExampleWork[EvidenceQuestion]):
    """The questions to learn from and those held out.

    Attributes:
        folder: The study's, where relative paths start.
        base: Whose tokenizer reads them, and whose frozen layers take part.
        length: Tokens of an input; by default as many as the base can read.
        together: Whether a passage is read with its question.
        frozen: None where no layer is.
    """

    data: EvidenceData
    folder: Path
    base: ModelSource
    length: int | None
    together: bool
    frozen: Frozen | None = None
    size: int = field(default=SHARD, kw_only=True)
    doing = "reading questions"
    unit = "questions"
    makes = "questions"
    counted = MappingProxyType({"inputs": "lengths", "tokens of inputs": "ids"})

    def versions(self) -> dict[str, str]:
        return super().versions() | (model_versions() if self.frozen else {})

    def identity(self) -> dict[str, Any]:
        return {**super().identity(), **({"batches": batch_rule(None)} if self.frozen else {})}

    def reader(self) -> Reader:
        """The tokenizer.

        Raises:
            InputError, MachineError: It cannot be loaded.
        """
        tokenizer = load_tokenizer(self.base)
        most = longest_input(load_config(self.base), tokenizer)
        return Reader(tokenizer, most if self.length is None else min(self.length, most))

    def check(self) -> None:
        self.reader()

    def items(self, *, check: bool) -> Iterator[EvidenceQuestion]:
        """See :class:`.Work`: what the files name twice is refused in any case."""
        del check
        found = questions_of(self.data, self.folder)
        return (question for question, _ in split_examples(self.data, found))

    def describe(self, item: EvidenceQuestion) -> tuple[str, bytes]:
        texts = [[one.title, one.text] for one in item.passages]
        read = [item.question, texts, sorted(item.relevant), item.sets]
        return item.id, orjson.dumps(read)

    def encode(self, place: Place) -> Encode[EvidenceQuestion]:
        reader, frozen = self.reader(), self.frozen

        def read(questions: Sequence[EvidenceQuestion]) -> list[dict[str, Array | np.generic]]:
            """What the network reads of questions, and their labels."""
            inputs = [reader.read(one, together=self.together) for one in questions]
            both = zip(inputs, questions, strict=True)
            return [{**_packed(one), **packed_labels(question)} for one, question in both]

        if frozen is None:
            return Encode(read)
        settle_threads(frozen.threads, place)
        device = device_of_worker(self.device, place)
        network = Vectoriser.load(self.base, "first").to(device)
        network.freeze(frozen.layers)

        def computed(questions: Sequence[EvidenceQuestion]) -> list[dict[str, Array | np.generic]]:
            """The same, with what the frozen layers make of it."""
            arrays = read(questions)
            inputs = [inputs_of(one) for one in arrays]
            states = iter(network.prepared([*chain(*inputs)], precision=frozen.precision))
            return [
                {**one, "below": np.concatenate([*islice(states, len(its))])}
                for one, its in zip(arrays, inputs, strict=True)
            ]

        return Encode(computed, device_kind(device))


def inputs_of(record: Any) -> list[Input]:
    """The inputs of a question, itself first, from a store's columns."""
    ends = np.cumsum(record["lengths"])[:-1]
    ids, types, own = (
        np.split(record[name].astype(np.int64), ends) for name in ("ids", "types", "own")
    )
    below = np.split(record["below"], ends) if "below" in record else [None] * len(ids)
    return [Input(*one) for one in zip(ids, types, own, below, strict=True)]


def _packed(read: EncodedQuestion) -> dict[str, Array | np.generic]:
    inputs = [read.question, *read.passages]
    return {
        "ids": np.concatenate([one.ids for one in inputs]).astype(np.int32),
        "types": np.concatenate([one.types for one in inputs]).astype(np.int8),
        "own": np.concatenate([one.own for one in inputs]).astype(np.int8),
        "lengths": np.array([len(one) for one in inputs], dtype=np.int32),
        "tokens": np.int64(len(read)),
    }
