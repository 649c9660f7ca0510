"""A tiny study on disk, and how to change and to run it."""

import json
import shutil
from pathlib import Path
from typing import Any

import notes

from adducir.experiments.experiment import ExperimentPlan, Outcome, plan_experiment, run_experiment
from adducir.experiments.step import Context

DOCUMENTS = {
    "d1": "cats purr and cats sleep all day",
    "d2": "dogs bark at cats in the garden",
    "d3": "a dog is a friend of the family",
    "d4": "cats and dogs can share one garden",
    "d5": "goldfish swim in a pond",
    "d6": "ponds in gardens please goldfish and frogs",
    "d7": "frogs croak at night near the pond",
    "d8": "parrots talk and talk and talk",
    "d9": "a parrot may sleep at night, cats may not",
}
TOPICS = {"1": "cats sleep", "2": "dogs in gardens", "3": "pond goldfish", "4": "talking parrots"}
QRELS = [
    ("1", "d1", 2),
    ("1", "d9", 1),
    ("1", "d8", 0),
    ("2", "d4", 2),
    ("2", "d2", 1),
    ("2", "d6", 0),
    ("3", "d5", 2),
    ("3", "d6", 2),
    ("3", "d7", -2),
    ("4", "d8", 1),
    ("4", "d1", 0),
]
EXPERIMENT = """\
description: pets
corpora:
  pets: {source: data/pets.jsonl}
indexes:
  pets: {corpus: pets, fields: [text]}
topics:
  t: {source: data/topics.tsv, qrels: data/qrels.txt}
systems:
  BM25: {index: pets}
  QLD: {index: pets, model: qld}
measures: [nDCG@5, P@1, Judged@3]
comparison: {baseline: BM25}
"""
# Runs and a fusion of them: an experiment that needs no Java.
GIVEN = """\
topics:
  t: {source: data/topics.tsv, qrels: data/qrels.txt}
systems:
  A: {run: data/a.run}
  B: {run: data/b.run}
  A+B: {fuse: [A, B]}
measures: [nDCG@3, P@1]
comparison: {baseline: A}
"""


class Study:
    """A study's folder with a corpus, topics, qrels, two runs and an experiment file."""

    def __init__(self, folder: Path, experiment: str = EXPERIMENT) -> None:
        self.folder = folder
        (folder / "experiments").mkdir(parents=True)
        (folder / "data").mkdir()
        self.file = folder / "experiments" / "pets.yaml"
        self.file.write_text(experiment)
        lines = [json.dumps({"docno": d, "text": text}) for d, text in DOCUMENTS.items()]
        self.write("pets.jsonl", *lines)
        self.write("topics.tsv", *(f"{qid}\t{query}" for qid, query in TOPICS.items()))
        self.write("qrels.txt", *(f"{qid} 0 {docno} {grade}" for qid, docno, grade in QRELS))
        self.write("a.run", *run_lines({"1": "d1 d9 d8", "2": "d4 d2", "3": "d5", "4": "d8"}))
        self.write("b.run", *run_lines({"1": "d9 d1", "2": "d2 d6 d4", "3": "d7", "4": "d1"}))

    def copied(self, folder: Path) -> "Study":
        copy = object.__new__(Study)
        copy.folder = shutil.copytree(self.folder, folder)
        copy.file = folder / "experiments" / "pets.yaml"
        return copy

    def write(self, name: str, *lines: str) -> Path:
        path = self.folder / "data" / name
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    def change(self, old: str, new: str) -> None:
        text = self.file.read_text()
        assert old in text
        self.file.write_text(text.replace(old, new))

    def plan(self, *overrides: str, **options: Any) -> ExperimentPlan:
        return plan_experiment(self.file, overrides, **options)

    def run(self, *overrides: str, **options: Any) -> Outcome:
        return run_experiment(self.plan(*overrides), context=Context(threads=1), **options)

    def path(self, system: str, topic_set: str = "t") -> Path:
        return self.folder / "runs" / "pets" / f"{system}.{topic_set}.trec.gz"

    def verbs(self, *overrides: str, **options: Any) -> dict[str, str]:
        found = {}
        for line in self.plan(*overrides, **options).lines():
            words = line.split()
            if words[1] in ("index", "run"):
                name = Path(words[2].removesuffix(":")).name.removesuffix(".t.trec.gz")
                found[name] = words[0]
        return found


def run_lines(ranking: dict[str, str]) -> list[str]:
    return [
        f"{qid} Q0 {docno} {rank} {100 - rank} given"
        for qid, docnos in ranking.items()
        for rank, docno in enumerate(docnos.split(), 1)
    ]


class Notes(notes.Notes):
    """Keeps also what is started."""

    def start(self, what: str, total: int | None, unit: str) -> None:
        self.lines.append(f"{what} ({unit})")


def notes_of(table) -> str:
    return " ".join("".join(part for part in note if isinstance(part, str)) for note in table.below)
