"""Model cards: what a trained model is, what it was trained on, how that went."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Card:
    """What a model card says of one model, beside what it says of all.

    Attributes:
        summary: A paragraph: what it does.
        tags: For the Hugging Face Hub.
        base: The name of the model that it was trained from.
        usage: Markdown that shows how to use it; ``{name}`` is the model's folder.
        data: Headings, each with the rows of its table.
        settings: How it was made.
        hidden: Counts that are not shown.
    """

    summary: str
    tags: tuple[str, ...]
    base: str
    usage: str
    data: Mapping[str, Mapping[str, Any]]
    settings: Mapping[str, Any]
    hidden: frozenset[str] = field(default_factory=frozenset)


def model_card(name: str, card: Card, counts: Mapping[str, Any], history: Mapping[str, Any]) -> str:
    """A model card in Markdown, with the header that the Hugging Face Hub reads.

    Args:
        counts: What became of the data.
        history: What ``training.json`` holds.
    """
    base = card.base.replace("\\", "\\\\").replace('"', '\\"')
    lines = ["---", "library_name: transformers", f'base_model: "{base}"', "tags:"]
    lines += [*(f"- {tag}" for tag in card.tags), "---", "", f"# {name}", "", card.summary]
    lines += ["", "## Use", "", card.usage.replace("{name}", name)]
    shown = {key.replace("_", " "): counts[key] for key in counts if key not in card.hidden}
    for heading, table in {**card.data, "Counts": shown, "Settings": card.settings}.items():
        lines += ["", f"## {heading}", "", "| | |", "|---|---|"]
        lines += [f"| {key} | {_cell(value)} |" for key, value in table.items()]
    kept, epoch = history["best_step"], kept_epoch(history)
    lines += [
        "",
        "## Training",
        "",
        f"{history['steps']:,} steps in {history['seconds']:,.0f} s; the weights are of step "
        f"{kept:,}" + (f" (epoch {epoch})." if epoch else "."),
        "",
        "| epoch | step | training loss | validation loss |",
        "|---:|---:|---:|---:|",
    ]
    for entry in history["validations"]:
        value = entry["validation_loss"]
        validation = "" if value is None else f"{value:.5f}"
        training = f"{entry['training_loss']:.5f}"
        lines.append(f"| {entry['epoch']:g} | {entry['step']:,} | {training} | {validation} |")
    return "\n".join(lines) + "\n"


def kept_epoch(record: Mapping[str, Any]) -> str:
    """Which epoch's weights a training kept, of how many: ``1 of 3, stopped early``.

    Args:
        record: What ``training.json`` holds; empty for a model that has none.
    """
    epochs = {entry["step"]: entry["epoch"] for entry in record.get("validations", ())}
    if record.get("best_step") not in epochs:
        return ""
    stop = ", stopped early" if record.get("stopped_early") else ""
    return f"{epochs[record['best_step']]:g} of {max(epochs.values()):g}{stop}"


def _cell(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_cell(item)}" for key, item in value.items()) or "none"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_cell, value)) or "none"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value).replace("|", "\\|").replace("\n", " ")
