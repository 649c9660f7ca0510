"""A small study that holds an input for every command that writes."""

import json
import random
from pathlib import Path

from some_questions import some_questions
from some_spans import some_spans
from tiny import WORDS, tiny_bert
from tiny_t5 import sharpened, tiny_t5

from adducir.cli.app import main
from adducir.corpora.spans import MaskedSpan, write_spans
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
    "rerankers/drn.yaml": f"""kind: drn
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
    "experiments/ranks.yaml": f"""task: known-item
description: Ranks.
data: {{A: {{spans: spans.jsonl, part: test, shares: {SHARES}}}}}
contexts: {{L: {{right: 0}}}}
systems: {{BM25: {{bm25: {{}}}}, zero: {{encoder: models/bert}}}}
comparison: {{baseline: BM25}}
""",
    "experiments/sets.yaml": """task: evidence-sets
description: Sets.
data: {A: [{train: questions.jsonl, validation: validation.jsonl, test: test.jsonl}]}
systems:
  ours: {recipe: rerankers/ours.yaml}
  plain: {recipe: rerankers/ours.yaml, set: ["weights={diversity: 0, compactness: 0}"]}
comparison: {baseline: plain}
""",
}


def make_study(folder: Path) -> Path:
    """Write the study into a new folder."""
    for name in ("encoders", "rerankers", "deepct", "experiments", "models", "books", "works"):
        (folder / name).mkdir(parents=True)
    tiny_bert(folder / "models" / "bert")
    sharpened(tiny_bert(folder / "models" / "classifier", kind="BertForSequenceClassification"))
    tiny_t5(folder / "models" / "t5")
    for name, text in RECIPES.items():
        (folder / name).write_text(text, encoding="utf-8")
    _retrieval(folder)
    _spans_and_sets(folder)
    _judgements(folder)
    _grounded(folder)
    _texts(folder)
    for engine in ("memory", "lucene"):
        made = str(folder / "indexes" / engine)
        assert main(["index", str(folder / "corpus.jsonl"), "-o", made, "--engine", engine]) == 0
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
    pairs = [
        {"docno": one["docno"], "weights": {w: 1 + len(w) for w in one["text"].split()}}
        for one in records
    ]
    _lines(folder / "pairs.jsonl", pairs)
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
    _lines(
        folder / "chosen.jsonl",
        [{"id": f"q2-{n}", "chosen": [f"p{n % 4}", "p4"]} for n in range(6)],
    )
    _lines(
        folder / "mnli.jsonl",
        [
            {
                "sentence1": f"Premise {n}",
                "sentence2": " ".join(f"{label}{n}-{w}" for w in range(12)),
                "gold_label": label,
            }
            for n in range(40)
            for label in ("entailment", "neutral", "contradiction")
        ],
    )
    names = LONG_WORDS[:12]
    hotpot = [
        {
            "_id": f"q{n}",
            "question": f"What do {name} and {names[n - 1]} eat?",
            "answer": "",
            "type": "bridge",
            "level": "easy",
            "supporting_facts": [[name, 0], [names[n - 1], 0]],
            "context": [[name, [f"The {name} eats."]], [f"Not {name}", ["Nothing."]]],
        }
        for n, name in enumerate(names)
    ]
    (folder / "hotpot.json").write_text(json.dumps(hotpot))


def _grounded(folder: Path) -> None:
    """Pages, passages, a KILT task, NLGen's table, and what two systems wrote for the task."""
    pages = [
        {"wikipedia_id": f"{n}", "wikipedia_title": name, "text": [name, f"The {name} eats. So?"]}
        for n, name in enumerate(LONG_WORDS[:12])
    ]
    _lines(folder / "pages.jsonl", pages)
    place = {"start_paragraph_id": 1, "start_character": 0, "end_paragraph_id": 1}
    texts = [page["text"][1] for page in pages]
    passages = [
        {
            "id": f"{n}-1",
            "title": page["wikipedia_title"],
            "text": page["text"][1],
            "wikipedia_id": f"{n}",
            **place,
            "end_character": len(page["text"][1]),
        }
        for n, page in enumerate(pages)
    ]
    _lines(folder / "passages.jsonl", passages)
    outputs = [
        {"answer": text, "provenance": [{"wikipedia_id": f"{n}", **place, "end_character": 5}]}
        for n, text in enumerate(texts)
    ]
    _lines(
        folder / "wow.jsonl",
        [{"id": f"d_{n}", "input": "a\nb", "output": [one]} for n, one in enumerate(outputs)],
    )
    for system, words in (("short", 2), ("long", 3)):
        written = [{"text": " ".join(text.split()[:words]), "passage": text} for text in texts]
        _lines(
            folder / f"{system}.jsonl",
            [{"id": f"d_{n}", "outputs": [one] * 2} for n, one in enumerate(written)],
        )
    table = {
        "passages": [[{"is_selected": 1, "passage_text": text}] for text in texts],
        "query": ["what"] * len(texts),
        "query_id": list(range(len(texts))),
        "wellFormedAnswers": [["It eats."]] * len(texts),
    }
    columns = {name: dict(enumerate(column)) for name, column in table.items()}
    (folder / "nlgen.json").write_text(json.dumps(columns))


def _judgements(folder: Path) -> None:
    draw = random.Random(2)
    rows = [
        f"i{item},{rater},{system},{draw.randint(1, 5)},{draw.randint(1, 2)}\n"
        for item in range(6)
        for rater in ("anna", "ben")
        for system in ("a", "b")
    ]
    (folder / "ratings.csv").write_text("item,rater,system,rating,rank\n" + "".join(rows))
    for name, least in (("bm25", 5), ("dense", 1)):
        lines = [f"q{n}\t{least + n % 4}\t10\t{n % 2}\n" for n in range(8)]
        (folder / f"{name}.tsv").write_text("qid\trank\tcandidates\tlength\n" + "".join(lines))
    span = MaskedSpan("1", "emma", ("Left of it.",), ("x",), ("Right of it.",), "d1")
    write_spans([span], folder / "proxy-spans.jsonl")
    lines = [f"1 Q0 d{n} {n} {50 - n} pool\n" for n in range(1, 9)]
    (folder / "pool.trec").write_text("".join(lines))


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
        (folder / "works" / f"work{number}.txt").write_text(
            "The opening of this little book has been praised more often than it has been read.\n"
            f'Much depends on what we are told of her:\n\n"Old {name} counted her {number + 3} '
            'baskets twice, for she trusted nobody, and herself least\nof all" (45).\n\n'
            "It is here that the author shows what can be done with a sober style.\n"
        )
