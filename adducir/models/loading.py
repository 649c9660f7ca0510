"""Loads a model's tokenizer and weights, whichever program wrote them.

Nothing is made up. transformers initialises missing weights at random, and creates an empty
vocabulary without a tokenizer: both are refused here for all models. Only the head that a training
adds may be missing. Pickled weights are read with ``weights_only``, which creates tensors and does
not run code.
"""

import gc
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from zipfile import is_zipfile

from adducir.core.errors import AdducirError, InputError, MachineError, sorted_error
from adducir.core.progress import progress
from adducir.models.folders import Attention
from adducir.models.sources import TOKENIZERS, ModelSource, weight_files

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedConfig, PreTrainedModel
    from transformers.tokenization_utils_tokenizers import TokenizersBackend

_NAME_A_TOKENIZER = (
    "Name the model whose tokenizer it uses, for example `tokenizer: bert-large-uncased` in a "
    "recipe, or copy the files of that tokenizer into the folder."
)
_SHIFTED = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet", "longformer"})
"""Models whose positions begin after their padding index."""
_LAYOUTS = (
    # Wrappers: DistributedDataParallel, Lightning, torch.compile.
    (re.compile(r"^(?:(?:module|model|_orig_mod)\.)+"), ""),
    # Fusion-in-Decoder (facebookresearch/FiD) wraps T5's encoder and each of its blocks.
    (re.compile(r"^encoder\.encoder\."), "encoder."),
    (re.compile(r"^(encoder\.block\.\d+\.)module\."), r"\1"),
)
"""Prefixes that other programs add to names of weights, in the order of removal."""
_GLOBAL = re.compile(r"GLOBAL (\S+)")
_IN_PEFT = "base_model.model."
"""Begins the names of an adapter's weights."""
_EMBEDDINGS = re.compile(r"(?:^|\.)(?:embed_tokens|word_embeddings|wte|shared|embed_in)\.weight$")
"""A vector per token of the vocabulary, which an adapter may enlarge."""
_INSERTED = re.compile(r"\.(?:lora_|base_layer\.)")
"""Begins what peft inserts into the name of a layer."""
_OUTPUTS = re.compile(r"(?:^|\.)(?:score|classifier|classifier\.out_proj)\.(?:weight|bias)$")
"""The last layer of a classifier, whose rows are its classes."""
_UNUSED = re.compile(
    # Heads of the pretraining, which whoever uses or trains the layers below them leaves out.
    r"(?:^|\.)(?:cls\.(?:predictions|seq_relationship)|lm_head|lm_loss|mlm_head|predictions"
    r"|vocab_(?:transform|layer_norm|projector)|(?:discriminator|generator)_\w+|pred_layer"
    r"|embed_out|final_logits_bias)(?:\.|$)"
    r"|^(?:head|decoder)\.(?:dense|norm|bias|weight)|^(?:\w+\.)?pooler\."
    # Constants that were once saved.
    r"|position_ids$|rotary_emb\.inv_freq$|\.attn\.(?:bias|masked_bias)$|attention\.(?:bias|masked_bias)$"
)
"""Weights that may remain unused."""


def load_tokenizer(source: ModelSource) -> "TokenizersBackend":
    """The model's fast tokenizer (which reports offsets), without truncation."""
    from transformers import AutoTokenizer
    from transformers.tokenization_utils_tokenizers import TokenizersBackend

    folder = source.local_tokenizer()
    if not any(path.is_file() for name in TOKENIZERS for path in folder.glob(name)):
        message = "this model does not include a tokenizer."
        raise InputError(message, path=folder, hint=_NAME_A_TOKENIZER)
    rows = getattr(load_config(source).get_text_config(), "vocab_size", None)
    with explaining("tokenizer", folder):
        code = (source.tokenizer or source).code_options()
        tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True, **code)
        if not isinstance(tokenizer, TokenizersBackend):
            raise InputError("its tokenizer lacks a fast version.", path=folder)
        tokenizer.model_max_length = int(tokenizer.model_max_length)
        backend, special = tokenizer.backend_tokenizer, tokenizer.all_special_ids
        backend.no_truncation()
        backend.no_padding()
        entries = len(tokenizer) - len(special)  # T5 alone has a hundred of them
        # Added vocabulary entries are only used if texts contain them.
        vocabulary = backend.get_vocab(with_added_tokens=False)
        greatest = max((*vocabulary.values(), *backend.encode("a", "a").ids))
        added = max(tokenizer.get_added_vocab().values(), default=0)
        if isinstance(rows, int) and added >= rows > greatest:
            base = source.adapted
            if base is not None and len(tokenizer) > len(load_tokenizer(base)):
                message = f"the adapter adds tokens to id {added:,}, but has no vectors for them."
                hint = "Where it was trained, save what peft's merge_and_unload() returns."
                raise InputError(message, path=folder, hint=hint)
            _without_vectorless(tokenizer, rows)
    message = ""
    if isinstance(rows, int) and 2 * entries < rows:
        message = f"has {entries:,} entries beside the special ones, but the model has vectors for "
        message += f"{rows:,}: its files are missing, or it is another model's"
    elif isinstance(rows, int) and greatest >= rows:
        message = f"makes ids up to {greatest:,}, but the model has only {rows:,} vectors"
    if message:
        raise InputError(f"this tokenizer {message}.", path=folder, hint=_NAME_A_TOKENIZER)
    return tokenizer


