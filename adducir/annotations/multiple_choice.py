"""Multiple-choice (proxy) tasks for people: choose the gold item among a few candidates.

People cannot judge thousands of candidates. RELiC (Thai et al., 2022, section 4) lets them choose
among three: the gold item and BM25's two best other candidates, in random order, so that string
overlap does not give the answer away. Candidates with the same words as the gold item (ignoring
case and white space) or as one already chosen are skipped.

* The task, CSV: ``item``, ``context``, ``candidate_1`` ... ``candidate_n``, an empty ``choice`` to
  be filled in with the number of a candidate, and ``task``, a mark that identifies its key. It
  shows neither docnos nor the gold item.
* The key, CSV: ``item``, ``gold``, ``group``, ``docno_1`` ... ``docno_n``, ``task``.
* Choices: the completed task (CSV or JSONL), one file per judge, named after the judge; or one file
  for all judges with a column ``rater``. An empty choice is not an answer.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import binomtest

from adducir.core.csv_files import CsvWriter
from adducir.core.errors import InputError, UsageError, worded
from adducir.core.files import writing_text
from adducir.core.texts import same_text, whole_number
from adducir.corpora.spans import MaskedSpan, context
from adducir.corpora.tables import text_records
from adducir.encoders.ranking import SpanTask
from adducir.statistics.agreement import estimated, fleiss_kappa, most_common_count, votes_by_unit
from adducir.statistics.settings import Bootstrap
from adducir.tables.build import figure_table
from adducir.tables.table import Column, Layout, ResultTable

MASK = "[masked]"
MAJORITY, CHANCE, EVERYTHING = "majority", "chance", "all items"
Choices: TypeAlias = NDArray[np.int64]
"""(I,) the option chosen for each item of the key, from 1; 0 for none."""


class KeyItem(NamedTuple):
    """The gold item's number (from 1), the docnos in the order shown, and the item's group."""

    gold: int
    docnos: tuple[str, ...]
    group: str = ""


@dataclass(frozen=True)
class Key:
    """The answers of a task by item, and the mark that identifies it."""

    answers: Mapping[str, KeyItem]
    mark: str

    @property
    def options(self) -> int:
        return len(next(iter(self.answers.values())).docnos)


def make_key(
    spans: Iterable[MaskedSpan],
    ranking: Mapping[str, Sequence[str]],
    texts: Mapping[str, str],
    *,
    others: int = 2,
    seed: int = 0,
    sample: int | None = None,
) -> tuple[Key, Counter[str]]:
    """Choose the candidates of every span and shuffle them by the seed and the item's id.

    ``ranking`` is docnos by span, best first. Also counts spans that gave no item, by reason.
    """
    items: dict[str, KeyItem] = {}
    left_out = Counter[str]()
    for span in spans:
        if span.id in items:
            raise UsageError(f"the span {span.id} is duplicated.")
        chosen = {same_text(texts.get(span.docno, "")): span.docno}
        for docno in ranking.get(span.id, ()):
            if len(chosen) <= others and (words := same_text(texts.get(docno, ""))):
                chosen.setdefault(words, docno)
        if "" in chosen:
            left_out["gold item not in the corpus"] += 1
        elif span.id not in ranking:
            left_out["not in the run"] += 1
        elif len(chosen) <= others:
            left_out["too few other candidates"] += 1
        else:
            docnos = list(chosen.values())
            draw = np.random.default_rng(_digest("order", seed, span.id))
            shown = tuple(docnos[place] for place in draw.permutation(len(docnos)))
            gold = shown.index(span.docno) + 1
            items[span.id] = KeyItem(gold, shown, span.group)
    if not items:
        reasons = ", ".join(f"{reason}: {count}" for reason, count in left_out.items())
        raise UsageError(f"no items are left ({reasons or 'the input is empty'}).")
    kept = set(sorted(items, key=lambda name: _digest("sample", seed, name))[:sample])
    answers = {name: answer for name, answer in items.items() if name in kept}
    shown_items = json.dumps([(name, answer.docnos) for name, answer in answers.items()])
    return Key(answers, hashlib.sha256(shown_items.encode()).hexdigest()[:12]), left_out


def chosen(
    spans: Iterable[MaskedSpan],
    ranking: Mapping[str, Sequence[str]],
    groups: Collection[str] = (),
    sentences: int | None = None,
    missed: int | None = None,
) -> list[MaskedSpan]:
    """Contexts of some groups and lengths, whose gold items the first ``missed`` lack."""
    longest = max(map(len, ranking.values()), default=0)
    if missed is not None and longest < missed:
        message = f"the run has at most {longest:,} candidates per context, not {missed:,}."
        raise UsageError(message, hint=f"Rank deeper: {worded('depth')}.")
    return [
        span
        for span in spans
        if (not groups or span.group in groups)
        and (sentences is None or len(span.span) == sentences)
        and (missed is None or span.docno not in ranking.get(span.id, ())[:missed])
    ]


def texts_of(tasks: Iterable[SpanTask], docnos: Collection[str]) -> dict[str, str]:
    """The texts of some of the tasks' candidates, by docno."""
    return {
        docno: task.texts[place]
        for task in tasks
        for place, docno in enumerate(task.docnos)
        if docno in docnos
    }


