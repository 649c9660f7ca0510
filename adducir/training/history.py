"""How a training went."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class History:
    """How a training went.

    Attributes:
        steps: Steps done.
        validations: One entry each: ``step``, ``epoch`` (with its fraction), ``training_loss``
            (mean since the last entry), ``validation_loss`` (or None), ``seconds``.
        best_step: The step whose weights were kept.
        best_loss: Their validation loss.
        seconds: Time spent, that before a kill included.
        stopped_early: Whether patience ended it.
        processes: On how many processes it was trained; several numbers where it went on with
            another one. With more than one, dropout is drawn otherwise and sums are taken in
            another order, so that weights are other ones, as with another seed.
        devices: The kinds of devices that computed. Several give other weights than one would.
    """

    steps: int = 0
    validations: list[dict[str, Any]] = field(default_factory=list)
    best_step: int = 0
    best_loss: float | None = None
    seconds: float = 0.0
    stopped_early: bool = False
    processes: list[int] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)

    def take(self, devices: Sequence[str]) -> None:
        """Note that it goes on with as many processes as there are kinds of devices here."""
        if self.processes[-1:] != [len(devices)]:
            self.processes.append(len(devices))
        self.devices = sorted({*self.devices, *devices})

    def record(self) -> dict[str, Any]:
        """The counts of a trained model's manifest."""
        return {
            "steps": self.steps,
            "best_step": self.best_step,
            "validation_loss": self.best_loss,
            **({} if self.processes in ([], [1]) else {"processes": self.processes}),
            **({"devices": self.devices} if len(self.devices) > 1 else {}),
        }

    def save(self, folder: Path) -> None:
        """Write it into a model's folder, as ``training.json``."""
        text = json.dumps(asdict(self), indent=2)
        (folder / "training.json").write_text(f"{text}\n", encoding="utf-8")
