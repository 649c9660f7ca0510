"""Reading 5 million lines of a run, 1 million qrels and 1 million JSON documents, old against new.

    python benchmarks/reading.py OLD [LINES_OF_RUN]

OLD is a checkout of an earlier state. Both read the same made-up files in turn, each in its own
process; the figures are seconds of processor time, the smallest of three, and the ratio new to old.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = """
import sys, time
from pathlib import Path
kind, path = sys.argv[1], Path(sys.argv[2])
if kind == "run":
    from adducir.runs.read import read_run as read
elif kind == "qrels":
    from adducir.corpora.qrels import load_qrels as read
else:
    from adducir.corpora.formats import read_jsonl
    read = lambda path: sum(1 for _ in read_jsonl(path))
started = time.process_time()
read(path)
print(time.process_time() - started)
"""


def write(folder: Path, lines: int) -> dict[str, tuple[str, Path]]:
    draw = random.Random(0)
    words = [f"word{number}" for number in range(5000)]
    files = {name: folder / name for name in ("run.trec", "qrels.txt", "docs.jsonl", "docs.json")}
    with files["run.trec"].open("w") as run:
        for n in range(lines):
            run.write(
                f"{n // 1000} Q0 D{draw.randrange(10**8)}-{n} {n % 1000 + 1} {9 - n / lines} t\n"
            )
    with files["qrels.txt"].open("w") as qrels:
        for n in range(lines // 5):
            qrels.write(f"{n // 200} 0 D{draw.randrange(10**8)}-{n} {n % 3}\n")
    documents = (
        json.dumps(
            {"_id": f"d{n}", "title": "A title", "text": " ".join(draw.choices(words, k=40))}
        )
        for n in range(lines // 5)
    )
    with files["docs.jsonl"].open("w") as out, files["docs.json"].open("w") as array:
        array.write("[")
        for n, document in enumerate(documents):
            out.write(f"{document}\n")
            array.write(f"{',' * bool(n)}\n{document}")
        array.write("]")
    kinds = ("run", "qrels", "documents", "documents")
    return {name: (kind, path) for kind, (name, path) in zip(kinds, files.items(), strict=True)}


def seconds(checkout: Path, kind: str, path: Path) -> float:
    command = [sys.executable, "-c", SCRIPT, kind, str(path)]
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    return float(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)


if __name__ == "__main__":
    old, new = Path(sys.argv[1]), Path(__file__).parents[1]
    lines = int(sys.argv[2]) if len(sys.argv) > 2 else 5_000_000
    with tempfile.TemporaryDirectory() as folder:
        for name, (kind, path) in write(Path(folder), lines).items():
            pairs = [(seconds(old, kind, path), seconds(new, kind, path)) for _ in range(3)]
            before, after = (min(column) for column in zip(*pairs, strict=True))
            print(f"{name}: {before:.2f} s, now {after:.2f} s, ratio {after / before:.2f}")
