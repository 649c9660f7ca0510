"""What commands print and write, told as lines that a golden file keeps.

Exact: runs, to the byte; values in CSV and JSON, to 12 significant digits, so that another order of
summation is no difference; cells of tables with their marks. Loose: prose, of which only the numbers
count. Left out: times, versions, paths and digests.
"""

import base64
import csv
import gzip
import hashlib
import io
import json
import math
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HEAD, SHORT, MOST_NEAR = 5, 48, 400
PROSE = {"footer", "legend", "notes", "note", "title", "caption", "help", "description"}
VOLATILE = re.compile(
    r"fingerprint|sha256|digest|version|written|wallclock|seconds|command|packages|path|created|"
    r"platform|runtime|made_with|python|cores|memory|machine"
)
NUMBER = re.compile(r"(?<![\w@.-])[-+−±]?(?:\d[\d,]*)?\.?\d+(?:e[-+]?\d+)?%?(?![\w@])")
TIMES = re.compile(r"\b(in )?[\d.,]+ (s|ms|min|seconds?|minutes?|MB|GB|kB)\b")


def stdout(text: str, line: str, near: float) -> list[str]:
    """What a command printed."""
    if not text.strip():
        return []
    if "csv" in line.split("--format ")[-1].split()[:1]:
        return shortened(_csv(text, ","), near)
    if text.lstrip()[:1] in "{[":
        try:
            return shortened(list(_leaves(json.loads(text))), near)
        except ValueError:
            pass
    if re.match(r"\S+ Q0 \S+ \d+ \S+ \S+$", text.splitlines()[0]):
        return _run(text, near)
    return shortened(_text(text), near)


def file(path: Path, near: float) -> list[str]:
    """What a file holds, by the ending of its name."""
    data = path.read_bytes()
    if path.name.endswith(".gz"):
        data = gzip.decompress(data)
    text = data.decode("utf-8")
    kind = Path(path.name.removesuffix(".gz")).suffix
    if kind == ".trec":
        return _run(text, near)
    if kind in (".csv", ".tsv"):
        return shortened(_csv(text, "," if kind == ".csv" else "\t"), near)
    if kind == ".json":
        return shortened(list(_leaves(json.loads(text))), near)
    if kind == ".jsonl":
        objects = [json.loads(line) for line in text.splitlines()]
        return shortened([f"{n}{leaf}" for n, one in enumerate(objects) for leaf in _leaves(one)], near)
    if kind == ".html":
        return _html(text, near)
    return shortened(_text(text), near)


def shortened(lines: list[str], near: float) -> list[str]:
    """Many lines by their number, digest and head, so that golden files stay small."""
    if near:
        return lines if len(lines) <= MOST_NEAR else [f"{len(lines)} lines", *lines[:MOST_NEAR]]
    if len(lines) <= SHORT:
        return lines
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return [f"{len(lines)} lines, sha256 {digest}", *lines[:HEAD]]


def _run(text: str, near: float) -> list[str]:
    """A run as it stands; where scores are near, its documents in an order that is not theirs."""
    if not near:
        return shortened(text.splitlines(), near)
    rows = [line.split() for line in text.splitlines()]
    return shortened(sorted(f"{row[0]} {row[2]} {float(row[4]):.4f}" for row in rows), near)


def number(value: float) -> str:
    if isinstance(value, int) or not math.isfinite(value):
        return str(value)
    return f"{value:.12g}"


def _numeric(text: str) -> str:
    try:
        return number(float(text)) if re.search(r"\d[.e]|\.\d", text) else text
    except ValueError:
        return text


def _csv(text: str, delimiter: str) -> list[str]:
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    return [" | ".join(_numeric(cell) for cell in row) for row in rows]


def _leaves(value: Any, place: str = "") -> Iterator[str]:
    """Each leaf of a JSON value, with the way to it."""
    name = place.rsplit(".", 1)[-1].split("[")[0]
    if VOLATILE.search(name):
        return
    if name in PROSE:
        yield f"{place} ~ {numbers(json.dumps(value, ensure_ascii=False))}"
    elif isinstance(value, dict):
        for key in sorted(value):
            yield from _leaves(value[key], f"{place}.{key}")
    elif isinstance(value, list):
        if not any(isinstance(one, dict | list) for one in value):
            texts = [number(one) if isinstance(one, float) else json.dumps(one) for one in value]
            yield f"{place} = [{', '.join(texts)}]"
            return
        for n, one in enumerate(value):
            yield from _leaves(one, f"{place}[{n}]")
    else:
        text = number(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)
        yield f"{place} = {text}"


def numbers(text: str) -> str:
    """The numbers of some prose, in the order of their size: sentences may change places."""
    found = [one.rstrip(",") for one in NUMBER.findall(TIMES.sub("", text))]
    return " ".join(sorted(found))


def _text(text: str) -> list[str]:
    """Cells of terminal, Markdown and LaTeX tables; of paragraphs between them the numbers."""
    lines: list[str] = []
    prose: list[str] = []
    inside = False
    for line in [*text.splitlines(), ""]:
        row: list[str] | None = None
        if line.startswith("━"):
            inside = not inside
            row = []
        elif inside:
            row = [] if set(line.strip()) <= {"─", " "} else re.split(r"\s{2,}", line.strip())
        elif line.startswith("|"):
            row = [cell.strip() for cell in line.strip("|").split("|")]
            row = [] if set("".join(row)) <= {":", "-"} else row
        elif re.search(r"(?<!\\)&", line) and "tabular" not in line:
            row = [cell.strip() for cell in line.removesuffix("\\\\").split("&")]
        if row is None and line.strip():
            prose.append(line)
            continue
        if prose:
            found = numbers(" ".join(prose))
            codes = re.findall(r"\[[a-z][a-z-]+\]", " ".join(prose))
            lines += [f"~ {' '.join([found, *codes]).strip()}"] if found or codes else []
            prose = []
        if row:
            lines.append(" | ".join(row))
    return lines


def _html(text: str, near: float) -> list[str]:
    """The data that a report carries: each part in full where it is short."""
    data = re.search(r'<script type="application/octet-stream" id="data">(.*?)</script>', text, re.S)
    if data is None:
        return ["no data"]
    report = json.loads(zlib.decompress(base64.b64decode(data[1]), wbits=47))
    lines = []
    for key in sorted(report):
        lines += shortened(list(_leaves({key: report[key]})), near)
    return lines
