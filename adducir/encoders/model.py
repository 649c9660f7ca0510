"""A dual encoder: a SentenceTransformer that puts contexts, queries and texts into one space.

Contexts and queries go through one network, spans and documents through the same or another (the
routes ``query`` and ``document`` of a Router); vectors are compared by inner product (DPR,
Karpukhin et al., 2020; dense-RELiC; EGRET). With cosine as similarity all vectors have length 1.
"""

from collections.abc import Sequence
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
    explaining,
    load_config,
    load_model,
    load_tokenizer,
    loading,
    longest_input,
)
from adducir.models.machine import seed_of
from adducir.models.sources import ModelSource
from adducir.models.work import PLAIN, Numbers, Running, computed, padded

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer, SparseEncoder

SIDES: tuple[Side, ...] = ("query", "document")
_MODULES, _ROUTES = "modules.json", "router_config.json"
_MODES = {"first": "cls", "mean": "mean", "pooler": "cls"}


class DualEncoder:
    """A network, as ``SentenceTransformer`` loads it, with what makes token ids of texts."""

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
        """An encoder by its source; what is not said is as it was trained.

        A model that Adducir did not train reads whole contexts without a mask; ``seed`` is that of
        new poolers, where the encoder is to be trained.
        """
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer.modules import Normalize, Router

        if source.texts is not None:
            raise InputError(f"{source.name} is not a network, which this needs.")
        base = source.settings or Settings()
        settings = Settings(context=context or base.context, lengths=lengths or base.lengths)
        has_routes = source.folder is not None and (source.folder / _ROUTES).is_file()
        is_pair = has_routes or not source.is_shared
        if towers == "shared" and is_pair:
            raise InputError("two towers cannot be merged: `towers: shared` needs one model.")
        seeds = [None if seed is None else seed_of(seed, "pooler", side) for side in SIDES]
        query = _loaded(source.query, pooling, seeds[0])
        model = document = query
        if (is_pair or towers == "separate") and not has_routes:
            document = _loaded(source.document, pooling, seeds[1])
            towers_of: list[Any] = [list(query.children()), list(document.children())]
            router = Router.for_query_document(*towers_of)
            both = zip(SIDES, (query, document), strict=True)
            prompts = {str(side): one.prompts.get(side) or "" for side, one in both}
            model = SentenceTransformer(modules=[router], device="cpu", prompts=prompts)
        normalises = any(isinstance(module, Normalize) for module in query.modules())
        is_cosine = "cosine" in (similarity, query.similarity_fn_name) or normalises
        if is_cosine and not normalises:
            model.append(Normalize())
        model.similarity_fn_name = "cosine" if is_cosine else "dot"
        readers = _reader(query, "query"), _reader(document, "document")
        return cls(model, InputReader(*readers, settings))

    def save(self, folder: Path) -> None:
        lengths, inputs = self.inputs.settings.lengths, self.inputs
        sides = (inputs.query.longest, lengths.context), (inputs.document.longest, lengths.span)
        both = [min(length or longest, longest) for longest, length in sides]
        towers = [_transformer(self.model, side) for side in SIDES]
        for tower, length in zip(towers, both, strict=True):
            tower.max_seq_length = max(both) if towers[0] is towers[1] else length
        self.model.save(str(folder), create_model_card=False)
        self.inputs.settings.save(folder)

    def to(self, device: "torch.device") -> "DualEncoder":
        self.model.to(device)
        return self

    @property
    def device(self) -> "torch.device":
        return self.model.device

    def forward(self, inputs: Sequence[Ids], side: Side) -> "torch.Tensor":
        """Vectors (n, D) of some inputs, with gradient where there is one."""
        reader = self.inputs.query if side == "query" else self.inputs.document
        ids, mask = padded(inputs, reader.padding, self.device)
        features: Any = {"input_ids": ids, "attention_mask": mask}
        return self.model(features, task=side)["sentence_embedding"]

    def vectors(self, inputs: Sequence[Ids], side: Side, running: Running = PLAIN) -> Floats:
        """(n, D) float32 vectors of token ids; none depends on its batch (to 1e-5)."""

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
    """The encoder of a source: a ``DualEncoder``, or a ``TextEncoder``, which has its methods."""
    if source.texts is not None:
        return source.texts
    with loading(f"the encoder {source.name}"):
        return DualEncoder.load(source)


