"""Tiny models with real architectures and random weights, made with transformers alone."""

import json
from pathlib import Path

import tiny


def models(folder: Path) -> None:
    """A BERT, with heads too, a ColBERT, a T5 and a BART under ``folder/models``."""
    place = folder / "models"
    tiny.tiny_bert(place / "bert")
    tiny.as_encoder(place / "bert", place / "encoder")
    tiny.tiny_bert(place / "mlm", kind="BertForMaskedLM")
    classifier = tiny.tiny_bert(place / "classifier", kind="BertForSequenceClassification")
    tiny.sharpened(classifier)
    tiny.tiny_colbert(place / "bert", place / "colbert")
    tiny.tiny_bart(place / "bart")
    for name in ("t5", "lit5"):
        tiny.sharpened(tiny.tiny_t5(place / name))
        for _ in range(3):  # the embeddings, which have four names
            tiny.sharpened(place / name, "shared")
    path = place / "lit5" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"architectures": ["FiD"]}))
