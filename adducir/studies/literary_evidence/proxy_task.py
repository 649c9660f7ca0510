"""The proxy task of literary evidence: choose the gold item among a few candidates.

Thousands of candidates cannot be put before people. RELiC (Thai et al., 2022, section 4) lets them
choose among three: the gold item and BM25's two best other candidates, in random order, so that
string overlap does not give the answer away. A candidate with the gold item's own words (case and
white space apart) is no other candidate, nor is a repetition of one that was taken.

* The task, CSV or JSONL by the name: ``item``, ``context``, ``candidate_1`` ... ``candidate_n``
  (JSONL: a list ``candidates``), an empty ``choice`` to be filled in with the number of a
  candidate, and ``task``, the mark that says which key belongs to it. Neither docnos nor the gold
  item stand in it.
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

from adducir.core.csv_files import CsvWriter
from adducir.core.errors import InputError, UsageError
from adducir.core.files import writing_text
from adducir.core.texts import same_text, whole_number
from adducir.corpora.spans import context, read_spans
from adducir.evaluation.records import records

MASK = "[masked]"


class Question(NamedTuple):
    """A context, and the docno of what was masked in it; a group to break figures down by."""

    id: str
    context: str
    gold: str
    group: str = ""


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
        """How many candidates an item has."""
        return len(next(iter(self.answers.values())).docnos)


def questions_of_spans(path: Path) -> list[Question]:
    """Masked spans with their contexts; the span's group is the item's.

    Raises:
        InputError: A span names no candidate as its gold item.
    """
    found = []
    for span in read_spans(path):
        if span.candidate is None:
            raise InputError(f"the span {span.id} names no candidate as its gold item.", path=path)
        left, right = context(span)
        whole = " ".join(part for part in (left, MASK, right) if part)
        found.append(Question(span.id, whole, span.candidate, span.group))
    return found


def make_key(
    questions: Iterable[Question],
    ranking: Mapping[str, Sequence[str]],
    texts: Mapping[str, str],
    *,
    others: int = 2,
    seed: int = 0,
    sample: int | None = None,
) -> tuple[Key, Counter[str]]:
    """Choose the candidates of every question and shuffle them.

    An item's order depends on the seed and on its own id alone.

    Args:
        ranking: Docnos of the ranker (BM25, say) for each question, best first.
        texts: The text of each docno; a ranked one without text is ignored.
        others: Candidates beside the gold item.
        sample: Take so many of the items that can be made.

    Returns:
        The key, and how many questions made no item, by reason.

    Raises:
        UsageError: An id is duplicated, or nothing is left.
    """
    items: dict[str, Answer] = {}
    left_out = Counter[str]()
    for question in questions:
        if question.id in items:
            raise UsageError(f"the question {question.id} is duplicated.")
        chosen = {same_text(texts.get(question.gold, "")): question.gold}
        for docno in ranking.get(question.id, ()):
            if len(chosen) <= others and (words := same_text(texts.get(docno, ""))):
                chosen.setdefault(words, docno)
        if "" in chosen:
            left_out["gold item not in the corpus"] += 1
        elif question.id not in ranking:
            left_out["not in the run"] += 1
        elif len(chosen) <= others:
            left_out["too few other candidates"] += 1
        else:
            docnos = list(chosen.values())
            draw = np.random.default_rng(_digest("order", seed, question.id))
            shown = tuple(docnos[place] for place in draw.permutation(len(docnos)))
            gold = shown.index(question.gold) + 1
            items[question.id] = Answer(gold, shown, question.group)
    if not items:
        reasons = ", ".join(f"{reason}: {count}" for reason, count in left_out.items())
        raise UsageError(f"no question can be asked ({reasons or 'there is none'}).")
    kept = set(sorted(items, key=lambda one: _digest("sample", seed, one))[:sample])
    answers = {name: one for name, one in items.items() if name in kept}
    shown_items = json.dumps([(name, one.docnos) for name, one in answers.items()])
    return Key(answers, hashlib.sha256(shown_items.encode()).hexdigest()[:12]), left_out


def _digest(what: str, seed: int, name: str) -> int:
    """A number for a seed and a name, the same on every machine."""
    return int.from_bytes(hashlib.sha256(f"{what}\0{seed}\0{name}".encode()).digest()[:8])


def write_task(
    key: Key, questions: Iterable[Question], texts: Mapping[str, str], path: Path
) -> None:
    """Write what judges see, as CSV or as JSON lines."""
    contexts = {question.id: question.context for question in questions}
    is_csv = Path(path.name.removesuffix(".gz")).suffix.lower() == ".csv"
    with writing_text(path) as handle:
        writer = CsvWriter(handle)
        if is_csv:
            names = (f"candidate_{number}" for number in range(1, key.options + 1))
            writer.row(["item", "context", *names, "choice", "task"])
        for item, answer in key.answers.items():
            shown = [" ".join(texts[docno].split()) for docno in answer.docnos]
            if is_csv:
                writer.row([item, contexts[item], *shown, "", key.mark])
                continue
            texts_shown = {"context": contexts[item], "candidates": shown}
            record = {"item": item, **texts_shown, "choice": None, "task": key.mark}
            handle.write(json.dumps(record, ensure_ascii=False) + "\n")


def write_key(key: Key, path: Path) -> None:
    """Write the answers."""
    numbers = range(1, key.options + 1)
    with writing_text(path) as handle:
        writer = CsvWriter(handle)
        writer.row(["item", "gold", "group", *(f"docno_{n}" for n in numbers), "task"])
        for item, one in key.answers.items():
            writer.row([item, one.gold, one.group, *one.docnos, key.mark])


def read_key(path: Path) -> Key:
    """Read the answers.

    Raises:
        InputError: The file is not a key; with the line.
    """
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
            raise InputError(what, path=path, line=line, hint="Take the key as it was written.")
        marks[record["task"]] = line
        answers[item] = Answer(gold, docnos, record.get("group", ""))
    if not answers:
        raise InputError("there is no answer in it.", path=path)
    return Key(answers, next(iter(marks)))
