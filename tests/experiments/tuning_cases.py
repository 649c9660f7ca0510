"""Small tuning problems whose answers can be worked out by loops."""

import random

import polars as pl

from adducir.corpora.qrels import Qrels
from adducir.corpora.topics import Topics
from adducir.experiments.tuning.folds import JudgedTopics, Pool
from adducir.experiments.tuning.grid import Grid, Hyperparameter
from adducir.experiments.tuning.tune import Tunable, tune
from adducir.runs.run import Run

DOCUMENTS = 12


def topic_set(name, qids, seed=1, *, searched=None, queries=None):
    """A topic set with random grades of every document."""
    draw = random.Random(f"{name} {seed}")
    rows = [
        (qid, f"d{doc}", draw.choice([-2, 0, 0, 1, 2])) for qid in qids for doc in range(DOCUMENTS)
    ]
    schema = {"qid": pl.String, "docno": pl.String, "grade": pl.Int64}
    qrels = Qrels(pl.DataFrame(rows, schema=schema, orient="row"), f"{name}.qrels")
    arguments = list(qids if searched is None else searched)
    texts = queries or [f"query {qid} of {name}" for qid in arguments]
    return JudgedTopics(name, Topics(arguments, texts, f"{name}.tsv"), qrels)


def pool_of(topics=10, seed=1):
    """One topic set of so many topics."""
    return Pool.of([topic_set("one", [str(qid) for qid in range(1, topics + 1)], seed)])


def shuffled(pool, rows, seed):
    """The pool with the labels of some topics shuffled among the topic's documents."""
    draw = random.Random(seed)
    chosen = {pool.ids[row] for row in rows}
    names = dict(zip(zip(pool.set_of.tolist(), pool.qids, strict=True), pool.ids, strict=True))
    sets = []
    for number, each in enumerate(pool.sets):
        grades = []
        for (qid,), group in each.qrels.frame.group_by("qid", maintain_order=True):
            own = group["grade"].to_list()
            if names[number, qid] in chosen:
                draw.shuffle(own)
            grades += own
        frame = each.qrels.frame.with_columns(grade=pl.Series(grades, dtype=pl.Int64))
        sets.append(JudgedTopics(each.name, each.topics, Qrels(frame, each.qrels.source)))
    return Pool.of(sets)


class Toy:
    """Ranks a topic's documents by chance; the chance depends on query and setting."""

    def __init__(self, names=("x", "y")):
        self.hyperparameters = {name: Hyperparameter(low=0) for name in names}
        self.calls = []

    def grid(self, values):
        return Grid.of(values, self.hyperparameters)

    def open(self, check=bool):
        return Tunable(self.run, {"toy": True}, check=check)

    def run(self, setting, topics):
        self.calls.append((tuple(setting.items()), tuple(topics.qids)))
        rows = []
        for qid, query in zip(topics.qids, topics.queries, strict=True):
            draw = random.Random(f"{query} {sorted(setting.items())}")
            rows += [(qid, f"d{doc}", draw.random()) for doc in range(DOCUMENTS)]
        frame = pl.DataFrame(rows, schema=["qid", "docno", "score"], orient="row")
        return Run.ranked(frame, "toy")


def tuned(values, pool, folds, objective, toy=None, **options):
    """A tuning of a toy."""
    toy = toy or Toy()
    return tune(toy.open(), toy.grid(values), pool, folds, objective, **options)
