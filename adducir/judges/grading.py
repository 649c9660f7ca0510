"""A model's judgements of pooled documents: asked, parsed strictly, counted, written.

A pair without a readable answer has no grade, which is unjudged, never 0: peers write 0, drop the
pair or keep it in the denominator, and each of these moves figures unseen.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from adducir.core.files import publishing, writing_text
from adducir.corpora.qrels import Qrels
from adducir.judges.answers import Asked, Talk
from adducir.judges.exchange import EMPTY, unreadable_share
from adducir.judges.files import judgements_for, write_lines
from adducir.judges.llm import Answerer
from adducir.judges.prompting import Prompt, masses
from adducir.runs.write import metadata_for, metadata_text

SCHEMA = {
    "qid": pl.String,
    "docno": pl.String,
    "grade": pl.Int64,
    "status": pl.String,
    "mass": pl.Float64,
    "expected": pl.Float64,
    "cut": pl.Boolean,
    "answer": pl.String,
}


@dataclass(frozen=True, eq=False)
class ModelJudgements:
    """A model's judgements.

    Attributes:
        frame: qid, docno, grade (null without a readable answer), status, mass (of the allowed
            answers' first tokens, if the server gives log-probabilities), expected (grade under
            them), cut (whether the text was cut), answer (raw).
        model: Who judged.
        prompt: What was asked.
        asked: What it took.
    """

    frame: pl.DataFrame
    model: Answerer
    prompt: Prompt
    asked: Asked

    @property
    def statuses(self) -> Counter[str]:
        return Counter(self.frame["status"])

    @property
    def ungraded(self) -> float:
        """The share of pairs asked about that have no grade."""
        return unreadable_share(self.statuses)

    @property
    def qrels(self) -> Qrels:
        graded = self.frame.filter(pl.col("grade").is_not_null()).select("qid", "docno", "grade")
        return Qrels(graded, self.model.name)

    def write(self, path: Path, more: Mapping[str, Any]) -> None:
        """Write the qrels, beside them the judgements as JSON lines, and who judged."""
        write_lines(self.frame.iter_rows(named=True), judgements_for(path))
        facts = {
            **self.model.facts(),
            "prompt": self.prompt.facts,
            "answers": dict(self.statuses),
            "texts cut": int(self.frame["cut"].sum()),
            **self.asked.usage(self.model),
            **more,
        }
        with publishing(metadata_for(path)) as hidden:
            hidden.write_text(metadata_text({"judge": facts}), encoding="utf-8")
        with writing_text(path) as file:
            for qid, docno, grade in self.qrels.frame.iter_rows():
                file.write(f"{qid} 0 {docno} {grade}\n")


def judging(
    pairs: pl.DataFrame,
    topics: Mapping[str, Mapping[str, str]],
    texts: Mapping[str, str],
    model: Answerer,
    prompt: Prompt,
    repeat: int = 0,
) -> Talk:
    """Ask for the grade of each pair; returns the frame of :class:`ModelJudgements`.

    Nobody is asked about a document that says nothing.

    Args:
        pairs: Columns qid and docno.
        topics: ``query``, ``description`` and ``narrative`` by qid.
        texts: By docno.
        model: Who judges.
        prompt: What is asked.
        repeat: The number of the repeat, to measure the judge's own noise.
    """
    asked = [(qid, docno) for qid, docno in pairs.iter_rows() if texts[docno].strip()]
    about = [(topics[qid], texts[docno]) for qid, docno in asked]
    readings = yield from prompt.grades(model, about, Counter(), repeat)
    rows = dict[tuple[str, str], tuple[Any, ...]]()
    for pair, (grade, status, answer, words) in zip(asked, readings, strict=True):
        is_cut = len(texts[pair[1]].split()) > words
        mass, expected = _expected(prompt, answer.top)
        rows[pair] = (*pair, grade, status, mass, expected, is_cut, answer.text)
    absent = (None, EMPTY, None, None, False, "")
    whole = [rows.get(pair, (*pair, *absent)) for pair in pairs.iter_rows()]
    return pl.DataFrame(whole, schema=SCHEMA, orient="row")


def _expected(prompt: Prompt, top: Mapping[str, float]) -> tuple[float | None, float | None]:
    """The mass of the allowed answers among a first token's spellings, and the expected grade."""
    if not top:
        return None, None
    shares = masses(prompt.answers, top)
    mass = sum(shares.values())
    return mass, sum(grade * share for grade, share in shares.items()) / mass if mass else None
