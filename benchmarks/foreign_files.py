"""Topics and qrels of castorini/anserini-tools, read here and by Anserini's own readers.

    ADDUCIR_ANSERINI_TOOLS=~/anserini-tools python benchmarks/foreign_files.py [REPOSITORY ...]

The folder is a checkout of github.com/castorini/anserini-tools. Every text file is read as Anserini
reads it, or the reason why it is not read is printed. Every other argument is a folder whose runs,
qrels and topics are read: what is read, what is refused with a reason, and any traceback.
"""

import json
import os
import re
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from adducir.core.errors import AdducirError
from adducir.corpora.markup import collapse
from adducir.corpora.qrels import load_qrels
from adducir.corpora.topics import load_topics
from adducir.evaluation.score_files import read_scores
from adducir.runs.read import read_run

TITLES = ("title", "query", "question", "query_txt")
KINDS: dict[str, Callable[[Path], Any]] = {
    "run": read_run,
    "qrels": load_qrels,
    "topics": load_topics,
    "scores": lambda path: read_scores(path, "system"),
}
NAMES = re.compile(
    r"run|qrel|topic|quer|rerank|retriev|\.(trec|res|tsv|jsonl|run|qrels?|txt|csv|parquet)(\.gz)?$",
    re.IGNORECASE,
)


def of_anserini(folder: Path) -> dict[str, dict[str, dict[str, str]]]:
    """The topics of each file by Anserini's reader: the fields of each qid."""
    from adducir.indexes import jvm

    jvm.start()
    import jnius

    paths = jnius.autoclass("java.nio.file.Paths")
    mapper = jnius.autoclass("com.fasterxml.jackson.databind.ObjectMapper")()
    found = {}
    for entry in json.loads((folder / "topics.json").read_text()).values():
        path = folder / "topics" / entry["path"]
        if path.exists() and path.name not in found:
            reader = jnius.autoclass(entry["reader_class"])(paths.get(str(path)))
            found[path.name] = json.loads(mapper.writeValueAsString(reader.read()))
    return found


def compare(folder: Path) -> None:
    kept = folder / "anserini-topics.json"  # the JVM takes a minute
    if not kept.exists():
        kept.write_text(json.dumps(of_anserini(folder)))
    counts = Counter[str]()
    for name, theirs in json.loads(kept.read_text()).items():
        texts = {qid: next((f[t] for t in TITLES if t in f), None) for qid, f in theirs.items()}
        try:
            topics = load_topics(folder / "topics" / name)
        except AdducirError as error:
            is_text = any(map(bool, texts.values()))
            counts["refused" if is_text else "refused (vectors)"] += 1
            if is_text:
                print(f"{name}: {error.what}")
            continue
        if topics.vectors is not None:
            counts["token weights"] += 1
            continue
        ours = dict(zip(topics.qids, topics.queries, strict=True))
        theirs = {number(q): collapse(text or "") for q, text in texts.items()}
        is_same = {number(q): text for q, text in ours.items()} == theirs
        counts["the same" if is_same else "different"] += 1
        if not is_same:
            pairs = [(q, ours.get(q), t) for q, t in theirs.items() if ours.get(q) != t]
            print(f"{name}: {len(ours)} topics, {len(theirs)} of Anserini; {pairs[:1]}")
    print("topics:", dict(counts))
    counts = Counter()
    for path in sorted((folder / "qrels").iterdir()):
        try:
            load_qrels(path)
            counts["read"] += 1
        except AdducirError as error:
            counts["refused"] += 1
            print(f"{path.name}: {error.what}")
    print("qrels:", dict(counts))


def number(qid: str) -> str:
    """A qid without leading zeros, as Anserini's integers."""
    return qid.lstrip("0") or "0" if qid.isdigit() else qid


def read_all(folder: Path) -> None:
    counts, failures = Counter[str](), 0
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or not NAMES.search(path.name) or path.stat().st_size > 1 << 26:
            continue
        outcomes = []
        for kind, read in KINDS.items():
            try:
                read(path)
                outcomes.append(kind)
            except AdducirError:
                pass
            except Exception:  # noqa: BLE001  (what this looks for)
                failures += 1
                print(path, kind)
                traceback.print_exc(limit=-2)
        counts["/".join(outcomes) or "refused"] += 1
    print(f"{folder.name}: {dict(counts)}, {failures} tracebacks")


if __name__ == "__main__":
    tools = os.environ.get("ADDUCIR_ANSERINI_TOOLS")
    if tools is None:
        print("skipped: ADDUCIR_ANSERINI_TOOLS is not set")
    elif Path(tools, "topics").is_dir():
        compare(Path(tools))
    for argument in sys.argv[1:]:
        read_all(Path(argument))
