"""The table of the proxy task: judges, their majority, models and chance as rows.

A file of choices is the task file with its ``choice`` filled in (CSV or JSONL), one per judge,
named after the judge; or one file of all judges with a column ``rater``. Other columns are ignored.
An empty choice is not an answer. Where there is ``task``, it must be the key's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from statsmodels.stats import inter_rater  # type: ignore[import-untyped]

from adducir.core.csv_files import records
from adducir.core.errors import InputError, UsageError
from adducir.core.texts import whole_number
from adducir.studies.agreement import estimated, fleiss_kappa
from adducir.studies.literary_evidence.proxy_task import Key
from adducir.studies.options import Drawing
from adducir.tables.build import figure_table
from adducir.tables.table import Column, Layout, ResultTable

MAJORITY, CHANCE, EVERYTHING = "majority", "chance", "all items"
Chosen: TypeAlias = NDArray[np.int64]
"""(I,) the option chosen of each item of the key, from 1; 0 where there is none."""


def read_choices(path: Path, key: Key, judge: str) -> dict[str, Chosen]:
    places = {item: place for place, item in enumerate(key.answers)}
    found: dict[str, Chosen] = {}
    seen: dict[tuple[str, str], int] = {}
    for line, record in records(path, ("item", "choice")):
        item, name, choice = record["item"], record.get("rater") or judge, record["choice"]
        number = whole_number(choice, key.options)
        before, what = seen.setdefault((name, item), line), ""
        if record.get("task", key.mark) not in ("", key.mark):
            what = f"this is a choice of the task {record['task']}, the key is of {key.mark}."
        elif item not in places:
            what = f"the key has no item {item!r}."
        elif before != line:
            what = f"{name} chooses twice for {item}, first in line {before}."
        elif choice and not number:
            what = f"the choice {choice!r} is not one of 1 to {key.options}."
        if what:
            hint = "Name the key that was written with the task."
            raise InputError(what, path=path, line=line, hint=hint)
        mine = found.setdefault(name, np.zeros(len(places), dtype=np.int64))
        mine[places[item]] = number or 0
    if not any(chosen.any() for chosen in found.values()):
        raise InputError("nothing was chosen in it.", path=path)
    return found


def choices_of_scores(
    name: str, scores: Mapping[str, Mapping[str, float]], key: Key
) -> tuple[Chosen, int]:
    """What a model chooses: the candidate that it scores highest, of equal ones not the gold item.

    Also the number of items where some candidate has no score, which is behind all others.
    """
    chosen = np.zeros(len(key.answers), dtype=np.int64)
    partial = 0
    for place, (item, answer) in enumerate(key.answers.items()):
        given = [scores.get(item, {}).get(docno, -np.inf) for docno in answer.docnos]
        known = int(np.isfinite(given).sum())
        partial += 0 < known < len(given)
        if known:
            options = range(1, key.options + 1)
            chosen[place] = max(options, key=lambda one: (given[one - 1], one != answer.gold, -one))
    if not chosen.any():
        raise UsageError(f"{name} scores no candidate of the task.")
    return chosen, partial


def majority(judges: Sequence[Chosen]) -> Chosen:
    """What more than half of an item's answers chose; an item without such an option has 0."""
    every = np.stack(judges)
    answers, result = (every > 0).sum(axis=0), np.zeros(every.shape[1], dtype=np.int64)
    for number in range(1, int(every.max(initial=0)) + 1):
        result[2 * (every == number).sum(axis=0) > answers] = number
    return result


def proxy_table(
    key: Key,
    judges: Mapping[str, Chosen],
    models: Mapping[str, Chosen],
    drawing: Drawing,
    layout: Layout,
    *,
    by_group: bool = False,
) -> ResultTable:
    """Accuracy with Wilson's interval, of everyone and by groups of items.

    An item without a majority is wrong: in the study two of three judges must choose the gold item.
    """
    gold = np.array([answer.gold for answer in key.answers.values()])
    of_group = np.array([answer.group for answer in key.answers.values()])
    groups = [name for name in dict.fromkeys(of_group.tolist()) if name] if by_group else []
    answered = {name: (chosen, chosen > 0) for name, chosen in judges.items()}
    if len(judges) > 1:
        every = list(judges.values())
        answered[MAJORITY] = majority(every), np.any(np.stack(every) > 0, axis=0)
    answered |= {name: (chosen, chosen > 0) for name, chosen in models.items()}
    columns: list[Column] = []
    rows: dict[str, list[float | None]] = {name: [] for name in (CHANCE, *answered)}
    for group in (None, *groups):
        title = (group or EVERYTHING) if by_group else ""
        columns += [
            Column(name, title, descriptive=True, summed=name in ("Answered", "Right"))
            for name in ("Answered", "Right", "Accuracy", "low", "high")
        ]
        among = np.ones(len(gold), dtype=bool) if group is None else of_group == group
        rows[CHANCE] += [None, None, 1 / key.options, None, None]
        for name, (chosen, has_answer) in answered.items():
            right, trials = int((chosen == gold)[among].sum()), int(has_answer[among].sum())
            shares: list[float | None] = [None, None, None]
            if trials:
                wilson = binomtest(right, trials).proportion_ci(drawing.confidence, "wilson")
                shares = [right / trials, float(wilson.low), float(wilson.high)]
            rows[name] += [float(trials), float(right), *shares]
    notes = [*_notes(key, list(judges.values()), drawing), *layout.notes]
    return figure_table(columns, rows, replace(layout, notes=notes, head="Who"))


def _notes(key: Key, judges: Sequence[Chosen], drawing: Drawing) -> list[str]:
    percent = f"{100 * drawing.confidence:g}%"
    notes = [
        f"{len(key.answers):,} items with {key.options} candidates each; low and high: Wilson's "
        f"{percent} interval.",
    ]
    if len(judges) < 2:
        return notes
    notes.append("majority: more than half of an item's answers are the gold item.")
    every = np.stack(judges, axis=1)
    counts = np.stack([(every == one).sum(axis=1) for one in range(1, key.options + 1)], axis=1)
    counts = counts[counts.any(axis=1)]
    numbers, often = np.unique(counts.sum(axis=1), return_counts=True)
    usual = int(numbers[often == often.max()].max())
    if usual < 2:
        return [*notes, "Most items have one answer: there is no agreement to measure."]
    table = counts[counts.sum(axis=1) == usual]

    shown = "undefined"
    if kappa := estimated(fleiss_kappa(table.astype(float)), np.arange(len(table)), drawing):
        shown = f"{kappa[0]:.3f} ({percent} interval {kappa[1]:.3f} to {kappa[2]:.3f})"
    # Options are shuffled from item to item: the free-marginal kappa suits that best.
    free = float(inter_rater.fleiss_kappa(table, method="randolph"))
    highest = table.max(axis=1)
    notes.append(
        f"Judges, on {len(table):,} items with {usual} answers: Fleiss' kappa {shown}, "
        f"free-marginal {free:.3f}; all agree on {(highest == usual).mean():.1%}, none on "
        f"{(highest == 1).mean():.1%}."
    )
    if left_out := len(counts) - len(table):
        notes.append(f"{left_out:,} items with another number of answers are left out.")
    return notes
