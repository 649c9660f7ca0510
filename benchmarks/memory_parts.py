"""A memory index of one piece against the same in parts: time and memory of building and searching.

Each build and each search is a process of its own. The parts are built one after another here, as
jobs of an array would be on as many machines: the time and memory of the greatest of them count
(the first one plans), and what putting them together takes. All searches get the same queries, in
one call, and their hits must be equal to the bit. Two kinds of memory are told: the most that the
process held of its own (RssAnon, read every 2 ms), and with the mapped files that it had read
(resident set), which the system takes back when it needs to.

    python benchmarks/memory_parts.py [--documents 300000] [--parts 4] [--queries 500]
        [--depth 1000] [--rounds 3] [--threads 2] [--folder FOLDER]
"""

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from peers import in_turn, report, run_apart
from synthetic import queries, write_jsonl

LENGTH = 200
ONE, MANY = "one piece", "parts"


class Memory:
    """The most memory that this process holds within the block, in MB."""

    def __init__(self) -> None:
        self.own = self.whole = 0.0
        self._done = threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "Memory":
        self._watch.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._watch.join()

    def _look(self) -> None:
        while not self._done.wait(0.002):
            lines = Path("/proc/self/status").read_text().splitlines()
            held = {line.split(":")[0]: line for line in lines if line.startswith("Rss")}
            own, files = (int(held[name].split()[1]) / 1000 for name in ("RssAnon", "RssFile"))
            self.own, self.whole = max(self.own, own), max(self.whole, own + files)


def measured(work: Callable[[], Any]) -> dict[str, float]:
    """Seconds and memory of some work."""
    with Memory() as memory:
        started, busy = time.perf_counter(), time.process_time()
        work()
        seconds, busy = time.perf_counter() - started, time.process_time() - busy
    return {"seconds": seconds, "busy": busy, "own": memory.own, "whole": memory.whole}


def build(folder: Path, index: str, part: str, size: int, threads: int) -> dict[str, float]:
    """Build the index of one piece, one part, or (``part`` is ``all``) put the parts together."""
    from adducir.core.sharding.execution import HERE, Execution
    from adducir.core.sharding.executors.part import Part
    from adducir.core.sharding.gathering import PartMade
    from adducir.corpora.sources import open_corpus
    from adducir.indexes import build_memory_index, jvm

    how = HERE
    if part:
        is_last = part == "all"
        how = Execution(only_finish=True) if is_last else Execution(part=Part.parse(part))

    def work() -> None:
        with suppress(PartMade):
            build_memory_index(
                open_corpus(folder / "documents"),
                folder / index,
                threads=threads,
                execution=how,
                shard=size,
                keep_parts=bool(part),
            )

    jvm.start()
    return measured(work)


def search(
    folder: Path, index: str, count: int, depth: int, threads: int, feedback: bool
) -> dict[str, Any]:
    """Search many queries in one call."""
    from adducir.indexes import open_index
    from adducir.indexes.feedback import RM3
    from adducir.indexes.models import BM25

    opened, texts = open_index(folder / index), queries(count, 5)
    method = RM3() if feedback else None
    opened.search(texts[:2], BM25(), feedback=method, threads=threads)  # compiled, if need be
    digest = sha256()

    def work() -> None:
        hits = opened.search(texts, BM25(), feedback=method, depth=depth, threads=threads)
        digest.update("\n".join(hits.docnos).encode() + hits.scores.tobytes())

    figures = measured(work)
    rates = {"rate": count / figures["seconds"], "rate_of_processor": count / figures["busy"]}
    return {**figures, **rates, "digest": int(digest.hexdigest()[:12], 16)}


def built_in_parts(apart: Callable[..., dict[str, float]], parts: int) -> dict[str, float]:
    """Build each part; the greatest of each figure."""
    each = [apart("--index", MANY, "--part", f"{n}/{parts}") for n in range(1, parts + 1)]
    return {name: max(one[name] for one in each) for name in each[0]}


def compare(options: argparse.Namespace, folder: Path) -> None:
    """Build and search both."""
    common = ["--folder", str(folder), "--threads", str(options.threads)]
    common += ["--documents", str(options.documents), "--parts", str(options.parts)]
    apart = partial(run_apart, __file__, *common, "--work")
    print(f"{options.documents:,} documents, {options.threads} threads")
    builds = {
        ONE: partial(apart, "build", "--index", ONE),
        f"1 of {options.parts} parts": partial(
            built_in_parts, partial(apart, "build"), options.parts
        ),
        "putting together": partial(apart, "build", "--index", MANY, "--part", "all"),
    }
    show(in_turn(builds, 1), ("seconds", "s"), ("busy", "s of processor time"))
    for name, more in (("BM25", ()), ("BM25 with RM3", ("--feedback",))):
        print(f"\n{name}, {options.queries} queries, depth {options.depth}")
        asked = ["--queries", str(options.queries), "--depth", str(options.depth), *more]
        found = in_turn(
            {one: partial(apart, "search", "--index", one, *asked) for one in (ONE, MANY)},
            options.rounds,
        )
        if len({digest for one in found.values() for digest in one["digest"]}) > 1:
            sys.exit("the rankings differ")
        show(
            found,
            ("rate", "queries/s"),
            ("rate_of_processor", "queries a second of processor time"),
        )


def show(figures: Any, *times: tuple[str, str]) -> None:
    """Print times and memory."""
    memory = (("own", "MB of its own at most"), ("whole", "MB with mapped files at most"))
    for figure, unit in (*times, *memory):
        report(figures, figure, unit, ours=ONE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=300_000)
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--depth", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--work", choices=["build", "search"])
    parser.add_argument("--index")
    parser.add_argument("--part", default="")
    parser.add_argument("--feedback", action="store_true")
    options = parser.parse_args()
    if options.work:
        folder, threads = options.folder, options.threads
        if options.work == "build":
            size = -(-options.documents // options.parts)
            figures = build(folder, options.index, options.part, size, threads)
        else:
            figures = search(
                folder, options.index, options.queries, options.depth, threads, options.feedback
            )
        sys.stdout.flush()
        os.write(1, b"\n" + json.dumps(figures).encode() + b"\n")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        folder.mkdir(exist_ok=True)
        if not (folder / "documents").exists():
            write_jsonl(folder / "documents", options.documents, LENGTH, files=8)
        compare(options, folder)


if __name__ == "__main__":
    main()
