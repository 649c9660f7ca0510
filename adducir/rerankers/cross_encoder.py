"""Cross-encoders: a query and a text in one input, a score from a classifier's logits.

Any transformers model for sequence classification works, such as those of sentence-transformers
(Reimers and Gurevych, EMNLP 2019). With one label, the score is the raw logit; its sigmoid, which
sentence-transformers shows, has the same order until it rounds to 1. With two, it is the
log-probability of the class named relevant, or of the second if they lack names.

monoBERT (Nogueira and Cho, arXiv 1901.04085, 2019) is a cross-encoder with two classes: the input
is ``[CLS] query [SEP] text [SEP]``, at most 512 word pieces, and s = log softmax(z)[relevant].
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import model_validator

from adducir.core.errors import InputError
from adducir.core.texts import shortened
from adducir.models.folders import look
from adducir.models.known import known
from adducir.models.loading import (
    load_config,
    load_model,
    load_tokenizer,
    longest_input,
    sentence_settings,
    with_padding,
)
from adducir.models.sources import ModelSource
from adducir.models.work import Numbers, padded
from adducir.rerankers.causal import Templated
from adducir.rerankers.pipeline import Pipeline, is_pipeline
from adducir.rerankers.recipe import Length, Pair, Pointwise, RerankerRecipe, fitted_pairs
from adducir.training.data import HeldOut
from adducir.training.example_recipe import ExamplesPart
from adducir.training.losses import LossKey
from adducir.training.recipe import ModelRecipe

if TYPE_CHECKING:
    import torch

KIND = "AutoModelForSequenceClassification"
CLASSIFIER = "ForSequenceClassification"
_RELEVANT = frozenset({"relevant", "relevance", "is relevant", "relevance score"})
_UNNAMED = re.compile(r"(label )?\d*")
_OF_CROSS_ENCODERS = ("sentence_transformers", "sbert_ce_default_activation_function")
"""What sentence-transformers writes into a CrossEncoder's configuration, now and before 4.0."""
_MONOBERT = "castorini/monobert-large-msmarco"


class CrossEncoderRecipe(RerankerRecipe, ModelRecipe):
    """A cross-encoder, pretrained or to be trained.

    Attributes:
        labels: Outputs of a new head, if trained.
        length: Tokens of an input; by default the model's number of positions.
        label: The class whose log-probability is the score, by number or name; by default the one
            named relevant, or the second of two without names.
        examples: Training data; a recipe with examples trains a model.
        loss: What is minimised; by default binary cross-entropy of each pair.
        held_out: The validation data: a share of the queries, with all their pairs.
        training: How to train.
    """

    classes: ClassVar[tuple[str, ...]] = (CLASSIFIER,)
    labels: ClassVar[int] = 1
    kind: Literal["cross-encoder"] = "cross-encoder"  # type: ignore[assignment]
    model: Literal["cross-encoder"] = "cross-encoder"
    length: Length | None = None
    label: int | str | None = None
    examples: ExamplesPart | None = None
    loss: LossKey = None
    held_out: HeldOut = HeldOut()

    @classmethod
    def fits(cls, source: ModelSource) -> bool:
        """Whether a class is named relevance, or it is a CrossEncoder with one output."""
        if cls.named or look(source).kind != "cross-encoder":
            return super().fits(source)
        if is_pipeline(source):
            return True
        config = load_config(source)
        names = [_plain(name) for name in _class_names(config)]
        if not _RELEVANT.isdisjoint(names):
            return len(names) <= 2
        said = sentence_settings(source.local()).get("model_type") == "CrossEncoder"
        is_said = said or any(hasattr(config, key) for key in _OF_CROSS_ENCODERS)
        return is_said and len(names) == 1 and bool(_UNNAMED.fullmatch(names[0]))

    def load(self, source: ModelSource) -> Pointwise:
        if is_pipeline(source):
            if self.length or self.label is not None:
                what = "`length` and `label` cannot be set for a cross-encoder of several modules."
                raise InputError(what, path=source.folder)
            return Pipeline.load(source)
        network, tokenizer = load_model(source, KIND), load_tokenizer(source)
        if (published := known(source, "rerankers")) and network.config.num_labels == 1:
            return Templated(network, tokenizer, dict(published.facts))
        with_padding(network, tokenizer)
        model = CrossEncoder(network, tokenizer, self)
        if (said := sentence_settings(source.local())).get("model_type") == "CrossEncoder":
            # As there, before each query.
            model.prompt = (said.get("prompts") or {}).get(said.get("default_prompt_name"), "")
        return model

    def scale(self, source: ModelSource) -> str:
        if is_pipeline(source):
            return "logit"
        names = _class_names(load_config(source))
        if len(names) == 1:
            return "logit"
        return f"log-probability of class {names[relevant_class(names, self.label)]}"


