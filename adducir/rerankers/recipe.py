"""What every reranker is: a recipe that loads a model, which scores pairs of query and text."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from adducir.core.artifacts import refuse_damaged
from adducir.core.config import load, validate
from adducir.core.errors import ArtifactError, InputError, MachineError
from adducir.core.files import study_folder
from adducir.core.json_lines import json_object
from adducir.core.recipe import Recipe
from adducir.core.registry import Family
from adducir.corpora.sources import expanded
from adducir.models.artifacts import as_settings, write_settings
from adducir.models.loading import loading
from adducir.models.machine import Precision, choose_device
from adducir.models.sources import CONFIGURATION, RECIPES, ModelSource, model_source
from adducir.models.work import PLAIN, Numbers, Running, computed
from adducir.training.recipe import Several, kind_of, listed

if TYPE_CHECKING:
    import torch

Length = Annotated[int, Field(ge=1)]
Pair = tuple[str, str]
Scores = NDArray[np.float64]

SETTINGS_FILE = "reranker.json"
"""How a trained reranker reads texts: kept beside its weights."""
_BLANK = re.compile(r"\s")
_CHARACTERS = 24
"""Characters of a long text that are read first, for each id that is wanted."""
_OF_TRAINING = {"kind", "description", "base", "tokenizer", "examples", "held_out", "training"}


class Pointwise(ABC):
    """A network with its tokenizer; a kind gives ``encode`` and ``values``, or ``scores``."""

    network: Any = None
    tokenizer: Any
    running: Running = PLAIN

    def to(self, device: "torch.device") -> None:
        if self.network is not None:
            self.network.to(device)

    def encode(self, pairs: Sequence[Pair]) -> Sequence[Any]:
        """What the network reads of each pair; its ``len()`` is in tokens."""
        raise NotImplementedError

    def values(self, batch: Sequence[Any]) -> "torch.Tensor":
        """(n,) the scores of encoded pairs."""
        raise NotImplementedError

    def scores(self, pairs: Sequence[Pair]) -> Scores:
        """(n,) scores of pairs, greater for better; they depend on others only if listwise."""
        inputs = self.encode(pairs)

        def compute(numbers: Numbers) -> list[float]:
            return self.values([inputs[n] for n in numbers]).double().tolist()

        found = computed(self.network, list(map(len, inputs)), compute, self.running)
        return np.array(found, dtype=float)


class RerankerRecipe(Recipe):
    """The keys of every reranker; a subclass adds those of its kind.

    Attributes:
        kind: What distinguishes this recipe from others.
        description: For readers.
        model: The kind of model.
        base: Its weights: a folder, ``minilm`` or a name of the Hugging Face Hub; empty for a
            kind that has none.
        tokenizer: Where the tokenizer comes from, if the weights bring none.
        fields: The document's fields that are read; by default those that the index has.
        precision: What the network computes in.
        batch_tokens: Padded tokens in a batch; by default what suits the device.
    """

    is_listwise: ClassVar[bool] = False  # a score depends on the other texts of a query
    classes: ClassVar[tuple[str, ...]] = ()  # endings of the classes that its weights may be of
    named: ClassVar[str] = ""  # a pattern: models of a name like this are of the kind
    scores: ClassVar[str] = ""  # what they are, if the same for all models of the kind

    kind: Literal["reranker"] = "reranker"
    description: str = ""
    model: str
    base: str
    tokenizer: str | None = None
    fields: Several = ()
    precision: Precision = "float32"
    batch_tokens: Length | None = None

    @property
    def fingerprint_inputs(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude=_OF_TRAINING | {"fields", "batch_tokens"})

    def save(self, folder: Path) -> None:
        write_settings(folder / SETTINGS_FILE, self.model_dump(mode="json", exclude=_OF_TRAINING))

    @classmethod
    def fits(cls, source: ModelSource) -> bool:
        """Whether a model without a recipe is one of this kind, by its name and its files."""
        is_called_so = cls.named and re.search(cls.named, Path(source.name).name.lower())
        return bool(is_called_so) and source.has_architecture(*cls.classes)

    @abstractmethod
    def load(self, source: ModelSource) -> Pointwise:
        """The model, on the CPU; a kind whose ``base`` is empty does not look at ``source``."""

    def scale(self, source: ModelSource) -> str:
        """What its scores are, in a few words; the model is not loaded for that."""
        return self.scores


def token_ids(tokenizer: Any, texts: Sequence[str], most: int) -> list[Numbers]:
    """The first ``most`` ids of texts without special ones; a long text is read in part."""

    def read(some: list[str]) -> list[Numbers]:
        encode = tokenizer.backend_tokenizer.encode_batch_fast
        encodings = encode(some, add_special_tokens=False) if some else []
        return [np.array(one.ids[:most], dtype=np.int64) for one in encodings]

    ends = (_BLANK.search(text, most * _CHARACTERS) for text in texts)
    starts = [text[: end.start()] if end else text for text, end in zip(texts, ends, strict=True)]
    found = read(starts)
    cut = [number for number, start in enumerate(starts) if len(start) < len(texts[number])]
    short = [number for number in cut if len(found[number]) < most]
    for number, ids in zip(short, read([texts[n] for n in short]), strict=True):
        found[number] = ids
    return found


def fitted(query: Numbers, text: Numbers, room: int) -> tuple[Numbers, Numbers]:
    """Cut a text to the room beside its query, and only a query that leaves it under a quarter."""
    query = query[: max(0, room - min(len(text), room // 4))]
    return query, text[: max(0, room - len(query))]


def fitted_pairs(
    tokenizer: Any, pairs: Sequence[tuple[str, str]], room: int
) -> list[tuple[Numbers, Numbers]]:
    different = list(dict.fromkeys(text for pair in pairs for text in pair))
    ids = dict(zip(different, token_ids(tokenizer, different, room), strict=True))
    return [fitted(ids[query], ids[text], room) for query, text in pairs]


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
    },
    what="reranker",
)
"""Every kind by its name, in the order in which a model without a recipe is tried for them."""

_VERSION = 4
"""Raised when some model's scores become others."""


