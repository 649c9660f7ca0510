"""PyLate's own scores of tiny ColBERTs, computed once in an environment of its own.

PyLate pins an older sentence-transformers. The models are the same everywhere, because numpy draws
their weights:

    python tests/rerankers/pylate_values.py build FOLDER  # in Adducir's environment
    python tests/rerankers/pylate_values.py score FOLDER > tests/rerankers/pylate_values.json
"""

import json
import sys
from pathlib import Path
from typing import Any

QUERIES = ["cats run fast", "nuclear energy and cheap power plants for school uniforms " * 3]
TEXTS = ["the cats run .", "nuclear power , is cheap !", "a slow dog " * 30, "the"]
CASES: dict[str, dict[str, Any]] = {
    "GTE-ModernColBERT": {"query_length": 20, "document_length": 40},
    "attending": {"attend_to_expansion_tokens": True},
    "LateOn": {"do_query_expansion": False},
    "no skip list": {"skiplist_words": []},
    "mxbai-edge-colbert": {"layers": ((32, 24), (24, 8))},
    "cut on the left": {"document_length": 40},
    "Stanford": {"query_token_id": "[Q] ", "doc_token_id": "[D] ", "doc_maxlen": 30},
    "Stanford, cut on the left": {"query_maxlen": 20, "doc_maxlen": 30},
}


# Saved by a training of ours, from bases with and without ColBERT's markers, or any.
TRAINED: dict[str, dict[str, Any]] = {
    "trained from BERT": {},
    "trained from BERT with markers": {"attend_to_masks": True},
    "trained from ModernBERT": {"expand_queries": False, "query_length": 20},
    "trained from Qwen3": {"skip_punctuation": False},
}


def built(base: Path, folder: Path, name: str) -> Path:
    """A ColBERT as PyLate or Stanford's program saves it, with weights that numpy draws."""
    from test_late_reading import pylate, stanford

    build = stanford if "Stanford" in name else pylate
    build(base, folder, **CASES[name])
    if "left" in name:
        cut_on_the_left(folder)
    return fixed(folder)


def cut_on_the_left(folder: Path, file: str = "tokenizer_config.json") -> None:
    """State in a file of the tokenizer that long texts lose their beginning."""
    cut = {"direction": "Left", "max_length": 512, "strategy": "LongestFirst", "stride": 0}
    more = {"truncation_side": "left"} if "config" in file else {"truncation": cut}
    stated = json.loads((folder / file).read_text())
    (folder / file).write_text(json.dumps(stated | more))


def trained(folder: Path, name: str) -> Path:
    """What a training saves, with weights that numpy draws."""
    from test_late_reading import bert_with_markers
    from tiny import tiny_bert, tiny_decoder

    from adducir.rerankers.colbert import ColBERTRecipe
    from adducir.rerankers.late_training import ColBERTTraining

    ends = {"cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}
    options: dict[str, Any] = {"kind": "ModernBertForMaskedLM", "pad_token_id": 0, **ends}
    base = folder / "base"
    if "Qwen" in name:
        tiny_decoder(base)
    elif "markers" in name:
        bert_with_markers(base)
    else:
        tiny_bert(base, **(options if "Modern" in name else {}))
    (folder / "corpus.jsonl").write_text('{"docno": "d", "text": "a cat", "title": "cats"}\n')
    settings = {"query_length": 16, "document_length": 30, "dimensions": 12, **TRAINED[name]}
    examples = {"corpus": {"source": "corpus.jsonl"}, "query_field": "title"}
    recipe = ColBERTRecipe.model_validate({"base": "base", "examples": examples, **settings})
    training = ColBERTTraining(recipe, folder)
    model = training.model()
    (folder / "saved").mkdir()
    training.save(model, folder / "saved")
    return fixed(folder / "saved")


def fixed(folder: Path, scale: float = 0.3) -> Path:
    """A model whose weights numpy draws, by their names."""
    import numpy as np
    import torch
    from safetensors.torch import load_file, save_file

    for path in sorted(folder.rglob("*.safetensors")):
        weights = load_file(path)
        for number, name in enumerate(sorted(weights)):
            draw = np.random.default_rng([7, number]).normal(size=tuple(weights[name].shape))
            shift = 1.0 if "LayerNorm.weight" in name else 0.0
            weights[name] = torch.tensor(draw * scale + shift, dtype=torch.float32)
        save_file(weights, path, metadata={"format": "pt"})
    return folder


def score(folder: Path, *, by_pair: bool = False) -> list[list[float]]:
    """PyLate's scores, or of its vectors: its ranker's padding with zeros beats maxima below 0."""
    from pylate import models, rank

    model = models.ColBERT(model_name_or_path=str(folder), device="cpu")
    queries = model.encode(QUERIES, is_query=True, show_progress_bar=False)
    documents = model.encode(TEXTS, is_query=False, show_progress_bar=False)
    if by_pair:
        return [[float((q @ d.T).max(1).sum()) for d in documents] for q in queries]
    numbers = [list(range(len(TEXTS)))] * len(QUERIES)
    ranked = rank.rerank(
        documents_ids=numbers,
        queries_embeddings=queries,
        documents_embeddings=[documents] * len(QUERIES),
    )
    scores = [{int(hit["id"]): float(hit["score"]) for hit in hits} for hits in ranked]
    return [[row[number] for number in range(len(TEXTS))] for row in scores]


def main() -> None:
    what, place = sys.argv[1], Path(sys.argv[2])
    if what == "score":
        from importlib.metadata import version

        scores = {name: score(place / name) for name in CASES}
        scores |= {name: score(place / name / "saved", by_pair=True) for name in TRAINED}
        json.dump({"pylate": version("pylate"), "scores": scores}, sys.stdout, indent=1)
        return
    sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))
    sys.path.insert(0, str(Path(__file__).parent))
    from test_late_reading import bert_with_markers

    base = bert_with_markers(place / "bert")
    for name in CASES:
        built(base, place / name, name)
    for name in TRAINED:
        (place / name).mkdir()
        trained(place / name, name)


if __name__ == "__main__":
    main()
