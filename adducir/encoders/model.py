"""A dual encoder: a SentenceTransformer that maps contexts, queries and texts into one space.

Contexts and queries go through one network, spans and documents through the same or another (the
routes ``query`` and ``document`` of a Router); vectors are compared by inner product (DPR,
Karpukhin et al., 2020; dense-RELiC; EGRET). With cosine as similarity all vectors have length 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adducir.core.errors import InputError
from adducir.core.json_lines import json_document, json_object
from adducir.corpora.spans import MaskedSpan
from adducir.encoders.kinds import EncoderSource, Floats, Side
from adducir.encoders.reading import (
    ContextPart,
    Ids,
    InputReader,
    LengthPart,
    PoolingMode,
    Reader,
    Settings,
    Similarity,
    Towers,
)
from adducir.models.loading import (
    SENTENCE_SETTINGS,
    explaining,
    load_config,
    load_model,
    load_tokenizer,
    loading,
    longest_input,
    sentence_settings,
)
from adducir.models.machine import seed_of
from adducir.models.sources import ModelSource
from adducir.models.work import PLAIN, Numbers, Running, computed, padded

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer, SparseEncoder

SIDES: tuple[Side, ...] = ("query", "document")
_MODULES, _ROUTES = "modules.json", "router_config.json"
_OTHERS = {
    "CrossEncoder": "Use it as a reranker: `cross-encoder:{}`.",
    "SparseEncoder": "Use it with `adducir encode --sparse` and `adducir index --weights`.",
    "MultiVectorEncoder": "Use it as a reranker: `colbert:{}`.",
    "ColBERT": "Use it as a reranker: `colbert:{}`.",
}
_MODES = {"first": "cls", "mean": "mean", "pooler": "cls"}


class DualEncoder:
    """A network loaded by ``SentenceTransformer``, with its conversion of texts to token ids."""

    def __init__(self, model: "SentenceTransformer", inputs: InputReader) -> None:
        self.model, self.inputs = model, inputs

    @classmethod
    def load(
        cls,
        source: EncoderSource,
        *,
        context: ContextPart | None = None,
        lengths: LengthPart | None = None,
        similarity: Similarity | None = None,
        pooling: PoolingMode | None = None,
        towers: Towers | None = None,
        seed: int | None = None,
    ) -> "DualEncoder":
        """An encoder from its source; defaults are those of its training.

        A model not trained with Adducir reads whole contexts without a mask; ``seed`` is for new
        poolers, if the encoder will be trained.
        """
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer.modules import Normalize, Router

        if source.texts is not None:
            raise InputError(f"{source.name} is not a network, which is required here.")
        base = source.settings or Settings()
        settings = Settings(context=context or base.context, lengths=lengths or base.lengths)
        seeds = [None if seed is None else seed_of(seed, "pooler", side) for side in SIDES]
        query = _loaded(source.query, pooling, seeds[0])
        has_routes = isinstance(query[0], Router)
        if towers == "shared" and (has_routes or not source.is_shared):
            raise InputError("two towers cannot be merged: `towers: shared` needs one model.")
        model = document = query
        if not source.is_shared or (towers == "separate" and not has_routes):
            document = _loaded(source.document, pooling, seeds[1])
            if has_routes or isinstance(document[0], Router):
                raise InputError(f"half of the pair {source.name} has two towers: name it alone.")
            one, other = (half.get_embedding_dimension() for half in (query, document))
            if one != other:
                what = f"the vectors of the pair {source.name} have {one} and {other} dimensions."
                raise InputError(what, hint="Name two encoders that were trained together.")
            towers_of: list[Any] = [list(query.children()), list(document.children())]
            router = Router.for_query_document(*towers_of)
            both = zip(SIDES, (query, document), strict=True)
            prompts = {str(side): one.prompts.get(side) or "" for side, one in both}
            model = SentenceTransformer(modules=[router], device="cpu", prompts=prompts)
        of_unit = [isinstance(_tower(model, side)[-1], Normalize) for side in SIDES]
        stated = (similarity,) if similarity else [m.similarity_fn_name for m in (query, document)]
        is_cosine = any(of_unit) or "cosine" in stated
        if is_cosine and not all(of_unit):
            model.append(Normalize())
        model.similarity_fn_name = "cosine" if is_cosine else "dot"
        readers = _reader(query, "query"), _reader(document, "document")
        return cls(model, InputReader(*readers, settings))

    def save(self, folder: Path) -> None:
        lengths, inputs = self.inputs.settings.lengths, self.inputs
        sides = (inputs.query.longest, lengths.context), (inputs.document.longest, lengths.span)
        both = [min(length or longest, longest) for longest, length in sides]
        towers = [_tower(self.model, side)[0] for side in SIDES]
        for tower, side, length in zip(towers, SIDES, both, strict=True):
            tower.max_seq_length = max(both) if towers[0] is towers[1] else length
            if getattr(tower, f"{side}_length", None):  # it would override the maximum
                setattr(tower, f"{side}_length", length)
        self.model.save(str(folder), create_model_card=False)
        self.inputs.settings.save(folder)

    def to(self, device: "torch.device") -> "DualEncoder":
        self.model.to(device)
        return self

    @property
    def device(self) -> "torch.device":
        return self.model.device

    def forward(self, inputs: Sequence[Ids], side: Side) -> "torch.Tensor":
        """Vectors (n, D) of some inputs, with any gradient."""
        reader: Reader = getattr(self.inputs, side)
        features: Any = self.features(*padded(inputs, reader.padding, self.device), side)
        return self.model(features)["sentence_embedding"]

    def features(self, ids: "torch.Tensor", mask: "torch.Tensor", side: Side) -> dict[str, Any]:
        """What the network reads of token ids (n, T); its pooling may leave out the prompt."""
        excluded = getattr(self.inputs, side).prompt_length
        return {"input_ids": ids, "attention_mask": mask, "task": side, "prompt_length": excluded}

    def vectors(self, inputs: Sequence[Ids], side: Side, running: Running = PLAIN) -> Floats:
        """(n, D) float32 vectors of token ids, independent of batches (to 1e-5)."""

        def compute(numbers: Numbers) -> Any:
            return self.forward([inputs[n] for n in numbers], side).cpu().numpy()

        rows = computed(self.model, [len(one) for one in inputs], compute, running)
        return np.stack(rows) if rows else np.zeros((0, 0), dtype=np.float32)

    def encode_contexts(self, spans: Sequence[MaskedSpan], running: Running = PLAIN) -> Floats:
        return self.vectors(self.inputs.contexts(spans), "query", running)

    def encode_queries(self, texts: Sequence[str], running: Running = PLAIN) -> Floats:
        return self.vectors(self.inputs.queries(texts), "query", running)

    def encode_documents(self, texts: Sequence[str], running: Running = PLAIN) -> Floats:
        return self.vectors(self.inputs.documents(texts), "document", running)


def load_encoder(source: EncoderSource) -> Any:
    """The encoder of a source: a ``DualEncoder``, or a ``TextEncoder`` with the same methods."""
    if source.texts is not None:
        return source.texts
    with loading(f"the encoder {source.name}"):
        return DualEncoder.load(source)


def load_sparse_encoder(source: ModelSource) -> "SparseEncoder":
    """A learned sparse encoder; a plain model's masked language model is pooled as in SPLADE."""
    from sentence_transformers import SparseEncoder

    folder = _folder(source)
    is_sparse = sentence_settings(folder).get("model_type") == "SparseEncoder"
    if not is_sparse and not source.has_architecture("ForMaskedLM"):
        raise InputError(
            "this is not a learned sparse encoder.",
            path=folder,
            hint="Name a SparseEncoder of sentence-transformers, or a SPLADE, which is a masked "
            "language model.",
        )
    with explaining("model", folder):
        networks = _networks(source, folder)
        model = SparseEncoder(str(folder), device="cpu", local_files_only=True)
        _complete(model, networks)
    return model


