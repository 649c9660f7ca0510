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
from pathlib import Path

import numpy as np

from adducir.core.errors import InputError, UsageError
from adducir.core.files import writing_text
from adducir.core.texts import whole_number
from adducir.evaluation.gold_ranks import GoldRanks
from adducir.evaluation.judgements import Floats
from adducir.evaluation.records import records

REQUIRED = ("qid", "rank", "candidates")
ROUGE = "rouge_l"
KNOWN = (*REQUIRED, "system", "tied", ROUGE)


def read_ranks(path: Path, system: str) -> dict[str, GoldRanks]:
    """Read the ranks of one or several systems.

    Args:
        path: The file, plain or gzipped.
        system: The system's name where the file has no column for it.

    Raises:
        InputError: A column is missing, a number cannot be, or a system has a query twice; with
            the line.
    """
    rows: dict[str, dict[str, tuple[int, dict[str, str]]]] = {}
    for line, record in records(path, REQUIRED):
        one = rows.setdefault(record.get("system", system), {})
        qid = record["qid"]
        if not qid or not record.get("system", system):
            raise InputError("the qid or the system is empty.", path=path, line=line)
        if qid in one:
            raise InputError(
                f"{record.get('system', system)} has query {qid} twice, first in line "
                f"{one[qid][0]}.",
                path=path,
                line=line,
            )
        one[qid] = line, record
    if not rows:
        raise InputError("there is no rank in it.", path=path)
    return {name: _ranks(one, path) for name, one in rows.items()}


def write_ranks(path: Path, systems: Mapping[str, GoldRanks]) -> None:
    """Write ranks as TSV, as :func:`read_ranks` reads them.

    Raises:
        UsageError: Systems have other keys, one has ROUGE-L and another has not, or a text holds a
            tab or a line break.
        InputError, MachineError: The file cannot be written.
    """
    keys = {tuple(ranks.keys) for ranks in systems.values()}
    if len(keys) > 1:
        raise UsageError("the systems' queries have different keys.")
    names = next(iter(keys), ())
    if len({ranks.rouge is None for ranks in systems.values()}) > 1:
        raise UsageError("some systems have ROUGE-L, others have not.")
    rouge = (ROUGE,) if any(ranks.rouge is not None for ranks in systems.values()) else ()
    with writing_text(path) as handle:
        handle.write("\t".join(("system", *REQUIRED, "tied", *rouge, *names)) + "\n")
        for system, ranks in systems.items():
            for place, qid in enumerate(ranks.qids):
                missing = ranks.unranked is not None and ranks.unranked[place]
                cells = (
                    system,
                    qid,
                    "" if missing else str(ranks.better[place] + 1),
                    str(ranks.candidates[place]),
                    str(ranks.tied[place]),
                    *((repr(float(ranks.rouge[place])),) if ranks.rouge is not None else ()),
                    *(ranks.keys[name][place] for name in names),
                )
                if any(set(cell) & set("\t\n\r") for cell in cells):
                    raise UsageError(f"query {qid}: a text holds a tab or a line break.")
                handle.write("\t".join(cells) + "\n")


def _ranks(rows: Mapping[str, tuple[int, dict[str, str]]], path: Path) -> GoldRanks:
    """The ranks of one system."""
    better, tied, number, missing = [], [], [], []
    rouge: list[float] = []
    keys: dict[str, list[str]] = {}
    for line, record in rows.values():
        candidates = _whole(record["candidates"], "candidates", path, line)
        same = _whole(record.get("tied") or "1", "tied", path, line)
        unranked = not record["rank"]
        rank = candidates if unranked else _whole(record["rank"], "rank", path, line)
        same = 1 if unranked else same
        if rank + same - 1 > candidates:
            raise InputError(
                f"rank {rank} with {same} tied cannot be among {candidates} candidates.",
                path=path,
                line=line,
            )
        better.append(rank - 1)
        tied.append(same)
        number.append(candidates)
        missing.append(unranked)
        if ROUGE in record:
            rouge.append(_share(record[ROUGE], ROUGE, path, line))
        for name in record:
            if name not in KNOWN:
                keys.setdefault(name, []).append(record[name])
        lacking = [name for name, values in keys.items() if len(values) < len(better)]
        if lacking or any(len(values) > len(better) for values in keys.values()):
            name = (lacking or list(keys))[0]
            raise InputError(f"not every object has {name!r}.", path=path, line=line)
    return GoldRanks(
        tuple(rows),
        np.array(better, dtype=np.int64),
        np.array(tied, dtype=np.int64),
        np.array(number, dtype=np.int64),
        {name: tuple(values) for name, values in keys.items()},
        np.array(missing),
        _whole_column(rouge, len(better), path),
    )


def _whole_column(values: list[float], rows: int, path: Path) -> Floats | None:
    """A column that all rows have, or none."""
    if values and len(values) < rows:
        raise InputError(f"not every object has {ROUGE!r}.", path=path)
    return np.array(values) if values else None


def _share(text: str, name: str, path: Path, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise InputError(f"{name} is {text!r}, not a number of 0 to 1.", path=path, line=line)
    return value


def _whole(text: str, name: str, path: Path, line: int) -> int:
    value = whole_number(text)
    if not value:
        raise InputError(
            f"{name} is {text!r}, not a whole number of 1 or more.", path=path, line=line
        )
    return value
