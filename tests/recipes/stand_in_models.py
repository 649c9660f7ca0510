"""A cache of the Hugging Face Hub with tiny models, files and weights named as on the Hub."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from tiny import tiny_bart, tiny_bert, tiny_colbert, tiny_roberta, tiny_t5

TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json")


def hub(folder: Path) -> Path:
    """Fill a ``HF_HOME``."""
    plain = tiny_bert(folder / "made/bert", positions=512)
    bert = tiny_bert(_place(folder, "bert-base-uncased"), kind="BertForPreTraining", positions=512)
    _renamed(bert, _tensorflow)
    large = _place(folder, "bert-large-uncased")
    large.mkdir(parents=True)
    for name in ("config.json", *TOKENIZER):
        if (plain / name).is_file():
            shutil.copy(plain / name, large / name)
    for tower in ("question", "ctx"):
        name = f"facebook/dpr-{tower}_encoder-single-nq-base"
        _dpr(plain, _place(folder, name), "question" if tower == "question" else "context")
    tiny_colbert(plain, _place(folder, "colbert-ir/colbertv2.0"))
    _distilbert(plain, _place(folder, "sentence-transformers/msmarco-distilbert-base-tas-b"))
    tiny_roberta(_place(folder, "roberta-base"), positions=514)
    _bart(folder)
    monobert = _place(folder, "castorini/monobert-large-msmarco")
    tiny_bert(monobert, kind="BertForSequenceClassification", positions=512)
    _without_labels(monobert)
    for name in (*TOKENIZER, "vocab.txt"):
        (monobert / name).unlink(missing_ok=True)
    _pickled(monobert)
    _pickled(tiny_t5(_place(folder, "castorini/monot5-3b-msmarco")))
    tiny_bert(_place(folder, "naver/splade-v3-doc"), kind="BertForMaskedLM")
    for name in ("doc2query-t5-base", "monot5-base"):
        tiny_t5(_place(folder, f"castorini/{name}-msmarco"))
    lit5 = tiny_t5(_place(folder, "castorini/LiT5-Distill-base"))
    _pickled(lit5, _fusion_in_decoder)
    config = json.loads((lit5 / "config.json").read_text())
    (lit5 / "config.json").write_text(json.dumps(config | {"architectures": ["FiD"]}))
    return folder


def _place(home: Path, name: str, commit: str = "0123456789abcdef0123456789abcdef01234567") -> Path:
    repository = home / "hub" / f"models--{name.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs/main").write_text(commit)
    return repository / "snapshots" / commit


def _renamed(folder: Path, name_of: Callable[[str], str]) -> None:
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    tensors = {name_of(name): tensor.contiguous() for name, tensor in load_file(path).items()}
    save_file(tensors, path, metadata={"format": "pt"})


def _tensorflow(name: str) -> str:
    """The names of TensorFlow's normalisations, which BERT's first checkpoints have."""
    return re.sub(r"LayerNorm\.bias$", "LayerNorm.beta", name).replace(
        "LayerNorm.weight", "LayerNorm.gamma"
    )


def _fusion_in_decoder(name: str) -> str:
    """The names that FiD's wrapper gives to the parts of T5's encoder."""
    name = re.sub(r"^encoder\.(block\.\d+)\.", r"encoder.\1.module.", name)
    return re.sub(r"^encoder\.", "encoder.encoder.", name)


def _pickled(folder: Path, name_of: Callable[[str], str] = str) -> Path:
    import torch
    from safetensors.torch import load_file

    path = folder / "model.safetensors"
    tensors = {name_of(name): tensor for name, tensor in load_file(path).items()}
    torch.save(tensors, folder / "pytorch_model.bin")
    path.unlink()
    return folder


def _without_labels(folder: Path) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text())
    for name in ("id2label", "label2id"):
        config.pop(name, None)
    path.write_text(json.dumps(config))


def _sized_like(encoder: Path) -> dict[str, int]:
    config = json.loads((encoder / "config.json").read_text())
    names = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads")
    return {name: config[name] for name in (*names, "intermediate_size", "max_position_embeddings")}


def _with_tokenizer(encoder: Path, folder: Path) -> Path:
    for name in TOKENIZER:
        if (encoder / name).is_file():
            shutil.copy(encoder / name, folder / name)
    return folder


def _dpr(encoder: Path, folder: Path, side: str) -> None:
    import torch
    import transformers

    torch.manual_seed(5)
    network = getattr(transformers, f"DPR{side.title()}Encoder")
    network(transformers.DPRConfig(**_sized_like(encoder))).save_pretrained(folder)
    _pickled(_with_tokenizer(encoder, folder))


def _distilbert(encoder: Path, folder: Path) -> None:
    """With the folders of sentence-transformers: the vector is that of the first token."""
    import torch
    import transformers

    torch.manual_seed(6)
    sizes = _sized_like(encoder)
    size = {"vocab_size": sizes["vocab_size"], "dim": sizes["hidden_size"], "hidden_dim": 64}
    config = transformers.DistilBertConfig(**size, n_layers=2, n_heads=4)
    transformers.DistilBertModel(config).save_pretrained(folder)
    _with_tokenizer(encoder, folder)
    kinds = {"": "Transformer", "1_Pooling": "Pooling"}
    modules = [
        {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for n, (path, kind) in enumerate(kinds.items())
    ]
    modes = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens")
    pooling = {f"pooling_mode_{mode}": mode == "cls_token" for mode in modes}
    pooling["word_embedding_dimension"] = sizes["hidden_size"]
    (folder / "1_Pooling").mkdir()
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling/config.json").write_text(json.dumps(pooling))
    (folder / "sentence_bert_config.json").write_text(
        json.dumps({"max_seq_length": 512, "do_lower_case": False})
    )


def _bart(home: Path) -> None:
    """The weights of the model without its head, and settings of generation in config.json."""
    import transformers

    made = tiny_bart(home / "made/bart", positions=1024)
    folder = shutil.copytree(made, _place(home, "facebook/bart-base"))
    model = transformers.BartForConditionalGeneration.from_pretrained(made)
    model.model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    path = folder / "config.json"
    generation = {"num_beams": 4, "no_repeat_ngram_size": 3, "early_stopping": True}
    config = json.loads(path.read_text()) | generation | {"architectures": ["BartModel"]}
    path.write_text(json.dumps(config))