def plain_pooling(source: ModelSource) -> PoolingMode | None:
    """The default pooling to train a plain transformer with; None for a sentence encoder."""
    return None if (_folder(source) / _MODULES).is_file() else "first"


def _folder(source: ModelSource) -> Path:
    """A model's folder; with sentence-transformers, weights may be in a subfolder."""
    folder = source.folder
    return folder if folder and (folder / _MODULES).is_file() else source.local()


def _similarity(source: ModelSource, folder: Path) -> Similarity:
    """The similarity that an encoder states; refuses other models of sentence-transformers."""
    stated, path = sentence_settings(folder), folder / SENTENCE_SETTINGS
    kind, similarity = stated.get("model_type"), stated.get("similarity_fn_name")
    if kind not in (None, "SentenceTransformer"):
        hint = _OTHERS.get(str(kind), "Name a SentenceTransformer.").format(source.name)
        raise InputError(f"this is a {kind}, not a dense encoder.", path=path, hint=hint)
    if similarity not in (None, "dot", "cosine"):
        what = f"its vectors are compared by {similarity} distance, which is not supported."
        raise InputError(what, path=path, hint="Name an encoder trained for dot or cosine.")
    return "cosine" if similarity == "cosine" else "dot"


def _networks(source: ModelSource, folder: Path) -> dict[str, ModelSource]:
    """The transformers of an encoder by module; refuses what would not be loaded of them."""
    parts = {"0": ("Transformer", "")}
    if (folder / _MODULES).is_file():
        modules = json_document(folder / _MODULES)
        parts = {one["name"]: (one["type"], one.get("path", "")) for one in modules}
    if (folder / _ROUTES).is_file():
        router = json_object(folder / _ROUTES)
        for route, names in router["structure"].items():
            for number, name in enumerate(names):
                parts[f"0.sub_modules.{route}.{number}"] = router["types"][name], name
    found = {}
    for name, (kind, place) in parts.items():
        if kind.endswith("Transformer"):
            found[name] = replace(source, folder=folder / place)
            found[name].local()
    return found


