"""Loads what a model's folder holds: tokenizer and weights.

Nothing is made up. transformers draws weights at random where a checkpoint lacks them, and makes an
empty vocabulary where there is no tokenizer: both are refused here, for all models alike. What may
be missing is the head that a training adds.
"""

from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adducir.core.errors import InputError
from adducir.core.texts import shortened
from adducir.models.explaining import explaining
from adducir.models.layouts import plain_weights, weight_files, weights_in
from adducir.models.sources import TOKENIZERS, ModelSource

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel
    from transformers.tokenization_utils_tokenizers import TokenizersBackend


def load_tokenizer(source: ModelSource) -> "TokenizersBackend":
    """The model's tokenizer, a fast one: only those give which characters a piece stands for.

    Truncation and padding that the files may ask for are off: what is cut, and how, is for the
    caller to say.

    Raises:
        InputError: There is none, it cannot be read, has no fast version, or is of another model.
        MachineError: It cannot be fetched.
    """
    from transformers import AutoTokenizer
    from transformers.tokenization_utils_tokenizers import TokenizersBackend

    folder = source.local_tokenizer()
    if not any(path.is_file() for name in TOKENIZERS for path in folder.glob(name)):
        raise InputError(
            "this model comes without a tokenizer.", path=folder, hint=_NAME_A_TOKENIZER
        )
    config = load_config(source)
    with explaining("tokenizer", folder):
        tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True, trust_remote_code=False)
        if not isinstance(tokenizer, TokenizersBackend):
            raise InputError("its tokenizer has no fast version.", path=folder)
        tokenizer.model_max_length = int(tokenizer.model_max_length)
        tokenizer.backend_tokenizer.no_truncation()
        tokenizer.backend_tokenizer.no_padding()
        _refuse_another_s(tokenizer, config, folder)
    return tokenizer


_NAME_A_TOKENIZER = (
    "Name the model whose tokenizer it takes, with `tokenizer: bert-large-uncased`, say, in a "
    "recipe, or put the files of that tokenizer into the folder."
)


def _refuse_another_s(tokenizer: Any, config: "PreTrainedConfig", folder: Path) -> None:
    """Refuse a tokenizer that cannot be the one that a model was trained with.

    Raises:
        InputError: It has less than half of the entries that the model has vectors for, or makes
            ids for which the model has none.
    """
    rows = getattr(config.get_text_config(), "vocab_size", None)
    if not isinstance(rows, int):
        return
    entries = len(tokenizer) - len(tokenizer.all_special_ids)  # T5 has a hundred of those alone
    if 2 * entries < rows:
        raise InputError(
            f"this tokenizer has {entries:,} entries beside the special ones, but the model has "
            f"vectors for {rows:,}: its files are missing, or it is another model's.",
            path=folder,
            hint=_NAME_A_TOKENIZER,
        )
    # Entries that were added to the vocabulary are made of texts only where these hold them.
    vocabulary = tokenizer.backend_tokenizer.get_vocab(with_added_tokens=False)
    made = tokenizer.backend_tokenizer.encode("a", "a").ids
    greatest = max((*vocabulary.values(), *tokenizer.all_special_ids, *made))
    if greatest >= rows:
        raise InputError(
            f"this tokenizer makes ids up to {greatest:,}, but the model has vectors for {rows:,} "
            "alone: it is another model's.",
            path=folder,
            hint=_NAME_A_TOKENIZER,
        )


def load_config(source: ModelSource, **options: Any) -> "PreTrainedConfig":
    """A model's configuration.

    Args:
        options: What is to be otherwise, such as ``num_labels``.

    Raises:
        InputError: It cannot be read.
        MachineError: The model cannot be fetched.
    """
    from transformers import AutoConfig

    folder = source.local()
    with explaining("configuration (config.json)", folder):
        config: PreTrainedConfig = AutoConfig.from_pretrained(
            folder, trust_remote_code=False, **options
        )
    return config


