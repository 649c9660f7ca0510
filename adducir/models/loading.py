"""Loads what a model's folder holds: tokenizer and weights, whichever program wrote them.

Nothing is made up. transformers draws weights at random where a checkpoint lacks them, and makes an
empty vocabulary where there is no tokenizer: both are refused here, for all models alike. What may
be missing is the head that a training adds. Pickled weights are read with ``weights_only``, which
makes tensors and runs nothing.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import is_zipfile

from adducir.core.errors import AdducirError, InputError, MachineError
from adducir.models.sources import TOKENIZERS, ModelSource, weight_files

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedConfig, PreTrainedModel
    from transformers.tokenization_utils_tokenizers import TokenizersBackend

_NAME_A_TOKENIZER = (
    "Name the model whose tokenizer it takes, with `tokenizer: bert-large-uncased`, say, in a "
    "recipe, or put the files of that tokenizer into the folder."
)
_SHIFTED = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet", "longformer"})
"""Models whose positions begin behind their padding index."""
_LAYOUTS = (
    # Wrappers: DistributedDataParallel, Lightning, torch.compile.
    (re.compile(r"^(?:(?:module|model|_orig_mod)\.)+"), ""),
    # Fusion-in-Decoder (facebookresearch/FiD) wraps T5's encoder and each of its blocks.
    (re.compile(r"^encoder\.encoder\."), "encoder."),
    (re.compile(r"^(encoder\.block\.\d+\.)module\."), r"\1"),
)
"""What other programs put into the names of weights, in the order in which it is taken away."""
_GLOBAL = re.compile(r"GLOBAL (\S+)")


def load_tokenizer(source: ModelSource) -> "TokenizersBackend":
    """The model's tokenizer, a fast one: only those give which characters a piece stands for.

    Truncation and padding that the files may ask for are off: what is cut, and how, is for the
    caller to say.
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


def _refuse_another_s(tokenizer: Any, config: "PreTrainedConfig", folder: Path) -> None:
    """Refuse a tokenizer that cannot be the one that a model was trained with."""
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
    # Entries that were added to the vocabulary are made from texts only where these hold them.
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
    new_head: bool = False,  # a training follows: head and pooler may be new (torch is seeded)
    pooler: bool = False,  # whether the pooler of an AutoModel is read
    **options: Any,  # what is to be otherwise in its configuration, such as num_labels
) -> "PreTrainedModel":
    """The model in single precision, in evaluation mode, on the CPU, with all of its weights.

    Names of weights as wrappers and Fusion-in-Decoder write them are understood. A pooler that the
    checkpoint lacks and nobody reads is left out of the model, so that it is not saved either.
    """
    import transformers

    folder = source.local()
    config = load_config(source, **options)
    load = getattr(transformers, kind).from_pretrained
    with explaining("model", folder):
        is_safe = weight_files(folder)[0].suffix == ".safetensors"
        if not is_safe:
            for path in weight_files(folder):
                _unpickled(path)  # says what else it holds
        model, info = _made(load, folder, config, use_safetensors=is_safe, trust_remote_code=False)
        missing = _missing(model, info, new_head=new_head, pooler=pooler)
        if missing and (renamed := _plain_weights(folder)):
            # The class itself: an AutoModel takes no weights from memory.
            other, details = _made(type(model).from_pretrained, None, config, state_dict=renamed)
            if not (still := _missing(other, details, new_head=new_head, pooler=pooler)):
                model, missing = other, still
    if missing:
        unknown = min(info["unexpected_keys"], default=None)
        other = f" It has weights of other names, such as {unknown}." if unknown else ""
        raise InputError(
            f"it lacks {len(missing)} of the weights of a {type(model).__name__}, such as "
            f"{min(missing)}, or has them in another shape.",
            path=folder,
            hint=f"Is this a model of another kind?{other}",
        )
    for name, weight in model.named_parameters():
        if not weight.isfinite().all():
            raise InputError(
                f"its weights {name} hold NaN or infinity.",
                path=folder,
                hint="It is damaged, or its training diverged: fetch or train it again.",
            )
    return model.eval()


