"""The sheet that people fill in, the design that says how it was drawn, and both read back.

``people.csv`` has a row per drawn pair, in random order, blind to the systems and to the model's
grade. ``people.design.json`` beside it holds the frame: every pair in the top k of the runs, its
probability to be drawn, and whether it was. Without it a sample is no sample, so it has a digest.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from adducir.core.csv_files import CsvWriter, csv_rows
from adducir.core.errors import InputError, UsageError
from adducir.core.files import writing_text
from adducir.core.json_lines import json_document
from adducir.core.texts import counted
from adducir.corpora.frames import topic_numbers
from adducir.judges.files import design_for
from adducir.judges.sampling import draw, inclusion_probabilities, pair_weights
from adducir.runs.run import Run

COLUMNS = ("qid", "query", "docno", "text", "grade")
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
    """

    pairs: pl.DataFrame
    depth: int
    runs: Mapping[str, str]
    seed: int

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
    ) -> "Design":
        """Draw from the top ``depth`` of runs by name.

        ``between``: the systems whose differences matter most; by default all documents of a topic
        are equally probable.
        """
        tops = {
            name: run.top(depth).to_polars().select("qid", "docno", pl.col("rank"))
            for name, run in runs.items()
        }
        pairs = pl.concat([top.select("qid", "docno") for top in tops.values()])
        pairs = pairs.unique().sort("qid", "docno")
        if not len(pairs):
            raise UsageError("the runs do not contain any documents.")
        topic, weight = topic_numbers(pairs["qid"]), None
        if between:
            weight = pair_weights([_discounts(pairs, tops[name]) for name in between])
        probability = inclusion_probabilities(topic, documents, weight)
        drawn = draw(topic, probability, np.random.default_rng(seed))
        pairs = pairs.with_columns(probability=probability, drawn=drawn)
        return cls(pairs, depth, dict(digests or dict.fromkeys(runs, "")), seed)

    @cached_property
    def digest(self) -> str:
        lines = self.pairs.write_csv(separator=" ", quote_style="never")
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
            "pairs": self.pairs.rows(),
        }
        with writing_text(design_for(sheet)) as file:
            json.dump(facts, file, ensure_ascii=False)

    @classmethod
    def read(cls, sheet: Path) -> "Design":
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
            design = cls(pairs, int(facts["depth"]), dict(facts["runs"]), int(facts["seed"]))
            is_whole = facts["format"] == FORMAT and facts["digest"] == design.digest
        except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError):
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
    design: Design, sheet: Path, queries: Mapping[str, str], texts: Mapping[str, str]
) -> None:
    """Write the sheet and its design; ``texts`` by docno."""
    rows = design.drawn.sample(fraction=1.0, shuffle=True, seed=design.seed)
    design.write(sheet)
    with writing_text(sheet) as file:
        writer = CsvWriter(file)
        writer.row(COLUMNS)
        for qid, docno in rows.iter_rows():
            writer.row((qid, queries.get(qid, ""), docno, texts.get(docno, ""), ""))


def read_sheet(sheet: Path) -> tuple[Design, pl.DataFrame]:
    """The design, and people's grades: a frame qid, docno and grade (Int64) of every drawn pair."""
    design = Design.read(sheet)
    expected, graded = set(design.drawn.iter_rows()), dict[tuple[str, str], int]()
    lines = csv_rows(sheet)
    _, header = next(lines, (1, []))
    if missing := {"qid", "docno", "grade"} - set(header):
        raise InputError(f"the column {sorted(missing)[0]} is missing.", path=sheet, line=1)
    qid_at, docno_at, grade_at = map(header.index, ("qid", "docno", "grade"))
    for line, cells in lines:
        if not any(cells):
            continue
        if len(cells) != len(header):
            message = f"this row has {counted(len(cells), 'cell')}, not {len(header)}."
            raise InputError(message, path=sheet, line=line)
        pair, grade = (cells[qid_at], cells[docno_at]), cells[grade_at].strip()
        if pair not in expected:
            raise InputError(
                f"document {pair[1]} of topic {pair[0]} was not drawn.",
                path=sheet,
                line=line,
                hint="Remove it: only documents of the random sample can correct a model.",
            )
        if pair in graded:
            raise InputError(f"document {pair[1]} is graded twice.", path=sheet, line=line)
        if not grade.removeprefix("-").isdecimal():
            wrong = f"the grade {grade!r} is not an integer." if grade else "the grade is missing."
            raise InputError(wrong, path=sheet, line=line, hint="Grade every row, such as 0 or 1.")
        graded[pair] = int(grade)
    if absent := sorted(expected - graded.keys()):
        raise InputError(
            f"{counted(len(absent), 'drawn document')} of {len(expected)} are not in the sheet, "
            f"such as {absent[0][1]} of topic {absent[0][0]}.",
            path=sheet,
            hint="Grade all of them: those left out are not a random choice.",
        )
    rows = [(*pair, grade) for pair, grade in graded.items()]
    schema = {"qid": pl.String, "docno": pl.String, "grade": pl.Int64}
    return design, pl.DataFrame(rows, schema=schema, orient="row")
