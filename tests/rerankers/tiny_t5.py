"""A tiny T5 with a real unigram tokenizer, made in a second."""

from pathlib import Path

from tiny import WORDS


def tiny_t5(folder: Path) -> Path:
    """A T5 with a vocabulary of a few words, ``▁true`` and ``▁false``, saved in ``folder``."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    folder.mkdir(parents=True, exist_ok=True)
    words = ["Query", "Document", "Relevant", "Search", "Passage", "Relevance", "Ranking"]
    words += ["true", "false", *(word for word in WORDS if word.isalpha())]
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -20.0), ("▁", -3.0)]
    pieces += [(f"▁{word}", -6.0) for word in dict.fromkeys(words)]
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:;!?()[]'->é"
    pieces += [(letter, -9.0) for letter in letters]
    raw = Tokenizer(models.Unigram(pieces, unk_id=2))
    raw.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace("  ", " ")])
    raw.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    raw.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(2)
    config = transformers.T5Config(
        vocab_size=len(pieces),
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
        initializer_factor=3.0,
    )
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder


def sharpened(folder: Path) -> Path:
    """The same model with weights ten times as large: its scores differ by more than rounding."""
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    tensors = {
        name: tensor * 10 if "LayerNorm" not in name and tensor.ndim == 2 else tensor
        for name, tensor in load_file(path).items()
    }
    save_file(tensors, path, metadata={"format": "pt"})
    return folder
