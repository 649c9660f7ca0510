"""Model cards: what a trained model is, how it was made, how that went."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adducir.training.recipe import ModelRecipe


@dataclass(frozen=True)
class Card:
    """What a model card says of one model; ``{name}`` in its usage is the model's folder."""

    summary: str
    tags: tuple[str, ...]
    usage: str


def model_card(
    name: str,
    card: Card,
    recipe: ModelRecipe,
    counts: Mapping[str, Any],
    history: Mapping[str, Any],
) -> str:
    base = recipe.base.replace("\\", "\\\\").replace('"', '\\"')
    lines = ["---", "library_name: transformers", f'base_model: "{base}"', "tags:"]
    lines += [*(f"- {tag}" for tag in card.tags), "---", "", f"# {name}", "", card.summary]
    lines += ["", "## Use", "", card.usage.replace("{name}", name)]
    made = recipe.model_dump(mode="json", exclude_none=True)
    plain = {key: value for key, value in counts.items() if not isinstance(value, Mapping)}
    for heading, table in {"Recipe": made, "Counts": plain}.items():
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
    """Which epoch's weights were kept, of how many: ``1 of 3, stopped early``; empty if unknown."""
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
