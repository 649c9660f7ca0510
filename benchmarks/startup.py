"""What it costs to start ``adducir``, against an empty Python.

Prints the medians of alternating runs and the bound: 1.5 times an empty ``python -c pass`` plus
0.25 s. Exits with 1 where a bound is missed.

    python benchmarks/startup.py [RUNS]
"""

import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

FACTOR = 1.5
ALLOWANCE = 0.25


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    beside = Path(sys.executable).with_name("adducir")
    program = str(beside) if beside.exists() else shutil.which("adducir")
    if program is None:
        print("adducir is not installed for this Python.", file=sys.stderr)
        return 2
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "adducir --version": [program, "--version"],
        "adducir --help": [program, "--help"],
        "adducir evaluate --help": [program, "evaluate", "--help"],
    }
    times = measure(commands, runs)
    empty = statistics.median(times["python -c pass"])
    bound = FACTOR * empty + ALLOWANCE
    missed = 0
    print(f"{'command':<24} {'median':>8} {'best':>8} {'ratio':>7} {'bound':>8}")
    for name, seconds in times.items():
        median = statistics.median(seconds)
        late = median > bound
        missed += late
        print(
            f"{name:<24} {median:7.3f}s {min(seconds):7.3f}s {median / empty:6.1f}x {bound:7.3f}s"
            + (" missed" if late else "")
        )
    return int(missed > 0)


def measure(commands: dict[str, list[str]], runs: int) -> dict[str, list[float]]:
    """Wall-clock seconds of each command, the commands taking turns; one run before it warms up."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(runs + 1):
        for name, command in commands.items():
            started = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            if turn:
                times[name].append(time.perf_counter() - started)
    return times


if __name__ == "__main__":
    sys.exit(main())
