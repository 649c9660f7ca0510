"""The base of rerankers: a recipe that loads a model, which scores pairs of query and text."""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from adducir.core.config import load, validate
from adducir.core.errors import AdducirError, ArtifactError, InputError, MachineError
from adducir.core.files import study_folder
from adducir.core.fingerprint import is_known
from adducir.core.json_lines import json_object
from adducir.core.manifests import refuse_damaged
from adducir.core.recipe import Recipe, Several, as_tuple
from adducir.core.registry import Family, numbers
from adducir.corpora.sources import expanded
from adducir.models.artifacts import as_settings, write_settings
from adducir.models.folders import FolderKind, look, network_of
from adducir.models.loading import load_config, loading
from adducir.models.machine import Precision, choose_device, using_threads
from adducir.models.running import PLAIN, Running
from adducir.models.sources import RECIPES, ModelSource, model_source, weight_files
from adducir.rerankers.pairs import Pair, Scores
from adducir.rerankers.pairs import Pointwise as Pointwise  # packages import it from here
from adducir.training.recipe import kind_of

if TYPE_CHECKING:
    import torch

Length = Annotated[int, Field(ge=1)]

SETTINGS_FILE = "reranker.json"
"""How a trained reranker reads texts: stored beside its weights."""
_OFFLINE = "maxsim:minilm"
_OF_TRAINING = {
    *("kind", "description", "base", "tokenizer", "examples", "loss", "lora", "held_out"),
    *("batches", "dimensions", "training"),
}


class RerankerRecipe(Recipe):
    """The keys of every reranker; a subclass adds those of its kind."""

    is_listwise: ClassVar[bool] = False  # scores depend on the query's other texts
    is_late: ClassVar[bool] = False  # query and text are encoded apart
    reads: ClassVar[tuple[FolderKind, ...]] = ()  # what its weights may be; empty: any
    named: ClassVar[str] = ""  # a pattern: models with such names are of this kind
    scores: ClassVar[str] = ""  # their meaning, if the same for all models of the kind

    kind: Literal["reranker"] = "reranker"
    """Distinguishes this recipe from others."""
    description: str = ""
    """For readers."""
    model: str
    """The kind of model."""
    base: str
    """Its weights: a folder, ``minilm`` or a name on the Hugging Face Hub; empty for a kind without
    weights."""
    tokenizer: str | None = None
    """The tokenizer's source, if the weights do not include one."""
    fields: Several = ()
    """The documents' fields to read; by default the index's."""
    precision: Precision = "float32"
    """The network's precision."""
    batch_tokens: Length | None = None
    """Padded tokens per batch; by default chosen by device."""

    @property
    def fingerprint_inputs(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude=_OF_TRAINING | {"fields", "batch_tokens"})

    def save(self, folder: Path) -> None:
        write_settings(folder / SETTINGS_FILE, self.model_dump(mode="json", exclude=_OF_TRAINING))

    @classmethod
    def fits(cls, source: ModelSource) -> bool:
        """Whether a model without a recipe is of this kind, by its name and files."""
        is_called_so = cls.named and re.search(cls.named, Path(source.name).name.lower())
        return bool(is_called_so) and cls.accepts(source)

    @classmethod
    def accepts(cls, source: ModelSource) -> bool:
        """Whether a model could be of this kind, by its files."""
        return not cls.reads or look(source).kind in cls.reads

    @abstractmethod
    def load(self, source: ModelSource) -> Pointwise:
        """The model, on the CPU; kinds with empty ``base`` ignore ``source``."""

    def opened(self, name: str, folder: Path, running: Running) -> "Reranker":
        """The reranker of this recipe, not yet loaded; relative paths start in ``folder``."""
        return Reranker(name, self, source_of(self, folder), running)

    def statement(self, source: ModelSource) -> str:
        """How it reads a query and a text, and what states that, in a line; empty if fixed."""
        return ""

    def scale(self, source: ModelSource) -> str:
        """What its scores mean, briefly, without loading the model."""
        return self.scores


class Windowed(RerankerRecipe):
    """A reranker that orders windows of passages."""

    is_listwise: ClassVar[bool] = True
    scores: ClassVar[str] = "1 / rank"

    window: Length = 20
    """Passages ranked at once."""
    stride: Length = 10
    """Distance between successive windows."""

    @model_validator(mode="after")
    def _overlaps(self) -> Self:
        if self.stride > self.window:
            raise ValueError("`stride` must not exceed `window`: passages would be skipped")
        return self


