"""A small study that holds what artifacts are made from."""

import json
import random
from pathlib import Path

from some_questions import some_questions
from some_spans import some_spans
from tiny import WORDS, sharpened, tiny_bert

from adducir.corpora.spans import write_spans
from adducir.studies.complementary_evidence.questions import write_questions

DOCUMENTS = 120
TOPICS = 12
LONG_WORDS = [word for word in WORDS if word.isalpha() and len(word) > 2]
SHARES = "{train: 0.5, validation: 0.25, test: 0.25}"
TRAINING = "training: {epochs: 3, batch_size: 4, learning_rate: 0.001, patience: null}\n"

RECIPES = {
    "encoders/dual.yaml": f"""kind: dual-encoder
base: models/bert
data: {{train: spans.jsonl, shares: {SHARES}}}
batches: {{by: group}}
{TRAINING}""",
    "rerankers/ce.yaml": f"""kind: cross-encoder
base: models/bert
fields: text
examples: {{topics: topics.tsv, qrels: qrels.txt, corpus: {{source: corpus.jsonl}}, runs: a.trec}}
{TRAINING}""",
    "rerankers/ours.yaml": f"""kind: complementary
base: models/bert
data: {{train: questions.jsonl, validation: validation.jsonl}}
{TRAINING}""",
    "deepct/weights.yaml": f"""kind: deepct
corpus: {{source: corpus.jsonl}}
text: text
reference: title
base: models/bert
passages: {{length: 20}}
held_out: {{share: 0.2}}
{TRAINING}""",
    "experiments/table.yaml": """description: A table.
corpora: {all: {source: corpus.jsonl}}
indexes: {memory: {corpus: all, fields: [title, text], engine: memory}}
topics: {t: {source: topics.tsv, qrels: qrels.txt}}
systems:
  BM25: {index: memory}
  A: {run: a.trec}
  A+BM25: {fuse: [A, BM25]}
  tuned: {index: memory, tune: {grid: {k1: [0.5, 0.9], b: [0.2, 0.4]}, folds: {k: 2}}}
measures: [nDCG@5, P@1, Judged@3]
comparison: {baseline: BM25}
""",
}


def make_study(folder: Path) -> Path:
    """Write the study into a new folder."""
    for name in ("encoders", "rerankers", "deepct", "experiments", "models", "books"):
        (folder / name).mkdir(parents=True)
    tiny_bert(folder / "models" / "bert")
    sharpened(tiny_bert(folder / "models" / "classifier", kind="BertForSequenceClassification"))
    for name, text in RECIPES.items():
        (folder / name).write_text(text, encoding="utf-8")
    _retrieval(folder)
    _spans_and_sets(folder)
    _texts(folder)
    return folder


def _lines(path: Path, records: list[dict]) -> None:
    path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")


def _text(draw: random.Random, words: int) -> str:
    return " ".join(draw.choice(LONG_WORDS) for _ in range(words))


def run_text(tag: str, depth: int, seed: int) -> str:
    """A run that ranks random documents."""
    draw, lines = random.Random(seed), []
    for qid in range(1, TOPICS + 1):
        for rank, number in enumerate(draw.sample(range(DOCUMENTS), depth), 1):
            lines.append(f"{qid} Q0 d{number} {rank} {100 - rank} {tag}\n")
    return "".join(lines)


def _retrieval(folder: Path) -> None:
    draw = random.Random(1)
    records = [
        {"docno": f"d{n}", "title": _text(draw, 3), "text": _text(draw, 10 + n % 20)}
        for n in range(DOCUMENTS)
    ]
    _lines(folder / "corpus.jsonl", records)
    topics = "".join(f"{n}\t{_text(draw, 3)}\n" for n in range(1, TOPICS + 1))
    (folder / "topics.tsv").write_text(topics)
    qrels = [
        f"{qid} 0 d{number} {draw.choice((0, 0, 1, 2))}\n"
        for qid in range(1, TOPICS + 1)
        for number in draw.sample(range(DOCUMENTS), 30)
    ]
    (folder / "qrels.txt").write_text("".join(qrels))
    for seed, name in enumerate(("a", "b")):
        (folder / f"{name}.trec").write_text(run_text(name, 20, seed))


def _spans_and_sets(folder: Path) -> None:
    write_spans(some_spans(32, groups=8), folder / "spans.jsonl")
    for seed, (name, count) in enumerate({"questions": 10, "validation": 4, "test": 6}.items()):
        write_questions(some_questions(count, seed=seed), folder / f"{name}.jsonl")


def _texts(folder: Path) -> None:
    names = ("Margaret", "Eleanor", "Dorothea", "Isabella", "Catherine", "Marianne")
    for number, name in enumerate(names):
        tale = (
            f"CHAPTER I\n\nThe harbour lay so still that morning that the gulls of {name} seemed\n"
            f"painted on it. Old {name} counted her {number + 3} baskets twice, for she\n"
            "trusted nobody, and herself least of all. "
            f"For example, {name} guided the blind dogs. They slept well that night.\n"
        )
        (folder / "books" / f"book{number}.txt").write_text(tale)
