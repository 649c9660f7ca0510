"""Memory of trainings of encoders, cross-encoders and selectors, as what they learn from grows.

1, 4 and 16 times as many made-up spans, pairs or questions are each prepared in shards and trained
on for a few steps by a tiny BERT with MiniLM's tokenizer, each in a process of its own. Reported is
the peak of the resident memory after each stage: before (libraries, model, some examples); when
token ids (and what frozen layers make of them) are there; when parts and groups are; when a model
has trained, which varies with the batches that it draws.

    python benchmarks/examples_memory.py [--examples 1000] [--words 40] [--steps 5]
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from deepct_memory import write_base
from synthetic import documents
from training_memory import peak

from adducir.training.kinds import open_training
from adducir.training.loop import train

GROWTH = (1, 4, 16)
KINDS = {
    "dual-encoder": "data: {train: data.jsonl, shares: {train: 0.9, validation: 0.1}}\n"
    "towers: shared\n",
    "cross-encoder": "examples: {pairs: data.jsonl}\n",
}


def records(kind: str, count: int, words: int) -> Iterator[dict[str, Any]]:
    """What models of a kind learn from, as lines of their files."""
    for number, (docno, text) in enumerate(documents(count, words, different=3000)):
        parts = text.split()
        few = " ".join(parts[::7])
        if kind == "dual-encoder":
            sides = {"left": [text], "span": [few], "right": [text]}
            yield {"id": docno, "group": f"g{number // 50}", **sides}
        elif kind == "cross-encoder":
            yield {"query": few, "text": text, "label": number % 2}
        else:
            texts = [text, few, " ".join(parts[::3]), " ".join(parts[::2])]
            passages = [{"id": f"p{n}", "title": "", "text": one} for n, one in enumerate(texts)]
            labels = {"gold": [[0, 1]], "sets": [{"members": [0, 1], "label": True}]}
            yield {"id": docno, "question": few, "passages": passages, **labels}


def write_study(folder: Path, kind: str, count: int, words: int) -> Path:
    """A recipe with its data and its base."""
    folder.mkdir()
    write_base(folder / "base", layers=2)
    with (folder / "data.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(one) + "\n" for one in records(kind, count, words))
    recipe = folder / "recipe.yaml"
    text = f"kind: {kind}\nbase: base\n{KINDS[kind]}"
    recipe.write_text(f"{text}training: {{epochs: 1, batch_size: 8, patience: null}}\n")
    return recipe


def prepare_and_train(recipe: Path, steps: int) -> dict[str, float]:
    """The peak after each stage."""
    plan, figures = open_training(recipe), {}
    task = plan.task(torch.device("cpu"))
    task.prepared = recipe.parent / "prepared"
    plan.preparation.make(task.prepared, device="cpu")
    figures["prepared"] = peak()
    place = recipe.parent / "examples"
    place.mkdir()
    task.write(place)
    task.read(place)
    figures["written"] = peak()
    every = task.batches
    task.batches = lambda epoch: every(epoch)[:steps]  # type: ignore[method-assign]
    task.validate = lambda: None  # type: ignore[method-assign]
    train(task, task.recipe)
    figures["trained"] = peak()
    figures["examples"] = len(task.training.store)
    task.close()
    return figures


def measure(options: argparse.Namespace) -> dict[str, float]:
    """Prepare and train in this process, after a little of the same."""
    with tempfile.TemporaryDirectory() as place:
        warm, many = Path(place) / "warm", Path(place) / "many"
        prepare_and_train(write_study(warm, options.kind, 100, options.words), options.steps)
        recipe = write_study(many, options.kind, options.examples, options.words)
        with suppress(OSError):  # where it is permitted, what was held before counts no more
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        before = peak()
        return {"before": before, **prepare_and_train(recipe, options.steps)}


def measured(kind: str, examples: int, words: int = 40, steps: int = 5) -> dict[str, Any]:
    """Prepare and train on so many examples, in a process of its own."""
    options = [f"--kind={kind}", f"--examples={examples}", f"--words={words}", f"--steps={steps}"]
    done = subprocess.run(
        [sys.executable, __file__, *options], check=True, capture_output=True, text=True
    )
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--words", type=int, default=40)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--kind", choices=KINDS, help="in this process")
    options = parser.parse_args()
    if options.kind:
        print(json.dumps(measure(options)))
        return
    for kind in KINDS:
        for times in GROWTH:
            one = measured(kind, times * options.examples, options.words, options.steps)
            stages = [
                f"{one[key]:,.0f} {key}" for key in ("before", "prepared", "written", "trained")
            ]
            print(f"{kind:<14} {one['examples']:>7,} examples: MB {', '.join(stages)}")


if __name__ == "__main__":
    main()
