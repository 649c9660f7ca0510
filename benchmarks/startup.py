"""What it costs to start ``adducir``, against an empty Python, and to print a table of 28 runs.

Prints the medians of alternating runs and the bound: 1.5 times an empty ``python -c pass`` plus
0.25 s. Then 28 made-up runs of 50 topics and 1,000 hits are evaluated by three measures and each
tested against the first: ``adducir evaluate`` against a script with ir_measures and SciPy (which
corrects nothing), whose means must be the same. Last, the first answer of a memory index of 300,000
made-up documents, from the shell, by the clock and by processor time, in turn with that of another
commit's checkout, if one is given. Exits with 1 where a bound is missed, the last one by processor
time.

    python benchmarks/startup.py [RUNS] [DOCUMENTS] [CHECKOUT]
"""

import csv
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from synthetic import write_jsonl

FACTOR = 1.5
ALLOWANCE = 0.25
TABLE = 0.8
ANSWER = 0.45
PEER = """
import sys
from itertools import groupby
import ir_measures, scipy.stats
qrels, *runs = sys.argv[1:]
measures = [ir_measures.parse_measure(one) for one in ("nDCG@10", "AP", "R@100")]
evaluator = ir_measures.evaluator(measures, list(ir_measures.read_trec_qrels(qrels)))
values = []
for run in runs:
    found = evaluator.iter_calc(ir_measures.read_trec_run(run))
    found = sorted(found, key=lambda one: (str(one.measure), one.query_id))
    by_measure = groupby(found, key=lambda one: str(one.measure))
    values.append({name: [one.value for one in of] for name, of in by_measure})
for run, each in zip(runs, values):
    tests = [scipy.stats.ttest_rel(of, values[0][name]).pvalue for name, of in each.items()]
    print(run, *(sum(of) / len(of) for of in each.values()), *tests)
"""


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
    with tempfile.TemporaryDirectory() as folder:
        qrels, *files = make_runs(Path(folder))
        against = ["--baseline", Path(files[0]).stem, "--test", "t"]
        evaluate = [program, "evaluate", "--qrels", qrels, *files, *against]
        script = [sys.executable, "-c", PEER, qrels, *files]
        agree(evaluate, script)
        tables = measure({"adducir evaluate": evaluate, "ir_measures, SciPy": script}, runs)
    own, peer = (statistics.median(seconds) for seconds in tables.values())
    missed += own > TABLE
    print(f"table of 28 runs: {own:.2f} s (bound {TABLE} s); ir_measures and SciPy {peer:.2f} s")
    print(f"ratio {peer / own:.1f}")
    documents = int(sys.argv[2]) if len(sys.argv) > 2 else 300_000
    searches, here = {}, str(Path(__file__).resolve().parent.parent)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "documents")
        write_jsonl(source, documents, 56, files=4)
        text = json.loads((source / "part-2.jsonl").open().readline())["contents"]
        query = " ".join(text.split()[:4])
        for place in (here, *sys.argv[3:4]):
            index = str(Path(folder, f"index-{len(searches)}"))
            own = ["env", f"PYTHONPATH={place}", sys.executable, "-P", "-m", "adducir"]
            build = [*own, "index", str(source), "--engine", "memory", "--output", index]
            subprocess.run(build, check=True, capture_output=True)
            searches[place] = [*own, "search", index, query]
        by_clock = measure(searches, runs)
        by_processor = measure(searches, runs, processor_seconds)
    for name, found in (("s", by_clock), ("s of processor time", by_processor)):
        answer, *before = (statistics.median(seconds) for seconds in found.values())
        print(f"first answer of {documents:,} documents: {answer:.3f} {name} (bound {ANSWER} s)")
        for seconds in before:
            print(f"of {sys.argv[3]}: {seconds:.3f} {name}, {seconds / answer:.2f} x")
    missed += answer > ANSWER
    return int(missed > 0)


def agree(evaluate: list[str], script: list[str]) -> None:
    """Stop unless both find the same means and, before correction, the same p-values."""
    text = subprocess.run(
        [*evaluate, "--format", "csv"], check=True, capture_output=True, text=True
    )
    own = {(row["system"], row["measure"]): row for row in csv.DictReader(text.stdout.splitlines())}
    text = subprocess.run(script, check=True, capture_output=True, text=True)
    for path, *numbers in map(str.split, text.stdout.splitlines()):
        means_and_ps = zip(numbers[:3], numbers[3:], strict=True)
        for name, pair in zip(("AP", "R@100", "nDCG@10"), means_and_ps, strict=True):
            row = own[Path(path).stem, name]
            found = [float(row["mean"]), float(row["p"] or "nan")]
            np.testing.assert_allclose(found, list(map(float, pair)), rtol=1e-9)


def make_runs(folder: Path) -> list[str]:
    """Qrels of 50 topics and 28 random runs of 5,000 documents; their paths."""
    rng = np.random.default_rng(1)
    topics, paths = range(1, 51), [folder / "qrels"]
    judged = ((topic, one, rng.integers(3)) for topic in topics for one in rng.choice(5000, 200, 0))
    paths[0].write_text("".join(f"{topic} 0 d{one} {grade}\n" for topic, one, grade in judged))
    for name in (f"s{number:02}" for number in range(28)):
        lines = [
            f"{topic} Q0 d{one} {rank} {score:.6f} {name}\n"
            for topic in topics
            for rank, (one, score) in enumerate(
                zip(rng.choice(5000, 1000, 0), -np.sort(-20 * rng.random(1000)), strict=True), 1
            )
        ]
        paths.append(folder / f"{name}.run")
        paths[-1].write_text("".join(lines))
    return [str(path) for path in paths]


def processor_seconds() -> float:
    """Of all child processes so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(
    commands: dict[str, list[str]],
    runs: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Seconds of each command, the commands taking turns; one run before it warms up."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    # As pip installs packages: with compiled modules.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for turn in range(runs + 1):
        for name, command in commands.items():
            started = clock()
            subprocess.run(command, check=True, capture_output=True, env=env)
            if turn:
                times[name].append(clock() - started)
    return times


if __name__ == "__main__":
    sys.exit(main())
