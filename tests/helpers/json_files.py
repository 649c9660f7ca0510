"""Files of JSON lines."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def jsonl(path: Path, records: Iterable[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path
