"""Extraction of examples, held against people's labels.

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

    ADDUCIR_COLLECTIONS=... python benchmarks/examples_against_roles.py [--show 20]
"""

import argparse
import json
import os
import re
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from adducir.studies.exemplification.units import SENTENCE, Sentences, find_units

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--show", type=int, default=0, help="wrong and missed ones to print")
    show = parser.parse_args().show
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


FORMS = (SENTENCE, "parenthesis")

if __name__ == "__main__":
    main()
