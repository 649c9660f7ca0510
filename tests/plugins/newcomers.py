"""One kind of each family, of an author who is not of Adducir: a class each, and no other line."""

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from adducir.core.errors import InputError
from adducir.core.files import read_lines
from adducir.corpora.documents import Document, check_docno
from adducir.corpora.formats import CorpusFormat
from adducir.encoders.kinds import TextEncoder
from adducir.evaluation.formulas import MeasureKind
from adducir.experiments.retrieval.runs import System, SystemRun
from adducir.indexes.feedback import FeedbackMethod
from adducir.indexes.languages import AnalyserChain
from adducir.indexes.models import Model
from adducir.rerankers.recipe import Pointwise, RerankerRecipe
from adducir.runs.fusion import FusionMethod
from adducir.statistics.settings import Correction, SignificanceTest
from adducir.studies.complementary_evidence.questions import SelectedSet
from adducir.studies.complementary_evidence.selection import Selector
from adducir.studies.grounded_generation.generators.kinds import GeneratorRecipe
from adducir.tables.formats import TableFormat
from adducir.training.losses import Loss

POINTS = {
    "adducir.languages": {"en-plain": "Plain"},
    "adducir.models": {"counts": "Counts"},
    "adducir.feedback": {"first": "First"},
    "adducir.formats": {"colons": "Colons"},
    "adducir.fusion": {"points": "Borda"},
    "adducir.measures": {"FirstGrade": "FirstGrade"},
    "adducir.tests": {"cautious": "Cautious"},
    "adducir.corrections": {"one-step": "Sidak"},
    "adducir.tables": {"org": "Org"},
    "adducir.rerankers": {"overlap": "Overlap"},
    "adducir.encoders": {"hashing": "Hashing"},
    "adducir.selectors": {"lead": "Lead"},
    "adducir.generators": {"trusting": "Trusting"},
    "adducir.systems": {"top": "Top"},
    "adducir.losses": {"hinge": "Hinge"},
}


class Plain(AnalyserChain):
    """English, lower-cased and no more."""

    label: ClassVar = "English, plain"
    parts: ClassVar = ("standard", "lowercase")


class Counts(Model):
    """The frequency of the query's terms, to a power."""

    power: float = Field(1.0, gt=0, description="The power.")

    def term_factors(self, statistics):
        return np.ones(len(statistics.occurrences))

    def length_factors(self, statistics):
        return np.ones(len(statistics.lengths))

    def impacts(self, terms, tfs, lengths):
        return tfs**self.power * terms


class First(FeedbackMethod):
    """The query with the terms of the documents found."""

    share: float = Field(0.5, ge=0, description="The weight of each term of a document.")

    def expanded(self, query, documents, collection):
        terms = dict.fromkeys((term for one in documents for term in one.terms), self.share)
        return terms | {term: 1.0 + terms.get(term, 0) for term in query}


class Colons(CorpusFormat):
    """One document a line: its docno, a colon, its text."""

    suffixes: ClassVar = (".colons",)

    def read(
        self, path: Path, docno_field: str | None, folder: Path
    ) -> Iterator[tuple[int, Document]]:
        for number, line in read_lines(path):
            docno, colon, text = line.partition(":")
            if not colon:
                raise InputError("there is no colon.", path=path, line=number)
            check_docno(docno, path, number)
            yield number, Document(docno, {"text": text.strip()})


class Borda(FusionMethod):
    """Points for each document that is ranked below."""

    bonus: float = Field(0.0, ge=0)
    """Points for being ranked at all."""

    def contributions(self, run):
        return run.lengths[run.topics] - run.ranks - 1 + self.bonus


class FirstGrade(MeasureKind):
    """The grade of the first document, over a highest grade."""

    highest: int = Field(1, ge=1, description="The highest grade.")

    def values(self, lists):
        ranked = lists.ranked(condensed=False)
        first = (ranked.rank == 0) & (ranked.grade > 0)
        return lists.sums(ranked.topic[first], ranked.grade[first] / self.highest)


class Cautious(SignificanceTest):
    """A test that finds no difference."""

    title: ClassVar = "cautious test"

    def rows(self, first, second):
        means = (first - second).mean(axis=1)
        return means, np.ones_like(means)


class Sidak(Correction):
    """Sidak's correction, for independent tests."""

    title: ClassVar = "Sidak"

    def adjusted(self, p):
        return np.clip(-np.expm1(p.size * np.log1p(-np.minimum(p, 1 - 1e-16))), p, 1.0)


class Org(TableFormat):
    """Org-mode's table."""

    ending: ClassVar = ".org"

    def render(self, table):
        lines = [["System", *(column.title for column in table.columns)]]
        for row in table.rows:
            lines.append([row.title, *(f"{cell.mean:.3f}" for cell in row.cells)])
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)


class Hinge(Loss):
    """How far negatives of a query's own are above its positive, less a margin."""

    needs_negatives: ClassVar = True
    margin: float = Field(1.0, ge=0, description="How far below they should be.")

    def __call__(self, batch):
        own = batch.lists()
        scores = self.scaled(own)
        above = (scores[:, 1:] - scores[:, :1] + self.margin).clamp(min=0)
        return above[own.own[:, 1:]].mean()


class Overlap(RerankerRecipe):
    """The share of the query's words that a text holds."""

    model: Literal["overlap"] = "overlap"
    base: str = ""

    def load(self, source):
        return _Words()

    def scale(self, source):
        return "share of the query's words"


class _Words(Pointwise):
    def scores(self, pairs):
        words = [(set(query.split()), set(text.split())) for query, text in pairs]
        return np.array([len(asked & found) / max(1, len(asked)) for asked, found in words])

    def to(self, device):
        pass


class Hashing(TextEncoder):
    """Counts of words in so many buckets, by a checksum, at length 1."""

    width: int = Field(64, ge=1, description="Buckets.")

    def encode(self, texts, side):
        found = np.zeros((len(texts), self.width), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                found[row, zlib.crc32(word.encode()) % self.width] += 1
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1)


class Lead(Selector):
    """The first passages."""

    size: int = Field(2, ge=1, description="Passages of a set.")

    def choose(self, questions: Sequence) -> list[SelectedSet]:
        chosen = [[passage.id for passage in one.passages[: self.size]] for one in questions]
        return [
            SelectedSet(one.id, tuple(ids), float(len(ids)))
            for one, ids in zip(questions, chosen, strict=True)
        ]


class Trusting(GeneratorRecipe):
    """A lexical mixture that trusts the passage from the start."""

    trusting: float = Field(0.99, gt=0, lt=1, description="Share of the passage.")

    def load(self, folder):
        from adducir.studies.grounded_generation.generators.generator import Lexical

        return Lexical(self.trusting)


class Top(System):
    """The first documents of another system."""

    verb: ClassVar[str] = "cut"
    references: ClassVar[dict[str, str]] = {"top": "systems"}
    top: str
    """The other system."""
    count: int = 1
    """How many documents of each topic."""

    def identity(self, step):
        return {"count": self.count}

    def answer(self, step, context):
        run = step.parts["top"].read().top(self.count)
        return SystemRun(run, f"{len(run)} documents", {"cut": self.count})