def _without_vectorless(tokenizer: Any, rows: int) -> None:
    """Read added tokens without a vector (Gemma 3's images) as text, as in any other text."""
    from tokenizers import Tokenizer

    state = json.loads(tokenizer.backend_tokenizer.to_str())
    state["added_tokens"] = [token for token in state["added_tokens"] if token["id"] < rows]
    tokenizer._tokenizer = Tokenizer.from_str(json.dumps(state))


def load_config(source: ModelSource, **options: Any) -> "PreTrainedConfig":
    from transformers import AutoConfig

    if (base := source.adapted) is not None:
        return load_config(base, **{**_adapter_options(source), **options})
    folder = source.described()
    source.refuse_code("config.json")
    with explaining("configuration (config.json)", folder):
        config: PreTrainedConfig = AutoConfig.from_pretrained(
            folder, **source.code_options(), **options
        )
    return config


def with_padding(network: Any, tokenizer: Any) -> None:
    """Name a token that pads if none does: a decoder's classifier reads the last other token.

    Padding is masked; any token does that no text ends with.
    """
    if tokenizer.pad_token_id is None:
        filler = tokenizer.unk_token or tokenizer.bos_token or tokenizer.eos_token
        tokenizer.pad_token = filler or tokenizer.convert_ids_to_tokens(0)
    if getattr(network.config, "pad_token_id", None) is None:
        network.config.pad_token_id = tokenizer.pad_token_id
        text = network.config.get_text_config()
        text.pad_token_id = tokenizer.pad_token_id


def load_model(
    source: ModelSource,
    kind: str = "AutoModel",
    *,
    new_head: bool = False,  # for training: head and pooler may be new (torch is seeded)
    pooler: bool = False,  # whether an AutoModel's pooler is used
    used: Callable[[str], bool] = lambda name: False,  # weights that the caller reads itself
    attention: Attention | None = None,  # of a decoder, if not as its files say
    elsewhere: Collection[str] = (),  # weights that an adapter has instead
    **options: Any,  # changes to its configuration, such as num_labels
) -> "PreTrainedModel":
    """The model in single precision and evaluation mode, on the CPU, with all its weights.

    A pooler that is unused and missing from the checkpoint is dropped, so it is not saved either.
    Weights that the class would leave out are refused, except a pretraining's head.
    """
    import transformers

    if (base := source.adapted) is not None:
        how: dict[str, Any] = {"new_head": new_head, "pooler": pooler, "used": used}
        weights = _adapter_weights(source)
        options = {**_adapter_options(source), **options}
        network = load_model(base, kind, **how, attention=attention, elsewhere=weights, **options)
        return _merged(network, source, weights, new_head=new_head)
    folder = source.local()
    config = load_config(source, **options)
    if attention is not None:
        for part in {id(part): part for part in (config, config.get_text_config())}.values():
            part.is_causal = attention == "causal"
            if hasattr(part, "use_bidirectional_attention"):
                part.use_bidirectional_attention = attention != "causal"
    load = getattr(transformers, kind).from_pretrained
    with explaining("model", folder):
        is_safe = weight_files(folder)[0].suffix == ".safetensors"
        if not is_safe:
            for path in weight_files(folder):
                _unpickled(path)  # reports what else it contains
        how = {"config": config, "new_head": new_head, "pooler": pooler}
        safely = {"use_safetensors": is_safe, **source.code_options()}
        model, missing, others = _attempt(load, folder, **how, **safely)
        missing = {name for name in missing if not {*_alike(name, model)} & {*elsewhere}}
        stored = dict(read_weights(folder)) if missing else {}
        plain = {plain_name(name): weight for name, weight in stored.items()}
        if len(plain) == len(stored) and plain.keys() != stored.keys():
            # The class itself: an AutoModel does not accept weights from memory.
            again = _attempt(type(model).from_pretrained, None, **how, state_dict=plain)
            if not again[1]:
                model, missing, others = again
    if missing:
        hint = f" It has weights with other names, such as {min(others)}." if others else ""
        message = f"it lacks {len(missing)} weights of a {type(model).__name__}, such as "
        message += f"{min(missing)}, or has them in another shape."
        raise InputError(message, path=folder, hint=f"Is this another kind of model?{hint}")
    dropped = {name for name in others if not used(name) and not _UNUSED.search(plain_name(name))}
    if dropped and not new_head:
        message = f"would drop {len(dropped)} of its weights, such as {min(dropped)}."
        hint = "It is another kind of model: `adducir show MODEL` says which, and how to use it."
        raise InputError(f"a {type(model).__name__} {message}", path=folder, hint=hint)
    for name, weight in model.named_parameters():
        if not weight.sum().isfinite():  # four times as fast as of each number
            hint = "It is damaged or its training diverged: download or train it again."
            raise InputError(f"its weights {name} contain NaN or infinity.", path=folder, hint=hint)
    if attention is not None and _attention(model.eval()) != attention:
        message = f"transformers' {type(model).__name__} does not compute {attention} attention."
        raise InputError(message, path=folder, hint="Leave `attention` out, or use another model.")
    return model.eval()


