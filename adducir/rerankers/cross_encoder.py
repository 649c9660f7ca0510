"""Cross-encoders: a query and a text in one input, a score from a classifier's logits.

Any transformers model for sequence classification works, such as those of sentence-transformers
(Reimers and Gurevych, EMNLP 2019). With one label, the score is the raw logit; its sigmoid, which
sentence-transformers shows, has the same order until it rounds to 1. With two, it is the
log-probability of the class named relevant, or of the second if they lack names.

Several modules (ettin-reranker), chat templates with the roles query and document (Qwen3-Reranker
as a classifier) and a language model's logits (LogitScore) are computed by sentence-transformers,
from pairs that it reads with its prompts and lengths.

monoBERT (Nogueira and Cho, arXiv 1901.04085, 2019) is a cross-encoder with two classes: the input
is ``[CLS] query [SEP] text [SEP]``, at most 512 word pieces, and s = log softmax(z)[relevant].
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import model_validator

from adducir.core.errors import InputError
from adducir.core.texts import shortened
from adducir.models.folders import (
    SENTENCE_SETTINGS,
    FolderKind,
    look,
    modules_of,
    network_settings,
    object_in,
)
from adducir.models.loading import (
    load_config,
    load_model,
    load_tokenizer,
    longest_input,
    with_padding,
)
from adducir.models.peers import load_peer
from adducir.models.sources import ModelSource, known
from adducir.rerankers.causal import Templated
from adducir.rerankers.pairs import Encoded, Pair, PairReader, Pointwise
from adducir.rerankers.recipe import Length, RerankerRecipe
from adducir.training.example_recipe import ExampleRecipe

if TYPE_CHECKING:
    import torch

KIND = "AutoModelForSequenceClassification"
_RELEVANT = frozenset({"relevant", "relevance", "is relevant", "relevance score"})
_UNNAMED = re.compile(r"(label )?\d*")
_OF_CROSS_ENCODERS = ("sentence_transformers", "sbert_ce_default_activation_function")
"""What sentence-transformers writes into a CrossEncoder's configuration, now and before 4.0."""
_MONOBERT = "castorini/monobert-large-msmarco"
_AT_ONCE = 64
_ROLES = re.compile(r"""(?=.*(["'])query\1)(?=.*(["'])document\2)""", re.DOTALL)
"""A chat template that names both roles; others have only those of conversations."""


class CrossEncoderRecipe(RerankerRecipe, ExampleRecipe):
    """A cross-encoder, pretrained or, from ``examples``, to be trained.

    Attributes:
        labels: Outputs of a new head, if trained.
    """

    reads: ClassVar[tuple[FolderKind, ...]] = ("cross-encoder",)
    labels: ClassVar[int] = 1
    kind: Literal["cross-encoder"] = "cross-encoder"  # type: ignore[assignment]
    model: Literal["cross-encoder"] = "cross-encoder"
    length: Length | None = None
    """Tokens of an input; by default the model's number of positions."""
    label: int | str | None = None
    """The class whose log-probability is the score, by number or name; by default the one named
    relevant, or the second of two without names."""

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
        is_said = _stated(source) or any(hasattr(config, key) for key in _OF_CROSS_ENCODERS)
        return is_said and len(names) == 1 and bool(_UNNAMED.fullmatch(names[0]))

    def load(self, source: ModelSource) -> Pointwise:
        if is_pipeline(source):
            if self.length or self.label is not None:
                what = "`length` and `label` cannot be set for a cross-encoder of several modules."
                raise InputError(what, path=source.folder)
            return Pipeline(load_peer(source, "CrossEncoder", messages=True))
        network, tokenizer = load_model(source, KIND), load_tokenizer(source)
        with_padding(network, tokenizer)
        if (published := known(source, "rerankers")) and network.config.num_labels == 1:
            answers = dict.fromkeys(("yes", "no"))  # it has an output instead
            return Templated(network, tokenizer, {**published.facts, **answers})
        model = CrossEncoder(network, tokenizer, self)
        stated = _stated(source)  # there, it precedes each query, too
        model.prompt = (stated.get("prompts") or {}).get(stated.get("default_prompt_name"), "")
        return model

    def scale(self, source: ModelSource) -> str:
        if is_pipeline(source):
            return "logit"
        names = _class_names(load_config(source))
        if len(names) == 1:
            return "logit"
        return f"log-probability of class {names[relevant_class(names, self.label)]}"


