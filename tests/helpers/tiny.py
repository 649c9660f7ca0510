"""Tiny models with real architectures and random weights, made in a second."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

_WORDS_TEXT = """
    the a of and to is in on for example not cat cats dog dogs runs run ran fast slow nuclear
    energy power plants should be banned because clean cheap argument school uniform uniforms e
    mail don t s 1 2 3
"""
WORDS = _WORDS_TEXT.split()
_ST = "sentence_transformers.models"
PIECES = ["caf", "##e", "##s", "##ing", "##ed", "un", "##able", *".,!?'-()"]


def _saved(folder: Path, tokenizer: Any, kind: str, seed: int, **settings: Any) -> Path:
    import torch
    import transformers

    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    network = getattr(transformers, kind)
    network(network.config_class(**settings)).save_pretrained(folder)
    return folder


def tiny_bert(
    folder: Path,
    *,
    hidden: int = 32,
    layers: int = 2,
    kind: str = "BertModel",
    positions: int = 64,
    **more: Any,
) -> Path:
    """A BERT with a word-piece vocabulary of a few words, saved in ``folder``."""
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *PIECES]
    pieces += [piece for c in letters for piece in (c, f"##{c}") if piece not in pieces]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    tokenizer = transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt"), do_lower_case=True)
    sizes = {"hidden_size": hidden, "intermediate_size": 2 * hidden, "num_attention_heads": 4}
    sizes |= {"num_hidden_layers": layers, "max_position_embeddings": positions}
    is_binary = "Classification" in kind and "num_labels" not in more
    labels = {"id2label": {0: "irrelevant", 1: "relevant"}} if is_binary else {}
    sizes |= {"vocab_size": len(pieces)} | more
    return _saved(folder, tokenizer, kind, 1, **sizes, **labels)


def tiny_dpr(folder: Path) -> str:
    """A pair of encoders with projections, in ``folder``, by its name."""
    names = "DPRQuestionEncoder", "DPRContextEncoder"
    return ",".join(str(tiny_bert(folder / kind, kind=kind, projection_dim=16)) for kind in names)


def with_modules(folder: Path, *kinds: tuple[str, str], **files: Any) -> Path:
    """A folder with sentence-transformers' list of modules (place, class) and other JSON files."""
    listed = [
        {"idx": n, "name": f"{n}", "path": place, "type": kind if "." in kind else f"{_ST}.{kind}"}
        for n, (place, kind) in enumerate(kinds)
    ]
    for name, content in {"modules": listed, **files}.items():
        path = folder / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
    return folder


def as_encoder(
    network: Path,
    folder: Path,
    *,
    pooling: str = "mean",
    similarity: str | None = "dot",
    **more: Any,
) -> Path:
    """A network as sentence-transformers saves an encoder; ``more`` are keys of its settings."""
    shutil.copytree(network, folder, dirs_exist_ok=True)
    hidden = json.loads((folder / "config.json").read_text())["hidden_size"]
    settings = {"model_type": "SentenceTransformer", "similarity_fn_name": similarity, **more}
    pool = {"embedding_dimension": hidden, "pooling_mode": pooling}
    files = {"config_sentence_transformers": settings, "1_Pooling/config": pool}
    return with_modules(folder, ("", "Transformer"), ("1_Pooling", "Pooling"), **files)


def tiny_roberta(
    folder: Path, *, kind: str = "RobertaForMaskedLM", positions: int = 66, **more: Any
) -> Path:
    """A RoBERTa with a byte-level vocabulary, without a pooler, as ``roberta-base`` comes."""
    import transformers
    from tokenizers import ByteLevelBPETokenizer

    folder.mkdir(parents=True, exist_ok=True)
    raw = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    raw.train_from_iterator([" ".join(WORDS + PIECES)] * 3, vocab_size=400, special_tokens=special)
    raw.save_model(str(folder))
    tokenizer = transformers.RobertaTokenizerFast(
        vocab=str(folder / "vocab.json"), merges=str(folder / "merges.txt")
    )
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4}
    sizes |= {"num_hidden_layers": 2, "max_position_embeddings": positions, "type_vocab_size": 1}
    return _saved(folder, tokenizer, kind, 3, vocab_size=len(tokenizer), **sizes, **more)


