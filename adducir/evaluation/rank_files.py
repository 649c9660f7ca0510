"""Ranks of the gold item, in files: TSV with a header, or JSONL.

===============  ===============================================================================
``qid``          the query
``rank``         1 + the candidates that score better than the gold item; empty (null): the
                 system did not rank it, and it counts as the last
``candidates``   how many candidates the query has
``system``       optional; without it the file is of one system, named after the file
``rouge_l``      optional: ROUGE-L of the candidate that is ranked first, with the gold text
``tied``         optional: candidates that score as the gold item does, itself among them (1)
any other        a property of the query, such as ``length``, to break the figures down by
===============  ===============================================================================
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np

from adducir.core.errors import InputError, UsageError
from adducir.core.files import writing_text
from adducir.core.texts import shortened, whole_number
from adducir.evaluation.gold_ranks import GoldRanks
from adducir.evaluation.records import records

REQUIRED = ("qid", "rank", "candidates")
ROUGE = "rouge_l"
KNOWN = (*REQUIRED, "system", "tied", ROUGE)


def read_ranks(path: Path, system: str) -> dict[str, GoldRanks]:
    """Read the ranks of one or several systems; ``system`` is the name where the file has none.

    An InputError with the line where a column is missing, a number cannot be, or a system has a
    query twice.
    """
    rows: dict[str, dict[str, tuple[int, dict[str, str]]]] = {}
    for line, record in records(path, REQUIRED):
        name, qid = record.get("system", system), record["qid"]
        if not qid or not name:
            raise InputError("the qid or the system is empty.", path=path, line=line)
        first, _ = rows.setdefault(name, {}).setdefault(qid, (line, record))
        if first != line:
            what = f"{name} has query {qid} twice, first in line {first}."
            raise InputError(what, path=path, line=line)
    if not rows:
        raise InputError("there is no rank in it.", path=path)
    return {name: _ranks(one, path) for name, one in rows.items()}


def _ranks(rows: Mapping[str, tuple[int, dict[str, str]]], path: Path) -> GoldRanks:
    """The ranks of one system."""
    numbers: list[tuple[int, int, int, bool]] = []
    rouge = list[float]()
    keys = {name: list[str]() for name in next(iter(rows.values()))[1] if name not in KNOWN}
    for line, record in rows.values():
        unranked = not record["rank"]
        candidates = _integer(record["candidates"], "candidates", path, line)
        rank = candidates if unranked else _integer(record["rank"], "rank", path, line)
        tied = 1 if unranked else _integer(record.get("tied") or "1", "tied", path, line)
        if rank + tied - 1 > candidates:
            what = f"rank {rank} with {tied} tied cannot be among {candidates} candidates."
            raise InputError(what, path=path, line=line)
        if odd := keys.keys() ^ (record.keys() - {*KNOWN}):
            raise InputError(f"not every object has {min(odd)!r}.", path=path, line=line)
        numbers.append((rank - 1, tied, candidates, unranked))
        for name, values in keys.items():
            values.append(record[name])
        if ROUGE in record:
            rouge.append(_share(record[ROUGE], path, line))
    better, same, number, missing = np.array(numbers, dtype=np.int64).T
    return GoldRanks(
        tuple(rows),
        better,
        same,
        number,
        {name: tuple(values) for name, values in keys.items()},
        missing.astype(np.bool_),
        np.array(rouge) if len(rouge) == len(rows) else None,
    )


def write_ranks(path: Path, systems: Mapping[str, GoldRanks]) -> None:
    """Write ranks as TSV, as :func:`read_ranks` reads them; all systems have the same keys."""
    first = next(iter(systems.values()))
    rouge = (ROUGE,) if first.rouge is not None else ()
    with writing_text(path) as handle:
        handle.write("\t".join(("system", *REQUIRED, "tied", *rouge, *first.keys)) + "\n")
        for system, ranks in systems.items():
            for place, qid in enumerate(ranks.qids):
                missing = ranks.unranked is not None and ranks.unranked[place]
                cells = (
                    system,
                    qid,
                    "" if missing else str(ranks.better[place] + 1),
                    str(ranks.candidates[place]),
                    str(ranks.tied[place]),
                    *(() if ranks.rouge is None else (repr(float(ranks.rouge[place])),)),
                    *(ranks.keys[name][place] for name in first.keys),
                )
                if any(set(cell) & set("\t\n\r") for cell in cells):
                    raise UsageError(f"query {qid}: a text holds a tab or a line break.")
                handle.write("\t".join(cells) + "\n")


def _share(text: str, path: Path, line: int) -> float:
    with suppress(ValueError):
        if 0 <= (value := float(text)) <= 1:
            return value
    raise InputError(f"{ROUGE} is {text!r}, not a number of 0 to 1.", path=path, line=line)


def _integer(text: str, name: str, path: Path, line: int) -> int:
    value = whole_number(text)
    if not value:
        what = f"{name} is {shortened(text)!r}, not an integer of 1 or more."
        raise InputError(what, path=path, line=line)
    return value