def _attention(network: "PreTrainedModel") -> Attention:
    """Whether the first of two tokens sees the second, by its state."""
    import torch

    with torch.inference_mode():
        states = [network(torch.tensor([[1, token]]))[0][0, 0] for token in (2, 3)]
    return "causal" if torch.equal(*states) else "bidirectional"


def _adapter_weights(source: ModelSource) -> "dict[str, torch.Tensor]":
    """An adapter's weights by their names in its model."""
    folder = source.local()
    with explaining("adapter", folder):
        import peft  # type: ignore[import-not-found, unused-ignore]

        weights = peft.load_peft_weights(str(folder), device="cpu")
        return {
            name.removeprefix(_IN_PEFT).replace(".modules_to_save.", "."): weight
            for name, weight in weights.items()
            if ".original_module." not in name
        }


def _adapter_options(source: ModelSource) -> dict[str, Any]:
    """What an adapter changes of its model's configuration: outputs of its head, its vocabulary."""
    patterns = {"vocab_size": _EMBEDDINGS}
    if source.architectures != cast("ModelSource", source.adapted).architectures:
        patterns["num_labels"] = _OUTPUTS
    return {
        key: len(weight)
        for name, weight in _adapter_weights(source).items()
        for key, pattern in patterns.items()
        if pattern.search(name)
    }


def _alike(name: str, network: "PreTrainedModel") -> tuple[str, ...]:
    """The names that a weight may have in a network with or without a head."""
    inside = f"{network.base_model_prefix}."
    return name, inside + name, name.removeprefix(inside)


def _merged(
    network: "PreTrainedModel",
    source: ModelSource,
    weights: "Mapping[str, torch.Tensor]",
    *,
    new_head: bool,
) -> "PreTrainedModel":
    """A network changed by an adapter, all of whose weights must find their place."""
    folder, places = source.local(), network.state_dict()
    layers = {name for name, _ in network.named_modules()} | places.keys()
    whole, changes = dict[str, Any](), dict[str, Any]()
    for name, weight in weights.items():
        fits = (alike for alike in _alike(name, network) if _INSERTED.split(alike)[0] in layers)
        place = next(fits, None)
        if (place is None and _UNUSED.search(name)) or (new_head and _OUTPUTS.search(name)):
            continue
        if place not in places:
            changes[_IN_PEFT + (place or name)] = weight
        else:
            whole[place] = weight
    with explaining("adapter", folder):
        import peft

        network.load_state_dict(whole, strict=False)
        settings = peft.LoraConfig.from_pretrained(str(folder))
        settings.task_type = settings.modules_to_save = settings.base_model_name_or_path = None
        adapted = peft.get_peft_model(network, settings)
        result: Any = peft.set_peft_model_state_dict(adapted, changes)
        names = {name for name, _ in adapted.named_parameters() if "lora_" in name}
        lacking = len(names) - sum("lora_" in name for name in changes)
        if result.unexpected_keys or lacking:
            name = min(result.unexpected_keys, default="some are missing")
            message = f"the adapter's weights do not fit its model: {name}."
            raise InputError(message, path=folder)
        merged: PreTrainedModel = adapted.merge_and_unload().eval()
    merged.requires_grad_(True)  # peft froze it
    return merged


