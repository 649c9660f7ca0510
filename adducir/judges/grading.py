"""A model's judgements of pooled documents: asked, parsed strictly, counted, written.

A pair without a readable answer has no grade, which is unjudged, never 0: peers write 0, drop the
pair or keep it in the denominator, and each of these moves figures unseen.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from adducir.core.files import publishing, writing_text
from adducir.corpora.qrels import Qrels
from adducir.judges.answers import AnswerCache, Asked, converse, fitted
from adducir.judges.exchange import EMPTY, Request
from adducir.judges.llm import Answerer
from adducir.judges.prompting import Prompt, masses
from adducir.runs.run import Run
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
        asked = self.frame.filter(pl.col("status") != EMPTY)["grade"]
        return asked.null_count() / max(1, len(asked))

    @property
    def qrels(self) -> Qrels:
        graded = self.frame.filter(pl.col("grade").is_not_null()).select("qid", "docno", "grade")
        return Qrels(graded, self.model.name)

    def write(self, path: Path, judgements: Path, more: Mapping[str, Any]) -> None:
        """Write the qrels, the judgements as JSON lines, and who judged."""
        with writing_text(judgements) as file:
            for row in self.frame.iter_rows(named=True):
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        facts = {"judge": self.facts() | dict(more)}
        with publishing(metadata_for(path)) as hidden:
            hidden.write_text(metadata_text(facts), encoding="utf-8")
        with writing_text(path) as file:
            for qid, docno, grade in self.qrels.frame.iter_rows():
                file.write(f"{qid} 0 {docno} {grade}\n")

    def facts(self) -> dict[str, Any]:
        """For the metadata: everything that decides or explains the grades, but no key."""
        return {
            **self.model.facts(),
            "prompt": {"digest": self.prompt.identity, **self.prompt.model_dump(mode="json")},
            "answers": dict(self.statuses),
            "texts cut": int(self.frame["cut"].sum()),
            **self.asked.usage(self.model),
        }


def pooled(runs: Sequence[Run], qids: Sequence[str], depth: int) -> pl.DataFrame:
    """Columns qid and docno: the top documents of any run for these topics, in a fixed order."""
    tops = [run.top(depth).frame.select("qid", "docno") for run in runs]
    asked_qids = pl.Series("qid", list(qids), dtype=pl.String)
    pairs = pl.concat(tops).unique().filter(pl.col("qid").is_in(asked_qids.implode()))
    return pairs.sort("qid", "docno")


def with_text(pairs: pl.DataFrame, texts: Mapping[str, str]) -> pl.DataFrame:
    """The pairs whose documents say something; nobody is asked about the others."""
    return pairs.filter([bool(texts[docno].strip()) for docno in pairs["docno"]])


def questions_for(
    pairs: pl.DataFrame,
    topics: Mapping[str, Mapping[str, str]],
    texts: Mapping[str, str],
    model: Answerer,
    prompt: Prompt,
    *,
    repeat: int = 0,
) -> list[Callable[[int], Request]]:
    """Of each pair whose document says something, what makes its request for a number of words."""

    def request(qid: str, docno: str, words: int) -> Request:
        messages = prompt.messages(topics[qid], texts[docno], words)
        return Request(messages, prompt.constraint(model), repeat)

    return [partial(request, *pair) for pair in with_text(pairs, texts).iter_rows()]


def judge(
    pairs: pl.DataFrame,
    topics: Mapping[str, Mapping[str, str]],
    texts: Mapping[str, str],
    model: Answerer,
    prompt: Prompt,
    cache: AnswerCache,
    *,
    repeat: int = 0,
    transport: Any = None,
) -> ModelJudgements:
    """Ask a model for the grade of each pair.

    Args:
        pairs: Columns qid and docno.
        topics: ``query``, ``description`` and ``narrative`` by qid.
        texts: By docno.
        model: Who judges.
        prompt: What is asked.
        cache: Where answers are kept.
        repeat: The number of the repeat, to measure the judge's own noise.
        transport: For tests.
    """
    questions = questions_for(pairs, topics, texts, model, prompt, repeat=repeat)
    talk = fitted(questions, prompt.words, Counter())
    (answers,), record = converse(model, [talk], cache, transport=transport)
    rows = []
    asked_pairs = with_text(pairs, texts).iter_rows()
    for (qid, docno), (answer, words) in zip(asked_pairs, answers, strict=True):
        cut = len(texts[docno].split()) > words
        grade, status = prompt.read(answer)
        mass, expected = _expected(prompt, answer.top)
        rows.append((qid, docno, grade, status, mass, expected, cut, answer.text))
    frame = pairs.join(
        pl.DataFrame(rows, schema=SCHEMA, orient="row"),
        on=["qid", "docno"],
        how="left",
        maintain_order="left",
    )
    empty = {"status": EMPTY, "cut": False, "answer": ""}
    frame = frame.with_columns(pl.col(name).fill_null(value) for name, value in empty.items())
    return ModelJudgements(frame, model, prompt, record)


def _expected(prompt: Prompt, top: Mapping[str, float]) -> tuple[float | None, float | None]:
    """The mass of the allowed answers among a first token's spellings, and the expected grade."""
    if not top:
        return None, None
    shares = masses(prompt.answers, top)
    mass = sum(shares.values())
    return mass, sum(grade * share for grade, share in shares.items()) / mass if mass else None
