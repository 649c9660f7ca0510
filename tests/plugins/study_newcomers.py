"""Kinds that stand in experiment files alone, of an author who is not of Adducir."""

import json
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from adducir.core.files import file_digest, read_lines
from adducir.core.fingerprint import fingerprint
from adducir.core.manifests import open_artifact
from adducir.corpora.documents import Document, text_of
from adducir.corpora.sources import file_path
from adducir.corpora.spans import MaskedSpan
from adducir.encoders.ranking import ContextReader, context_ranks, task_among
from adducir.evaluation.measures import parse_measure
from adducir.evaluation.scores import Scores
from adducir.experiments.known_item.system import RankingSystem, gold_ranks
from adducir.experiments.retrieval.corpora import CorpusRecipe, OpenedCorpus
from adducir.experiments.step import ArtifactStep
from adducir.experiments.tasks import Study, StudyTable, Task, Trial
from adducir.indexes.hits import Hits
from adducir.indexes.index import Index
from adducir.indexes.settings import IndexSettings
from adducir.statistics.comparison import compare
from adducir.tables.build import build_table

POINTS = {
    "adducir.contexts": {"cloze": "Cloze"},
    "adducir.corpora": {"inline": "Inline"},
    "adducir.indexes": {"words": "Words"},
    "adducir.ranking_systems": {"shortest": "Shortest"},
    "adducir.tasks": {"lengths": "Lengths"},
}
SETTINGS = {
    "inline": {"inline": {"x": "a text"}},
    "shortest": {"shortest": True},
    "lengths": {"task": "lengths", "systems": {"A": "a.txt"}},
}
"""What kinds need that cannot be made up."""


class Cloze(ContextReader):
    """Lines of a text with a gap, ``The [cat] sat.``, each gap's words a candidate for all."""

    def tasks(self, path):
        lines = [line.replace("]", "[").split("[") for line in path.read_text().splitlines()]
        spans = [
            MaskedSpan(f"s{number}", "all", (left,), (gap,), (right,))
            for number, (left, gap, right) in enumerate(lines)
        ]
        yield task_among(spans, spans)


class Inline(CorpusRecipe):
    """Documents that stand in the experiment file itself."""

    inline: dict[str, str]
    """Their texts, by docno."""

    @property
    def label(self):
        return "inline"

    def open(self, opening):
        return OpenedCorpus(_Texts(self.inline))


class _Texts:
    source = "inline"
    default_fields = ("text",)

    def __init__(self, texts):
        self.texts = texts

    def __iter__(self):
        return (Document(docno, {"text": text}) for docno, text in self.texts.items())

    def identity(self):
        return {"texts": fingerprint(self.texts)}

    def size_hint(self):
        return len(self.texts)

    def places(self, docno):
        return []


class Words(IndexSettings):
    """The words of each document, to be counted."""

    engine: ClassVar[str] = "words"
    artifact: ClassVar[str] = "words-index"

    def write(self, corpus, folder, running):
        words = {one.docno: text_of(one, self.fields).split() for one in corpus}
        (folder / "words.json").write_text(json.dumps(words))
        return {"documents": len(words)}

    @classmethod
    def open(cls, path, **_):
        return WordsIndex(path, open_artifact(path, cls.artifact))


class WordsIndex(Index):
    default_model = ""  # it has its own

    @property
    def docnos(self):
        return pl.Series("docno", list(self.words), dtype=pl.String)

    @property
    def words(self):
        return json.loads((self.path / "words.json").read_text())

    def search(self, queries, model=None, *, feedback=None, depth=1000, threads=None):
        counted = [
            sorted(
                ((sum(one in query.split() for one in held), docno), docno)
                for docno, held in self.words.items()
            )[::-1][:depth]
            for query in queries
        ]
        return Hits(
            np.array([len(ranking) for ranking in counted], dtype=np.int32),
            pl.Series([docno for ranking in counted for _, docno in ranking], dtype=pl.String),
            np.array([score for ranking in counted for (score, _), _ in ranking], dtype=np.float32),
        )

    def settings(self, model, feedback):
        return {"engine": "words"}


class Shortest(RankingSystem):
    """The shortest candidates first."""

    shortest: Literal[True]
    """Always true."""

    def fingerprint_inputs(self, step):
        return {"shortest": True}

    def ranks(self, step, tasks, context):
        def rank(task):
            same = task.same
            texts = same.picked(task.texts)
            values = -np.array([len(text) for text in texts], dtype=np.float32)
            gold = same.of[task.gold]
            return context_ranks(
                lambda first, last: np.tile(values, (last - first, 1)), gold, same.counts
            )

        return gold_ranks(tasks, [rank(task) for task in tasks])


class Lengths(Task):
    """How long the lines of files are."""

    task: Literal["lengths"]
    """``lengths``."""
    systems: dict[str, str]
    """The files, by the name of their system."""

    def study(self, planner):
        return LengthStudy(self, planner)


class LengthStudy(Study):
    makes = "counts"

    def trials(self):
        return [Trial(name) for name in self.recipe.systems]

    def step(self, trial):
        return _Count(trial, self)

    def result_tables(self, context):
        scores = [step.scores() for step in self.steps.values()]
        compared = compare(scores, self.recipe.comparison)
        return [StudyTable(build_table(compared, self.layout({})))]


class _Count(ArtifactStep):
    kind = "line-lengths"
    version = 1
    verb = "count"

    def __init__(self, trial, study):
        self.name = trial.system
        self.file = file_path(study.recipe.systems[trial.system], study.folder)
        self.digest = file_digest(self.file)
        self.path = study.path_of(trial)

    def recipe(self):
        return {}

    def identities(self):
        return {"file": self.digest}

    def fill(self, folder, context):
        lengths = [len(line) for _, line in read_lines(self.file)]
        (folder / "lengths.json").write_text(json.dumps(lengths))
        return {"lines": len(lengths)}

    def scores(self):
        values = np.array(json.loads((self.path / "lengths.json").read_text()), dtype=float)
        qids = tuple(str(number) for number in range(len(values)))
        return Scores.of(self.name, qids, (parse_measure("NumRet"),), values[:, None])
