"""Validate runs: ``adducir check``. A rule has a name, a severity and a function."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from adducir.core.errors import InputError
from adducir.core.files import file_digest
from adducir.core.texts import counted, listed
from adducir.corpora.frames import topic_numbers
from adducir.corpora.qrels import Qrels
from adducir.corpora.topics import Topics
from adducir.runs.docnos import absent, misspelt, of_passages, unfolded
from adducir.runs.fusion import lacking
from adducir.runs.read import columns_of, run_of
from adducir.runs.run import Run, Ties, ordered
from adducir.runs.write import metadata_for, part_of, read_metadata

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
Told = str | tuple[Severity, str]
"""A message, and its severity if it differs from the rule's."""
_TOP = 10


class Finding(NamedTuple):
    """One finding about a run: ``code`` names the rule, ``line`` is 1-based, or 0 if not known."""

    run: str
    severity: Severity
    code: str
    line: int
    message: str


class TopicSet(NamedTuple):
    holder: str
    qids: Sequence[str]
    missing: Sequence[str]
    unknown: Sequence[str]
    is_other: bool


@dataclass(frozen=True)
class Case:
    run: Run
    columns: pl.DataFrame | None
    qrels: Qrels | None
    topics: Topics | None
    known: pl.Series | None
    measures: Sequence[Any]

    @cached_property
    def docnos(self) -> pl.Series:
        return self.run.frame["docno"].unique(maintain_order=True)

    @cached_property
    def grades(self) -> pl.DataFrame:
        qrels = self.qrels or Qrels.of({})
        return qrels.frame.select("qid", "docno", "grade")

    @cached_property
    def graded(self) -> pl.DataFrame:
        """Frame (qid, docno, rank, grade) of the judged topics; grade is null if unjudged."""
        ranked = self.run.frame.with_columns(rank=pl.Series(self.run.ranks))
        ranked = ranked.join(self.grades.select("qid").unique(), on="qid", how="semi")
        return ranked.join(self.grades, on=["qid", "docno"], how="left", maintain_order="left")

    @cached_property
    def topic_sets(self) -> list[TopicSet]:
        answered, sets = set(self.run.qids), []
        for holder, source in (("the topics", self.topics), ("the qrels", self.qrels)):
            if source is not None:
                missing = [qid for qid in source.qids if qid not in answered]
                theirs = set(source.qids)
                unknown = [qid for qid in self.run.qids if qid not in theirs]
                is_other = len(missing) == len(source.qids)
                sets.append(TopicSet(holder, source.qids, missing, unknown, is_other))
        return sets


class Rule(NamedTuple):
    code: str
    severity: Severity
    tell: Callable[[Case], Iterator[Told]]


RULES: list[Rule] = []


def rule(code: str, severity: Severity = "warning") -> Callable[[Any], None]:
    return lambda function: RULES.append(Rule(code, severity, function))


@rule("tags")
def _tags(case: Case) -> Iterator[Told]:
    tags = [] if case.columns is None else case.columns["tag"].unique(maintain_order=True).to_list()
    if len(tags) > 1:
        yield f"the file contains {len(tags)} tags: {listed(tags, 3)}."


@rule("ranks")
def _ranks(case: Case) -> Iterator[Told]:
    if case.columns is None or case.columns["rank"].null_count():  # JSON lacks ranks
        return
    rank = case.columns["rank"].cast(pl.Int64, strict=False)
    if rank.null_count():
        odd = case.columns["rank"].filter(rank.is_null())[0]
        yield "info", f"the rank column contains {odd!r}, which is not an integer."
        return
    topic = topic_numbers(case.columns["qid"])
    rows = np.lexsort((rank.to_numpy(), topic))
    score, topic = case.columns["score"].to_numpy()[rows], topic[rows]
    rises = (score[1:] > score[:-1]) & (topic[1:] == topic[:-1])
    if rises.any():
        topics = counted(len(np.unique(topic[1:][rises])), "topic")
        yield f"the ranks of {topics} disagree with the scores, which tools sort by."


@rule("metadata")
def _metadata(case: Case) -> Iterator[Told]:
    path = case.run.path
    if path is not None and metadata_for(path).exists():
        try:
            digest = part_of(read_metadata(path), "run file").get("sha256")
        except InputError as error:
            yield error.paragraph()
            return
        if digest and digest != file_digest(path):
            yield "the run has changed since its metadata was written."