def tasks_of_key(tasks: Sequence[SpanTask], key: Key) -> list[SpanTask]:
    """Each item's context with the candidates of the key alone."""
    texts = texts_of(tasks, {docno for answer in key.answers.values() for docno in answer.docnos})
    of_items = list[SpanTask]()
    for span in (span for task in tasks for span in task.spans if span.id in key.answers):
        answer = key.answers[span.id]
        if lacking := next((docno for docno in answer.docnos if docno not in texts), None):
            raise UsageError(f"the candidate {lacking!r} of {span.id!r} is not among the data's.")
        shown = [texts[docno] for docno in answer.docnos]
        of_items.append(SpanTask([span], shown, answer.docnos, np.array([answer.gold - 1])))
    if lacking := min(key.answers.keys() - {task.spans[0].id for task in of_items}, default=None):
        raise UsageError(f"the item {lacking!r} of the key is not among the contexts.")
    return of_items


def _digest(purpose: str, seed: int, name: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{purpose}\0{seed}\0{name}".encode()).digest()[:8])


def write_task(key: Key, spans: Iterable[MaskedSpan], texts: Mapping[str, str], path: Path) -> None:
    sides = {span.id: context(span) for span in spans if span.id in key.answers}
    with writing_text(path) as handle:
        writer = CsvWriter(handle)
        names = (f"candidate_{number}" for number in range(1, key.options + 1))
        writer.row(["item", "context", *names, "choice", "task"])
        for item, answer in key.answers.items():
            left, right = sides[item]
            whole = " ".join(part for part in (left, MASK, right) if part)
            shown = [" ".join(texts[docno].split()) for docno in answer.docnos]
            writer.row([item, whole, *shown, "", key.mark])


def write_key(key: Key, path: Path) -> None:
    numbers = range(1, key.options + 1)
    with writing_text(path) as handle:
        writer = CsvWriter(handle)
        writer.row(["item", "gold", "group", *(f"docno_{n}" for n in numbers), "task"])
        for item, answer in key.answers.items():
            writer.row([item, answer.gold, answer.group, *answer.docnos, key.mark])


def read_key(path: Path) -> Key:
    answers: dict[str, KeyItem] = {}
    marks: dict[str, int] = {}
    for line, record in text_records(path, ("item", "gold", "docno_1", "docno_2", "task")):
        docnos = tuple(record[name] for name in record if name.startswith("docno_"))
        item, gold = record["item"], whole_number(record["gold"], len(docnos))
        message = ""
        if not gold or not all(docnos) or not item:
            message = f"this is not a valid key: gold item {record['gold']!r} of {len(docnos)}."
        elif item in answers:
            message = f"the item {item} is duplicated."
        elif marks and record["task"] not in marks:
            message = "another task's key begins here."
        if message or not gold:
            raise InputError(message, path=path, line=line, hint="Use the unchanged key.")
        marks[record["task"]] = line
        answers[item] = KeyItem(gold, docnos, record.get("group", ""))
    if not answers:
        raise InputError("it contains no answers.", path=path)
    return Key(answers, next(iter(marks)))


def read_choices(path: Path, key: Key, judge: str) -> dict[str, Choices]:
    places = {item: place for place, item in enumerate(key.answers)}
    chosen_of: dict[str, Choices] = {}
    seen: dict[tuple[str, str], int] = {}
    for line, record in text_records(path, ("item", "choice")):
        item, name, choice = record["item"], record.get("rater") or judge, record["choice"]
        number = whole_number(choice, key.options)
        before, message = seen.setdefault((name, item), line), ""
        if record.get("task", key.mark) not in ("", key.mark):
            message = (
                f"this choice belongs to the task {record['task']}, but the key to {key.mark}."
            )
        elif item not in places:
            message = f"the key lacks the item {item!r}."
        elif before != line:
            message = f"{name} has two choices for {item}, the first on line {before}."
        elif choice and not number:
            message = f"the choice {choice!r} is not one of 1 to {key.options}."
        if message:
            hint = "Use the key that was written with the task."
            raise InputError(message, path=path, line=line, hint=hint)
        mine = chosen_of.setdefault(name, np.zeros(len(places), dtype=np.int64))
        mine[places[item]] = number or 0
    if not any(chosen.any() for chosen in chosen_of.values()):
        raise InputError("it does not contain any choices.", path=path)
    return chosen_of


def choices_of_scores(
    name: str, scores: Mapping[str, Mapping[str, float]], key: Key
) -> tuple[Choices, int]:
    """A model's choices: the candidate with the highest score; ties count against the gold item.

    Also the number of items in which a candidate lacks a score and so ranks last.
    """
    chosen = np.zeros(len(key.answers), dtype=np.int64)
    partial = 0
    for place, (item, answer) in enumerate(key.answers.items()):
        scores_of_item = [scores.get(item, {}).get(docno, -np.inf) for docno in answer.docnos]
        scored = int(np.isfinite(scores_of_item).sum())
        partial += 0 < scored < len(scores_of_item)
        if scored:
            options = range(1, key.options + 1)
            chosen[place] = max(
                options,
                key=lambda option: (scores_of_item[option - 1], option != answer.gold, -option),
            )
    if not chosen.any():
        raise UsageError(f"{name} does not score any candidates of the task.")
    return chosen, partial


def majority(judges: Sequence[Choices]) -> Choices:
    """The option that more than half of an item's answers chose; 0 if there is none."""
    votes = np.stack(judges)
    answers, result = (votes > 0).sum(axis=0), np.zeros(votes.shape[1], dtype=np.int64)
    for number in range(1, int(votes.max(initial=0)) + 1):
        result[2 * (votes == number).sum(axis=0) > answers] = number
    return result


def proxy_table(
    key: Key,
    judges: Mapping[str, Choices],
    models: Mapping[str, Choices],
    drawing: Bootstrap,
    layout: Layout,
    *,
    by_group: bool = False,
) -> ResultTable:
    """Accuracy with Wilson's interval, overall and by groups of items.

    An item without a majority is wrong: in the study two of three judges must choose the gold item.
    """
    gold = np.array([answer.gold for answer in key.answers.values()])
    of_group = np.array([answer.group for answer in key.answers.values()])
    groups = [name for name in dict.fromkeys(of_group.tolist()) if name] if by_group else []
    answered = {name: (chosen, chosen > 0) for name, chosen in judges.items()}
    if len(judges) > 1:
        choices = list(judges.values())
        answered[MAJORITY] = majority(choices), np.any(np.stack(choices) > 0, axis=0)
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


def _notes(key: Key, judges: Sequence[Choices], drawing: Bootstrap) -> list[str]:
    percent = f"{100 * drawing.confidence:g}%"
    notes = [
        f"{len(key.answers):,} items with {key.options} candidates each; low and high: Wilson's "
        f"{percent} interval."
    ]
    if len(judges) < 2:
        return notes
    notes.append("majority: more than half of an item's answers are the gold item.")
    votes = np.stack(judges, axis=1)
    items, _ = np.nonzero(votes)
    answers = pl.DataFrame({"item": items, "value": votes[votes > 0]})
    _, counts, _ = votes_by_unit(answers, "item")
    usual, is_usual = most_common_count(counts)
    if usual < 2:
        return [*notes, "Most items have one answer, so agreement cannot be measured."]
    table = counts[is_usual]
    shown = "undefined"
    drawn = drawing.samples, drawing.seed, drawing.confidence
    if kappa := estimated(fleiss_kappa(table), np.arange(len(table)), *drawn):
        shown = f"{kappa[0]:.3f} ({percent} interval {kappa[1]:.3f} to {kappa[2]:.3f})"
    # Options are shuffled per item, which suits the free-marginal kappa best.
    agreeing = (table * (table - 1)).sum() / (len(table) * usual * (usual - 1))
    free = float((agreeing - 1 / key.options) / (1 - 1 / key.options))
    highest = table.max(axis=1)
    notes.append(
        f"Judges, on {len(table):,} items with {usual} answers: Fleiss' kappa {shown}, "
        f"free-marginal {free:.3f}; all agree on {(highest == usual).mean():.1%}, none on "
        f"{(highest == 1).mean():.1%}."
    )
    if left_out := len(counts) - len(table):
        notes.append(f"{left_out:,} items with another number of answers are excluded.")
    return notes
