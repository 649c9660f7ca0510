"""A tiny BART with a byte-level BPE of a few words, made in a second."""

from pathlib import Path

from tiny import WORDS


def tiny_bart(folder: Path, *, positions: int = 128) -> Path:
    """A BART of the real architecture with random weights, saved in ``folder``."""
    import torch
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
    tokenizer.save_pretrained(folder)
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
        max_position_embeddings=positions,
        bos_token_id=0,
        pad_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=2,
        forced_eos_token_id=2,
        init_std=0.3,
    )
    transformers.BartForConditionalGeneration(config).save_pretrained(folder)
    return folder
