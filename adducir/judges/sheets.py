"""The sheet that people fill in, the design that says how it was drawn, and both read back.

``people.csv`` has a row per drawn pair, in random order, blind to the systems and to the model's
grade. ``people.design.json`` beside it holds the frame: every pair in the top k of the runs, its
probability to be drawn, and whether it was. Without it a sample is no sample, so it has a digest.
Drawn are documents within topics, or topics with their whole pools. A pool that grows by new runs
keeps what was drawn; documents are drawn from the new pairs alone.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from adducir.core.csv_files import CsvWriter
from adducir.core.errors import InputError, UsageError
from adducir.core.files import require, writing_text
from adducir.core.json_lines import json_document
from adducir.core.texts import counted
from adducir.corpora.qrels import load_qrels
from adducir.corpora.tables import text_records
from adducir.evaluation.formulas import DCG
from adducir.judges.by_hand import read_ratings
from adducir.judges.files import design_for
from adducir.judges.sampling import draw_documents, draw_topics, pair_weights, pooled, weights_of
from adducir.runs.run import Run

FORMAT = 1
_PAIRS = {"qid": pl.String, "docno": pl.String, "probability": pl.Float64, "drawn": pl.Boolean}


@dataclass(frozen=True, eq=False)
class Design:
    """How documents were drawn for people to judge.

    Attributes:
        pairs: The frame: qid, docno, probability (Float64) and drawn (Boolean), by topic.
        seed: What the sample was drawn with.
        depth: How deep the runs were pooled.
        runs: The digest of each pooled run by name.
        topics: How many whole topics were drawn; None if documents were.
    """

    pairs: pl.DataFrame
    seed: int
    depth: int = 0
    runs: Mapping[str, str] = field(default_factory=dict)
    topics: int | None = None

    @classmethod
    def of(
        cls,
        runs: Mapping[str, Run],
        documents: int,
        *,
        depth: int = 10,
        seed: int = 0,
        between: Sequence[str] = (),
        digests: Mapping[str, str] | None = None,
        whole_topics: bool = False,
    ) -> "Design":
        """Draw from the top ``depth`` of runs by name.

        ``between``: the systems whose differences matter most; by default all documents of a topic
        are equally probable. ``whole_topics``: ``documents`` is how many topics are drawn.
        """
        pairs = pooled(runs.values(), depth)
        if not len(pairs):
            raise UsageError("the runs do not contain any documents.")
        sources = dict(digests or dict.fromkeys(runs, ""))
        if whole_topics:
            return cls(draw_topics(pairs, documents, seed), seed, depth, sources, documents)
        tops = [runs[name].top(depth).to_polars() for name in between]
        discounts = [weights_of(pairs, top, DCG(cutoff=depth, dcg="log2")) for top in tops]
        weight = pair_weights(discounts) if discounts else None
        return cls(draw_documents(pairs, documents, seed, weight), seed, depth, sources)

    def with_runs(
        self,
        runs: Mapping[str, Run],
        documents: int,
        *,
        seed: int = 0,
        digests: Mapping[str, str] | None = None,
    ) -> tuple["Design", pl.DataFrame]:
        """The design of a pool with more runs, and those of its new pairs that are drawn.

        Of the new pairs ``documents`` are (of whole topics, all of the topics that were drawn).
        """
        pairs = pooled(runs.values(), self.depth, self.pairs["qid"].unique())
        pairs = pairs.join(self.pairs, on=["qid", "docno"], how="anti", maintain_order="left")
        if not len(pairs):
            raise UsageError(
                f"all documents in the top {self.depth} of these runs are in the pool already.",
                hint="Evaluate the runs with the sample that you have.",
            )
        if self.topics is None:
            pairs = draw_documents(pairs, documents, seed)
        else:
            whole = pl.col("qid").is_in(self.drawn["qid"].unique().implode())
            chance = self.pairs["probability"][0]
            pairs = pairs.with_columns(probability=pl.lit(chance), drawn=whole)
        sources = {**self.runs, **(digests or dict.fromkeys(runs, ""))}
        both = pl.concat([self.pairs, pairs]).sort("qid", "docno")
        drawn = pairs.filter("drawn").select("qid", "docno")
        return replace(self, pairs=both, seed=seed, runs=sources), drawn

    def extends(self, other: "Design") -> bool:
        """Whether every pair of another design is here, with its probability and fate."""
        keys = list(_PAIRS)
        return other.topics == self.topics and not len(
            other.pairs.join(self.pairs, on=keys, how="anti")
        )

    @cached_property
    def digest(self) -> str:
        lines = self.pairs.write_csv(separator=" ", quote_style="never")
        lines += "" if self.topics is None else f"whole topics {self.topics}"
        return hashlib.sha256(lines.encode()).hexdigest()

    @cached_property
    def drawn(self) -> pl.DataFrame:
        """Columns qid and docno of the drawn pairs."""
        return self.pairs.filter("drawn").select("qid", "docno")

    def write(self, sheet: Path) -> None:
        facts = {
            "format": FORMAT,
            "digest": self.digest,
            "depth": self.depth,
            "seed": self.seed,
            "runs": dict(self.runs),
            **({} if self.topics is None else {"whole topics": self.topics}),
            "pairs": self.pairs.rows(),
        }
        with writing_text(design_for(sheet)) as file:
            json.dump(facts, file, ensure_ascii=False)

    @classmethod
    def read(cls, sheet: Path) -> "Design":
        require(sheet)
        path = design_for(sheet)
        if not path.is_file():
            raise InputError(
                f"the sample's design is missing: {path.name}.",
                path=sheet,
                hint="Keep it beside the sheet: without the probabilities of the documents that "
                "were drawn, people's grades correct nothing.",
            )
        facts: Any = json_document(path)
        try:
            pairs = pl.DataFrame(facts["pairs"], schema=_PAIRS, orient="row")
            about = int(facts["seed"]), int(facts["depth"]), dict(facts["runs"])
            design = cls(pairs, *about, facts.get("whole topics"))
            is_whole = facts["format"] == FORMAT and facts["digest"] == design.digest
        except (AttributeError, KeyError, TypeError, ValueError, pl.exceptions.PolarsError):
            is_whole = False
        if not is_whole:
            raise InputError(
                "this is not the design of a sample, or was changed.",
                path=path,
                hint="Draw the sample again: adducir sample.",
            )
        return design


def rows_for(
    drawn: pl.DataFrame, topics: Mapping[str, Mapping[str, str]], texts: Mapping[str, str]
) -> pl.DataFrame:
    """What people see of drawn pairs (qid, docno).

    ``topics`` have ``query``, and perhaps ``description`` and ``narrative``; texts are by docno.
    """
    stated = {name for topic in topics.values() for name in topic}
    about = [name for name in ("query", "description", "narrative") if name in {"query", *stated}]
    rows = [
        (qid, *(topics.get(qid, {}).get(name, "") for name in about), docno, texts.get(docno, ""))
        for qid, docno in drawn.iter_rows()
    ]
    columns = dict.fromkeys(("qid", *about, "docno", "text"), pl.String)
    return pl.DataFrame(rows, schema=columns, orient="row")


def write_sheet(design: Design, sheet: Path, rows: pl.DataFrame) -> None:
    """Write what people see, in random order, with a column for grades, and the design."""
    design.write(sheet)
    with writing_text(sheet) as file:
        writer = CsvWriter(file)
        writer.row((*rows.columns, "grade"))
        shuffled = rows.sample(fraction=1.0, shuffle=True, seed=design.seed)
        writer.rows((*row, "") for row in shuffled.iter_rows())


GRADES = {
    "qid": pl.String,
    "docno": pl.String,
    "grade": pl.Int64,
    "person": pl.String,
    "characters": pl.Int64,
}


def read_grades(sheets: Sequence[Path]) -> tuple[Design, pl.DataFrame]:
    """The design, and each person's grades: qid, docno, grade, person, characters (-1: unknown).

    Sheets are CSV, as ``adducir sample`` writes them, or what a page saves: JSON, CSV or qrels.
    Every drawn pair must be graded in one of them.
    """
    designs = {design_for(sheet): Design.read(sheet) for sheet in sheets}
    design = max(designs.values(), key=lambda one: len(one.pairs))
    for sheet in sheets:
        if not design.extends(designs[design_for(sheet)]):
            raise InputError("this sheet belongs to another sample.", path=sheet)
    expected = set(design.drawn.iter_rows())
    rows = dict[tuple[str, str, str], tuple[str, str, int, str, int]]()
    for sheet in sheets:
        for line, qid, docno, grade, person, characters in _cells(sheet):
            if (qid, docno) not in expected:
                raise InputError(
                    f"document {docno} of topic {qid} was not drawn.",
                    path=sheet,
                    line=line,
                    hint="Remove it: only documents of the random sample can correct a model.",
                )
            if (qid, docno, person) in rows:
                raise InputError(
                    f"{person} graded document {docno} of topic {qid} twice.",
                    path=sheet,
                    line=line,
                    hint="Give each person's sheet once, and name it by the person: "
                    "people.ann.csv, people.ben.csv.",
                )
            if not grade and len(sheets) > 1:  # one of several may leave rows to others
                continue
            if not grade.removeprefix("-").isdecimal():
                wrong = (
                    f"the grade {grade!r} is not an integer" if grade else "the grade is missing"
                )
                hint = "Grade every row, such as 0 or 1."
                raise InputError(f"{wrong}.", path=sheet, line=line, hint=hint)
            rows[qid, docno, person] = qid, docno, int(grade), person, characters
    if absent := sorted(expected - {key[:2] for key in rows}):
        raise InputError(
            f"{counted(len(absent), 'drawn document')} of {len(expected)} are not in the sheet, "
            f"such as {absent[0][1]} of topic {absent[0][0]}.",
            path=sheets[0],
            hint="Grade all of them: those left out are not a random choice.",
        )
    return design, pl.DataFrame([*rows.values()], schema=GRADES, orient="row")


def settled(grades: pl.DataFrame) -> pl.DataFrame:
    """One grade per pair (qid, docno, grade): the lower median of all who judged it."""
    middle = pl.col("grade").sort().get((pl.len() - 1) // 2)
    return grades.group_by("qid", "docno", maintain_order=True).agg(middle)


def read_sheet(*sheets: Path) -> tuple[Design, pl.DataFrame]:
    """The design, and people's grades: a frame qid, docno and grade (Int64) of every drawn pair."""
    design, grades = read_grades(sheets)
    return design, settled(grades)


def _cells(sheet: Path) -> Iterator[tuple[int | None, str, str, str, str, int]]:
    """Line, qid, docno, grade, person and the text's characters (-1: unknown)."""
    person = sheet.name.partition(".")[2].rpartition(".")[0] or sheet.stem
    if sheet.suffix.lower() == ".json":
        judge, ratings = read_ratings(sheet)
        for qid, docno, number, characters in ratings:
            yield None, qid, docno, str(number), judge, characters
    elif sheet.suffix.lower() in (".qrels", ".txt"):
        for qid, docno, number in load_qrels(sheet).frame.iter_rows():
            yield None, qid, docno, str(number), person, -1
    else:
        for line, row in text_records(sheet, ("qid", "docno", "grade")):
            characters = len(row["text"]) if "text" in row else -1
            yield line, row["qid"], row["docno"], row["grade"], person, characters
