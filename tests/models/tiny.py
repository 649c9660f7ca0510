"""Tiny models with real architectures and random weights, made in a second."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

_WORDS_TEXT = r"""
    the a of and to is in on for example not cat cats dog dogs runs run ran fast slow nuclear
    energy power plants should be banned because clean cheap argument school uniform uniforms e
    mail don t s 1 2 3 caf ##e ##s ##ing ##ed un ##able . , ! ? ' - ( )
"""
WORDS = _WORDS_TEXT.split()


def tiny_bert(
    folder: Path,
    *,
    hidden: int = 32,
    layers: int = 2,
    kind: str = "BertModel",
    positions: int = 64,
) -> Path:
    """A BERT with a word-piece vocabulary of a few words, saved in ``folder``."""
    import torch
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    pieces += [piece for c in letters for piece in (c, f"##{c}") if piece not in pieces]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    tokenizer = transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt"), do_lower_case=True)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(pieces),
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=2 * hidden,
        max_position_embeddings=positions,
    )
    if kind.endswith("ForSequenceClassification"):
        config.id2label = {0: "irrelevant", 1: "relevant"}
    getattr(transformers, kind)(config).save_pretrained(folder)
    return folder


def tiny_roberta(folder: Path, *, kind: str = "RobertaForMaskedLM", positions: int = 66) -> Path:
    """A RoBERTa with a byte-level vocabulary, without a pooler, as ``roberta-base`` comes."""
    import torch
    import transformers
    from tokenizers import ByteLevelBPETokenizer

    folder.mkdir(parents=True, exist_ok=True)
    raw = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    raw.train_from_iterator([" ".join(WORDS)] * 3, vocab_size=400, special_tokens=special)
    raw.save_model(str(folder))
    tokenizer = transformers.RobertaTokenizerFast(
        vocab=str(folder / "vocab.json"), merges=str(folder / "merges.txt")
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(3)
    config = transformers.RobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=positions,
        type_vocab_size=1,
    )
    getattr(transformers, kind)(config).save_pretrained(folder)
    return folder


def rewritten(folder: Path, copy: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Path:
    """A copy of a model whose weights, a mapping by name, are changed."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(folder, copy)
    path = copy / "model.safetensors"
    save_file(change(load_file(path)), path, metadata={"format": "pt"})
    return copy


def without_tokenizer(folder: Path, copy: Path) -> Path:
    """A copy of a model with its configuration and its weights alone."""
    copy.mkdir()
    for name in ("config.json", "model.safetensors"):
        shutil.copyfile(folder / name, copy / name)
    return copy


def tiny_colbert(encoder: Path, folder: Path) -> Path:
    """A tiny encoder with the prefix and the projection that ColBERT's authors save."""
    import torch
    from safetensors.torch import load_file, save_file

    shutil.copytree(encoder, folder)
    path = folder / "model.safetensors"
    tensors = {f"bert.{name}": value for name, value in load_file(path).items()}
    tensors["linear.weight"] = torch.randn(16, 32, generator=torch.Generator().manual_seed(3))
    save_file(tensors, path, metadata={"format": "pt"})
    path = folder / "tokenizer.json"
    text = path.read_text().replace('"caf"', '"[unused0]"').replace('"##able"', '"[unused1]"')
    path.write_text(text)
    return folder