class MonoBERTRecipe(CrossEncoderRecipe):
    """A monoBERT, pretrained or to be trained; the keys are those of a cross-encoder."""

    labels: ClassVar[int] = 2
    named: ClassVar[str] = "monobert"
    kind: Literal["monobert"] = "monobert"  # type: ignore[assignment]
    model: Literal["monobert"] = "monobert"  # type: ignore[assignment]
    base: str = _MONOBERT
    """By default the authors' group's model for MS MARCO."""
    tokenizer: str | None = None
    """The tokenizer's source; by default BERT's, because that model does not include one."""
    length: Length | None = 512
    """Word pieces of an input."""

    @model_validator(mode="before")
    @classmethod
    def _with_its_tokenizer(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("base", _MONOBERT) == _MONOBERT:
            return {"tokenizer": "bert-large-uncased", **data}
        return data


def pair_reader(tokenizer: Any, config: Any, length: int | None) -> PairReader:
    """Builds inputs such as ``[CLS] query [SEP] text [SEP]`` from a tokenizer's template."""
    sample = tokenizer.backend_tokenizer.encode("a", "a")
    sides = np.array([-1 if side is None else side for side in sample.sequence_ids])
    first, second = np.flatnonzero(sides == 0), np.flatnonzero(sides == 1)
    cuts = [first[0], first[-1] + 1, second[0], second[-1] + 1]
    both = (np.array(some, dtype=np.int64) for some in (sample.ids, sample.type_ids))
    ids, types = (np.split(some, cuts) for some in both)
    has_types = int(getattr(config, "type_vocab_size", 0) or 0) > 1
    longest = longest_input(config, tokenizer, length)
    return PairReader(tokenizer, ids[::2], longest, types if has_types else None)


class CrossEncoder(Pointwise):
    def __init__(self, network: Any, tokenizer: Any, recipe: CrossEncoderRecipe) -> None:
        self.network, self.tokenizer, self.prompt = network, tokenizer, ""
        names = _class_names(network.config)
        self.label = relevant_class(names, recipe.label, network.name_or_path)
        self._reader = pair_reader(tokenizer, network.config, recipe.length)

    def encode(self, pairs: Sequence[Pair]) -> list[Encoded]:
        return self._reader.read([(self.prompt + query, text) for query, text in pairs])

    def values(self, batch: Sequence[Encoded]) -> "torch.Tensor":
        """(n,) the logit, or the log-probability of the class."""
        logits: torch.Tensor = self.network(**self.features(batch)).logits.float()
        is_logit = self.network.config.num_labels == 1
        return logits[:, 0] if is_logit else logits.log_softmax(dim=-1)[:, self.label]


def is_pipeline(source: ModelSource) -> bool:
    """Whether a cross-encoder has more than a classifier of plain pairs."""
    folder = source.described()
    modules = modules_of(folder)
    for kind, place in modules:
        modalities = network_settings(place).get("modality_config", {})
        if not kind.endswith("Transformer") or "message" in modalities:
            return True
    if modules or object_in(folder / SENTENCE_SETTINGS).get("model_type") == "CrossEncoder":
        return False
    stated = object_in(folder / "tokenizer_config.json").get("chat_template")
    path = folder / "chat_template.jinja"
    template = path.read_text(encoding="utf-8") if path.is_file() else str(stated)
    return bool(_ROLES.search(template))


class Pipeline(Pointwise):
    """A CrossEncoder of sentence-transformers; ``prompt`` is its default one."""

    def __init__(self, model: Any) -> None:
        from sentence_transformers.base.modules import Transformer

        first = next(module for module in model.modules() if isinstance(module, Transformer))
        self.network, self.tokenizer, self._more = model, first.processor, dict[str, Any]()
        self.is_left = first.transformer_task == "text-generation"
        self.prompt = model.prompts.get(model.default_prompt_name) or None

    def encode(self, pairs: Sequence[Pair]) -> list[Encoded]:
        rows = []
        for start in range(0, len(pairs), _AT_ONCE):
            some = [list(pair) for pair in pairs[start : start + _AT_ONCE]]
            read: Mapping[str, Any] = self.network.preprocess(some, prompt=self.prompt)
            self._more = {key: value for key, value in read.items() if not hasattr(value, "shape")}
            types = read.get("token_type_ids")
            for row, mask in enumerate(read["attention_mask"].bool()):
                ids = read["input_ids"][row][mask].numpy().astype(np.int64)
                row_types = None if types is None else types[row][mask].numpy().astype(np.int64)
                rows.append(Encoded(ids, row_types))
        return rows

    def values(self, batch: Sequence[Encoded]) -> "torch.Tensor":
        """(n,) the score, or of two classes the log-odds of the second."""
        scores: torch.Tensor = self.network({**self.features(batch), **self._more})["scores"]
        scores = scores.float().reshape(len(batch), -1)
        return scores[:, 0] if scores.shape[1] == 1 else scores.log_softmax(dim=-1)[:, -1]


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


def _stated(source: ModelSource) -> dict[str, Any]:
    """What sentence-transformers saved of a CrossEncoder; empty for another's."""
    settings = object_in(source.described() / SENTENCE_SETTINGS)
    return settings if settings.get("model_type") == "CrossEncoder" else {}


def _class_names(config: Any) -> list[str]:
    return [str(config.id2label[number]) for number in sorted(config.id2label)]


def _plain(name: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", name.lower()))