RERANKERS = Family(
    "rerankers",
    RerankerRecipe,
    {
        "monobert": "adducir.rerankers.cross_encoder:MonoBERTRecipe",
        "cross-encoder": "adducir.rerankers.cross_encoder:CrossEncoderRecipe",
        "lit5": "adducir.rerankers.t5:LiT5Recipe",
        "monot5": "adducir.rerankers.t5:MonoT5Recipe",
        "colbert": "adducir.rerankers.colbert:ColBERTRecipe",
        "maxsim": "adducir.rerankers.colbert:MaxSimRecipe",
        "yes-no": "adducir.rerankers.causal:YesNoRecipe",
        "llm-pointwise": "adducir.rerankers.asked_kinds:PointwiseRecipe",
        "llm-listwise": "adducir.rerankers.asked_kinds:ListwiseRecipe",
        "llm-setwise": "adducir.rerankers.asked_kinds:SetwiseRecipe",
        "llm-pairwise": "adducir.rerankers.asked_kinds:PairwiseRecipe",
    },
    what="reranker",
)
"""Every kind by name, in the order tried for a model without a recipe."""

_VERSION = 5
"""Raised when a model's scores change."""


@dataclass(frozen=True)
class Reranker:
    """A reranker that is loaded on first use."""

    name: str
    recipe: RerankerRecipe  # sets the precision and, unless ``running`` does, tokens per batch
    source: ModelSource
    running: Running = PLAIN

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process loads the model itself.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @cached_property
    def identity(self) -> dict[str, Any]:
        weights = self.source.identity() if self.recipe.base else ""
        found = identity_of(self.recipe, weights)
        if is_known(weights) and (statement := self.statement):
            found["read"] = statement
        return found

    @cached_property
    def model(self) -> Pointwise:
        with loading(f"the reranker {self.name}"):
            model = self.recipe.load(self.source)
        tokens = self.running.tokens or self.recipe.batch_tokens
        model.running = replace(self.running, tokens=tokens, precision=self.recipe.precision)
        model.to(choose_device(self.running.device))
        return model

    def on(self, device: "torch.device") -> "Reranker":
        """This reranker, or one like it on another device, such as a worker's."""
        if choose_device(self.running.device) == device:
            return self
        return replace(self, running=replace(self.running, device=str(device)))

    def using_threads(self) -> AbstractContextManager[None]:
        """Inside the block, its network uses as many threads as it should."""
        return using_threads(self.running.threads)

    def check(self) -> None:
        """Download what will be loaded; an error if it is not available or of another kind."""
        if self.recipe.base:
            self.source.local()
            self.source.local_tokenizer()

    @property
    def fields(self) -> tuple[str, ...]:
        """The documents' fields to read; empty if its recipe does not say."""
        return as_tuple(self.recipe.fields)

    @property
    def scale(self) -> str:
        return self.recipe.scale(self.source)

    @property
    def statement(self) -> str:
        """How it reads a query and a text, in a line; empty for a kind that is fixed."""
        return self.recipe.statement(self.source)

    def scores(self, pairs: Sequence[Pair]) -> Scores:
        """(n,) scores of pairs of query and text; each distinct pair is scored once."""
        if self.recipe.is_listwise:  # repeated texts have separate ranks
            return self.model.scores(pairs)
        different = list(dict.fromkeys(pairs))
        values = self.model.scores(different)
        meaning = "a score per pair"
        values = numbers(
            *(self.model, "scores", values, len(different)), meaning=meaning, finite=False
        )
        if not np.isfinite(values).all():
            raise InputError(
                "the model returned a score that is not a finite number.",
                hint="Are these the weights of a trained reranker? They may be damaged.",
            )
        value_of = dict(zip(different, values.tolist(), strict=True))
        return np.array([value_of[pair] for pair in pairs], dtype=float)

    def score(self, query: str, texts: Sequence[str]) -> Scores:
        """(n,) scores of texts, higher is better."""
        return self.scores([(query, text) for text in texts])

    def order(self, query: str, texts: Sequence[str]) -> NDArray[np.int64]:
        """(n,) indices of texts, best first; ties keep their order."""
        return np.argsort(-self.score(query, texts), kind="stable")


def identity_of(recipe: RerankerRecipe, weights: str) -> dict[str, Any]:
    """What determines a pair's score; a model to be trained has its fingerprint."""
    origin = RERANKERS.origin(recipe.model)
    return {
        "weights": weights,
        "settings": recipe.fingerprint_inputs,
        "version": _VERSION,
        **({"origin": origin} if origin else {}),
    }