@rule("duplicate", "error")
def _duplicates(case: Case) -> Iterator[Told]:
    pairs = [f"{docno} (topic {qid})" for qid, docno in case.run.duplicates().rows()]
    if pairs:
        yield (
            f"topics rank the same document more than once: {listed(pairs, 3)}. "
            "`adducir filter --drop-duplicates` keeps the first."
        )


@rule("constant-scores")
def _constant(case: Case) -> Iterator[Told]:
    by_topic = case.run.frame.group_by("qid", maintain_order=True)
    topics = by_topic.agg(pl.len(), pl.col("score").n_unique()).filter(pl.col("len") > 1)
    flat = topics.filter(pl.col("score") == 1)["qid"].to_list()
    if flat:
        yield (
            "error" if len(flat) == topics.height else "warning",
            f"all documents of {counted(len(flat), 'topic')} ({listed(flat, 3)}) have the same "
            "score, so only docnos order them. Perhaps a reranker did not run.",
        )


@rule("ties")
def _ties(case: Case) -> Iterator[Told]:
    same = (np.diff(case.run.frame["score"].to_numpy()) == 0) & (np.diff(case.run.topics) == 0)
    tied = np.append(same, False) | np.append(False, same)
    if not tied.any():
        return
    topics = counted(len(np.unique(case.run.topics[tied])), "topic")
    message = (
        f"{counted(int(tied.sum()), 'document')} of {topics} have tied scores in single precision. "
        "trec_eval orders ties by docno descending, Anserini ascending: "
    )

    def first(ties: Ties) -> pl.DataFrame:
        frame = ordered(case.run.frame, ties=ties).with_columns(rank=pl.Series(case.run.ranks))
        top = frame.filter(pl.col("rank") < _TOP)
        return top.join(case.grades, on=["qid", "docno"], how="left")

    both = first("descending").join(first("ascending"), on=["qid", "rank"])
    changed, matter = (
        both.filter(pl.col(column).ne_missing(pl.col(f"{column}_right")))["qid"].n_unique()
        for column in ("docno", "grade")
    )
    message += f"the first {_TOP} differ in {counted(changed, 'topic')}"
    if changed and case.qrels is not None:
        message += f", and so do their judgements in {matter:,}"
    harms = matter if case.qrels is not None else changed
    yield "warning" if harms else "info", f"{message}."


@rule("query-in-ranking")
def _own_names(case: Case) -> Iterator[Told]:
    frame = case.run.frame.select("qid", "docno")
    same = frame.filter(pl.col("qid") == pl.col("docno"))["qid"].n_unique()
    # Where topics and documents are both numbered, some numbers meet by chance.
    if same and all(frame.select(pl.all().str.contains("^[0-9]{1,7}$").all()).row(0)):
        same = same if 2 * same > len(case.run.qids) > 2 else 0
    if same:
        yield (
            f"{counted(same, 'topic')} rank a document with the topic's own id. If queries come "
            "from the collection (ArguAna, Quora), `adducir filter --drop-own` excludes it."
        )


@rule("truncated-docnos", "error")
def _truncated(case: Case) -> Iterator[Told]:
    for names, holder in ((case.known, "the index"), (case.grades["docno"], "the qrels")):
        if names is not None and (cut := _cut_short(case.docnos, names.unique())):
            yield (
                f"docnos are cut to {len(cut[0])} characters: the run has {cut[0]!r}, {holder} "
                f"have {cut[1]!r}. Every measure would be too low."
            )
            return


def _cut_short(docnos: pl.Series, names: pl.Series) -> tuple[str, ...] | None:
    """A docno and its full form, if at least half of the longest docnos are prefixes of others."""
    length = int(docnos.str.len_chars().to_numpy().max())
    longest = docnos.filter(docnos.str.len_chars() == length).to_frame("docno")
    longer = names.filter(names.str.len_chars() > length).to_frame("name")
    heads = longer.group_by(docno=pl.col("name").str.slice(0, length)).agg(pl.col("name").min())
    unknown = longest.join(names.to_frame("docno"), on="docno", how="anti")
    rows = unknown.join(heads, on="docno").sort("docno")
    return rows.row(0) if rows.height and 2 * rows.height >= longest.height else None


