"""Spans that are taken out of text, held against people's labels and against raw texts.

First, examples of a claim:

755 answers (ELI5, Natural Questions, WebGPT and a model's) have a role for each sentence, agreed
on by three people; "Answer - Example" is one (Xu, Li and Choi, 2022: How do we answer complex
questions? Discourse structure of long-form answers). A unit is right where a sentence of this role
overlaps it.

Three things keep the figures apart from 1, and none is an error of the extraction: examples without
a marker, which EGRET leaves out; examples that go on for several sentences, of which the marker is
in one; and roles that are one a sentence, so that a clause in parentheses is seldom what its
sentence is labelled for. Hence recall is reported over runs of example sentences and over those
that hold a marker as well, and precision by form, and once more where any of the three people said
"example".

Second, quotations of a book:

A run is 26 words or more that a book and a work of criticism have in common, found over the raw
texts by looking up every 26 words of one in the other: no sentences, no likeness, nothing of
Adducir's search. It is covered where a window's passage holds half of it, or 26 of its words, and
the window stands there in the criticism.

    ADDUCIR_COLLECTIONS=... python benchmarks/spans_found.py examples [--show 20]
    ADDUCIR_COLLECTIONS=... python benchmarks/spans_found.py quotations [--rules strict] [--show 20]
"""

import argparse
import json
import os
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from adducir.core.files import read_text
from adducir.studies.books import body
from adducir.studies.exemplification.units import SENTENCE, Sentences, find_units
from adducir.studies.literary_evidence.finding import Rules
from adducir.studies.literary_evidence.quotations import Built, find_quotations
from adducir.studies.literary_evidence.sources import Source, read_source, text_files

FORMS = (SENTENCE, "parenthesis")
EXAMPLE = "Answer - Example"
MARKER = re.compile(r"for\s+example|\be\.?\s?g\b", re.IGNORECASE)


class Labelled(NamedTuple):
    """A sentence of an answer and what people said of it."""

    start: int
    end: int
    agreed: bool
    by_any: bool


def labelled(record: dict) -> list[Labelled] | None:
    """The sentences by place; None where one cannot be found in the text."""
    text, place, found = record["answer_paragraph"], 0, []
    for sentence, role, roles in zip(
        record["answer_sentences"],
        record["role_annotation"],
        record["raw_role_annotation"],
        strict=True,
    ):
        words = sentence.split()
        if not words:
            continue
        at = re.compile(r"\s+".join(map(re.escape, words))).search(text, place)
        if at is None:
            return None
        place = at.end()
        found.append(Labelled(at.start(), at.end(), role == EXAMPLE, EXAMPLE in roles))
    return found


def examples(show: int) -> None:
    path = Path(os.environ["ADDUCIR_COLLECTIONS"]) / "eli5" / "lfqa_discourse.role_annotation.jsonl"
    count: Counter[str] = Counter()
    wrong, missed = [], []
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        sentences = labelled(record)
        if sentences is None:
            count["left out"] += 1
            continue
        count["answers"] += 1
        text = record["answer_paragraph"]
        units = [unit for unit in find_units(Sentences(text)) if unit.reason is None]
        for unit in units:
            met = [s for s in sentences if s.start < unit.end and unit.start < s.end]
            count[unit.form] += 1
            count[f"{unit.form} agreed"] += any(s.agreed for s in met)
            count[f"{unit.form} by any"] += any(s.by_any for s in met)
            if not any(s.by_any for s in met):
                wrong.append(text[unit.start : unit.end])
        hit = [any(u.start < s.end and s.start < u.end for u in units) for s in sentences]
        pairs = list(zip(sentences, hit, strict=True))
        for sentence, is_hit in pairs:
            if sentence.agreed:
                marked = MARKER.search(text, sentence.start, sentence.end) is not None
                count["examples"] += 1
                count["examples hit"] += is_hit
                count["marked"] += marked
                count["marked hit"] += marked and is_hit
                if marked and not is_hit:
                    missed.append(text[sentence.start : sentence.end])
        for is_example, run in groupby(pairs, key=lambda pair: pair[0].agreed):
            if is_example:
                count["runs"] += 1
                count["runs hit"] += any(is_hit for _, is_hit in run)
    report(count)
    for title, texts in (("wrong", wrong), ("missed", missed)):
        for each in texts[:show]:
            print(f"{title}: {' '.join(each.split())}")


def report(count: Counter[str]) -> None:
    """Precision and recall, each with what it is a share of."""
    units = count[SENTENCE] + count["parenthesis"]
    rows = [
        ("precision, all units", sum(count[f"{f} agreed"] for f in FORMS), units),
        ("precision, sentences", count["sentence agreed"], count[SENTENCE]),
        ("precision, parentheses", count["parenthesis agreed"], count["parenthesis"]),
        ("said by any of three, all units", sum(count[f"{f} by any"] for f in FORMS), units),
        ("said by any of three, sentences", count["sentence by any"], count[SENTENCE]),
        ("said by any of three, parentheses", count["parenthesis by any"], count["parenthesis"]),
        ("recall, sentences with a marker", count["marked hit"], count["marked"]),
        ("recall, all example sentences", count["examples hit"], count["examples"]),
        ("recall, runs of example sentences", count["runs hit"], count["runs"]),
    ]
    print(f"{count['answers']} answers ({count['left out']} left out: not aligned), {units} units")
    for name, part, whole in rows:
        print(f"{name:36} {part / whole if whole else 0:6.3f}  ({part} of {whole})")


