"""Checks of a run against qrels: of another version, too shallow, how much is unjudged."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from adducir.runs.findings import Finding, counted
from adducir.runs.run import Run

_CUTOFFS = (5, 10)
_FEW = 0.05
_ONE, _MANY = ("has", "counts", "it", "its"), ("have", "count", "them", "their")
_JUDGED_ONLY = "Bpref and condensed measures (judged_only=True)"


def check_judgements(run: Run, qrels: pl.DataFrame) -> Iterator[Finding]:
    """Whether run and qrels belong together, and how much of the run is unjudged.

    Args:
        qrels: Columns qid, docno and grade.
    """
    graded = _graded(run, qrels)
    if not graded.height:
        return  # no topic in common: check_topics says so
    judged = graded["grade"].count()
    if not judged:
        yield _foreign(graded, qrels)
        return
    in_reach = qrels.filter(pl.col("qid").is_in(graded["qid"].unique().implode())).height
    if judged < _FEW * in_reach and run.depth >= max(_CUTOFFS):
        yield Finding(
            "warning",
            "few-judged",
            f"the run has {judged:,} of the {in_reach:,} judged documents of its topics. Are the "
            "qrels of this version of the collection?",
        )
    shares = {
        cutoff: _share(graded.filter(pl.col("rank") < cutoff)["grade"]) for cutoff in _CUTOFFS
    }
    if any(shares.values()):
        listed = ", ".join(f"{share:.1%} of the first {at}" for at, share in shares.items())
        yield Finding(
            "warning" if shares[_CUTOFFS[0]] > 0.5 else "info",
            "unjudged",
            f"unjudged are {listed}. Measures count these as not relevant, unless they are left "
            "out (judged_only=True).",
        )


def check_positives(qrels: pl.DataFrame, measures: Sequence[Any] | None) -> Iterator[Finding]:
    """Whether the qrels hold relevant documents only, which some measures cannot be used with.

    Args:
        qrels: Column grade.
        measures: Measures of ir_measures, or None.
    """
    lowest = qrels["grade"].min()
    if not isinstance(lowest, int) or lowest <= 0:
        return
    hollow = _judged_only(measures)
    if measures is None or hollow:
        named = ", ".join(map(str, hollow)) or _JUDGED_ONLY
        yield Finding(
            "warning" if hollow else "info",
            "positives-only",
            f"the qrels hold relevant documents only: {named} would leave out everything else and "
            "tell next to nothing.",
        )


def check_negatives(qrels: pl.DataFrame, measures: Sequence[Any]) -> Iterator[Finding]:
    """Whether the qrels hold negative grades, which some measures take otherwise than as 0.

    Args:
        qrels: Column grade.
        measures: Measures of ir_measures.
    """
    count = qrels.filter(pl.col("grade") < 0).height
    apart = _judged_only(measures)
    inferred = [str(m) for m in measures if m.NAME == "infAP"]
    if not count or not (apart or inferred):
        return
    share = f"{count:,} of {counted(qrels.height, 'judgement')}"
    has, which, them, their = _ONE if count == 1 else _MANY
    message = f"{share} {has} a negative grade, which {which} 0."
    if apart:
        named = ", ".join(map(str, apart))
        message += f" --set negative_grades=trec_eval would leave {them} out of {named}."
    if inferred:
        message += f" {', '.join(inferred)} takes {them} for pooled and not judged, and estimates"
        message += f" {their} relevance: use it only where negative grades mean that."
    yield Finding("warning" if inferred else "info", "negative-grades", message)


def _judged_only(measures: Sequence[Any] | None) -> list[Any]:
    """The measures that look at judged documents only."""
    return [m for m in measures or () if m.NAME == "Bpref" or m.params.get("judged_only")]


def check_depth(run: Run, qrels: pl.DataFrame | None, measures: Sequence[Any]) -> Iterator[Finding]:
    """Whether rankings are as deep as measures look.

    Args:
        qrels: Columns qid, docno and grade, or None.
        measures: Measures of ir_measures.
    """
    for measure in measures:
        cutoff = measure.params.get("cutoff")
        if cutoff is None:
            continue
        if cutoff > run.depth:
            yield Finding(
                "warning",
                "shallow",
                f"{measure} looks at {cutoff:,} documents, the deepest ranking has {run.depth:,}.",
            )
        elif measure.params.get("judged_only") and qrels is not None:
            short = _short_of_judged(run, qrels, cutoff)
            if short:
                yield Finding(
                    "warning",
                    "shallow-condensed",
                    f"{measure} looks at {cutoff:,} judged documents, but the rankings of "
                    f"{counted(short, 'topic')} end before, though more are judged. Rank deeper.",
                )


def _graded(run: Run, qrels: pl.DataFrame) -> pl.DataFrame:
    """Frame (qid, docno, rank, grade) of the judged topics; grade is null where unjudged."""
    return (
        run.frame.drop("score")
        .with_columns(rank=pl.Series(run.ranks))
        .filter(pl.col("qid").is_in(qrels["qid"].unique().implode()))
        .join(qrels, on=["qid", "docno"], how="left", maintain_order="left")
    )


def _share(grades: pl.Series) -> float:
    """The share of documents without a grade."""
    return grades.null_count() / len(grades) if len(grades) else 0.0


def _foreign(graded: pl.DataFrame, qrels: pl.DataFrame) -> Finding:
    """The finding that no document is judged for its topic."""
    ours, theirs = graded["docno"], qrels["docno"]
    if ours.is_in(theirs.unique().implode()).any():
        return Finding(
            "error",
            "foreign-topics",
            "no document is judged for its topic, though some are for others. Do run and qrels "
            "number the topics alike?",
        )
    return Finding(
        "error",
        "foreign-qrels",
        f"no document of the run is in the qrels: the run has {ours[0]!r}, the qrels have "
        f"{theirs[0]!r}. They are of another collection, or of another version of it.",
    )


def _short_of_judged(run: Run, qrels: pl.DataFrame, cutoff: int) -> int:
    """How many topics have fewer judged documents than the cutoff, where more are in the qrels."""
    found = _graded(run, qrels).group_by("qid").agg(found=pl.col("grade").count())
    there = qrels.group_by("qid").agg(there=pl.len())
    both = found.join(there, on="qid")
    return both.filter((pl.col("found") < cutoff) & (pl.col("found") < pl.col("there"))).height
