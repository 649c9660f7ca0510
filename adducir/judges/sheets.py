"""The sheet that people fill in, the design that says how it was drawn, and both read back.

``people.csv`` has a row per drawn pair, in random order, blind to the systems and to the model's
grade. ``people.design.json`` beside it holds the frame: every pair in the top k of the runs, its
probability to be drawn, and whether it was. Without it a sample is no sample, so it has a digest.
Drawn are documents within topics, or topics with their whole pools. A pool that grows by new runs
keeps what was drawn; documents are drawn from the new pairs alone.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from adducir.core.csv_files import CsvWriter
from adducir.core.errors import InputError, UsageError
from adducir.core.files import require, writing_text
from adducir.core.json_lines import json_document
from adducir.core.texts import counted
from adducir.corpora.frames import topic_numbers
from adducir.corpora.qrels import load_qrels
from adducir.corpora.tables import text_records
from adducir.evaluation.lists import Floats
from adducir.judges.by_hand import read_ratings
from adducir.judges.files import design_for
from adducir.judges.sampling import draw, inclusion_probabilities, pair_weights
from adducir.runs.run import Run

COLUMNS = ("qid", "query", "docno", "text", "grade")
ABOUT = ("description", "narrative")
FORMAT = 1
_PAIRS = {"qid": pl.String, "docno": pl.String, "probability": pl.Float64, "drawn": pl.Boolean}


@dataclass(frozen=True, eq=False)
class Design:
    """How documents were drawn for people to judge.

    Attributes:
        pairs: The frame: qid, docno, probability (Float64) and drawn (Boolean), by topic.
        depth: How deep the runs were pooled.
        runs: The digest of each pooled run by name.
        seed: What the sample was drawn with.
        topics: How many whole topics were drawn; None if documents were.
    """

    pairs: pl.DataFrame
    depth: int
    runs: Mapping[str, str]
    seed: int
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
        tops = {
            name: run.top(depth).to_polars().select("qid", "docno", pl.col("rank"))
            for name, run in runs.items()
        }
        pairs = pl.concat([top.select("qid", "docno") for top in tops.values()])
        pairs = pairs.unique().sort("qid", "docno")
        if not len(pairs):
            raise UsageError("the runs do not contain any documents.")
        sources = dict(digests or dict.fromkeys(runs, ""))
        if whole_topics:
            qids = pairs["qid"].unique(maintain_order=True)
            if not 0 < documents <= len(qids):
                message = f"{documents} topics cannot be drawn from {len(qids):,}."
                raise UsageError(message, hint="Draw at least one, and at most all.")
            places = np.random.default_rng(seed).choice(len(qids), documents, replace=False)
            chosen = qids[sorted(places.tolist())].implode()
            pairs = pairs.with_columns(
                probability=pl.lit(documents / len(qids)), drawn=pl.col("qid").is_in(chosen)
            )
            return cls(pairs, depth, sources, seed, documents)
        weight = None
        if between:
            weight = pair_weights([_discounts(pairs, tops[name]) for name in between])
        return cls.drawn_from(pairs, documents, weight, depth=depth, runs=sources, seed=seed)

    @classmethod
    def drawn_from(
        cls,
        pairs: pl.DataFrame,
        size: int,
        weight: Floats | None = None,
        *,
        depth: int = 0,
        runs: Mapping[str, str] | None = None,
        seed: int = 0,
    ) -> "Design":
        """Draw from a frame (qid, docno), the same number within each topic."""
        topic = topic_numbers(pairs["qid"])
        probability = inclusion_probabilities(topic, size, weight)
        drawn = draw(topic, probability, np.random.default_rng(seed))
        pairs = pairs.with_columns(probability=probability, drawn=drawn)
        return cls(pairs, depth, runs or {}, seed)

    def with_runs(
        self,
        runs: Mapping[str, Run],
        documents: int,
        *,
        seed: int = 0,
        digests: Mapping[str, str] | None = None,
    ) -> tuple["Design", "Design"]:
        """The design of a pool with more runs, and that of its new pairs alone.

        Of these, ``documents`` are drawn (of whole topics, all of the topics that were drawn).
        """
        qids = self.pairs["qid"].unique()
        tops = [run.top(self.depth).frame.select("qid", "docno") for run in runs.values()]
        pairs = pl.concat(tops).unique().filter(pl.col("qid").is_in(qids.implode()))
        pairs = pairs.join(self.pairs, on=["qid", "docno"], how="anti").sort("qid", "docno")
        if not len(pairs):
            raise UsageError(
                f"all documents in the top {self.depth} of these runs are in the pool already.",
                hint="Evaluate the runs with the sample that you have.",
            )
        if self.topics is None:
            pairs = Design.drawn_from(pairs, documents, seed=seed).pairs
        else:
            whole = self.drawn["qid"].unique().implode()
            chance = self.pairs["probability"][0]
            pairs = pairs.with_columns(probability=pl.lit(chance), drawn=pl.col("qid").is_in(whole))
        sources = {**self.runs, **(digests or dict.fromkeys(runs, ""))}
        new = Design(pairs, self.depth, sources, seed, self.topics)
        return replace(new, pairs=pl.concat([self.pairs, pairs]).sort("qid", "docno")), new

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
            topics = facts.get("whole topics")
            numbers = int(facts["depth"]), dict(facts["runs"]), int(facts["seed"])
            design = cls(pairs, *numbers, None if topics is None else int(topics))
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


def _discounts(pairs: pl.DataFrame, top: pl.DataFrame) -> np.ndarray:
    """(J,) DCG's discount of each pair in a ranking; 0 where it is not in it."""
    ranks = pairs.join(top, on=["qid", "docno"], how="left", maintain_order="left")["rank"]
    discounts: np.ndarray = (1.0 / np.log2(ranks.to_numpy().astype(np.float64) + 2.0)).copy()
    return np.nan_to_num(discounts, nan=0.0)


