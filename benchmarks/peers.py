"""Runs peers in turn, each in a process of its own, and prints medians and ratios."""

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence


def run_apart(script: str, *arguments: str, python: str = sys.executable) -> dict[str, float]:
    """Run ``script`` in a new process; it prints its figures as JSON in its last line."""
    command = [python, script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def in_turn(
    peers: Mapping[str, Callable[[], dict[str, float]]], rounds: int
) -> dict[str, dict[str, list[float]]]:
    """Run every peer once a round (A B C, A B C, ...), so that a drift of the machine hits all."""
    figures: dict[str, dict[str, list[float]]] = {name: {} for name in peers}
    for _ in range(rounds):
        for name, peer in peers.items():
            for figure, value in peer().items():
                figures[name].setdefault(figure, []).append(value)
    return figures


def report(
    figures: Mapping[str, Mapping[str, Sequence[float]]], figure: str, unit: str, ours: str
) -> None:
    """Print each peer's median (least-greatest), and ours as a ratio to it, round by round."""
    mine = figures[ours][figure]
    print(f"{'':28}{'median':>12}{'least':>12}{'greatest':>12}  ours/peer (median)")
    for name, values in figures.items():
        each = values[figure]
        ratio = statistics.median(a / b for a, b in zip(mine, each, strict=True))
        row = "".join(f"{v:>12,.3g}" for v in (statistics.median(each), min(each), max(each)))
        print(f"{name:28}{row}  {ratio:.2f}   {unit}")
