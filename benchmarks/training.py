"""A training step against sentence-transformers' trainer: same weights, texts, loss and batches.

A dual encoder (MiniLM, one tower, cosines, in-batch negatives with one hard negative each) is
trained for one epoch on arguments: a conclusion, its premise and another's premise. Both run in
turn in this process, in single precision, with the same number of threads. Before any time is
reported, their losses of the same batch must agree to 1e-5. Processor time includes reading and
tokenising, which here is done once before the training and there in each batch.

    python benchmarks/training.py [--rows 256] [--batch 32] [--rounds 5] [--threads 1]

`Adducir, pieces` is the same with `batches: {padding: pieces}`.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import torch
from datasets import Dataset
from peers import in_turn, report
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

import adducir as ad
from adducir.encoders.kinds import encoder_source
from adducir.models.machine import using_threads
from adducir.training.trainable import open_training
from adducir.training.trainer import fit

LONGEST = 128


def examples(count: int) -> list[dict[str, str]]:
    # Different texts throughout: of equal ones, we leave out what would be a false negative.
    different = {
        document.fields["conclusion"]: document.fields["premise"]
        for document in ad.open_corpus("bundled:arguments")
        if document.fields["premise"].strip() and document.fields["conclusion"].strip()
    }
    pairs = [*{premise: conclusion for conclusion, premise in different.items()}.items()]
    count = min(count, len(pairs) // 2)
    return [
        {"anchor": conclusion, "positive": premise, "negative": other}
        for (premise, conclusion), (other, _) in zip(pairs[:count], pairs[-count:], strict=True)
    ]


def ours(folder: Path, batch: int, *changes: str) -> dict[str, float]:
    training = open_training(folder / "recipe.json", changes, folder=folder)
    model = training.model()
    began = time.process_time()
    data = training.dataset(folder / f"rows-{time.monotonic_ns()}")
    recipe = training.recipe.training
    checkpoints = folder / f"checkpoints-{time.monotonic_ns()}"
    fit(training, model, data.train, data.validation, recipe, checkpoints, torch.device("cpu"))
    return {"processor": (time.process_time() - began) / -(-len(data.train) // batch)}


def theirs(folder: Path, rows: list[dict[str, str]], batch: int) -> dict[str, float]:
    model = fresh()
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(folder / "theirs"),
        num_train_epochs=1,
        per_device_train_batch_size=batch,
        learning_rate=2e-5,
        use_cpu=True,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    began = time.process_time()
    trainer = SentenceTransformerTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_list(rows),
        loss=MultipleNegativesRankingLoss(model),
    )
    trainer.train()
    return {"processor": (time.process_time() - began) / -(-len(rows) // batch)}


def fresh() -> SentenceTransformer:
    model = SentenceTransformer(str(encoder_source("minilm").query.local()), device="cpu")
    model.max_seq_length = LONGEST
    return model


def same_loss(folder: Path, rows: list[dict[str, str]], batch: int) -> float:
    training = open_training(folder / "recipe.json", folder=folder)
    data = training.dataset(folder / "rows-of-loss").train.with_format("numpy")
    own = training.model().eval()
    peer = fresh().eval()
    columns = ([row[name] for row in rows[:batch]] for name in rows[0])
    with torch.no_grad():
        loss = training.loss(own, training.collate([data[n] for n in range(batch)]))
        features = [peer.preprocess(texts) for texts in columns]
        wanted = MultipleNegativesRankingLoss(peer)(features, None)
    return abs(float(loss) - float(wanted))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in {"rows": 256, "batch": 32, "rounds": 5, "threads": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    rows = examples(asked.rows)
    with tempfile.TemporaryDirectory() as name, using_threads(asked.threads):
        folder = Path(name)
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        settings = {"epochs": 1, "batch_size": asked.batch, "learning_rate": 2e-5}
        settings |= {"patience": None, "threads": asked.threads, "warmup": 0, "weight_decay": 0}
        recipe = {
            "kind": "dual-encoder",
            "base": "minilm",
            "towers": "shared",
            "lengths": {"context": LONGEST, "span": LONGEST},
            "examples": {"files": "rows.jsonl"},
            "held_out": {"share": 0},
            "training": settings,
        }
        (folder / "recipe.json").write_text(json.dumps(recipe))
        if (difference := same_loss(folder, rows, asked.batch)) > 1e-5:
            raise SystemExit(f"the losses differ by {difference}")
        print(
            f"{len(rows)} examples in batches of {asked.batch}; losses differ by {difference:.1e}"
        )
        peers = {
            "Adducir": lambda: ours(folder, asked.batch),
            "Adducir, pieces": lambda: ours(folder, asked.batch, "batches.padding=pieces"),
            "sentence-transformers": lambda: theirs(folder, rows, asked.batch),
        }
        report(in_turn(peers, asked.rounds), "processor", "s of a processor per step", "Adducir")


if __name__ == "__main__":
    main()
