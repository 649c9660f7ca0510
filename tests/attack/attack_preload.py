"""Imported once by the server of processes: everything that is slow to import, and nothing run."""

import importlib
import pkgutil

import safetensors.torch  # noqa: F401
import sentence_transformers  # noqa: F401
import tokenizers  # noqa: F401
import torch  # noqa: F401
import transformers

import adducir

_LEFT_OUT = ("adducir.indexes.java",)

# transformers imports its models when they are first named.
for name in ("BertModel", "BertForSequenceClassification", "BertTokenizerFast"):
    getattr(transformers, name)
for name in ("T5ForConditionalGeneration", "PreTrainedTokenizerFast", "AutoTokenizer", "AutoModel"):
    getattr(transformers, name)
importlib.import_module("transformers.models.bert.modeling_bert")
importlib.import_module("transformers.models.t5.modeling_t5")
for module in pkgutil.walk_packages(adducir.__path__, "adducir."):
    if not module.name.startswith(_LEFT_OUT):
        importlib.import_module(module.name)
