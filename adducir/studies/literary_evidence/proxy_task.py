"""The proxy task of literary evidence: choose the gold item among a few candidates.

Thousands of candidates cannot be put before people. RELiC (Thai et al., 2022, section 4) lets them
choose among three: the gold item and BM25's two best other candidates, in random order, so that
string overlap does not give the answer away. A candidate with the gold item's own words (case and
white space apart) is not another candidate, nor is a repetition of one that was taken.

* The task, CSV: ``item``, ``context``, ``candidate_1`` ... ``candidate_n``, an empty ``choice`` to
  be filled in with the number of a candidate, and ``task``, the mark that says which key belongs
  to it. Neither docnos nor the gold item stand in it.
* The key, CSV: ``item``, ``gold``, ``group``, ``docno_1`` ... ``docno_n``, ``task``.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from adducir.core.csv_files import CsvWriter, records
from adducir.core.errors import InputError, UsageError
from adducir.core.files import writing_text
from adducir.core.texts import same_text, whole_number
from adducir.corpora.spans import MaskedSpan, context

MASK = "[masked]"


class Answer(NamedTuple):
    """The gold item's number (from 1), the docnos in the order shown, and the item's group."""

    gold: int
    docnos: tuple[str, ...]
    group: str = ""


@dataclass(frozen=True)
class Key:
    """The answers of a task by item, and the mark that identifies it."""

    answers: Mapping[str, Answer]
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
    """Choose the candidates of every span and shuffle them, by the seed and the item's id alone.

    ``ranking`` is docnos by span, best first. Also how many spans made no item, by reason.
    """
    items: dict[str, Answer] = {}
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
            items[span.id] = Answer(gold, shown, span.group)
    if not items:
        reasons = ", ".join(f"{reason}: {count}" for reason, count in left_out.items())
        raise UsageError(f"no item can be made ({reasons or 'there is none'}).")
    kept = set(sorted(items, key=lambda one: _digest("sample", seed, one))[:sample])
    answers = {name: one for name, one in items.items() if name in kept}
    shown_items = json.dumps([(name, one.docnos) for name, one in answers.items()])
    return Key(answers, hashlib.sha256(shown_items.encode()).hexdigest()[:12]), left_out


def _digest(what: str, seed: int, name: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{what}\0{seed}\0{name}".encode()).digest()[:8])


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
        for item, one in key.answers.items():
            writer.row([item, one.gold, one.group, *one.docnos, key.mark])


def read_key(path: Path) -> Key:
    answers: dict[str, Answer] = {}
    marks: dict[str, int] = {}
    for line, record in records(path, ("item", "gold", "docno_1", "docno_2", "task")):
        docnos = tuple(record[name] for name in record if name.startswith("docno_"))
        item, gold = record["item"], whole_number(record["gold"], len(docnos))
        what = ""
        if not gold or not all(docnos) or not item:
            what = f"this is not an answer of a key: gold item {record['gold']!r} of {len(docnos)}."
        elif item in answers:
            what = f"the item {item} is duplicated."
        elif marks and record["task"] not in marks:
            what = "here begins the key of another task."
        if what or not gold:
            raise InputError(what, path=path, line=line, hint="Use the key as it was written.")
        marks[record["task"]] = line
        answers[item] = Answer(gold, docnos, record.get("group", ""))
    if not answers:
        raise InputError("it contains no answers.", path=path)
    return Key(answers, next(iter(marks)))