@dataclass(frozen=True)
class Reranker:
    """A reranker that is loaded when it is first needed."""

    name: str
    recipe: RerankerRecipe  # says the precision, and a batch's tokens where ``running`` does not
    source: ModelSource
    running: Running = PLAIN

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process loads the model itself.
        return Reranker, (self.name, self.recipe, self.source, self.running)

    @cached_property
    def identity(self) -> dict[str, Any]:
        return identity_of(self.recipe, self.source.identity() if self.recipe.base else "")

    @cached_property
    def model(self) -> Pointwise:
        with loading(f"the reranker {self.name}"):
            model = self.recipe.load(self.source)
        tokens = self.running.tokens or self.recipe.batch_tokens
        model.running = replace(self.running, tokens=tokens, precision=self.recipe.precision)
        model.to(choose_device(self.running.device))
        return model

    def check(self) -> None:
        """Fetch what is to be loaded; an error where that cannot be had, or is of another kind."""
        if self.recipe.base:
            self.source.local()
            self.source.local_tokenizer()

    @property
    def fields(self) -> tuple[str, ...]:
        """The documents' fields that it reads; none where its recipe does not say."""
        return listed(self.recipe.fields)

    @property
    def scale(self) -> str:
        return self.recipe.scale(self.source)

    def scores(self, pairs: Sequence[Pair]) -> Scores:
        """(n,) the scores of pairs of query and text; each different pair is scored once."""
        if self.recipe.is_listwise:  # a text that occurs twice has two places
            return self.model.scores(pairs)
        different = list(dict.fromkeys(pairs))
        values = self.model.scores(different)
        if not np.isfinite(values).all():
            raise InputError(
                "the model gave a score that is not a finite number.",
                hint="Are these the weights of a trained reranker? They may be damaged.",
            )
        value_of = dict(zip(different, values.tolist(), strict=True))
        return np.array([value_of[pair] for pair in pairs], dtype=float)

    def score(self, query: str, texts: Sequence[str]) -> Scores:
        """(n,) the scores of texts, the greater the better."""
        return self.scores([(query, text) for text in texts])

    def order(self, query: str, texts: Sequence[str]) -> NDArray[np.int64]:
        """(n,) the numbers of texts, the best first; equals keep their order."""
        return np.argsort(-self.score(query, texts), kind="stable")


