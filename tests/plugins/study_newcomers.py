"""Kinds that stand in experiment files alone, of an author who is not of Adducir."""

import json
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from adducir.core.artifacts import artifact_fingerprint, build
from adducir.core.files import file_digest, read_lines
from adducir.core.fingerprint import fingerprint
from adducir.corpora.documents import Document
from adducir.corpora.sources import file_path
from adducir.corpora.spans import MaskedSpan
from adducir.encoders.ranking import ContextReader, context_ranks, task_among
from adducir.evaluation.measures import parse_measure
from adducir.evaluation.scores import Scores
from adducir.experiments.known_item.system import RankingSystem, gold_ranks
from adducir.experiments.retrieval.corpora import CorpusRecipe, OpenedCorpus
from adducir.experiments.retrieval.indexes import IndexPlan, IndexRecipe
from adducir.experiments.step import ArtifactStep
from adducir.experiments.study import Finding, Study, Task, Trial
from adducir.indexes.search import Search
from adducir.runs.run import Run
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
    """Documents that stand in the experiment file itself.

    Attributes:
        inline: Their texts, by docno.
    """

    inline: dict[str, str]

    @property
    def label(self):
        return "inline"

    def open(self, name, seed, study):
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


class Words(IndexRecipe):
    """The words of each document, to be counted.

    Attributes:
        engine: ``words``.
    """

    artifact: ClassVar[str] = "words-index"
    engine: Literal["words"] = "words"

    def plan(self, step, seed, study):
        inputs = {"corpus": fingerprint(step.corpus.identity())}

        def make(folder):
            words = {one.docno: one.fields["text"].split() for one in step.corpus}
            (folder / "words.json").write_text(json.dumps(words))
            return {"documents": len(words)}

        def built(context):
            return build(
                step.path,
                kind=self.artifact,
                recipe={},
                inputs=inputs,
                builder_version=1,
                make=make,
                rebuild=context.rebuild,
            )

        known = artifact_fingerprint(self.artifact, {}, inputs, 1)
        return IndexPlan(lambda: known, {}, built)

    def search(self, step, search, context):
        words = json.loads((step.parts["index"].path / "words.json").read_text())
        rows = [
            (qid, docno, float(sum(one in query.split() for one in held)))
            for qid, query in zip(step.topics.qids, step.topics.queries, strict=True)
            for docno, held in words.items()
        ]
        frame = pl.DataFrame(rows, schema=["qid", "docno", "score"], orient="row")
        frame = frame.sort("qid", "score", "docno", descending=[False, True, True])
        return Search(Run(frame, step.tag), (), (), (), 0.0, {"engine": self.engine})


class Shortest(RankingSystem):
    """The shortest candidates first.

    Attributes:
        shortest: Always true.
    """

    shortest: Literal[True]

    def fingerprint_inputs(self, study):
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
    """How long the lines of files are.

    Attributes:
        task: ``lengths``.
        systems: The files, by the name of their system.
    """

    task: Literal["lengths"]
    systems: dict[str, str]

    def study(self, planner):
        return LengthStudy(self, planner)


class LengthStudy(Study):
    makes = "counts"

    def trials(self):
        return [Trial(name) for name in self.recipe.systems]

    def step(self, trial):
        return _Count(trial, self)

    def findings(self, context):
        scores = [step.scores() for step in self.steps.values()]
        compared = compare(scores, self.recipe.comparison)
        return [Finding(build_table(compared, self.layout({})))]


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