def _attempt(
    load: Callable[..., Any], folder: Path | None, *, new_head: bool, pooler: bool, **options: Any
) -> tuple[Any, set[str], set[str]]:
    """A model, the required weights that are missing or differ in shape, and ignored names."""
    import torch

    model, info = load(
        folder,
        dtype=torch.float32,
        ignore_mismatched_sizes=True,  # reported, like missing ones
        output_loading_info=True,
        **options,
    )
    missing = {*info["missing_keys"], *(name for name, *_ in info["mismatched_keys"])}
    poolers = {name for name in missing if name.startswith("pooler.")}
    optional = "add_pooling_layer" in signature(type(model).__init__).parameters
    if poolers and optional and not pooler:
        model.pooler = None
        missing -= poolers
    if new_head:
        _renew_outputs(model, missing)
        inside = "" if model.base_model is model else f"{model.base_model_prefix}."
        trunk = {name for name in missing if name.startswith(inside)}
        missing = {name for name in trunk if not name.startswith(f"{inside}pooler.")}
    return model, missing, {*info["unexpected_keys"]}


def _renew_outputs(model: Any, missing: Collection[str]) -> None:
    """Draw the last layer anew where another task's has its name and shape."""
    for name, parameter in model.named_parameters():
        if _OUTPUTS.search(name) and name not in missing:
            parameter.data.normal_(0.0, 0.02 if parameter.ndim > 1 else 0.0)


def read_weights(
    folder: Path, keep: Callable[[str], bool] = lambda name: True
) -> "Iterator[tuple[str, torch.Tensor]]":
    """A checkpoint's weights whose plain names are requested, by their names there."""
    from safetensors import safe_open

    for path in weight_files(folder):
        if path.suffix == ".bin":
            weights = _unpickled(path).items()
            yield from ((name, weight) for name, weight in weights if keep(plain_name(name)))
            continue
        with safe_open(path, "pt") as file:
            for name in file.keys():  # noqa: SIM118 - it is not a mapping
                if keep(plain_name(name)):
                    yield name, file.get_tensor(name)


def plain_name(name: str) -> str:
    """A weight's name without wrappers' prefixes."""
    for pattern, plain in _LAYOUTS:
        name = pattern.sub(plain, name)
    return name


def _unpickled(path: Path) -> "dict[str, torch.Tensor]":
    import torch

    try:
        # torch before 1.6 did not write zip files, and only those can be mapped.
        weights = torch.load(path, map_location="cpu", weights_only=True, mmap=is_zipfile(path))
    except (MemoryError, OSError):
        raise
    except Exception as error:  # UnpicklingError, EOFError, RuntimeError, ...
        named = _GLOBAL.search(str(error))
        message = f"it cannot be read as pickled weights ({type(error).__name__})."
        if named:
            message = f"it contains more than weights ({named[1]}) and may run code when loaded."
        hint = "Nothing in it was run. Get the model from its original publisher."
        raise InputError(message, path=path, hint=hint) from error
    if not isinstance(weights, dict) or not weights:
        raise InputError(
            f"it should contain weights by name, not a {type(weights).__name__}.", path=path
        )
    for name, value in weights.items():
        if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
            raise InputError(f"{str(name)[:100]!r} in it is not a plain tensor.", path=path)
    return weights


def longest_input(config: Any, tokenizer: Any, length: int | None = None) -> int:
    """The maximum tokens of an input, including special ones; 512 for relative positions."""
    positions = getattr(config, "max_position_embeddings", None)
    if positions is None or positions < 1:  # XLNet's is -1
        return length or min(512, tokenizer.model_max_length)
    if config.model_type in _SHIFTED:
        positions -= config.pad_token_id + 1
    return int(min(positions, length or positions, tokenizer.model_max_length))


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers except for errors: no reports of missing heads, no bars."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        logging.set_verbosity(level)


@contextmanager
def loading(label: str) -> Iterator[None]:
    """Report what is loaded, without garbage collection: all that imports create stays in use."""
    progress().note(f"loading {label}")
    was_enabled = gc.isenabled()
    gc.disable()  # a sixth of the time that the imports take
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def explaining(part: str, folder: Path) -> Iterator[None]:
    """Turn whatever a library raises for a damaged file into one error, without its output."""
    try:
        with quiet():
            yield
    except (AdducirError, MemoryError):
        raise
    except ImportError as error:
        raise MachineError(
            f"its {part} requires a package: {_first(error)}.", path=folder
        ) from error
    except BaseException as error:
        # pydantic's, safetensors', huggingface_hub's, KeyErrors, RecursionErrors ...: a list of
        # what four libraries raise for damaged files would never be complete. The panic of
        # tokenizers' Rust cannot be imported and is not an Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        damage = InputError(
            f"its {part} cannot be loaded: {_first(error)}.",
            path=folder,
            hint="A file is damaged or made for something else: download or build it again.",
        )
        raise sorted_error(error, folder, damage) from error


def _first(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    first = lines[0].rstrip(".:")[:300] if lines else type(error).__name__
    return f"{first} is missing" if isinstance(error, KeyError) else first
