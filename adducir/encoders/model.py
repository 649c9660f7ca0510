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
from adducir.corpora.spans import MaskedSpan
from adducir.encoders.kinds import EncoderSource, Floats
from adducir.encoders.reading import (
    ContextPart,
    Ids,
    InputReader,
    LengthPart,
    Reader,
    Settings,
    Towers,
)
from adducir.encoders.settings import PoolingMode, Similarity
from adducir.encoders.statement import FILES, SET, THEIR_MODES, Statement
from adducir.models.folders import SIDES, Attention, Look, Side, look
from adducir.models.loading import explaining, load_model, loading, longest_input, read_weights
from adducir.models.machine import seed_of
from adducir.models.peers import as_module, bert_of_dpr, encoder_class, folder_of, load_peer, tower
from adducir.models.running import PLAIN, Running
from adducir.models.sources import ModelSource
from adducir.models.work import Numbers, computed, padded

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer

_OWN_HEADS = ("embeddingHead.weight", "embeddingHead.bias", "norm.weight", "norm.bias")
"""A linear layer and a layer norm on the first token's vector: ANCE (Xiong et al., ICLR 2021)."""


class DualEncoder:
    """A network loaded by ``SentenceTransformer``, with its conversion of texts to token ids."""

    def __init__(
        self, model: "SentenceTransformer", inputs: InputReader, stated: Mapping[Side, Statement]
    ) -> None:
        self.model, self.inputs, self.stated = model, inputs, stated

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
        explicit = {"pooling": pooling, "similarity": similarity}
        more = {name: value for name, value in explicit.items() if value is not None}
        source = replace(source, encoding=source.encoding.model_copy(update=more))
        stated = {side: source.stated(side) for side in SIDES}
        query = _loaded(source.query, stated["query"], seeds[0])
        has_routes = isinstance(query[0], Router)
        if towers == "shared" and (has_routes or not source.is_shared):
            raise InputError("two towers cannot be merged: `towers: shared` needs one model.")
        model = document = query
        if not source.is_shared or (towers == "separate" and not has_routes):
            document = _loaded(source.document, stated["document"], seeds[1])
            if has_routes or isinstance(document[0], Router):
                raise InputError(f"half of the pair {source.name} has two towers: name it alone.")
            width, other_width = (half.get_embedding_dimension() for half in (query, document))
            if width != other_width:
                sizes = f"{width} and {other_width} dimensions"
                message = f"the vectors of the pair {source.name} have {sizes}."
                raise InputError(message, hint="Name two encoders that were trained together.")
            towers_of: list[Any] = [list(query.children()), list(document.children())]
            router = Router.for_query_document(*towers_of)
            model = SentenceTransformer(modules=[router], device="cpu")
        model.prompts = {str(side): stated[side][f"{side}_prompt"] or "" for side in SIDES}
        of_unit = [isinstance(tower(model, side)[-1], Normalize) for side in SIDES]
        is_cosine = any(of_unit) or "cosine" in [stated[side]["similarity"] for side in SIDES]
        if is_cosine and not all(of_unit):
            model.append(Normalize())
        model.similarity_fn_name = "cosine" if is_cosine else "dot"
        readers = {side: _reader(tower(model, side)[0], stated[side], side) for side in SIDES}
        for side, reader in readers.items():
            stated[side] = stated[side].limited(f"{side}_length", reader.longest)
        return cls(model, InputReader(readers["query"], readers["document"], settings), stated)

    def save(self, folder: Path) -> None:
        lengths, inputs = self.inputs.settings.lengths, self.inputs
        sides = (inputs.query.longest, lengths.context), (inputs.document.longest, lengths.span)
        both = [min(length or longest, longest) for longest, length in sides]
        networks = [tower(self.model, side)[0] for side in SIDES]
        for network, side, length in zip(networks, SIDES, both, strict=True):
            network.max_seq_length = max(both) if networks[0] is networks[1] else length
            if getattr(network, f"{side}_length", None):  # it would override the maximum
                setattr(network, f"{side}_length", length)
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
        reader: Reader = getattr(self.inputs, side)
        length = reader.prompt_length
        read = {"input_ids": ids, "attention_mask": mask, "task": side, "prompt_length": length}
        network: Any = tower(self.model, side)[0].model
        if reader.is_pair and getattr(network.config, "type_vocab_size", 0) > 1:
            read["token_type_ids"] = mask * (mask.cumsum(1) > length)
        return read

    def vectors(self, inputs: Sequence[Ids], side: Side, running: Running = PLAIN) -> Floats:
        """(n, D) float32 vectors of token ids, independent of batches (to 1e-5)."""

        def compute(numbers: Numbers) -> Any:
            return self.forward([inputs_read[n] for n in numbers], side).cpu().numpy()

        # A tokenizer may add nothing to an empty text, which then has a vector of zeros.
        read = [n for n, ids in enumerate(inputs) if len(ids)]
        inputs_read = [inputs[n] for n in read]
        rows = computed(self.model, list(map(len, inputs_read)), compute, running)
        width = (self.model.get_embedding_dimension() or 0) if len(inputs) else 0
        vectors = np.zeros((len(inputs), width), dtype=np.float32)
        if rows:
            vectors[read] = np.stack(rows)
        return vectors

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