def load_model(
    source: ModelSource,
    kind: str = "AutoModel",
    *,
    new_head: bool = False,
    pooler: bool = False,
    **options: Any,
) -> "PreTrainedModel":
    """The model in single precision, in evaluation mode, on the CPU, with all of its weights.

    Names of weights as other programs write them are understood (:mod:`adducir.models.layouts`). A
    pooler that the checkpoint lacks and nobody reads is left out of the model, so that it is not
    saved either.

    Args:
        kind: The class in transformers that is wanted, such as ``AutoModel``,
            ``AutoModelForSequenceClassification`` or ``T5ForConditionalGeneration``.
        new_head: Whether a training follows, so that what stands behind the encoder (head and
            pooler) may be missing or of another shape. It is new then: the caller seeds torch.
        pooler: Whether the pooler of an ``AutoModel`` is read.
        options: What is to be otherwise in its configuration, such as ``num_labels``.

    Raises:
        InputError: The folder does not hold such a model, or not all of it, or NaN.
        MachineError: The model cannot be fetched.
    """
    import transformers

    folder = source.local()
    config = load_config(source, **options)
    load = getattr(transformers, kind).from_pretrained
    with explaining("model", folder):
        files = weight_files(folder)
        _refuse_impossible(config, folder, sum(1 for path in files for _ in weights_in(path)))
        is_safe = files[0].suffix == ".safetensors"
        model, info = _made(load, folder, config, use_safetensors=is_safe, trust_remote_code=False)
        missing = _missing(model, info, new_head=new_head, pooler=pooler)
        if missing and (renamed := plain_weights(folder)):
            # The class itself: an AutoModel takes no weights from memory.
            other, details = _made(type(model).from_pretrained, None, config, state_dict=renamed)
            if not (still := _missing(other, details, new_head=new_head, pooler=pooler)):
                model, missing = other, still
    if missing:
        raise _incomplete(model, missing, info, folder)
    for name, weight in model.named_parameters():
        if not weight.isfinite().all():
            raise InputError(
                f"its weights {name} hold NaN or infinity.",
                path=folder,
                hint="It is damaged, or its training diverged: fetch or train it again.",
            )
    found: PreTrainedModel = model.eval()
    return found


_SIZES = ("heads", "layers", "hidden_size", "intermediate_size", "d_model", "d_kv", "d_ff")
_SWITCHES = ("output_hidden_states", "output_attentions", "use_cache", "return_dict")


def _refuse_impossible(config: "PreTrainedConfig", folder: Path, weights: int) -> None:
    """Refuse a configuration that transformers would build, or fail with when it computes.

    Raises:
        InputError: It has more layers than there are weights, a size below 1, or a switch that is
            none.
    """
    # The switches are not always in the plain form of a configuration.
    switches = {key: getattr(config, key, None) for key in _SWITCHES}
    for key, value in (config.to_dict() | switches).items():
        wrong = None
        if type(value) is int and any(size in key for size in _SIZES):
            if value < (0 if "layers" in key else 1):
                wrong = "which is no size"
            elif "layers" in key and value > weights > 0:
                wrong = f"but there are {weights:,} weights"
        elif key in _SWITCHES and not isinstance(value, bool | None):
            wrong = "which is neither true nor false"
        if wrong:
            details = f"{value:,}" if type(value) is int else shortened(repr(value))
            raise InputError(f"its configuration has `{key}` {details}, {wrong}.", path=folder)


def _made(
    load: Callable[..., Any], folder: Path | None, config: "PreTrainedConfig", **options: Any
) -> Any:
    """A model, and what transformers says of its weights."""
    import torch

    return load(
        folder,
        config=config,
        dtype=torch.float32,
        ignore_mismatched_sizes=True,  # they are reported, as the missing ones are
        output_loading_info=True,
        **options,
    )


def _missing(model: Any, info: Any, *, new_head: bool, pooler: bool) -> set[str]:
    """The weights that a checkpoint must have and has not, or not in the model's shape."""
    missing = {*info["missing_keys"], *(name for name, *_ in info["mismatched_keys"])}
    poolers = {name for name in missing if name.startswith("pooler.")}
    optional = "add_pooling_layer" in signature(type(model).__init__).parameters
    if poolers and optional and not pooler:
        model.pooler = None
        missing -= poolers
    if new_head:
        is_whole = model.base_model is model
        inside = "" if is_whole else f"{model.base_model_prefix}."
        behind = f"{inside}pooler."
        missing = {
            name for name in missing if name.startswith(inside) and not name.startswith(behind)
        }
    return missing


def _incomplete(model: Any, missing: set[str], info: Any, folder: Path) -> InputError:
    shapes = {name: (tuple(has), tuple(wants)) for name, has, wants in info["mismatched_keys"]}
    example = min(missing)
    shape = f" in its shape {shapes[example][1]}" if example in shapes else ""
    unknown = min(info["unexpected_keys"], default=None)
    return InputError(
        f"it lacks {len(missing)} of the weights of a {type(model).__name__}, such as "
        f"{example}{shape}.",
        path=folder,
        hint="Is this a model of another kind?"
        + (f" It has weights of other names, such as {unknown}." if unknown else ""),
    )


def longest_input(config: Any, tokenizer: Any, wanted: int | None = None) -> int:
    """The tokens that an input may have, special ones included.

    Args:
        config: The network's configuration.
        wanted: As many are wanted; None for as many as the network can read, and 512 where its
            positions are relative, so that it could read any number.
    """
    positions = getattr(config, "max_position_embeddings", None)
    if positions is None:
        return wanted or min(512, tokenizer.model_max_length)
    if config.model_type in _SHIFTED:
        positions -= config.pad_token_id + 1
    known = (positions, wanted or positions, tokenizer.model_max_length)
    return int(min(known))


_SHIFTED = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet", "longformer"})
"""Models whose positions begin behind their padding index."""
