"""Ranks of the gold item, and the measures of known-item search.

Of a query's n candidates, some score higher than the gold item and some tie with it:

* ``pessimistic``: the gold item comes after all that tie with it.
* ``expected``: the exact mean over all orders of the tied candidates. With b better and t tied ones
  (including the gold item), the rank is uniform on b + 1 .. b + t, so R@k is (k - b) / t clipped to
  [0, 1], the rank b + (t + 1) / 2, the reciprocal rank (H(b + t) - H(b)) / t with H the harmonic
  numbers. A random ranking is the case in which all n tie; it is computed, not sampled.

Files of ranks are TSV with a header, or JSONL: ``qid``, ``rank`` (from 1; empty: not ranked, counts
as last), ``candidates`` and, optionally, ``system``, ``tied``, ``rouge_l`` of the first candidate,
and properties of the query to break figures down by.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import InputError, UsageError
from adducir.core.files import writing_text
from adducir.core.texts import whole_number
from adducir.corpora.tables import text_records
from adducir.evaluation.lists import Floats, Integers
from adducir.evaluation.measures import NamedMeasure
from adducir.evaluation.scores import Scores

Ties: TypeAlias = Literal["pessimistic", "expected"]
TIES: tuple[Ties, ...] = get_args(Ties)

CUTOFFS = (1, 3, 5, 10, 50, 100)
"""The papers' recall cutoffs."""
RANK = NamedMeasure("Rank", lower_is_better=True)
"""The rank of the gold item, from 1; lower is better."""
RECIPROCAL = NamedMeasure("RR")
"""1 / rank."""
ROUGE = NamedMeasure("ROUGE-L")
"""ROUGE-L of the first candidate with the gold text."""
REQUIRED = ("qid", "rank", "candidates")
ROUGE_KEY = "rouge_l"
KNOWN = (*REQUIRED, "system", "tied", ROUGE_KEY)


@dataclass(frozen=True, eq=False)
class GoldRanks:
    """The gold item's ranks in Q queries of one system."""

    qids: tuple[str, ...]  # unique queries
    better: Integers  # (Q,) candidates that score higher than the gold item
    tied: Integers  # (Q,) candidates tied with the gold item, including itself
    candidates: Integers  # (Q,) all candidates
    # properties of the queries to break figures down by, (Q,) texts each
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # (Q,) whether the gold item was not ranked; it then counts as last
    unranked: NDArray[np.bool_] | None = None
    # (Q,) ROUGE-L of the first candidate with the gold text
    rouge: Floats | None = None

    def rows(self, chosen: Sequence[int] | Integers) -> "GoldRanks":
        """The ranks of some queries, by position."""
        places = np.asarray(chosen, dtype=np.int64)
        return GoldRanks(
            tuple(self.qids[place] for place in places),
            self.better[places],
            self.tied[places],
            self.candidates[places],
            {key: tuple(values[place] for place in places) for key, values in self.keys.items()},
            None if self.unranked is None else self.unranked[places],
            None if self.rouge is None else self.rouge[places],
        )


def at_random(ranks: GoldRanks) -> GoldRanks:
    """A random ranking; measure it with ties ``expected``."""
    nothing = np.zeros_like(ranks.better)
    return GoldRanks(ranks.qids, nothing, ranks.candidates, ranks.candidates, ranks.keys)


def recall(ranks: GoldRanks, cutoff: int, ties: Ties = "pessimistic") -> Floats:
    """(Q,) R@k: whether, or how probably, the gold item is in the top k."""
    if ties == "pessimistic":
        return np.asarray(ranks.better + ranks.tied <= cutoff, dtype=np.float64)
    return np.asarray(np.clip((cutoff - ranks.better) / ranks.tied, 0.0, 1.0))


def rank(ranks: GoldRanks, ties: Ties = "pessimistic") -> Floats:
    """(Q,) the gold item's rank, from 1, or its expectation."""
    share = ranks.tied if ties == "pessimistic" else (ranks.tied + 1) / 2
    return np.asarray(ranks.better + share, dtype=np.float64)


def reciprocal_rank(ranks: GoldRanks, ties: Ties = "pessimistic") -> Floats:
    """(Q,) 1 / rank, or its expectation."""
    if ties == "pessimistic":
        return np.asarray(1.0 / (ranks.better + ranks.tied))
    last = int((ranks.better + ranks.tied).max(initial=0))
    harmonic = np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1, last + 1))))
    several = (harmonic[ranks.better + ranks.tied] - harmonic[ranks.better]) / ranks.tied
    # Differences of sums lose digits of the single reciprocal.
    return np.asarray(np.where(ranks.tied == 1, 1.0 / (ranks.better + 1), several))


