"""Tiny models with real architectures and random weights, made in a second."""

from pathlib import Path

WORDS = [
    "the",
    "a",
    "of",
    "and",
    "to",
    "is",
    "in",
    "on",
    "for",
    "example",
    "not",
    "cat",
    "cats",
    "dog",
    "dogs",
    "runs",
    "run",
    "ran",
    "fast",
    "slow",
    "nuclear",
    "energy",
    "power",
    "plants",
    "should",
    "be",
    "banned",
    "because",
    "clean",
    "cheap",
    "argument",
    "school",
    "uniform",
    "uniforms",
    "e",
    "mail",
    "don",
    "t",
    "s",
    "1",
    "2",
    "3",
    "caf",
    "##e",
    "##s",
    "##ing",
    "##ed",
    "un",
    "##able",
    ".",
    ",",
    "!",
    "?",
    "'",
    "-",
    "(",
    ")",
]


def tiny_bert(folder: Path, *, hidden: int = 32, layers: int = 2, kind: str = "BertModel") -> Path:
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
        max_position_embeddings=64,
    )
    getattr(transformers, kind)(config).save_pretrained(folder)
    return folder