def _made(
    load: Callable[..., Any], folder: Path | None, config: "PreTrainedConfig", **options: Any
) -> Any:
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
        inside = "" if model.base_model is model else f"{model.base_model_prefix}."
        behind = f"{inside}pooler."
        missing = {
            name for name in missing if name.startswith(inside) and not name.startswith(behind)
        }
    return missing


def read_weights(
    folder: Path, wanted: Callable[[str], bool] = lambda name: True
) -> "Iterator[tuple[str, torch.Tensor]]":
    """A checkpoint's weights whose plain names are wanted, by the names that they have there."""
    from safetensors import safe_open

    for path in weight_files(folder):
        if path.suffix == ".bin":
            every = _unpickled(path).items()
            yield from ((name, one) for name, one in every if wanted(plain_name(name)))
            continue
        with safe_open(path, "pt") as file:
            for name in file.keys():  # noqa: SIM118 - it is not a mapping
                if wanted(plain_name(name)):
                    yield name, file.get_tensor(name)


def plain_name(name: str) -> str:
    """A weight's name without what wrappers put into it."""
    for pattern, plain in _LAYOUTS:
        name = pattern.sub(plain, name)
    return name


def _plain_weights(folder: Path) -> "dict[str, torch.Tensor] | None":
    """A checkpoint's weights by their plain names; None if these are its names, or not unique."""
    found: dict[str, torch.Tensor] = {}
    names: set[str] = set()
    for name, weight in read_weights(folder):
        if name not in names and plain_name(name) in found:
            return None
        names.add(name)
        found[plain_name(name)] = weight
    return None if names == set(found) else found


def _unpickled(path: Path) -> "dict[str, torch.Tensor]":
    import torch

    try:
        # torch before 1.6 wrote no zip, and only a zip can be mapped.
        found = torch.load(path, map_location="cpu", weights_only=True, mmap=is_zipfile(path))
    except (MemoryError, OSError):
        raise
    except Exception as error:  # UnpicklingError, EOFError, RuntimeError, ...
        named = _GLOBAL.search(str(error))
        what = (
            f"it holds more than weights ({named[1]}), and may run code when it is loaded"
            if named
            else f"it cannot be read as pickled weights ({type(error).__name__})"
        )
        raise InputError(
            f"{what}.",
            path=path,
            hint="Nothing in it was run. Get the model from where it was first published.",
        ) from error
    if not isinstance(found, dict) or not found:
        raise InputError(f"it holds no weights by name, but a {type(found).__name__}.", path=path)
    for name, value in found.items():
        if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
            raise InputError(f"{str(name)[:100]!r} in it is not a plain tensor.", path=path)
    return found


def longest_input(config: Any, tokenizer: Any, wanted: int | None = None) -> int:
    """The tokens that an input may have, special ones too; 512 where positions are relative."""
    positions = getattr(config, "max_position_embeddings", None)
    if positions is None:
        return wanted or min(512, tokenizer.model_max_length)
    if config.model_type in _SHIFTED:
        positions -= config.pad_token_id + 1
    return int(min(positions, wanted or positions, tokenizer.model_max_length))


@contextmanager
def explaining(what: str, folder: Path) -> Iterator[None]:
    """Make one error of whatever a library says of a damaged file, and nothing else of its talk."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity(40)  # errors alone: no report of missing heads
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    except (AdducirError, MemoryError):
        raise
    except ImportError as error:
        raise MachineError(f"its {what} needs a package: {_first(error)}.", path=folder) from error
    except BaseException as error:
        # pydantic's, safetensors', huggingface_hub's, KeyErrors, RecursionErrors ...: no list of
        # what four libraries raise for damaged files would stay whole. The panic of tokenizers'
        # Rust cannot be imported, and is not an Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise InputError(
            f"its {what} cannot be loaded: {_first(error)}.",
            path=folder,
            hint="A file is damaged, or made for something else: fetch or build it again.",
        ) from error
    finally:
        logging.set_verbosity(level)


def _first(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    first = lines[0].rstrip(".:")[:300] if lines else type(error).__name__
    return f"there is no {first}" if isinstance(error, KeyError) else first