def median_rank(ranks: GoldRanks, ties: Ties = "pessimistic") -> float:
    """The median over queries of the gold item's rank, or of its expectation."""
    return float(np.median(rank(ranks, ties)))


def rank_scores(
    system: str,
    ranks: GoldRanks,
    *,
    cutoffs: Sequence[int] = CUTOFFS,
    ties: Ties = "pessimistic",
    run: str = "",
) -> Scores:
    """R@k, RR, Rank and, if known, ROUGE-L of every query, for one run of a system."""
    if not ranks.qids:
        raise UsageError(f"{system} does not have any queries.")
    if any(cutoff < 1 for cutoff in cutoffs):
        raise UsageError("a cutoff must be 1 or more.")
    columns = {NamedMeasure(f"R@{cutoff}"): recall(ranks, cutoff, ties) for cutoff in cutoffs}
    columns[RECIPROCAL] = reciprocal_rank(ranks, ties)
    columns[RANK] = rank(ranks, ties)
    if ranks.rouge is not None:
        columns[ROUGE] = ranks.rouge
    values = np.column_stack(list(columns.values()))
    return Scores.of(system, ranks.qids, list(columns), values, run=run)


def read_ranks(path: Path, system: str) -> dict[str, GoldRanks]:
    """Read the ranks of one or more systems; ``system`` is the name if the file lacks it."""
    rows_of: dict[str, dict[str, tuple[Any, ...]]] = {}
    names: tuple[str, ...] = ()
    for line, record in text_records(path, REQUIRED):
        name, qid = record.get("system", system), record["qid"]
        keys = {key: text for key, text in record.items() if key not in KNOWN}
        names = names if rows_of else tuple(keys)
        unranked, rows_here = not record["rank"], rows_of.setdefault(name, {})
        candidates = whole_number(record["candidates"]) or 0
        place = candidates if unranked else whole_number(record["rank"]) or 0
        tied = 1 if unranked else whole_number(record.get("tied") or "1") or 0
        rouge = None
        with suppress(ValueError):
            rouge = float(record.get(ROUGE_KEY, ""))
        whole = "is not an integer of 1 or more."
        for is_wrong, message in (
            (not qid or not name, "the qid or the system is empty."),
            (qid in rows_here, f"{name} repeats query {qid}."),
            (not candidates, f"candidates {record['candidates']!r} {whole}"),
            (not place, f"rank {record['rank']!r} {whole}"),
            (not tied, f"tied {record.get('tied')!r} {whole}"),
            (place + tied - 1 > candidates, f"there are fewer than {place + tied - 1} candidates."),
            (
                ROUGE_KEY in record and not (rouge is not None and 0 <= rouge <= 1),
                f"{ROUGE_KEY} is not a number of 0 to 1.",
            ),
            (keys.keys() != {*names}, f"every object must have the keys {', '.join(names)}."),
        ):
            if is_wrong:
                raise InputError(message, path=path, line=line)
        texts = tuple(keys[key] for key in names)
        rows_here[qid] = place - 1, tied, candidates, unranked, rouge, texts
    if not rows_of:
        raise InputError("it contains no ranks.", path=path)
    ranks = {}
    for name, rows in rows_of.items():
        better, same, counts, last, shares, own_keys = zip(*rows.values(), strict=True)
        ranks[name] = GoldRanks(
            tuple(rows),
            np.array(better, dtype=np.int64),
            np.array(same, dtype=np.int64),
            np.array(counts, dtype=np.int64),
            dict(zip(names, zip(*own_keys, strict=True), strict=True)) if names else {},
            np.array(last, dtype=np.bool_),
            None if None in shares else np.array(shares, dtype=np.float64),
        )
    return ranks


def write_ranks(path: Path, systems: Mapping[str, GoldRanks]) -> None:
    """Write ranks as TSV for :func:`read_ranks`; all systems must have the same keys."""
    first = next(iter(systems.values()))
    rouge = (ROUGE_KEY,) if first.rouge is not None else ()
    with writing_text(path) as handle:
        handle.write("\t".join(("system", *REQUIRED, "tied", *rouge, *first.keys)) + "\n")
        for system, ranks in systems.items():
            for row, qid in enumerate(ranks.qids):
                missing = ranks.unranked is not None and ranks.unranked[row]
                cells = (
                    system,
                    qid,
                    "" if missing else str(ranks.better[row] + 1),
                    str(ranks.candidates[row]),
                    str(ranks.tied[row]),
                    *(() if ranks.rouge is None else (repr(float(ranks.rouge[row])),)),
                    *(ranks.keys[name][row] for name in first.keys),
                )
                if any(set(cell) & set("\t\n\r") for cell in cells):
                    raise UsageError(f"query {qid}: a text contains a tab or a line break.")
                handle.write("\t".join(cells) + "\n")
