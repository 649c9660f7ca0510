"""Topics and qrels of castorini/anserini-tools, read here and by Anserini's own readers.

    ADDUCIR_ANSERINI_TOOLS=~/anserini-tools python benchmarks/foreign_files.py [REPOSITORY ...]

The folder is a checkout of github.com/castorini/anserini-tools. Every text file is read as Anserini
reads it, or the reason why it is not read is printed. Every other argument is a folder whose runs,
qrels and topics are read: what is read, what is refused with a reason, and any traceback.
"""

import json
import os
import re
import shutil
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

_MOST = 1 << 25
"""Bytes of topics that are compared: token weights as repeated tokens take gigabytes."""
TITLES = ("title", "query", "question", "query_txt")
KINDS: dict[str, Callable[[Path], Any]] = {
    "run": read_run,
    "qrels": load_qrels,
    "topics": load_topics,
    "scores": lambda path: read_scores(path, "system"),
}
NAMES = re.compile(
    r"(?<!\.py)(?<!\.md)\.(trec|res|tsv|jsonl?|run|qrels?|topics?|txt|csv|parquet|xml|test)(\.gz)?$"
    r"|^[^.]*(run|qrel|topic|quer)[^.]*$",
    re.IGNORECASE,
)


def of_anserini(folder: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """What Anserini's readers find: fields of each topic by file, grades of each pair by file."""
    os.environ.setdefault("ADDUCIR_JAVA_HEAP", "6000")
    from adducir.indexes import jvm

    jvm.start()
    import jnius

    paths = jnius.autoclass("java.nio.file.Paths")
    mapper = jnius.autoclass("com.fasterxml.jackson.databind.ObjectMapper")()
    scratch = folder / "scratch.json"

    def values_of(value: Any) -> Any:
        mapper.writeValue(jnius.autoclass("java.io.File")(str(scratch)), value)
        return json.loads(scratch.read_text()) if scratch.stat().st_size < _MOST else None

    found: dict[str, dict[str, Any]] = {"topics": {}, "qrels": {}}
    for entry in json.loads((folder / "topics.json").read_text()).values():
        path = folder / "topics" / entry["path"]
        is_text = "Vector" not in entry["reader_class"]
        if is_text and path.exists() and path.name not in found["topics"]:
            reader = jnius.autoclass(entry["reader_class"])(paths.get(str(path)))
            found["topics"][path.name] = values_of(reader.read())
    for path in sorted((folder / "qrels").iterdir()):
        other = scratch.with_suffix(".txt")  # names that Anserini knows would be downloaded
        shutil.copy(path, other)
        try:
            judged = jnius.autoclass("io.anserini.eval.RelevanceJudgments")(str(other))
            grades = jnius.autoclass("java.util.HashMap")()
            for qid in judged.getQids().toArray():
                grades.put(qid, judged.getDocMap(qid))
            found["qrels"][path.name] = values_of(grades)
        except jnius.JavaException as error:
            found["qrels"][path.name] = {"": str(error).split("\n")[0]}
    return found


def compare(folder: Path) -> None:
    kept = folder / "anserini.json"  # the JVM takes a minute
    if not kept.exists():
        kept.write_text(json.dumps(of_anserini(folder)))
    theirs = json.loads(kept.read_text())
    for kind, compared in (("topics", compared_topics), ("qrels", compared_qrels)):
        counts = Counter[str]()
        for name, values in theirs[kind].items():
            outcome, example = compared(folder / kind / name, values)
            counts[outcome] += 1
            if example:
                print(f"{name}: {outcome}: {example}")
        print(f"{kind}: {dict(counts)}")


def compared_topics(path: Path, theirs: dict[str, dict[str, str]] | None) -> tuple[str, Any]:
    if theirs is None:
        return "too large to compare", ""
    texts = {qid: next((f[t] for t in TITLES if t in f), None) for qid, f in theirs.items()}
    try:
        topics = load_topics(path)
    except AdducirError as error:
        is_text = any(map(bool, texts.values()))
        return ("refused", error.what) if is_text else ("refused (vectors)", "")
    if topics.vectors is not None:
        return "token weights", ""
    ours = {number(q): text for q, text in zip(topics.qids, topics.queries, strict=True)}
    wanted = {number(q): collapse(text or "") for q, text in texts.items()}
    pairs = [(q, ours.get(q), t) for q, t in wanted.items() if ours.get(q) != t]
    extra = sorted(set(ours).difference(wanted))
    return ("different", (pairs[:1], extra[:1])) if pairs or extra else ("the same", "")


def compared_qrels(path: Path, theirs: dict[str, dict[str, int]]) -> tuple[str, Any]:
    if "" in theirs:
        theirs = {}
    try:
        qrels = load_qrels(path)
    except AdducirError as error:
        return ("refused" if theirs else "refused by both"), error.what
    ours = {(number(q), d): g for q, d, g in qrels.frame.select("qid", "docno", "grade").rows()}
    wanted = {(number(q), d): g for q, some in theirs.items() for d, g in some.items()}
    if not theirs:
        return "read here only", ""
    pairs = [(p, ours.get(p), wanted.get(p)) for p in {**ours, **wanted}]
    pairs = [one for one in pairs if one[1] != one[2]]
    return ("different", pairs[:1]) if pairs else ("the same", "")


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