class MonoBERTRecipe(CrossEncoderRecipe):
    """A monoBERT, pretrained or to be trained; the keys are those of a cross-encoder.

    Attributes:
        base: By default the authors' group's model for MS MARCO.
        tokenizer: By default BERT's, because that model does not include one.
        length: Word pieces of an input.
    """

    labels: ClassVar[int] = 2
    named: ClassVar[str] = "monobert"
    kind: Literal["monobert"] = "monobert"  # type: ignore[assignment]
    model: Literal["monobert"] = "monobert"  # type: ignore[assignment]
    base: str = _MONOBERT
    length: Length | None = 512

    @model_validator(mode="before")
    @classmethod
    def _with_its_tokenizer(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("base", _MONOBERT) == _MONOBERT:
            return {"tokenizer": "bert-large-uncased", **data}
        return data


@dataclass(frozen=True)
class Encoded:
    """A network's input: (n,) token ids and segments, 0 or 1."""

    ids: Numbers
    types: Numbers

    def __len__(self) -> int:
        return len(self.ids)


class PairReader:
    """Builds inputs such as ``[CLS] query [SEP] text [SEP]`` from a tokenizer's template."""

    def __init__(self, tokenizer: Any, config: Any, length: int | None) -> None:
        self._tokenizer = tokenizer
        self._has_types = int(getattr(config, "type_vocab_size", 0) or 0) > 1
        sample = tokenizer.backend_tokenizer.encode("a", "a")
        sides = np.array([-1 if side is None else side for side in sample.sequence_ids])
        first, second = np.flatnonzero(sides == 0), np.flatnonzero(sides == 1)
        cuts = [first[0], first[-1] + 1, second[0], second[-1] + 1]
        both = (np.array(some, dtype=np.int64) for some in (sample.ids, sample.type_ids))
        self._ids, self._types = (np.split(some, cuts) for some in both)
        special = sum(map(len, self._ids[::2]))
        self._room = Pointwise.room(longest_input(config, tokenizer, length), special)

    def read(self, pairs: Sequence[Pair]) -> list[Encoded]:
        (one, _, two, _, three), (types_1, own, types_2, other, types_3) = self._ids, self._types
        found = []
        for query, text in fitted_pairs(self._tokenizer, pairs, self._room):
            ids = np.concatenate((one, query, two, text, three))
            sides = np.full(len(query), own[0]), np.full(len(text), other[0])
            types = np.concatenate((types_1, sides[0], types_2, sides[1], types_3))
            found.append(Encoded(ids, types))
        return found

    def padded(self, batch: Sequence[Encoded], device: "torch.device") -> "dict[str, torch.Tensor]":
        ids, mask = padded([one.ids for one in batch], self._tokenizer.pad_token_id or 0, device)
        found = {"input_ids": ids, "attention_mask": mask}
        if self._has_types:
            found["token_type_ids"] = padded([one.types for one in batch], 0, device)[0]
        return found


class CrossEncoder(Pointwise):
    def __init__(self, network: Any, tokenizer: Any, recipe: CrossEncoderRecipe) -> None:
        self.network, self.tokenizer, self.prompt = network, tokenizer, ""
        names = _class_names(network.config)
        self.label = relevant_class(names, recipe.label, network.name_or_path)
        self._reader = PairReader(tokenizer, network.config, recipe.length)

    def encode(self, pairs: Sequence[Pair]) -> list[Encoded]:
        return self._reader.read([(self.prompt + query, text) for query, text in pairs])

    def values(self, batch: Sequence[Encoded]) -> "torch.Tensor":
        """(n,) the logit, or the log-probability of the class."""
        inputs = self._reader.padded(batch, self.network.device)
        logits: torch.Tensor = self.network(**inputs).logits.float()
        is_logit = self.network.config.num_labels == 1
        return logits[:, 0] if is_logit else logits.log_softmax(dim=-1)[:, self.label]


def relevant_class(names: Sequence[str], label: int | str | None, path: str | None = None) -> int:
    shown = shortened(", ".join(f"{number}: {name}" for number, name in enumerate(names)))
    if label is not None:
        number = names.index(label) if label in names else label
        if isinstance(number, int) and 0 <= number < len(names):
            return number
        what = f"unknown class {label!r}: the model has {shown}."
        raise InputError(what, path=path, hint="Correct `label:` in the recipe.")
    plain = [_plain(name) for name in names]
    relevant = [number for number, name in enumerate(plain) if name in _RELEVANT]
    if len(names) <= 2 and len(relevant) == 1:
        return relevant[0]
    if len(names) <= 2 and all(map(_UNNAMED.fullmatch, plain)):
        return len(names) - 1
    what = f"this classifier does not name its relevant class: {shown}."
    raise InputError(what, path=path, hint="Name it with `label:` in a recipe.")


def _class_names(config: Any) -> list[str]:
    return [str(config.id2label[number]) for number in sorted(config.id2label)]


def _plain(name: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", name.lower()))