def load_sparse_encoder(source: ModelSource) -> "SparseEncoder":
    """A learned sparse encoder; of a plain model its masked language model, pooled as SPLADE is."""
    from sentence_transformers import SparseEncoder

    folder = _folder(source)
    own = folder / "config_sentence_transformers.json"
    is_sparse = own.is_file() and json_object(own).get("model_type") == "SparseEncoder"
    if not is_sparse and not source.has_architecture("ForMaskedLM"):
        raise InputError(
            "this is not a learned sparse encoder.",
            path=folder,
            hint="Name a SparseEncoder of sentence-transformers, or a SPLADE, which is a masked "
            "language model.",
        )
    with explaining("model", folder):
        return SparseEncoder(str(folder), device="cpu", local_files_only=True)


def plain_pooling(source: ModelSource) -> PoolingMode | None:
    """What a plain transformer is trained with where nobody says; None for a sentence encoder."""
    return None if (_folder(source) / _MODULES).is_file() else "first"


def _folder(source: ModelSource) -> Path:
    """A model's folder; that of sentence-transformers may have its weights further inside."""
    folder = source.folder
    return folder if folder and (folder / _MODULES).is_file() else source.local()


def _loaded(
    source: ModelSource, pooling: PoolingMode | None, seed: int | None
) -> "SentenceTransformer":
    """A model by sentence-transformers; our own loading holds its weights to be whole."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer

    folder, is_plain = _folder(source), plain_pooling(source) is not None
    with explaining("model", folder):
        if is_plain:
            layers = _plain(source, pooling or "mean", seed)
            model = SentenceTransformer(modules=layers, device="cpu", similarity_fn_name="dot")
        else:
            model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
            named = folder / "config_sentence_transformers.json"
            stated = json_object(named).get("similarity_fn_name") if named.is_file() else None
            model.similarity_fn_name = "cosine" if stated == "cosine" else "dot"
            for name, module in model.named_modules():
                if isinstance(module, Transformer):
                    if (folder / _ROUTES).is_file():  # 0.sub_modules.query.0
                        *_, route, number = name.split(".")
                        place = f"{route}_{number}_Transformer"
                    else:
                        place = str(json_document(folder / _MODULES)[int(name)].get("path", ""))
                    inner = replace(source, folder=folder / place)
                    longest = module.max_seq_length
                    module.model = load_model(inner, _kind_of(inner))
                    module.processor = load_tokenizer(inner)
                    module.max_seq_length = longest
            modules, mode = [*model.modules()], _MODES.get(pooling or "")
            for one in modules:
                if mode and isinstance(one, Pooling) and one.pooling_mode != mode:
                    one.__init__(one.embedding_dimension, mode)
            if pooling == "pooler" and not any(isinstance(one, Dense) for one in modules):
                what = "this sentence encoder has no pooler."
                raise InputError(what, path=folder, hint="Set `pooling` to first or mean.")
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
            what = f"a {type(network).__name__} has no pooler."
            raise InputError(what, path=folder, hint="Set `pooling` to first or mean.")
        weight, bias = dense.weight.data, dense.bias.data
        layers.append(Dense(hidden, hidden, init_weight=weight, init_bias=bias))
    if getattr(network, "pooler", None) is not None:
        network.pooler = None  # it is a layer of its own now, or nobody reads it
    return layers


def _kind_of(source: ModelSource) -> str:
    """The class of transformers for a checkpoint, where AutoModel would take a wrong one."""
    config = load_config(source)
    dpr = str((config.architectures or ["DPRQuestionEncoder"])[0])
    return {"t5": "T5EncoderModel", "dpr": dpr}.get(config.model_type, "AutoModel")


def _transformer(model: "SentenceTransformer", side: Side) -> Any:
    """The first module of a side's tower."""
    first: Any = model[0]
    return first.sub_modules[side][0] if hasattr(first, "sub_modules") else first


def _reader(model: "SentenceTransformer", side: Side) -> Reader:
    module = _transformer(model, side)
    longest = longest_input(module.model.config, module.tokenizer)
    prompt = model.prompts.get(side) or ""
    return Reader(module.tokenizer, min(longest, module.max_seq_length or longest), prompt)
