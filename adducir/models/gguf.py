"""Weights of a causal language model: a folder in Hugging Face layout, or one GGUF file.

transformers reads llama.cpp's GGUF with the package gguf, and makes numbers of quantised weights.
"""

from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from adducir.core.errors import InputError
from adducir.core.fingerprint import source_digests
from adducir.core.packages import required
from adducir.models.loading import explaining, load_model, load_tokenizer, loading, with_padding
from adducir.models.sources import ModelSource, model_source

SUFFIX = ".gguf"


@dataclass(frozen=True)
class GGUF(ModelSource):
    """A file of llama.cpp's format, with a tokenizer."""

    def identity(self) -> str:
        return f"gguf:{source_digests([self.local()])[0]}"

    def local(self) -> Path:
        return self.folder or Path(self.name)

    local_tokenizer = local


def weights_of(name: str, folder: Path) -> ModelSource:
    """The weights of a name: a GGUF file, or whatever else names a model.

    Raises:
        InputError: The file does not exist.
    """
    if not name.endswith(SUFFIX):
        return model_source(name, folder)
    path = folder / Path(name).expanduser()
    if not path.is_file():
        raise InputError("this file does not exist.", path=path, absent=True)
    return GGUF(path.name, path)


def load_causal(source: ModelSource) -> tuple[Any, Any]:
    """A causal language model on the CPU in single precision, and its tokenizer.

    Raises:
        InputError: The files are damaged, or of another kind of model.
        MachineError: The package gguf is not installed.
    """
    with loading(f"the language model {source.name}"):
        if isinstance(source, GGUF):
            network, tokenizer = _read(source.local())
        else:
            network, tokenizer = load_model(source, "AutoModelForCausalLM"), load_tokenizer(source)
    with_padding(network, tokenizer)
    return network, tokenizer


def _read(path: Path) -> tuple[Any, Any]:
    required("gguf")
    import torch
    import transformers

    folder, how = str(path.parent), {"gguf_file": path.name}
    # transformers counts the tensors on standard error, whatever one asks.
    with explaining("weights", path), redirect_stderr(StringIO()):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **how)
        read: Any = transformers.AutoModelForCausalLM.from_pretrained
        network, info = read(folder, **how, dtype=torch.float32, output_loading_info=True)
    if missing := sorted({*info["missing_keys"]}):  # which transformers makes up
        message = f"the file lacks {len(missing)} weights of the model, such as {missing[0]}."
        raise InputError(message, path=path)
    network.hf_quantizer = None  # its weights are numbers by now
    if hasattr(network.config, "quantization_config"):
        del network.config.quantization_config
    return network.eval(), tokenizer