def _complete(model: "torch.nn.Module", networks: Mapping[str, ModelSource]) -> None:
    """Load a model's networks and tokenizers anew: complete, or refused."""
    from sentence_transformers.sentence_transformer.modules import Transformer
    from tokenizers.normalizers import Lowercase, Sequence

    for name, module in model.named_modules():
        if isinstance(module, Transformer):
            source, longest = networks[name], module.max_seq_length
            is_masked = module.transformer_task == "fill-mask"
            kind = "AutoModelForMaskedLM" if is_masked else _kind_of(source)
            module.model, module.processor = load_model(source, kind), load_tokenizer(source)
            module.max_seq_length = longest
            if module.do_lower_case:
                backend = module.processor.backend_tokenizer
                backend.normalizer = Sequence([Lowercase(), *filter(None, [backend.normalizer])])


def _loaded(
    source: ModelSource, pooling: PoolingMode | None, seed: int | None
) -> "SentenceTransformer":
    """A model loaded by sentence-transformers, after a check that its weights are complete."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer
    from torch import eye, nn

    folder, is_plain = _folder(source), plain_pooling(source) is not None
    similarity = _similarity(source, folder)
    with explaining("model", folder):
        if is_plain:
            layers = _plain(source, pooling or "mean", seed)
            model = SentenceTransformer(modules=layers, device="cpu", similarity_fn_name="dot")
        else:
            networks = _networks(source, folder)
            model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
            model.similarity_fn_name = similarity
            for first in (_tower(model, side)[0] for side in SIDES):
                if not isinstance(first, Transformer):
                    what = f"a {type(first).__name__} reads its texts, which is not supported."
                    raise InputError(what, path=folder, hint="Name one that is a transformer.")
            _complete(model, networks)
            modules, mode = [*model.modules()], _MODES.get(pooling or "")
            for one in modules:
                if mode and isinstance(one, Pooling) and one.pooling_mode != mode:
                    one.__init__(one.embedding_dimension, mode, one.include_prompt)
            if pooling == "pooler" and not any(isinstance(one, Dense) for one in modules):
                what = "this sentence encoder lacks a pooler."
                raise InputError(what, path=folder, hint="Set `pooling` to first or mean.")
            kept, model.truncate_dim = model.truncate_dim, None
            width = model.get_embedding_dimension() or 0
            if kept and kept < width:  # as a layer, because training and towers ignore it
                cut = Dense(width, kept, False, nn.Identity(), init_weight=eye(kept, width))
                model.append(cut.requires_grad_(False))
    return model


def _plain(source: ModelSource, pooling: PoolingMode, seed: int | None) -> "list[torch.nn.Module]":
    import torch
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer

    folder = source.local()
    if seed is not None:
        torch.manual_seed(seed)
    has_pooler = pooling == "pooler"
    is_new = has_pooler and seed is not None
    network: Any = load_model(source, _kind_of(source), pooler=has_pooler, new_head=is_new)
    if network.config.model_type == "dpr":
        network, pooling = getattr(network, network.base_model_prefix).bert_model, "first"
    by_token = {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}
    tokenizer = str(source.local_tokenizer())
    names: Any = {} if source.tokenizer is None else {"tokenizer_name_or_path": tokenizer}
    transformer = Transformer(
        str(folder), modality_config=by_token, module_output_name="token_embeddings", **names
    )
    transformer.model, transformer.processor = network, load_tokenizer(source)
    hidden = int(network.config.hidden_size)
    layers: list[torch.nn.Module] = [transformer, Pooling(hidden, _MODES[pooling])]
    if has_pooler:
        dense = getattr(getattr(network, "pooler", None), "dense", None)
        if not isinstance(dense, torch.nn.Linear):
            what = f"a {type(network).__name__} lacks a pooler."
            raise InputError(what, path=folder, hint="Set `pooling` to first or mean.")
        weight, bias = dense.weight.data, dense.bias.data
        layers.append(Dense(hidden, hidden, init_weight=weight, init_bias=bias))
    if getattr(network, "pooler", None) is not None:
        network.pooler = None  # now a separate layer, or unused
    return layers


def _kind_of(source: ModelSource) -> str:
    """The transformers class for a checkpoint if AutoModel would choose a wrong one."""
    config = load_config(source)
    dpr = str((config.architectures or ["DPRQuestionEncoder"])[0])
    names = {"t5": "T5EncoderModel", "mt5": "MT5EncoderModel", "umt5": "UMT5EncoderModel"}
    return {**names, "dpr": dpr}.get(config.model_type, "AutoModel")


def _tower(model: "SentenceTransformer", side: Side) -> list[Any]:
    """The modules that a side's texts pass through."""
    first, *others = model.children()
    return [*getattr(first, "sub_modules", {side: [first]})[side], *others]


def _reader(model: "SentenceTransformer", side: Side) -> Reader:
    module = _tower(model, side)[0]
    longest = longest_input(module.model.config, module.tokenizer)
    limits = longest, module.max_seq_length, getattr(module, f"{side}_length", None)
    return Reader(module.tokenizer, min(filter(None, limits)), model.prompts.get(side) or "")
