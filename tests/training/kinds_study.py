"""A study with a recipe of every kind of model that can be trained."""

import json
from pathlib import Path

from some_spans import some_spans

from adducir.corpora.spans import write_spans

_TRAINING = "training: {epochs: 2, batch_size: 8, learning_rate: 0.001, patience: null}\n"
RECIPES = {
    "dual-encoder": "data: {train: spans.jsonl, shares: {train: 0.8, validation: 0.2}}\n"
    "towers: shared\n",
    "cross-encoder": "examples: {pairs: pairs.jsonl}\nheld_out: {share: 0.2}\n",
    "monobert": "examples: {pairs: pairs.jsonl}\nlength: 40\nheld_out: {share: 0.2}\n",
}
KINDS = tuple(RECIPES)


def kinds_study(folder: Path, base: Path) -> Path:
    """Write recipes (``KIND.yaml``) and data into a folder."""
    pets = [
        {"docno": f"d{n}", "conclusion": "Cats run fast", "premise": f"The cat {n} ran. " * (1 + n)}
        for n in range(12)
    ]
    pairs = [
        {"query": f"animal {n}", "text": f"{text} {n}", "label": label}
        for n in range(12)
        for text, label in (("cats run", 1), ("dogs run slow", 0))
    ]
    for name, records in (("pets", pets), ("pairs", pairs)):
        text = "".join(json.dumps(record) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    write_spans(some_spans(32), folder / "spans.jsonl")
    for kind, recipe in RECIPES.items():
        text = f"kind: {kind}\nbase: {base}\n{recipe}{_TRAINING}"
        (folder / f"{kind}.yaml").write_text(text, encoding="utf-8")
    return folder
