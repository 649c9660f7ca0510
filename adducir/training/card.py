"""Model cards: what a trained model is, what it was made from, how it went."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adducir.training.history import History, kept_epoch


@dataclass(frozen=True)
class Card:
    """What a model card says of one model, beside what it says of all.

    Attributes:
        summary: A paragraph: what it does.
        tags: For the Hugging Face Hub.
        base: The name of the model that it was trained from.
        usage: A block of Python or shell that uses it, fences included; ``{name}`` is the model's.
        data: Headings, each with what stands in its table; sources as the recipe writes them.
        settings: How it was made.
        without: Counts that stand elsewhere.
    """

    summary: str
    tags: tuple[str, ...]
    base: str
    usage: str
    data: Mapping[str, Mapping[str, Any]]
    settings: Mapping[str, Any]
    without: frozenset[str] = field(default_factory=frozenset)


def model_card(name: str, card: Card, counts: Mapping[str, Any], history: History) -> str:
    """A model card in Markdown, with the header that the Hugging Face Hub reads.

    Args:
        name: The model's name.
        card: What it is.
        counts: What became of the data.
        history: How the training went.
    """
    header = ["---", "library_name: transformers", f"base_model: {_quoted(card.base)}", "tags:"]
    header += [*(f"- {tag}" for tag in card.tags), "---"]
    usage = card.usage.replace("{name}", name)
    lines = [*header, "", f"# {name}", "", card.summary, "", "## Use", "", usage]
    shown = {key.replace("_", " "): counts[key] for key in counts if key not in card.without}
    for heading, table in {**card.data, "Counts": shown, "Settings": card.settings}.items():
        lines += ["", f"## {heading}", "", "| | |", "|---|---|"]
        lines += [f"| {key} | {_cell(value)} |" for key, value in table.items()]
    lines += ["", "## Training", "", *_steps(history)]
    return "\n".join(lines) + "\n"


def _steps(history: History) -> list[str]:
    best = "the last step" if history.best_loss is None else f"step {history.best_step:,}"
    kept = kept_epoch(vars(history))
    lines = [
        f"{history.steps:,} steps in {history.seconds:,.0f} s; the weights are of {best}"
        + (f" (epoch {kept})." if kept else "."),
        *_processes(history),
        *_devices(history),
        "",
        "| epoch | step | training loss | validation loss |",
        "|---:|---:|---:|---:|",
    ]
    for entry in history.validations:
        value = entry["validation_loss"]
        shown = "" if value is None else f"{value:.5f}"
        lines.append(
            f"| {entry['epoch']:g} | {entry['step']:,} | {entry['training_loss']:.5f} | {shown} |"
        )
    return lines


def _processes(history: History) -> list[str]:
    if history.processes in ([], [1]):
        return []
    shown = ", then ".join(f"{count}" for count in history.processes)
    return [
        "",
        f"Trained on several processes: {shown}. Another number gives the same gradients to "
        "rounding, but other draws of dropout, and so other weights.",
    ]


def _devices(history: History) -> list[str]:
    if len(history.devices) < 2:
        return []
    shown = ", ".join(history.devices)
    return ["", f"Trained on unlike devices: {shown}. Either alone would give other weights."]


def _cell(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_cell(one)}" for key, one in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(_cell(one) for one in value) or "none"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value).replace("|", "\\|").replace("\n", " ")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
