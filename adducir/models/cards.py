"""Model cards: what a trained model is, what it was made from, how it went."""

from collections.abc import Mapping
from typing import Any

from adducir.models.training import History


def model_card(
    title: str,
    summary: str,
    *,
    tags: tuple[str, ...],
    base: str,
    sections: Mapping[str, Mapping[str, Any]],
    history: History,
    usage: str,
) -> str:
    """A model card in Markdown, with the header that the Hugging Face Hub reads.

    Args:
        title: The model's name.
        summary: A paragraph: what it does.
        tags: For the Hub.
        base: The name of the model that it was trained from.
        sections: Headings, each with what stands in its table.
        history: How the training went.
        usage: A block of Python or shell that uses it, fences included.
    """
    header = ["---", "library_name: transformers", f"base_model: {_quoted(base)}", "tags:"]
    header += [*(f"- {tag}" for tag in tags), "---"]
    lines = [*header, "", f"# {title}", "", summary, "", "## Use", "", usage]
    for heading, table in sections.items():
        lines += ["", f"## {heading}", "", "| | |", "|---|---|"]
        lines += [f"| {key} | {_cell(value)} |" for key, value in table.items()]
    lines += ["", "## Training", "", *_course(history)]
    return "\n".join(lines) + "\n"


def _course(history: History) -> list[str]:
    best = "the last" if history.best_loss is None else f"step {history.best_step:,}"
    stop = ", stopped early" if history.stopped_early else ""
    lines = [
        f"{history.steps:,} steps in {history.seconds:,.0f} s{stop}; the weights are of {best}.",
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
