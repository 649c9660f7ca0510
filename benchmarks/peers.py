"""Runs peers in turn, each in a process of its own, and prints medians and ratios."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any


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


def multiplying(config: Any, tokens: int = 2048) -> dict[str, float]:
    """Float32 operations a second of processor time: of large matrices, and of a layer's own."""
    import torch

    wide, inner = int(config.hidden_size), int(config.intermediate_size)
    own = [(wide, wide)] * 4 + [(wide, inner), (inner, wide)]
    found = {}
    for name, shapes in {"peak": [(2048, 2048)], "layers": own}.items():
        pairs = [
            (torch.randn(tokens, rows), torch.randn(rows, columns)) for rows, columns in shapes
        ]
        work = 2 * tokens * sum(rows * columns for rows, columns in shapes)
        began, done = time.process_time(), 0
        while time.process_time() - began < 0.5:
            for one, other in pairs:
                torch.matmul(one, other)
            done += work
        found[name] = done / (time.process_time() - began)
    return found


def roofline(
    figures: Mapping[str, Mapping[str, Sequence[float]]],
    rates: Mapping[str, Sequence[float]],
    config: Any,
    lengths: Sequence[int],  # tokens of each item; padding does not count as work
) -> None:
    """Print what share of a core's peak ("by work", and ``multiplying``) each peer reaches."""
    wide, inner = int(config.hidden_size), int(config.intermediate_size)
    linear, layers = 2 * (4 * wide**2 + 2 * wide * inner), int(config.num_hidden_layers)
    each = layers * statistics.mean(n * linear + 4 * n**2 * wide for n in lengths)
    peak, own = (statistics.median(rates[name]) for name in ("peak", "layers"))
    print(
        f"{each / 1e9:.2f} GFLOP each; a core multiplies {peak / 1e9:.1f} GFLOP/s in large "
        f"matrices, {own / 1e9:.1f} in a layer's"
    )
    for name, values in figures.items():
        rate = each * statistics.median(values["by work"])
        print(
            f"{name:28}{rate / peak:>6.0%} of the first, {rate / own:.0%} of the second; "
            f"3 times as fast: {3 * rate / peak:.0%}; at most {peak / rate:.2f} times"
        )
