"""Gradients of the first batches of every kind of model, by one process or by several.

Started as a program, it is one of several processes, by torchrun's environment variables; see
test_training_processes.py.
"""

import sys
from pathlib import Path

import numpy as np
import torch

from adducir.models.machine import using_threads
from adducir.training import loop
from adducir.training.kinds import open_training
from adducir.training.processes import joined

CPU = torch.device("cpu")
HARD = "batches.negatives=2"
CASES = {
    # name: kind, changes, examples of the batch
    "deepct": ("deepct", (), 7),
    "deepct in pieces": ("deepct", ("training.gradient_accumulation=3",), 7),
    "deepct, one": ("deepct", (), 1),
    "cross-encoder": ("cross-encoder", (), 8),
    "monobert": ("monobert", (), 5),
    "encoder": ("dual-encoder", (), 8),
    "encoder, hard": ("dual-encoder", (HARD,), 7),
    "encoder, two towers": ("dual-encoder", (HARD, "towers=separate"), 7),
    "encoder, pieces": ("dual-encoder", (HARD, "batches.at_once=60"), 7),
    "encoder, checkpoints": (
        "dual-encoder",
        (HARD, "batches.at_once=60", "training.gradient_checkpointing=true"),
        7,
    ),
    "encoder, one": ("dual-encoder", (HARD,), 1),
    "encoder, cosine": ("dual-encoder", (HARD, "similarity=cosine", "temperature=0.2"), 6),
    "encoder, single": ("dual-encoder", (HARD,), 7),
    "encoder, two towers, single": ("dual-encoder", (HARD, "towers=separate"), 7),
    "encoder, cosine, single": ("dual-encoder", (HARD, "similarity=cosine"), 6),
}
ENCODERS = tuple(name for name in CASES if name.startswith("encoder"))
DOUBLE = tuple(name for name in ENCODERS if not name.endswith("single"))


def gradients(study: Path, name: str) -> tuple[float, dict[str, np.ndarray]]:
    """Loss and gradient of a case, without dropout; of most encoders in double precision."""
    kind, changes, count = CASES[name]
    task = open_training(study / f"{kind}.yaml", changes).task(CPU)
    folder = study / "made" / name
    if not (folder / "columns.json").is_file():
        folder.mkdir(parents=True)
        task.write(folder)
    task.read(folder)
    if name in DOUBLE:
        task.model.double()
    training = loop._Training(task, task.recipe, None)
    task.model.train()
    for module in task.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    # The first examples, among which copies stand.
    with loop.checkpointing(task.model, task.recipe.gradient_checkpointing):
        value = training._backward(np.arange(count))
    named = task.model.named_parameters()
    return value, {n: p.grad.numpy() for n, p in named if p.grad is not None}


def main(study: Path) -> None:
    """Compute all cases as one of several processes, and write them."""
    with using_threads(1), joined(CPU) as processes:
        for name in CASES:
            value, found = gradients(study, name)
            np.savez(study / f"{name}-{processes.rank}.npz", loss=value, **found)


if __name__ == "__main__":
    here = Path(__file__).parents[1]
    sys.path += [
        str(here / one) for one in ("models", "encoders", "studies/complementary_evidence")
    ]
    main(Path(sys.argv[1]))
