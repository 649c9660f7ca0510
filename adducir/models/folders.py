"""What a model's folder is, by its files alone, and how to use it.

The files are those of sentence-transformers (``modules.json``), PyLate and ColBERT's authors, peft
(``adapter_config.json``) and transformers (``architectures``). Weights are not opened.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from adducir.core.errors import InputError
from adducir.core.json_lines import json_document, json_object
from adducir.core.texts import listed
from adducir.models.sources import ADAPTER, MODULES, ModelSource

SENTENCE_SETTINGS = "config_sentence_transformers.json"
ROUTES = "router_config.json"
OURS = ("sentence_transformers.", "pylate.")
"""Begin the classes of modules that are loaded; others are custom code."""
Side = Literal["query", "document"]
SIDES: tuple[Side, Side] = ("query", "document")
Attention = Literal["causal", "bidirectional"]
"""Whether tokens attend to those before them, or to all; then the last one alone sees all."""
FolderKind = Literal[
    "encoder",  # of sentence-transformers
    "transformer",  # a network without a head
    "masked-lm",
    "causal-lm",
    "seq2seq",
    "cross-encoder",
    "colbert",
    "sparse",
    "head",  # another head
]
_OF_TYPES: dict[str, FolderKind] = {
    "SentenceTransformer": "encoder",
    "CrossEncoder": "cross-encoder",
    "SparseEncoder": "sparse",
    "MultiVectorEncoder": "colbert",
    "ColBERT": "colbert",
}
_OF_CLASSES: tuple[tuple[str, FolderKind], ...] = (
    ("ColBERT", "colbert"),
    ("ForSequenceClassification", "cross-encoder"),
    ("ForMaskedLM", "masked-lm"),
    ("ForPreTraining", "masked-lm"),
    ("ForCausalLM", "causal-lm"),
    ("LMHeadModel", "causal-lm"),
    ("ForConditionalGeneration", "seq2seq"),
    ("FiD", "seq2seq"),
)
_BARE = ("Model", "Encoder", "Contriever", "DotNLL_LN", "Dot_NLL_LN", "Model2", "RobertaDot")
"""Ends of the names of classes without a head, or with one that their encoder needs."""
_BOTH_WAYS = {"xlnet", "bert-generation", "prophetnet"}
_SPARSE = {"SpladePooling", "SparseAutoEncoder", "SparseStaticEmbedding", "IDF"}
_USES: dict[FolderKind, str] = {
    "encoder": "Use it as an encoder or a reranker (`maxsim:{}`).",
    "transformer": "Use it as an encoder whose pooling and similarity you set, as a reranker "
    "(`maxsim:{}`), or as the base of a training.",
    "masked-lm": "Use it as a learned sparse encoder if it is a SPLADE (`adducir encode "
    "--sparse`), or as the base of a training.",
    "causal-lm": "Use it as a reranker that answers yes or no (`yes-no:{}`, where what to ask it "
    "is published; otherwise set `template`, `yes` and `no` in a recipe).",
    "seq2seq": "Use it as a reranker: `monot5:{}` or `lit5:{}`.",
    "cross-encoder": "Use it as a reranker: `cross-encoder:{}`.",
    "colbert": "Use it as a reranker: `colbert:{}`.",
    "sparse": "Use it with `adducir encode --sparse` and `adducir index --weights`.",
    "head": "It has a head for another task. Use it as the base of a training, or, if Adducir "
    "trained it, as a term weighter (`adducir deepct`).",
}


@dataclass(frozen=True)
class Look:
    kind: FolderKind
    title: str  # its class, as its files name it
    name: str

    @property
    def use(self) -> str:
        return _USES[self.kind].replace("{}", self.name)

    def no_base(self, trained: str, needed: str, folder: Path | None) -> InputError:
        """The refusal of a base whose network cannot become what is trained."""
        message = f"a {trained} cannot be trained from a {self.title}."
        use = "" if self.kind == "head" else f" {self.use}"  # which is as another base
        return InputError(message, path=folder, hint=f"Set `base` to {needed}.{use}")


def look(source: ModelSource) -> Look:
    """What a model is; downloads its small files if necessary."""
    folder = source.described()
    if (base := source.adapted) is not None and not (folder / MODULES).is_file():
        of_base = look(base)
        title, of_adapter = f"LoRA adapter of {of_base.title}", of_base.kind
        task = object_in(folder / ADAPTER).get("task_type")
        if task == "FEATURE_EXTRACTION" and of_adapter == "causal-lm":
            of_adapter = "transformer"
        elif (classes := source.architectures) != base.architectures:  # it has its own head
            of_adapter = next((kind for end, kind in _OF_CLASSES if end in classes[0]), "head")
        return Look(of_adapter, title, source.name)
    settings, config = object_in(folder / SENTENCE_SETTINGS), object_in(folder / "config.json")
    stated, title = settings.get("model_type"), str(config.get("model_type"))
    if stated is None and (folder / MODULES).is_file():
        types = {kind.rpartition(".")[2] for kind, _ in modules_of(folder)}
        stated = "SentenceTransformer"
        if types & _SPARSE:
            stated = "SparseEncoder"
        elif "LogitScore" in types:
            stated = "CrossEncoder"
        elif "query_prefix" in settings:
            stated = "ColBERT"
    if stated is not None:
        return Look(_OF_TYPES.get(str(stated), "head"), str(stated), source.name)
    if not (names := config.get("architectures")):  # as transformers saved configurations once
        return Look("transformer", title, source.name)
    title = str(names[0])
    other: FolderKind = "transformer" if title.endswith(_BARE) else "head"
    kind = next((kind for end, kind in _OF_CLASSES if end in title), other)
    return Look(kind, title, source.name)


def attention_of(config: Mapping[str, Any]) -> Attention | None:
    """Which tokens a decoder's tokens attend to; None for other networks, which attend to all."""
    from transformers import CONFIG_MAPPING, AutoModelForCausalLM, AutoModelForMaskedLM

    kind = str(config.get("model_type"))
    if kind not in CONFIG_MAPPING:
        return None
    if CONFIG_MAPPING[kind] in AutoModelForMaskedLM._model_mapping or kind in _BOTH_WAYS:
        return "causal" if config.get("is_decoder") else None
    if CONFIG_MAPPING[kind] not in AutoModelForCausalLM._model_mapping:
        return None
    is_both_ways = config.get("is_causal") is False or config.get("use_bidirectional_attention")
    return "bidirectional" if is_both_ways else "causal"