def _loaded(source: ModelSource, stated: Statement, seed: int | None) -> "SentenceTransformer":
    """A model as it is stated, after a check that its weights are complete."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense
    from torch import eye, nn

    folder, seen = folder_of(source), look(source)
    with explaining("model", folder):
        if seen.kind == "encoder":
            model = _saved(source, stated)
        else:
            model = SentenceTransformer(modules=_plain(source, stated, seen, seed), device="cpu")
        width, kept = model.get_embedding_dimension() or 0, stated["dimensions"]
        if kept and kept > width:
            raise InputError(f"its vectors have {width} dimensions, not {kept}.", path=folder)
        if kept and kept < width:  # as a layer, because training and towers ignore truncate_dim
            cut = Dense(width, kept, False, nn.Identity(), init_weight=eye(kept, width))
            model.append(cut.requires_grad_(False))
    return model


def _saved(source: ModelSource, stated: Statement) -> "SentenceTransformer":
    """A model that sentence-transformers saved, pooled as it is stated."""
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer

    folder, pooling = folder_of(source), str(stated["pooling"])
    model: SentenceTransformer = load_peer(
        source, "SentenceTransformer", attention=_attention(stated)
    )
    for first in (tower(model, side)[0] for side in SIDES):
        if not isinstance(first, Transformer):
            message = f"a {type(first).__name__} reads its texts, which is not supported."
            raise InputError(message, path=folder, hint="Name one that is a transformer.")
    modules = [*model.modules()]
    for module in modules:
        if isinstance(module, Pooling):
            is_set = stated.facts["pooling"].source != FILES
            mode: Any = THEIR_MODES.get(pooling, pooling) if is_set else module.pooling_mode
            counts = stated["pool_prompt"] is not False
            if (mode, counts) != (module.pooling_mode, module.include_prompt):
                module.__init__(module.embedding_dimension, mode, counts)
    if pooling == "pooler" and not any(isinstance(module, Dense) for module in modules):
        raise _without_pooler("this sentence encoder", folder)
    model.truncate_dim = None
    return model


def _without_pooler(label: str, folder: Path) -> InputError:
    hint = "Set `pooling` to first or mean."
    return InputError(f"{label} lacks a pooler.", path=folder, hint=hint)


def _attention(stated: Statement) -> Attention | None:
    """A decoder's attention where its files do not state it."""
    fact = stated.facts.get("attention")
    return fact.value if fact and fact.source != FILES else None