@rule("unknown-docnos", "error")
def _unknown(case: Case) -> Iterator[Told]:
    if case.known is not None and not _cut_short(case.docnos, case.known.unique()):
        unknown = case.docnos.filter(~case.docnos.is_in(case.known.implode()))
        if len(unknown):
            documents = f"{counted(len(unknown), 'document')} of {len(case.docnos):,}"
            yield f"{documents} are not in the index: for example {', '.join(unknown.head(3))}."


@rule("padded-qids", "error")
def _padded(case: Case) -> Iterator[Told]:
    for group in case.topic_sets:
        theirs = {qid.lstrip("0"): qid for qid in group.missing}
        padded = [qid for qid in group.unknown if qid.lstrip("0") in theirs]
        if padded:
            topics = f"{counted(len(padded), 'topic')} of the run and of {group.holder}"
            pair = f"{padded[0]} and {theirs[padded[0].lstrip('0')]}"
            yield f"{topics} differ only in leading zeros, for example {pair}."


@rule("no-common-topics", "error")
def _no_common(case: Case) -> Iterator[Told]:
    for group in case.topic_sets:
        if group.is_other:
            theirs = f"{group.holder} have {listed(group.qids, 3)}"
            yield f"they share no topics: the run has {listed(case.run.qids, 3)}, {theirs}."


@rule("missing-topics")
def _missing(case: Case) -> Iterator[Told]:
    for group in case.topic_sets:
        if group.missing and not group.is_other:
            lacked = f"{counted(len(group.missing), 'topic')} of {group.holder}"
            lacked += f": {listed(group.missing, 3)}"
            yield f"the run lacks {lacked}. Each counts 0 in the mean, as in trec_eval -c."


@rule("unknown-topics")
def _unknown_topics(case: Case) -> Iterator[Told]:
    for group in case.topic_sets:
        if group.unknown and not group.is_other:
            lacked = (
                f"{counted(len(group.unknown), 'topic')} of the run: {listed(group.unknown, 3)}"
            )
            more = " (`adducir filter --keep-topics` drops them)" * (group.holder == "the qrels")
            yield f"{group.holder} lack {lacked}. They are not evaluated{more}."


@rule("foreign-qrels", "error")
def _foreign(case: Case) -> Iterator[Told]:
    if case.graded.height and not case.graded["grade"].count():
        ours, theirs = case.graded["docno"], case.grades["docno"]
        if ours.is_in(theirs.unique().implode()).any():
            yield "documents are judged only for other topics: do the topic numbers match?"
        elif passage := of_passages(ours, theirs):
            yield unfolded(passage, str(case.run.path or "RUN"))
        else:
            yield (
                f"the run and the qrels share no documents: the run has {ours[0]!r}, the qrels "
                f"have {theirs[0]!r}. They belong to different collections or versions."
            )


@rule("few-judged")
def _few_judged(case: Case) -> Iterator[Told]:
    if not case.graded["grade"].count():
        return  # `foreign-qrels`, or there are none
    judged, docnos = case.grades["docno"], case.known
    holder = "the run" if docnos is None else "the index"
    if message := misspelt(judged, case.docnos if docnos is None else docnos, holder):
        yield "error", message
    elif docnos is not None:
        relevant = case.grades.filter(pl.col("grade") > 0)["docno"].unique(maintain_order=True)
        unknown = relevant.filter(~relevant.is_in(docnos.implode()))
        if len(unknown):
            yield absent(unknown, len(relevant), "relevant", "the index")


@rule("unjudged", "info")
def _unjudged(case: Case) -> Iterator[Told]:
    first = {cut: case.graded.filter(pl.col("rank") < cut)["grade"] for cut in (5, _TOP)}
    shares = {cut: grades.null_count() / max(1, len(grades)) for cut, grades in first.items()}
    if case.graded["grade"].count() and any(shares.values()):
        shown = ", ".join(f"{share:.1%} of the first {cut}" for cut, share in shares.items())
        yield (
            "warning" if shares[5] > 0.5 else "info",
            f"unjudged: {shown}. Measures count these as not relevant unless they are left "
            "out (judged_only=True).",
        )


@rule("shallow")
def _shallow(case: Case) -> Iterator[Told]:
    for measure in case.measures:
        cutoff, depth = measure.params.get("cutoff") or 0, case.run.depth
        if cutoff > depth:
            yield f"{measure} looks at {cutoff:,} documents, but the deepest ranking has {depth:,}."


