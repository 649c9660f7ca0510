"""Tiny models with real architectures and random weights, made with transformers alone."""

import json
import shutil
from pathlib import Path

_WORDS_TEXT = """
    the a of and to is in on for example not cat cats dog dogs runs run ran fast slow nuclear
    energy power plants should be banned because clean cheap argument school uniform uniforms e
    mail don t s 1 2 3
"""
WORDS = _WORDS_TEXT.split()
PIECES = ["caf", "##e", "##s", "##ing", "##ed", "un", "##able", *".,!?'-()"]


def models(folder: Path) -> None:
    """A BERT, with heads too, a ColBERT, a T5 and a BART under ``folder/models``."""
    place = folder / "models"
    _bert(place / "bert", "BertModel")
    _bert(place / "mlm", "BertForMaskedLM")
    _bert(place / "classifier", "BertForSequenceClassification", sharper=10)
    _colbert(place / "bert", place / "colbert")
    _t5(place / "t5")
    _t5(place / "lit5", ["FiD"])
    _bart(place / "bart")


def _bert(folder: Path, kind: str, sharper: float = 1) -> None:
    import torch
    import transformers

    folder.mkdir(parents=True)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *PIECES]
    pieces += [piece for c in letters for piece in (c, f"##{c}") if piece not in pieces]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    vocabulary = str(folder / "vocab.txt")
    transformers.BertTokenizerFast(vocab=vocabulary, do_lower_case=True).save_pretrained(folder)
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(pieces),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    _save(getattr(transformers, kind)(config), folder, sharper)


def _save(model, folder: Path, sharper: float) -> None:
    """Save a model whose matrices are so many times as large: its scores differ by more."""
    for name, tensor in model.state_dict().items():
        if tensor.ndim == 2 and "LayerNorm" not in name:
            tensor.mul_(sharper)
    model.save_pretrained(folder)


def _colbert(encoder: Path, folder: Path) -> None:
    """The prefix and the projection that ColBERT's authors save."""
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


def _t5(folder: Path, architectures: list[str] | None = None) -> None:
    import torch
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    words = ["Query", "Document", "Relevant", "Search", "Passage", "Relevance", "Ranking"]
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -20.0), ("▁", -3.0)]
    pieces += [(f"▁{word}", -6.0) for word in dict.fromkeys([*words, "true", "false", *WORDS])]
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:;!?()[]'->é"
    raw = Tokenizer(models.Unigram(pieces + [(letter, -9.0) for letter in letters], unk_id=2))
    raw.normalizer = normalizers.NFKC()
    raw.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    raw.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    ).save_pretrained(folder)
    torch.manual_seed(2)
    config = transformers.T5Config(
        vocab_size=raw.get_vocab_size(),
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
        initializer_factor=3.0,
    )
    _save(transformers.T5ForConditionalGeneration(config), folder, 10)
    if architectures:
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"architectures": architectures}))


def _bart(folder: Path) -> None:
    import torch
    import transformers
    from tokenizers import ByteLevelBPETokenizer, processors

    raw = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    text = " ".join(word for word in WORDS if word.isalpha())
    raw.train_from_iterator([text] * 3, vocab_size=400, min_frequency=1, special_tokens=special)
    raw._tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    names = ("bos", "pad", "eos", "unk", "mask")
    tokens = {f"{name}_token": token for name, token in zip(names, special, strict=True)}
    transformers.PreTrainedTokenizerFast(tokenizer_object=raw._tokenizer, **tokens).save_pretrained(
        folder
    )
    torch.manual_seed(3)
    config = transformers.BartConfig(
        vocab_size=raw.get_vocab_size(),
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=128,
        bos_token_id=0,
        pad_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=2,
        forced_eos_token_id=2,
        init_std=0.3,
    )
    transformers.BartForConditionalGeneration(config).save_pretrained(folder)