def _plain(
    source: ModelSource, stated: Statement, seen: Look, seed: int | None
) -> "list[torch.nn.Module]":
    """The modules of a network without any: itself, its pooling, and the layers behind it."""
    import torch
    from sentence_transformers.sentence_transformer.modules import LayerNorm, Pooling
    from torch import nn

    folder = (source.adapted or source).local()
    if seed is not None:
        torch.manual_seed(seed)
    pooling = str(stated["pooling"])
    has_pooler, has_own_heads = pooling == "pooler", "Dot" in seen.title

    def is_used_elsewhere(name: str) -> bool:
        if has_own_heads:
            return name in _OWN_HEADS
        # Of a T5 whose encoder will be trained, the decoder is left out.
        is_of_decoder = name.startswith(("decoder.", "lm_head."))
        return seed is not None and seen.kind == "seq2seq" and is_of_decoder

    network: Any = load_model(
        source,
        encoder_class(source),
        pooler=has_pooler,
        new_head=has_pooler and seed is not None,
        attention=_attention(stated),
        used=is_used_elsewhere,
    )
    hidden, heads = int(network.config.hidden_size), list[nn.Module]()
    if network.config.model_type == "dpr":
        inner = getattr(network, network.base_model_prefix)
        if network.config.projection_dim:
            heads.append(_dense(inner.encode_proj.weight, inner.encode_proj.bias))
        network = bert_of_dpr(network)
    if has_pooler:
        pooler = getattr(getattr(network, "pooler", None), "dense", None)
        if not isinstance(pooler, nn.Linear):
            raise _without_pooler(f"a {type(network).__name__}", folder)
        heads.insert(0, _dense(pooler.weight, pooler.bias, nn.Tanh()))
    if has_own_heads:
        weights = dict(read_weights(folder, _OWN_HEADS.__contains__))
        if missing := set(_OWN_HEADS) - weights.keys():
            raise InputError(f"a {seen.title} needs the weights {min(missing)}.", path=folder)
        weight, bias, scale, shift = (weights[name].float() for name in _OWN_HEADS)
        norm = LayerNorm(len(weight))
        norm.norm.load_state_dict({"weight": scale, "bias": shift})
        heads += [_dense(weight, bias), norm]
    if getattr(network, "pooler", None) is not None:
        network.pooler = None  # now a separate layer, or unused
    mode: Any = THEIR_MODES.get(pooling, pooling)
    pool = Pooling(hidden, mode, include_prompt=stated["pool_prompt"] is not False)
    return [as_module(source, network, "last_hidden_state"), pool, *heads]


def _dense(
    weight: "torch.Tensor", bias: "torch.Tensor", activation: Any = None
) -> "torch.nn.Module":
    from sentence_transformers.sentence_transformer.modules import Dense
    from torch import nn

    size, width = weight.shape
    return Dense(width, size, True, activation or nn.Identity(), weight.data, bias.data)


def _reader(module: Any, stated: Statement, side: Side) -> Reader:
    """The reader of a side's texts, as it is stated."""
    tokenizer, length = module.tokenizer, stated[f"{side}_length"]
    limits = module.max_seq_length, getattr(module, f"{side}_length", None)
    longest = longest_input(module.model.config, tokenizer)
    if length and length > longest and stated.facts[f"{side}_length"].source == SET:
        message = f"it reads at most {longest:,} tokens, not {length:,} (`{side}_length`)."
        raise InputError(message, path=tokenizer.name_or_path)
    tokenizer.truncation_side = stated["truncation_side"] or tokenizer.truncation_side
    if stated["end_token"]:
        end_with(tokenizer)
    filler = stated[f"{side}_padding"]
    if filler is not None:
        if filler not in tokenizer.get_vocab():
            message = f"the vocabulary lacks the token {filler!r}, which should extend queries."
            raise InputError(message, path=tokenizer.name_or_path)
        filler = tokenizer.convert_tokens_to_ids(filler)
    return Reader(
        tokenizer,
        min(filter(None, (longest, length, *limits))),
        stated[f"{side}_prompt"] or "",
        stated["special_tokens"] is not False,
        filler,
        bool(stated["prompt_pair"] and stated[f"{side}_prompt"]),
    )


def end_with(tokenizer: Any) -> None:
    """Let each text end in the tokenizer's end token, if it does not yet."""
    from tokenizers.processors import Sequence, TemplateProcessing

    token, backend = tokenizer.eos_token or tokenizer.sep_token, tokenizer.backend_tokenizer
    if token is None:
        raise InputError("this tokenizer lacks an end token.", path=tokenizer.name_or_path)
    number = tokenizer.convert_tokens_to_ids(token)
    if backend.encode("a").ids[-1] == number:
        return
    end = TemplateProcessing(
        single=f"$A {token}", pair=f"$A {token} $B {token}", special_tokens=[(token, number)]
    )
    processor = backend.post_processor
    backend.post_processor = end if processor is None else Sequence([processor, end])