LEAST = 26
WORD = re.compile(r"[^\W_]+")


class Text(NamedTuple):
    """Words, and the sentence of each."""

    words: list[str]
    sentences: list[int]

    def place(self, run: Sequence[str], places: dict[tuple[str, ...], int]) -> int | None:
        """Where a run begins, although reading may have taken a note out of it; None: nowhere."""
        for at in range(len(run) - LEAST + 1):
            found = places.get(tuple(run[at : at + LEAST]))
            if found is not None:
                return found - at
        return None


def text_of(source: Source) -> Text:
    pairs = [(word, n) for n, text in enumerate(source.sentences) for word in words_of(text)]
    return Text([word for word, _ in pairs], [number for _, number in pairs])


def words_of(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text)]


def places_of(words: Sequence[str]) -> dict[tuple[str, ...], int]:
    return {tuple(words[at : at + LEAST]): at for at in range(len(words) - LEAST + 1)}


def shared_runs(book: Sequence[str], work: Sequence[str]) -> Iterator[list[str]]:
    """Every longest run of words of the work that the book has as well."""
    places = defaultdict(list)
    for at in range(len(book) - LEAST + 1):
        places[hash(tuple(book[at : at + LEAST]))].append(at)
    known: set[tuple[int, int]] = set()
    for there in range(len(work) - LEAST + 1):
        for here in places.get(hash(tuple(work[there : there + LEAST])), ()):
            known.add((here, there))
            if (here - 1, there - 1) in known:
                continue
            count = 0
            while book[here + count : here + count + 1] == work[there + count : there + count + 1]:
                count += 1
                if max(here, there) + count >= max(len(book), len(work)):
                    break
            if count >= LEAST:
                yield list(book[here : here + count])


def is_covered(run: list[str], built: Built, book: str, work: str, texts: dict[str, Text]) -> bool:
    """Whether one window holds enough of a run, in the book and in the work."""
    here, there = (texts[name].place(run, PLACES[name]) for name in (f"b {book}", f"w {work}"))
    if here is None or there is None:
        return False
    wanted = min(len(run) / 2, LEAST)
    for window in built.windows:
        if (window.book, window.work) != (book, work):
            continue
        first = bisect_left(texts[f"b {book}"].sentences, window.start)
        past = bisect_left(texts[f"b {book}"].sentences, window.start + window.length)
        begin = bisect_left(texts[f"w {work}"].sentences, window.place)
        end = begin + len(words_of(window.quoted))
        held = min(past, here + len(run)) - max(first, here)
        masked = min(end, there + len(run)) - max(begin, there)
        if min(held, masked) >= wanted:
            return True
    return False


PLACES: dict[str, dict[tuple[str, ...], int]] = {}


def quotations(rules: str, show: int) -> None:
    folder = Path(os.environ["ADDUCIR_COLLECTIONS"]) / "gutenberg"
    books_at, works_at = (text_files([folder / name]) for name in ("novels", "criticism"))
    books = [read_source(at) for at in books_at]
    works = [read_source(at, is_work=True) for at in works_at]
    built = find_quotations(books, works, Rules(rules=rules))
    texts = {f"b {one.name}": text_of(one) for one in books}
    texts |= {f"w {one.name}": text_of(one) for one in works}
    PLACES.update({name: places_of(text.words) for name, text in texts.items()})
    raw = {at: words_of(body(read_text(at), at)) for at in (*books_at, *works_at)}
    total = covered = 0
    for work_at, work in zip(works_at, works, strict=True):
        for book_at, book in zip(books_at, books, strict=True):
            runs = list(shared_runs(raw[book_at], raw[work_at]))
            hits = [is_covered(run, built, book.name, work.name, texts) for run in runs]
            total, covered = total + len(runs), covered + sum(hits)
            if runs:
                print(f"{work.name:40} {book.name:30} {sum(hits):4} of {len(runs):4}")
            for run in [run for run, hit in zip(runs, hits, strict=True) if not hit][:show]:
                print(f"    {len(run):4} words: {' '.join(run[:6])} …")
    print(f"{covered} of {total} runs of {LEAST} words or more are covered: {covered / total:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("examples", "quotations"))
    parser.add_argument("--rules", default="strict", choices=("strict", "relic"))
    parser.add_argument("--show", type=int, default=0, help="wrong and missed ones to print")
    options = parser.parse_args()
    if options.what == "examples":
        examples(options.show)
    else:
        quotations(options.rules, options.show)


if __name__ == "__main__":
    main()
