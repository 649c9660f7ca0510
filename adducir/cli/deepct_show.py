"""``adducir deepct show``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adducir.cli import options
from adducir.cli.parameters import option
from adducir.core.texts import visible

if TYPE_CHECKING:
    from adducir.deepct.weighting import Weighted


def deepct_show(
    model: Annotated[
        Path, option("A term weighter's folder, or its recipe.", "-m", metavar="MODEL")
    ],
    text: Annotated[str, option("The text; '-' reads stdin.", "-t", metavar="TEXT")],
    top: Annotated[int, option("How many words to list by weight below the text.", min=0)] = 10,
    device: options.Device = "auto",
) -> None:
    """Print a text with the weight of each word, coloured in the terminal."""
    import sys

    from adducir.cli.console import is_terminal, show
    from adducir.deepct.model import TermWeighter
    from adducir.deepct.weighting import predict_weights
    from adducir.models.machine import choose_device
    from adducir.models.sources import trained_folder

    shown = sys.stdin.read() if text == "-" else text
    weighter = TermWeighter.load(trained_folder(model)).to(choose_device(device))
    (found,) = predict_weights(weighter, [shown])
    if is_terminal(sys.stdout):
        _print_coloured(shown, found)
    else:
        show(_plain(shown, found))
    for word, weight in _best(found, top):
        show(f"{weight:7.3f}  {word}")


def _plain(text: str, found: "Weighted") -> str:
    """The text with each word's weight behind it."""
    parts, done = [], 0
    for word, weight in zip(found.words, found.weights.tolist(), strict=True):
        parts.append(f"{text[done : word.end]}[{weight:.2f}]")
        done = word.end
    return "".join(parts) + text[done:]


def _print_coloured(text: str, found: "Weighted") -> None:
    """The text; the greater a word's weight, the stronger its background."""
    from rich.console import Console
    from rich.text import Text

    shown, done = Text(), 0
    for word, weight in zip(found.words, found.weights.tolist(), strict=True):
        shown.append(visible(text[done : word.start]))
        done = word.end
        share = min(1.0, max(0.0, weight))
        # From white to a deep blue, on which the text turns white.
        red, green = round(255 - 235 * share), round(255 - 165 * share)
        ink = "white" if share > 0.5 else "black"
        style = f"{ink} on rgb({red},{green},255)" if share >= 0.05 else None
        shown.append(visible(text[word.start : word.end]), style)
    shown.append(visible(text[done:]))
    Console(highlight=False).print(shown, soft_wrap=False)


def _best(found: "Weighted", top: int) -> list[tuple[str, float]]:
    """The different words of the greatest weights."""
    greatest: dict[str, float] = {}
    for word, weight in zip(found.words, found.weights.tolist(), strict=True):
        key = word.text.lower()
        greatest[key] = max(weight, greatest.get(key, weight))
    return sorted(greatest.items(), key=lambda item: (-item[1], item[0]))[:top]