def tiny_decoder(folder: Path, *, kind: str = "Qwen3Model", pad: bool = True, **more: Any) -> Path:
    """A decoder with a byte-level vocabulary whose tokenizer adds nothing, as Qwen's."""
    import transformers
    from tokenizers import ByteLevelBPETokenizer

    folder.mkdir(parents=True, exist_ok=True)
    raw = ByteLevelBPETokenizer(add_prefix_space=False)
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    text = " ".join([*WORDS, "yes no Instruct Query Document system user assistant think"])
    texts = [text, "yes", "no", "yes", "no"] * 3
    raw.train_from_iterator(texts, vocab_size=500, min_frequency=1, special_tokens=special)
    named = {"eos_token": "<|im_end|>", **({"pad_token": "<|endoftext|>"} if pad else {})}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=raw._tokenizer, **named)
    sizes: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 64, "head_dim": 8}
    sizes |= {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    sizes |= {"pad_token_id": 0 if pad else None, "eos_token_id": 2, "bos_token_id": None}
    sizes |= {"max_position_embeddings": 256, "initializer_range": 0.2}
    return _saved(folder, tokenizer, kind, 4, **{**sizes, "vocab_size": len(tokenizer), **more})


def rewritten(folder: Path, copy: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Path:
    from safetensors.torch import load_file, save_file

    shutil.copytree(folder, copy)
    path = copy / "model.safetensors"
    save_file(change(load_file(path)), path, metadata={"format": "pt"})
    return copy


def without_tokenizer(folder: Path, copy: Path) -> Path:
    copy.mkdir()
    for name in ("config.json", "model.safetensors"):
        shutil.copyfile(folder / name, copy / name)
    return copy


def tiny_colbert(encoder: Path, folder: Path) -> Path:
    """A tiny encoder with the prefix and the projection that ColBERT's authors save."""
    import torch
    from safetensors.torch import load_file, save_file

    shutil.copytree(encoder, folder)
    config = json.loads((folder / "config.json").read_text()) | {"architectures": ["HF_ColBERT"]}
    (folder / "config.json").write_text(json.dumps(config))
    path = folder / "model.safetensors"
    tensors = {f"{config['model_type']}.{name}": value for name, value in load_file(path).items()}
    tensors["linear.weight"] = torch.randn(16, 32, generator=torch.Generator().manual_seed(3))
    save_file(tensors, path, metadata={"format": "pt"})
    path = folder / "tokenizer.json"
    text = path.read_text()
    if "[unused0]" not in text:
        text = text.replace('"caf"', '"[unused0]"').replace('"##able"', '"[unused1]"')
    path.write_text(text)
    return folder


def tiny_t5(folder: Path) -> Path:
    """A T5 with a vocabulary of a few words, ``▁true`` and ``▁false``, saved in ``folder``."""
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    folder.mkdir(parents=True, exist_ok=True)
    words = ["Query", "Document", "Relevant", "Search", "Passage", "Relevance", "Ranking"]
    words += ["true", "false", *WORDS]
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -20.0), ("▁", -3.0)]
    pieces += [(f"▁{word}", -6.0) for word in dict.fromkeys(words)]
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:;!?()[]'->é"
    pieces += [(letter, -9.0) for letter in letters]
    raw = Tokenizer(models.Unigram(pieces, unk_id=2))
    raw.normalizer = normalizers.NFKC()
    raw.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    raw.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )
    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
    sizes |= {"vocab_size": len(pieces), "decoder_start_token_id": 0, "initializer_factor": 3.0}
    return _saved(folder, tokenizer, "T5ForConditionalGeneration", 2, **sizes)


def sharpened(folder: Path, only: str = "") -> Path:
    """The same model with matrices ten times as large: its scores differ by more than rounding."""
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    tensors = {
        name: tensor * 10
        if only in name and "LayerNorm" not in name and tensor.ndim == 2
        else tensor
        for name, tensor in load_file(path).items()
    }
    save_file(tensors, path, metadata={"format": "pt"})
    return folder


def tiny_bart(folder: Path, *, positions: int = 128) -> Path:
    """A BART of the real architecture with random weights, saved in ``folder``."""
    import transformers
    from tokenizers import ByteLevelBPETokenizer, processors

    folder.mkdir(parents=True, exist_ok=True)
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    raw = ByteLevelBPETokenizer()
    text = " ".join(word for word in WORDS if word.isalpha())
    raw.train_from_iterator([text] * 3, vocab_size=400, min_frequency=1, special_tokens=special)
    raw._tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw._tokenizer,
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        mask_token="<mask>",
    )
    each = {"layers": 2, "attention_heads": 4, "ffn_dim": 64}
    sizes = {f"{part}_{key}": n for key, n in each.items() for part in ("encoder", "decoder")}
    tokens = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
    tokens |= {"decoder_start_token_id": 2, "forced_eos_token_id": 2}
    sizes |= {"d_model": 32, "max_position_embeddings": positions, "init_std": 0.3}
    sizes |= {"vocab_size": raw.get_vocab_size(), **tokens}
    return _saved(folder, tokenizer, "BartForConditionalGeneration", 3, **sizes)