@rule("shallow-condensed")
def _shallow_condensed(case: Case) -> Iterator[Told]:
    counts = case.graded.group_by("qid").agg(found=pl.col("grade").count())
    both = counts.join(case.grades.group_by("qid").agg(judged=pl.len()), on="qid")
    for measure in case.measures:
        cutoff = (measure.params.get("cutoff") or 0) if measure.params.get("judged_only") else 0
        short = both.filter((pl.col("found") < cutoff) & (pl.col("found") < pl.col("judged")))
        if short.height and cutoff <= case.run.depth:
            yield (
                f"{measure} looks at {cutoff:,} judged documents, but the rankings of "
                f"{counted(short.height, 'topic')} end before, though more are judged."
            )


def check(
    runs: Iterable[Run | Path | str],
    *,
    qrels: Qrels | None = None,
    topics: Topics | None = None,
    docnos: Iterable[str] | None = None,
    measures: Sequence[Any] = (),
    columns: Sequence[str] = (),
    quotes: Literal["csv", "literal"] | None = None,
) -> list[Finding]:
    """Check the lines of run files, each run individually and all together.

    Malformed lines are skipped by later checks. ``docnos`` are all of the collection's;
    ``measures`` (of ir_measures) those to compute later; ``columns`` and ``quotes`` are those of
    :func:`adducir.runs.read.read_run`. Findings come by run, errors first,
    followed by those about several runs.
    """
    known_docnos = None if docnos is None else pl.Series(list(docnos), dtype=pl.String)
    findings: list[Finding] = []
    read: list[Run] = []
    for source in runs:
        problems: list[Finding] = []
        run, lines = (
            (source, None)
            if isinstance(source, Run)
            else _opened(Path(source), problems, columns=columns, quotes=quotes)
        )
        if run is not None and len(run):
            read.append(run)
            case = Case(run, lines, qrels, topics, known_docnos, measures)
            for code, severity, tell in RULES:
                for result in tell(case):
                    weight, message = (severity, result) if isinstance(result, str) else result
                    problems.append(Finding(run.name, weight, code, 0, message))
        elif run is not None:
            problems.append(
                Finding(run.name, "error", "empty", 0, "the run does not contain any documents.")
            )
        findings += sorted(problems, key=lambda finding: SEVERITIES.index(finding.severity))
    return [*findings, *_together(read)]


def _opened(
    path: Path, problems: list[Finding], **reading: Any
) -> tuple[Run | None, pl.DataFrame | None]:
    def add(code: str, line: int, message: str) -> None:
        problems.append(Finding(str(path), "error", code, line, message))

    try:
        columns = columns_of(path, ("qid", "docno", "rank", "score", "tag"), **reading)
    except InputError as error:
        add("unreadable", error.line or 0, error.what)
        return None, None
    for fault in columns.faults:
        add(fault.code, fault.line, fault.message)
    if more := columns.malformed - len(columns.faults):
        verb = "is" if more == 1 else "are"
        add("more", 0, f"{counted(more, 'more line')} {verb} malformed.")
    return (run_of(columns.frame, path), columns.frame) if len(columns.frame) else (None, None)


def _together(runs: Sequence[Run]) -> Iterator[Finding]:
    same = defaultdict[tuple[str, str], list[str]](list)
    for run in runs:
        ranking = run.frame.select("qid", "docno").write_csv(separator=" ", quote_style="never")
        same["same-ranking", hashlib.sha256(ranking.encode()).hexdigest()].append(run.name)
        same["same-tag", run.tag].append(run.name)
    for (code, value), names in sorted(same.items()):
        alike = f"tag {value}" if code == "same-tag" else "ranking"
        for name in names if len(names) > 1 else ():
            others = listed([name_ for name_ in names if name_ != name])
            yield Finding(name, "warning", code, 0, f"its {alike} is also that of {others}.")
    for run, qids in zip(runs, lacking(runs), strict=True):
        if qids:
            value = (
                f"the run lacks {counted(len(qids), 'topic')} of the others: {listed(qids, 3)}. "
                "Paired tests need the same topics; the missing ones count 0."
            )
            yield Finding(run.name, "warning", "topic-sets", 0, value)