def identity_of(recipe: RerankerRecipe, weights: str) -> dict[str, Any]:
    """All that determines the score of a pair; a model to be trained has its fingerprint."""
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
    """The reranker of a name; nothing is loaded yet, and relative paths start in ``folder``.

    A name is a recipe (``rerankers/X.yaml``); a model that ``adducir train`` made, or a pretrained
    one, its kind before it if it does not say it (``maxsim:minilm``); or a kind, for its default.
    """
    text, start = str(name), folder or Path()
    path = start / Path(text).expanduser()
    kind, colon, rest = text.partition(":")
    if path.suffix in RECIPES:
        recipe, start = read_recipe(path), study_folder(path)
        if is_trained(recipe):
            return open_trained(path, path.with_suffix(""), running)
    elif (path / SETTINGS_FILE).is_file():
        return open_trained(text, path, running)
    elif text in RERANKERS and not path.exists():
        recipe = RERANKERS.make(text)
    elif colon and "/" not in kind and not path.exists():
        recipe = RERANKERS.make(kind, {"base": rest})
    else:
        source = model_source(text, start)
        if source.folder is None and "/" not in text:  # the Hub has no reranker without an owner
            RERANKERS.kind(text)
        kinds = RERANKERS.kinds().items()
        found = next((known for known, kind_of in kinds if kind_of.fits(source)), None)
        if found is None:
            raise InputError(
                f"{source.name} does not say that it is a reranker, or of which kind.",
                path=source.folder,
                hint=f"Put its kind before the name: {', '.join(RERANKERS)}. A classifier is a "
                f"cross-encoder:{source.name}, any encoder can be a maxsim:{source.name}.",
            )
        recipe = RERANKERS.make(found, {"base": text})
    return Reranker(text, recipe, source_of(recipe, start), running)


def read_recipe(path: Path) -> RerankerRecipe:
    document = load(path)
    return validate(document, kind_of(document, RERANKERS, "model", "kind"))


def is_trained(recipe: RerankerRecipe) -> bool:
    return getattr(recipe, "examples", None) is not None


def open_trained(name: str | Path, model: Path, running: Running = PLAIN) -> Reranker:
    """The reranker that was trained in a folder; by its recipe, it is used as that says now."""
    path = model / SETTINGS_FILE
    if not path.is_file():
        what = "this reranker has not been trained yet."
        raise ArtifactError(what, path=model, hint=f"Train it: adducir train {name}")
    refuse_damaged(model)
    settings = {**json_object(path), "base": str(model)}
    if Path(name).suffix in RECIPES:
        own_keys = {"fields", "precision", "batch_tokens"}
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
    if not recipe.classes or is_trained(recipe):  # a new model may start from any class
        return source
    try:
        path = (source.folder or source.fetched(CONFIGURATION)) / CONFIGURATION[0]
    except MachineError:  # its loading reports what is not available
        return source
    names = json_object(path).get("architectures")
    if isinstance(names, list) and not any(str(one).endswith(recipe.classes) for one in names):
        raise InputError(
            f"{source.name} is a {', '.join(map(str, names))}; needed is a model whose class ends "
            f"in {' or '.join(recipe.classes)}.",
            path=path,
            hint="Name a model of that kind, or another `model:` in the reranker's recipe.",
        )
    return source
