"""Files that belong together, and lines of JSON."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from adducir.core.files import writing_text


def judgements_for(qrels: Path) -> Path:
    """The judgements as JSON lines beside their qrels."""
    return qrels.with_name(f"{qrels.name}.judgements.jsonl")


def design_for(sheet: Path) -> Path:
    """The design beside a sheet: ``people.csv`` has ``people.design.json``."""
    return sheet.with_name(f"{sheet.name.partition('.')[0]}.design.json")


def write_lines(records: Iterable[Mapping[str, Any]], path: Path) -> None:
    with writing_text(path) as file:
        file.writelines(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)
