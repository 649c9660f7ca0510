"""What language models took, per topic: JSON lines beside a run, ``NAME.costs.jsonl``."""

import json
from collections.abc import Iterable, Mapping
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from adducir.core.errors import InputError
from adducir.core.files import writing_text
from adducir.core.json_lines import read_objects

if TYPE_CHECKING:
    from adducir.judges.llm import Answerer

Cost = Literal["requests", "tokens", "tokens_in", "tokens_out", "seconds", "cost"]
"""``tokens`` are in and out; ``cost`` is known only if the language model's file states prices."""
_KEPT = ("requests", "tokens_in", "tokens_out", "seconds", "cost")


def cost_row(
    qid: str, requests: int, tokens_in: int, tokens_out: int, seconds: float, llm: "Answerer | None"
) -> dict[str, Any]:
    """What a topic took when it was answered; requests at the same time each count theirs.

    ``llm`` states the price, if tokens are known.
    """
    tokens = {"tokens_in": tokens_in, "tokens_out": tokens_out}
    cost = None if llm is None else llm.cost(tokens_in, tokens_out)
    row = {"qid": qid, "requests": requests, **tokens, "seconds": round(seconds, 3)}
    return row if cost is None else row | {"cost": cost}


def write_costs(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    with writing_text(path) as file:
        file.writelines(f"{json.dumps(row)}\n" for row in rows)


def read_costs(path: Path) -> dict[str, dict[str, float]]:
    """Each topic's costs by name; without ``cost`` if there was no price."""
    rows = dict[str, dict[str, float]]()
    for line, record in read_objects(path):
        row = {name: record[name] for name in _KEPT if name in record}
        is_row = isinstance(record.get("qid"), str) and {*_KEPT[:-1]} <= row.keys()
        if not is_row or not all(_is_amount(value) for value in row.values()):
            raise InputError(
                "this line is not what a topic took: it needs qid, requests, tokens_in, tokens_out "
                "and seconds.",
                path=path,
                line=line,
                hint="adducir rerank --costs writes it; move it away if it is another file.",
            )
        if record["qid"] in rows:
            raise InputError(f"topic {record['qid']} is repeated.", path=path, line=line)
        rows[record["qid"]] = row | {"tokens": row["tokens_in"] + row["tokens_out"]}
    return rows


def _is_amount(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and isfinite(value) and value >= 0