def write_sheet(
    design: Design,
    sheet: Path,
    queries: Mapping[str, str],
    texts: Mapping[str, str],
    *,
    about: Mapping[str, Mapping[str, str]] | None = None,
    rows: pl.DataFrame | None = None,
) -> None:
    """Write the sheet and its design.

    Args:
        design: How documents were drawn.
        sheet: The file.
        queries: By qid.
        texts: By docno.
        about: Descriptions and narratives by qid, under these names.
        rows: The pairs to judge (qid, docno), by default all drawn.
    """
    drawn = design.drawn if rows is None else rows
    more = [name for name in ABOUT if any(name in one for one in (about or {}).values())]
    cells = []
    for qid, docno in drawn.iter_rows():
        topic = (about or {}).get(qid, {})
        said = [queries.get(qid, ""), *(topic.get(name, "") for name in more)]
        cells.append((qid, *said, docno, texts.get(docno, "")))
    write_rows(design, sheet, (*COLUMNS[:2], *more, *COLUMNS[2:-1]), cells)


def write_rows(
    design: Design, sheet: Path, columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """Write a sheet's rows in random order, with the column for grades, and its design."""
    places = pl.Series(range(len(rows))).sample(fraction=1.0, shuffle=True, seed=design.seed)
    design.write(sheet)
    with writing_text(sheet) as file:
        writer = CsvWriter(file)
        writer.row((*columns, COLUMNS[-1]))
        writer.rows((*rows[place], "") for place in places)


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
    rows, persons = list[tuple[str, str, int, str, int]](), set[tuple[str, str, str]]()
    for sheet in sheets:
        graded = _graded(sheet, expected, len(sheets) > 1)
        for qid, docno, _, person, _ in graded:
            if (qid, docno, person) in persons:
                raise InputError(
                    f"{person} graded document {docno} of topic {qid} in another sheet, too.",
                    path=sheet,
                    hint="Give each person's sheet once, and name it by the person: "
                    "people.ann.csv, people.ben.csv.",
                )
        persons.update((qid, docno, person) for qid, docno, _, person, _ in graded)
        rows += graded
    if absent := sorted(expected - {row[:2] for row in rows}):
        raise InputError(
            f"{counted(len(absent), 'drawn document')} of {len(expected)} are not in the sheet, "
            f"such as {absent[0][1]} of topic {absent[0][0]}.",
            path=sheets[0],
            hint="Grade all of them: those left out are not a random choice.",
        )
    return design, pl.DataFrame(rows, schema=GRADES, orient="row")


def settled(grades: pl.DataFrame) -> pl.DataFrame:
    """One grade per pair (qid, docno, grade): the lower median of all who judged it."""
    middle = pl.col("grade").sort().get((pl.len() - 1) // 2)
    return grades.group_by("qid", "docno", maintain_order=True).agg(middle)


def read_sheet(*sheets: Path) -> tuple[Design, pl.DataFrame]:
    """The design, and people's grades: a frame qid, docno and grade (Int64) of every drawn pair."""
    design, grades = read_grades(sheets)
    return design, settled(grades)


def _graded(
    sheet: Path, expected: set[tuple[str, str]], is_part: bool
) -> list[tuple[str, str, int, str, int]]:
    """A sheet's grades; in one of several, rows may be empty."""
    person = sheet.name.partition(".")[2].rpartition(".")[0] or sheet.stem
    cells: list[tuple[int | None, str, str, str, int]]
    if sheet.suffix.lower() == ".json":
        person, ratings = read_ratings(sheet)
        cells = [(None, qid, docno, str(grade), n) for qid, docno, grade, n in ratings]
    elif sheet.suffix.lower() in (".qrels", ".txt"):
        frame = load_qrels(sheet).frame
        cells = [(None, qid, docno, str(grade), -1) for qid, docno, grade in frame.iter_rows()]
    else:
        cells = []
        for at, row in text_records(sheet):
            if missing := sorted({"qid", "docno", "grade"} - row.keys()):
                raise InputError(f"the column {missing[0]} is missing.", path=sheet, line=1)
            length = len(row["text"]) if "text" in row else -1
            cells.append((at, row["qid"], row["docno"], row["grade"], length))
    rows = dict[tuple[str, str], tuple[str, str, int, str, int]]()
    for line, qid, docno, text, length in cells:
        if (qid, docno) not in expected:
            raise InputError(
                f"document {docno} of topic {qid} was not drawn.",
                path=sheet,
                line=line,
                hint="Remove it: only documents of the random sample can correct a model.",
            )
        if (qid, docno) in rows:
            raise InputError(f"document {docno} is graded twice.", path=sheet, line=line)
        if not text and is_part:
            continue
        if not text.removeprefix("-").isdecimal():
            wrong = f"the grade {text!r} is not an integer." if text else "the grade is missing."
            raise InputError(wrong, path=sheet, line=line, hint="Grade every row, such as 0 or 1.")
        rows[qid, docno] = (qid, docno, int(text), person, length)
    return [*rows.values()]
