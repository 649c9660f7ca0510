"""A tower's folder in the layout of sentence-transformers, read and written.

``modules.json`` lists what follows the transformer: pooling, dense layers, normalisation. A folder
without it is a plain transformer. What is written here, ``SentenceTransformer(folder)`` loads.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from adducir.core.errors import InputError
from adducir.core.json_lines import json_document, json_object
from adducir.encoders.network import Network, Pooling
from adducir.encoders.settings import Similarity
from adducir.models.loading import explaining, read_weights

MODULES = "modules.json"
_TYPES = "sentence_transformers.models."
_LENGTH = "sentence_bert_config.json"
_GENERAL = "config_sentence_transformers.json"
_POOLING = "1_Pooling"
_FLAGS: dict[str, Pooling] = {
    "pooling_mode_cls_token": "first",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt",
    "pooling_mode_lasttoken": "last",
}
_NAMES: dict[str, Pooling] = {
    "cls": "first",
    "mean": "mean",
    "max": "max",
    "mean_sqrt_len_tokens": "mean_sqrt",
    "lasttoken": "last",
}
_ACTIVATIONS = ("Tanh", "ReLU", "GELU", "Identity", "Sigmoid")


@dataclass(frozen=True)
class Layout:
    """What a folder says of its model beside the transformer.

    Attributes:
        pooling: None where it says nothing.
        dense: The folders of dense layers, in order.
        length: Tokens that texts are cut to.
        prompts: What is put before ``query`` and ``document``.
    """

    pooling: Pooling | None = None
    dense: tuple[Path, ...] = ()
    normalise: bool = False
    length: int | None = None
    similarity: Similarity | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)


def read_layout(folder: Path) -> Layout:
    """Read what a folder says.

    Raises:
        InputError: It asks for what is not done here, or a file is damaged.
    """
    if not (folder / MODULES).is_file():
        return Layout()
    with explaining(MODULES, folder):
        return _layout(folder)


def _layout(folder: Path) -> Layout:
    pooling: Pooling | None = None
    dense: list[Path] = []
    normalise = False
    for number, module in enumerate(json_document(folder / MODULES)):
        kind = str(module.get("type", "")).rpartition(".")[2]
        inner = folder / str(module.get("path", ""))
        if kind == "Transformer" and number == 0 and inner == folder:
            continue
        if kind == "Pooling" and pooling is None:
            pooling = _pooling(inner / "config.json")
        elif kind == "Dense":
            dense.append(inner)
        elif kind == "Normalize":
            normalise = True
        elif kind != "Dropout":
            raise InputError(
                f"its module {module.get('type')!r} is not known here.", path=folder / MODULES
            )
    general = json_object(folder / _GENERAL) if (folder / _GENERAL).is_file() else {}
    length = json_object(folder / _LENGTH) if (folder / _LENGTH).is_file() else {}
    named, longest = general.get("similarity_fn_name"), length.get("max_seq_length")
    if longest is not None and (not isinstance(longest, int) or longest < 1):
        raise InputError("`max_seq_length` is no number of tokens.", path=folder / _LENGTH)
    return Layout(
        pooling,
        tuple(dense),
        normalise,
        longest,
        named if named in ("dot", "cosine") else None,
        _prompts(general),
    )


def _prompts(general: Mapping[str, Any]) -> dict[str, str]:
    """The prompts of queries and documents, under whichever of their names."""
    given = general.get("prompts") or {}
    document = next(
        (given[name] for name in ("document", "passage", "corpus") if name in given), ""
    )
    return {"query": str(given.get("query") or ""), "document": str(document or "")}


def _pooling(path: Path) -> Pooling:
    config = json_object(path)
    chosen: list[Pooling | None] = [value for key, value in _FLAGS.items() if config.get(key)]
    if "pooling_mode" in config:
        modes = config["pooling_mode"]
        chosen = [_NAMES.get(mode) for mode in ([modes] if isinstance(modes, str) else modes)]
    if len(chosen) != 1 or chosen[0] is None or config.get("include_prompt") is False:
        raise InputError("this pooling is not known here.", path=path)
    return chosen[0]


def read_dense(folder: Path) -> torch.nn.Module:
    """A dense layer with its activation.

    Raises:
        InputError: It is of a kind that is not known here, or it has no weights.
    """
    config = json_object(folder / "config.json")
    activation = str(config.get("activation_function", "Tanh")).rpartition(".")[2]
    if activation not in _ACTIVATIONS:
        raise InputError(f"its activation {activation!r} is not known here.", path=folder)
    with explaining("dense layer", folder):
        linear = torch.nn.Linear(
            config["in_features"], config["out_features"], bias=bool(config.get("bias", True))
        )
        found = {name.removeprefix("linear."): one for name, one in read_weights(folder)}
        linear.load_state_dict(found)
    return torch.nn.Sequential(linear, getattr(torch.nn, activation)())


def write_layout(
    folder: Path, network: Network, *, length: int, similarity: Similarity, prompts: dict[str, str]
) -> None:
    """Write all but the transformer and the tokenizer.

    Args:
        folder: Where the transformer was written.
        length: Tokens that texts are cut to.
        prompts: Of queries and documents.
    """
    kinds = [("", "Transformer"), (_POOLING, "Pooling")]
    (folder / _POOLING).mkdir(exist_ok=True)
    flags = {key: value == network.pooling for key, value in _FLAGS.items()}
    width = int(network.transformer.config.hidden_size)
    _write(folder / _POOLING / "config.json", {"word_embedding_dimension": width, **flags})
    for layer in network.dense:
        name = f"{len(kinds)}_Dense"
        kinds.append((name, "Dense"))
        _write_dense(folder / name, layer)
    if network.normalise:
        name = f"{len(kinds)}_Normalize"
        (folder / name).mkdir(exist_ok=True)
        kinds.append((name, "Normalize"))
    modules = [
        {"idx": number, "name": f"{number}", "path": path, "type": _TYPES + kind}
        for number, (path, kind) in enumerate(kinds)
    ]
    _write(folder / MODULES, modules)
    _write(folder / _LENGTH, {"max_seq_length": length, "do_lower_case": False})
    general = {"prompts": prompts, "default_prompt_name": None, "similarity_fn_name": similarity}
    _write(folder / _GENERAL, general)


def _write_dense(folder: Path, layer: Any) -> None:
    from safetensors.torch import save_file

    folder.mkdir(exist_ok=True)
    linear, activation = layer
    kind = type(activation)
    config = {
        "in_features": linear.in_features,
        "out_features": linear.out_features,
        "bias": linear.bias is not None,
        "activation_function": f"{kind.__module__}.{kind.__name__}",
    }
    _write(folder / "config.json", config)
    tensors = {
        f"linear.{name}": value.detach().cpu().contiguous()
        for name, value in linear.state_dict().items()
    }
    save_file(tensors, folder / "model.safetensors")


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
