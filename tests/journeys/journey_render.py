"""What commands print and write, told as lines that a golden file keeps.

Exact: runs, to the byte; values in CSV and JSON, to 12 significant digits, so that another order of
summation is no difference; cells of tables with their marks. Loose: prose, of which the numbers
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

import yaml

HEAD, SHORT, VALUES, MOST_NEAR, LONG = 5, 48, 200, 400, 240
PROSE = {"footer", "legend", "notes"}
VOLATILE = re.compile(
    r"(?:^|[_ ])(?:fingerprint|sha256|digest|version|wallclock|seconds|command|packages|platform|"
    r"software|anserini|runtime|created|written|built|built with)s?$"
)
NUMBER = re.compile(r"(?<![\w@.-])[-+−±]?(?:\d[\d,]*)?\.?\d+(?:e[-+]?\d+)?%?(?![\w@])")
TIMES = re.compile(r"\b(in )?[\d.,]+ (s|ms|min|seconds?|minutes?|MB|GB|kB)\b")


def stdout(text: str, line: str, near: float, *, words: bool = False) -> list[str]:
    if not text.strip():
        return []
    if words:
        return shortened([" ".join(one.split()) for one in re.split(r"\n\s*\n", text)], near)
    if "--dry-run" in line:
        plan = [re.split(r":(?: |$)| \[| of ", one)[0].split() for one in text.splitlines()]
        return [" ".join(words) for words in plan if words[:1] not in (["run"], ["total"])]
    if "csv" in line.split("--format ")[-1].split()[:1]:
        return shortened(_csv(text, ","), near, VALUES)
    if text.lstrip()[:1] in "{[":
        try:
            return _json(json.loads(text), near)
        except ValueError:
            pass
    if re.match(r"\S+ Q0 \S+ \d+ \S+ \S+$", text.splitlines()[0]):
        return _run(text, near)
    return shortened(_text(text), near)


def file(path: Path, near: float) -> list[str]:
    text = _content(path)
    kind = Path(path.name.removesuffix(".gz")).suffix
    if near and kind == ".json" and path.with_suffix(".csv").exists():
        return ["as in CSV"]
    if kind == ".trec":
        return _run(text, near)
    if kind in (".csv", ".tsv"):
        return shortened(_csv(text, "," if kind == ".csv" else "\t"), near, VALUES)
    if kind == ".json":
        return _json(json.loads(text), near)
    if kind == ".yml":
        metadata = yaml.safe_load(text)
        return list(_leaves({key: metadata[key] for key in ("tag", "method", "data")}))
    if kind == ".jsonl":
        objects = [json.loads(line) for line in text.splitlines()]
        return shortened(
            [f"{n}{leaf}" for n, one in enumerate(objects) for leaf in _leaves(one)], near
        )
    if kind == ".html":
        return _html(text, near)
    return shortened(_text(text), near)


def _content(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.name.endswith(".gz") else data).decode("utf-8")


def untagged(path: Path) -> str:
    return "\n".join(line.rsplit(maxsplit=1)[0] for line in _content(path).splitlines() if line)


def shortened(lines: list[str], near: float, most: int = SHORT) -> list[str]:
    """Many lines by their number, digest and head, so that golden files stay small."""
    if near:
        return lines if len(lines) <= MOST_NEAR else [f"{len(lines)} lines", *lines[:MOST_NEAR]]
    if len(lines) <= most:
        return lines
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return [f"{len(lines)} lines, sha256 {digest}", *lines[:HEAD]]


def _run(text: str, near: float) -> list[str]:
    """A run as it stands; where scores are near, its documents in an order that is not theirs."""
    if not near:
        return shortened(text.splitlines(), near)
    rows = [line.split() for line in text.splitlines()]
    return shortened(sorted(f"{row[0]} {row[2]} {float(row[4]):.4f}" for row in rows), near)


def without_numbers(line: str) -> str:
    line = re.sub(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", "#", line)
    return re.sub(r"(?<=\|) #? (?=\|)", " ", line)


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
            yield f"{place} = {_brief('[' + ', '.join(texts) + ']')}"
            return
        for n, one in enumerate(value):
            yield from _leaves(one, f"{place}[{n}]")
    else:
        text = number(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)
        yield f"{place} = {_brief(text)}"


def _brief(text: str) -> str:
    if len(text) <= LONG:
        return text
    return f"{text[: LONG // 2]} … sha256 {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _json(value: Any, near: float) -> list[str]:
    """The leaves of a JSON value, each part of an object shortened by itself."""
    if not isinstance(value, dict) or near:
        return shortened(list(_leaves(value)), near, VALUES)
    parts = (list(_leaves({key: value[key]})) for key in sorted(value))
    return [line for part in parts for line in shortened(part, near, VALUES)]


def numbers(text: str) -> str:
    """The numbers of some prose, in the order of their size: sentences may change places."""
    found = [one.rstrip(",") for one in NUMBER.findall(TIMES.sub("", text))]
    return " ".join(sorted(found))


def _cell(text: str) -> str:
    """A cell; of a sentence in it the names in backticks and the numbers."""
    if len(text.split()) < 7:
        return text
    return " ".join(["~", *re.findall(r"`[^`]+`", text), numbers(text)]).strip()


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
        elif "\t" in line:
            row = line.split("\t")
        elif finding := re.match(r"\s+(error|warning|info) .*(\[[a-z-]+\])$", line):
            row = [finding[1], finding[2], numbers(line)]
        elif line.startswith("|"):
            row = [cell.strip() for cell in line.strip("|").split("|")]
            row = [] if set("".join(row)) <= {":", "-", " "} else [_cell(cell) for cell in row]
        elif re.search(r"(?<!\\)&", line) and "tabular" not in line:
            row = [cell.strip() for cell in line.removesuffix("\\\\").split("&")]
        if row is None and line.strip():
            prose.append(line)
            continue
        if prose:
            found = numbers(" ".join(prose))
            lines += [f"~ {found}"] if found else []
            prose = []
        if row:
            lines.append(" | ".join(row))
    return lines


def _html(text: str, near: float) -> list[str]:
    """What a report carries: its copies and means, and how much of every other part."""
    data = re.search(
        r'<script type="application/octet-stream" id="data">(.*?)</script>', text, re.S
    )
    if data is None:
        return ["no data"]
    report = json.loads(zlib.decompress(base64.b64decode(data[1]), wbits=47))
    copies = report.pop("copies", {})
    if near:
        return [f"names = {report['names']}"]
    lines = []
    for kind in sorted(copies):
        cells = _csv(copies[kind], ",") if kind == "csv" else _text(copies[kind])
        lines += [f"(copied as {kind})", *shortened(cells, near)]
    for part in sorted(report):
        leaves = list(_leaves({part: report[part]}))
        lines += leaves if part in ("names", "means") else [f"{part}: {len(leaves)} values"]
    return lines