def open_reranker(
    name: str | Path, folder: Path | None = None, running: Running = PLAIN
) -> Reranker:
    """A named reranker, not yet loaded; relative paths start in ``folder``.

    A name is a recipe (``rerankers/X.yaml``); a model from ``adducir train`` or a pretrained one,
    with its kind if that is not evident (``maxsim:minilm``); or a kind, for its default.
    """
    text, start = str(name), folder or Path()
    path = start / Path(text).expanduser()
    kind, colon, rest = text.partition(":")
    is_named = colon and kind in RERANKERS and not path.exists()
    if is_named:
        recipe = RERANKERS.make(kind, {"base": rest} if rest else {})
    elif path.suffix in RECIPES:
        recipe, start = read_recipe(path), study_folder(path)
        if is_trained(recipe):
            return open_trained(path, path.with_suffix(""), running)
    elif (path / SETTINGS_FILE).is_file():
        return open_trained(text, path, running)
    elif text in RERANKERS and not path.exists():
        recipe = RERANKERS.make(text)
    elif colon and "/" not in kind and not path.exists():
        recipe = RERANKERS.make(kind)  # which does not exist
    else:
        source = replace(model_source(text, start), offline=_OFFLINE)
        if source.folder is None and "/" not in text:  # the Hub has no reranker without an owner
            RERANKERS.kind(text)
        kinds = RERANKERS.kinds().items()
        found = next((known for known, kind_of in kinds if kind_of.fits(source)), None)
        if found is None:
            raise refusal(source, "recognised as a reranker")
        recipe = RERANKERS.make(found, {"base": text})
    return recipe.opened(text, start, running)


def read_recipe(path: Path) -> RerankerRecipe:
    document = load(path)
    return validate(document, kind_of(document, RERANKERS, "model", "kind"))


def is_trained(recipe: RerankerRecipe) -> bool:
    return getattr(recipe, "examples", None) is not None


def open_trained(name: str | Path, model: Path, running: Running = PLAIN) -> Reranker:
    """The reranker trained in a folder, used according to its current recipe."""
    from adducir.training.trainable import note_older

    path = model / SETTINGS_FILE
    if not path.is_file():
        what = "this reranker has not been trained yet."
        raise ArtifactError(what, path=model, hint=f"Train it: adducir train {name}")
    refuse_damaged(model)
    note_older(model)
    settings = {**json_object(path), "base": str(model)}
    if Path(name).suffix in RECIPES:
        own_keys = {"fields", "precision", "label", "batch_tokens"}
        settings |= read_recipe(Path(name)).model_dump(include=own_keys)
    kind = str(settings.get("model"))
    if kind not in RERANKERS:
        raise InputError(f"unknown model {kind!r}.", path=path)
    own = as_settings(path, settings, RERANKERS.kind(kind))
    return Reranker(str(name), own, ModelSource(str(name), model), running)


def source_of(recipe: RerankerRecipe, folder: Path) -> ModelSource:
    if not recipe.base:
        return ModelSource(recipe.model)
    tokenizer = recipe.tokenizer and expanded(recipe.tokenizer)
    source = model_source(expanded(recipe.base), folder, tokenizer)
    if is_trained(recipe):  # a new model may start from any class
        return source
    source = replace(source, offline=_OFFLINE)
    try:
        is_accepted = recipe.accepts(source) or not source.architectures
    except MachineError:  # loading it reports what is not available
        return source
    if not is_accepted:
        raise refusal(source, f"a {recipe.model}")
    return source


def refusal(source: ModelSource, label: str) -> InputError:
    """A model is of another kind: says which, and how to use it."""
    seen = look(source)
    message = f"{source.name} ({seen.title}) is not {label}."
    return InputError(message, path=source.folder, hint=seen.use)


def model_lines(name: str) -> Iterator[str]:
    """What a model is and how it would be used, without opening its weights.

    Yields:
        Kind, use, statements with their sources, dimensions, identity, and what is missing.

    Raises:
        InputError: It is not a model.
    """
    from adducir.encoders.kinds import described, encoder_source

    kind, _, base = name.partition(":")
    bare = base if base and "/" not in kind and ":" not in base else name
    source = encoder_source(bare).query
    network = network_of(source, "document")
    seen = look(source)
    yield f"{name}: {seen.title} ({seen.kind})"
    yield seen.use
    if seen.kind in ("encoder", "transformer", "masked-lm", "causal-lm"):
        yield from _tried("as an encoder", lambda: described(encoder_source(bare)))
    if seen.kind not in ("encoder", "transformer", "masked-lm", "sparse", "head"):
        yield from _tried("as a reranker", lambda: _reranker(name))
    config = load_config(network).get_text_config()
    sizes = {"hidden size": "hidden_size", "layers": "num_hidden_layers"}
    sizes |= {"positions": "max_position_embeddings", "vocabulary": "vocab_size"}
    counts = {key: getattr(config, attribute, None) for key, attribute in sizes.items()}
    yield ", ".join(f"{key} {value:,}" for key, value in counts.items() if value)
    yield from _tried(
        "weights", lambda: ", ".join(path.name for path in weight_files(network.local()))
    )
    yield f"identity: {source.identity()}"


def _reranker(name: str) -> str:
    reranker = open_reranker(name)
    return f"{reranker.recipe.model}, score: {reranker.scale}. {reranker.statement}".strip()


def _tried(label: str, find: Callable[[], str]) -> Iterator[str]:
    try:
        yield f"{label}: {find()}"
    except AdducirError as error:
        yield f"{label}: no, {error.what} {error.hint or ''}".strip()
