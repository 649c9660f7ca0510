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
from adducir.core.texts import shortened, whole_number
from adducir.evaluation.gold_ranks import GoldRanks
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
        name, qid = record.get("system", system), record["qid"]
        one = rows.setdefault(name, {})
        if not qid or not name:
            raise InputError("the qid or the system is empty.", path=path, line=line)
        if qid in one:
            what = f"{name} has query {qid} twice, first in line {one[qid][0]}."
            raise InputError(what, path=path, line=line)
        one[qid] = line, record
    if not rows:
        raise InputError("there is no rank in it.", path=path)
    return {name: _ranks(one, path) for name, one in rows.items()}


def _ranks(rows: Mapping[str, tuple[int, dict[str, str]]], path: Path) -> GoldRanks:
    """The ranks of one system."""
    columns: dict[str, list[str]] = {}
    numbers: list[tuple[int, int, int, bool]] = []
    for line, record in rows.values():
        unranked = not record["rank"]
        candidates = _integer(record["candidates"], "candidates", path, line)
        rank = candidates if unranked else _integer(record["rank"], "rank", path, line)
        tied = _integer(record.get("tied") or "1", "tied", path, line)
        tied = 1 if unranked else tied
        if rank + tied - 1 > candidates:
            what = f"rank {rank} with {tied} tied cannot be among {candidates} candidates."
            raise InputError(what, path=path, line=line)
        own = {name: record[name] for name in record if name not in KNOWN or name == ROUGE}
        if numbers and (odd := own.keys() ^ columns.keys()):
            raise InputError(f"not every object has {min(odd)!r}.", path=path, line=line)
        numbers.append((rank - 1, tied, candidates, unranked))
        if ROUGE in own:
            _check_share(own[ROUGE], path, line)
        for name, value in own.items():
            columns.setdefault(name, []).append(value)
    rouge = columns.pop(ROUGE, None)
    better, same, number, missing = np.array(numbers, dtype=np.int64).T
    return GoldRanks(
        tuple(rows),
        better,
        same,
        number,
        {name: tuple(values) for name, values in columns.items()},
        missing.astype(np.bool_),
        None if rouge is None else np.array(rouge, dtype=np.float64),
    )


def write_ranks(path: Path, systems: Mapping[str, GoldRanks]) -> None:
    """Write ranks as TSV, as :func:`read_ranks` reads them.

    Raises:
        UsageError: Systems have other keys, one has ROUGE-L and another has not, or a text holds a
            tab or a line break.
    """
    forms = {(tuple(ranks.keys), ranks.rouge is not None) for ranks in systems.values()}
    if len(forms) > 1:
        raise UsageError("the systems' queries have different keys, or only some have ROUGE-L.")
    names, has_rouge = next(iter(forms), ((), False))
    with writing_text(path) as handle:
        rouge = (ROUGE,) * has_rouge
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
                    *(() if ranks.rouge is None else (repr(float(ranks.rouge[place])),)),
                    *(ranks.keys[name][place] for name in names),
                )
                if any(set(cell) & set("\t\n\r") for cell in cells):
                    raise UsageError(f"query {qid}: a text holds a tab or a line break.")
                handle.write("\t".join(cells) + "\n")


def _check_share(text: str, path: Path, line: int) -> None:
    try:
        is_share = 0 <= float(text) <= 1
    except ValueError:
        is_share = False
    if not is_share:
        raise InputError(f"{ROUGE} is {text!r}, not a number of 0 to 1.", path=path, line=line)


def _integer(text: str, name: str, path: Path, line: int) -> int:
    value = whole_number(text)
    if not value:
        what = f"{name} is {shortened(text)!r}, not a whole number of 1 or more."
        raise InputError(what, path=path, line=line)
    return value