def config_of(source: ModelSource, side: Side = "query") -> dict[str, Any]:
    """The configuration of a side's network, or of the model that an adapter changes."""
    config = object_in(network_of(source, side).described() / "config.json")
    if not config and (base := source.adapted) is not None:
        return config_of(base, side)
    return config


def network_of(source: ModelSource, side: Side | None = None) -> ModelSource:
    """A side's network, or the only one: a module's folder, or the whole model."""
    folder = source.described()
    sides = SIDES if side is None else (side,)
    modules = [module for each in sides for module in modules_of(folder, each)]
    places = list(dict.fromkeys(place for kind, place in modules if kind.endswith("Transformer")))
    if side is None and len(places) > 1:
        hint = f"Name the folder of one of them, such as {places[0]}."
        raise InputError("it has two networks, one for queries.", path=folder, hint=hint)
    return replace(source, folder=places[0]) if places else source


def left_out(source: ModelSource, kept: Collection[str]) -> str:
    """What of a model's head or projection, modules and prompts is not kept, in words."""
    folder, network = source.described(), network_of(source, "document")
    config = object_in(network.described() / "config.json")
    title, parts = (network.architectures or [""])[0], dict[str, str]()
    if title and not title.endswith(_BARE):
        parts["head"] = f"the output layers of {title}"
    elif "Dot" in title or config.get("projection_dim"):
        parts["projection"] = f"the projection of {title}"
    modules = [kind.rpartition(".")[2] for kind, _ in modules_of(folder, "document")]
    if behind := [kind for kind in dict.fromkeys(modules) if kind != "Transformer"]:
        parts["modules"] = f"its {listed(behind)}"
    if any((object_in(folder / SENTENCE_SETTINGS).get("prompts") or {}).values()):
        parts["prompts"] = "its prompts"
    left = [words for name, words in parts.items() if name not in kept]
    return f", without {' and '.join(left)}" if left else ""


def network_settings(place: Path) -> dict[str, Any]:
    """What sentence-transformers saved in a network's folder about its texts."""
    paths = sorted(place.glob("sentence_*_config.json"))
    return object_in(paths[0]) if paths else {}


def object_in(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty if the file does not exist."""
    return json_object(path) if path.is_file() else {}


def modules_of(folder: Path, side: Side = "query") -> list[tuple[str, Path]]:
    """The classes and folders of a side's modules, in order; none for a plain transformer."""
    if not (folder / MODULES).is_file():
        return []
    modules = json_document(folder / MODULES)
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise InputError("it should contain a list of modules.", path=folder / MODULES)
    places = list[tuple[str, Path]]()
    for module in modules:
        kind, place = str(module.get("type")), folder / str(module.get("path", ""))
        if not kind.endswith(("Router", "Asym")):
            places.append((kind, place))
            continue
        router = json_object(
            place / ROUTES if (place / ROUTES).is_file() else place / "config.json"
        )
        names = router.get("structure", {}).get(side, ())
        places += [(str(router["types"][name]), place / str(name)) for name in names]
    return places
