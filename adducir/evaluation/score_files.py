"""Files of values per topic from any program: the formats of ``adducir compare``.

CSV of Adducir and PyTerrier, lines of ir_measures and trec_eval, AutoJudge's leaderboards, JSON of
ranx, pytrec_eval and BEIR, or JSON lines (docs/commands.md). Means are refused with advice;
predictions are runs (:mod:`adducir.runs.read`). Measures may have the names of ir_measures,
trec_eval, ranx, MTEB and sentence-transformers; other names stay unchanged, and their direction is
known only if they are ours or a column ``higher_is_better`` gives it. If a system has values in
several sections of our own tables, each is a separate topic set.
"""

import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import polars as pl
from ir_measures import Measure

from adducir.core.errors import InputError, UsageError, worded
from adducir.core.files import read_text
from adducir.core.json_lines import json_document, json_unique
from adducir.core.progress import progress
from adducir.corpora.tables import first_line, text_records
from adducir.evaluation.measures import NamedMeasure, parse_measure
from adducir.evaluation.score_lines import ORDERS, PER_TOPIC, rows_of
from adducir.evaluation.scores import SCHEMA, Scores

QIDS = ("qid", "query_id", "query-id", "topic", "topic_id")
ITEMS = ("item", "item_id", "question_id", "example_id", "instance_id", "sample_id", "id", "_id")
"""Ids in the files of leaderboards, whose other columns are systems."""
SYSTEMS = ("system", "name", "run", "run_id", "model", "model_name", "model_id")
TASKS = ("task", "task_name", "dataset")
"""First columns of a leaderboard matrix with a row per task and a column per model."""
HIGHER = "higher_is_better"
_IDS = (*QIDS, *ITEMS)
_OTHERS = {*_IDS, *SYSTEMS, "section", "group", HIGHER}
_MEANS = ("all", "amean")
_PLACE = ("section", "group", "system", "qid", "measure")
_COLUMNS = dict.fromkeys(_PLACE, pl.String) | {
    "value": pl.Float64,
    "line": pl.Int64,
    HIGHER: pl.Boolean,
}
_NAMES = {
    "ndcg": "nDCG",
    "map": "AP",
    "mrr": "RR",
    "recall": "R",
    "precision": "P",
    "hit_rate": "Success",
    "hits": "NumRelRet",
    "accuracy": "Success",
    "bpref": "Bpref",
    "r_precision": "Rprec",
}
_AT = re.compile(
    r"(?:(?:cosine|dot|euclidean|manhattan)[-_])?(?P<name>[a-z_]+?)(?:@|_at_|_cut_)(?P<at>\d{1,9})",
    re.IGNORECASE,
)
_OURS = re.compile(
    r"EM|F1|Cover|Rating|R@\d+|Mass@\d+|ROUGE-L(?:@\d+)?|max@\d+|Novel-F1|Knowledge-F1|R-precision"
    r"|Recall@5|KILT-(?:EM|F1|ROUGE-L|Accuracy)|BLEU-[1-4]"
)
_OURS_FALLING = ("Rank", "Mean rank", "Median rank")
_FALLING = re.compile(
    r"(?<![a-z])(?:(?:mean|median)?rank|loss|errors?|latency|perplexity|ppl|r?mse|mae|wer|time"
    r"|runtime|seconds|ms|cost|distance)(?![a-z])",
    re.IGNORECASE,
)

ColumnsAre = Literal["systems", "measures", "ir_measures", "tot", "rag4reports"]
Value = tuple[str, str, str, str, str, float | None, int | None, bool | None]
"""A file's value, as :data:`_COLUMNS`: None if the cell is not a finite number, the line is
unknown, or the file does not give the measure's direction."""


def read_scores(path: Path, system: str, *, by: ColumnsAre | None = None) -> Scores:
    """Read the values per topic of a file.

    Args:
        path: The file, or a folder of MTEB's results.
        system: The system's name, if the file does not name one.
        by: What the columns beside a topic's id are; None: systems where the id has the name that
            leaderboards use (:data:`ITEMS`) and no column is a known measure, else measures. Or the
            order of four columns (:data:`adducir.evaluation.score_lines.ORDERS`).
    """
    all_rows = pl.DataFrame(list(_values(path, by)), schema=_COLUMNS, orient="row")
    frame = all_rows.filter(~pl.col("qid").is_in(_MEANS))
    frame = frame.with_columns(pl.col("system").replace("", system))
    texts = frame.group_by("measure", maintain_order=True).agg(pl.col("value").is_null().all())
    if (words := texts.filter("value")["measure"].to_list()) and len(words) < len(texts):
        progress().note_once(f"{path}: {', '.join(words)}: text, left out")
        frame = frame.filter(~pl.col("measure").is_in(words))
    if frame.is_empty():
        message, hint = "it does not contain any values.", None
        if path.is_dir():
            message = "the folder does not contain results of MTEB."
        elif len(all_rows):
            message = "it contains means over topics only, which cannot be tested."
            hint = "Write each topic's values: trec_eval -q, ir_measures --by_query."
        raise InputError(message, path=path, hint=hint)
    for which, message in (
        (pl.col("value").is_null(), "{measure} of topic {qid} is not a number."),
        (~pl.struct(_PLACE).is_first_distinct(), "{system} repeats {measure} of topic {qid}."),
    ):
        for first in frame.filter(which).head(1).rows(named=True):
            raise InputError(message.format(**first), path=path, line=first["line"])
    places = frame.select("section", "group", "system").unique()
    joint = pl.concat_str(
        pl.col("section", "group").replace("", None), separator=", ", ignore_nulls=True
    )
    apart = places.select("group", "system").is_duplicated().any()
    frame = frame.with_columns(set=joint if apart else "group", run="system")
    keys = ["set", "system"]
    expected = frame.select(*keys, "qid").unique(maintain_order=True)
    expected = expected.join(frame.select(*keys, "measure").unique(), on=keys)
    for gap in (
        expected.join(frame, on=[*keys, "qid", "measure"], how="anti").head(1).rows(named=True)
    ):
        raise InputError("{system} lacks {measure} of topic {qid}.".format(**gap), path=path)
    directions = frame.group_by("measure", maintain_order=True).agg(pl.col(HIGHER).first())
    measures: dict[str, Measure] = {}
    for name, higher in directions.iter_rows():
        measures[name] = measure = measure_of(name)
        if higher is not None and not (higher and is_known(measure)):
            measures[name] = NamedMeasure(name, lower_is_better=not higher)
    if len({str(measure_) for measure_ in measures.values()}) < len(measures):
        raise InputError(f"{', '.join(measures)} are the same measure.", path=path)
    frame = frame.with_columns(pl.col("measure").replace({n: str(m) for n, m in measures.items()}))
    return Scores(
        frame.select(list(SCHEMA)), {str(measure_): measure_ for measure_ in measures.values()}
    )


def is_leaderboard(path: Path) -> bool:
    """Whether a path is a matrix of tasks and models, or a folder of MTEB's results."""
    return path.is_dir() or (
        path.name.removesuffix(".gz").endswith(".csv")
        and first_line(path).split(",")[0].strip('" ').lower() in TASKS
    )


def measure_of(name: str) -> Measure:
    """A measure by any of its names; ``lower_is_better`` is None if the name does not tell."""
    match = _AT.fullmatch(name)
    spelt = _NAMES.get(name.lower(), name)
    if match and match["name"].lower() in _NAMES:
        spelt = f"{_NAMES[match['name'].lower()]}@{match['at']}"
    if match and match["name"] == "hits":  # ranx counts them, papers' hits@k is Success@k
        return NamedMeasure(f"num_rel_ret@{match['at']}", lower_is_better=False)
    for candidate in (spelt, name) if name.islower() else (name, spelt):
        try:
            return parse_measure(candidate)
        except UsageError:
            continue
    falls = name in _OURS_FALLING
    is_ours = falls or _OURS.fullmatch(name)
    return NamedMeasure(name, lower_is_better=falls if is_ours else None)


def is_known(measure: Measure) -> bool:
    return getattr(measure, "lower_is_better", False) is not None


def usually_falls(title: str) -> bool:
    """Whether lower is better for most measures with this kind of name, such as ``val_loss``."""
    return _FALLING.search(title.replace("_", " ")) is not None


def _number(text: str) -> float | None:
    try:
        value = float({"true": "1", "false": "0"}.get(text.lower(), text))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _values(path: Path, by: ColumnsAre | None) -> Iterable[Value]:
    if path.is_dir():
        return _from_mteb(path)
    if is_leaderboard(path):
        return _from_leaderboard(path)
    ending = Path(path.name.removesuffix(".gz")).suffix.lower()
    first = first_line(path)
    is_object = first.startswith("{")
    has_records = is_object and (ending == ".jsonl" or any(f'"{key}"' in first for key in _IDS))
    if ending == ".json" or (is_object and not ending and not has_records):  # it may be a pipe
        return _from_json(path)
    if ending in (".csv", ".jsonl") or has_records or set(_IDS) & {*re.split(r"[\t,]", first)}:
        return _from_records(path, is_object, by)
    return _from_lines(path, first, by if by in ORDERS else None)


def _from_lines(path: Path, first: str, order: str | None) -> Iterator[Value]:
    width = 4 if len(first.split("\t") if first.count("\t") == 3 else first.split()) == 4 else 3
    for line, system, qid, measure, text in rows_of(
        path, width, order if width == 4 else None, lambda name: is_known(measure_of(name))
    ):
        yield "", "", system, qid, measure, _number(text), line, None


def _from_records(path: Path, is_json: bool, by: ColumnsAre | None) -> Iterator[Value]:
    rows: Iterable[tuple[int, dict[str, str]]] = text_records(path)
    numeric = set[str]()
    if is_json:  # other keys are about the topic
        rows = list(rows)
        cells = (cell for _, record in rows for cell in record.items())
        numeric = {name for name, text in cells if _number(text) is not None}
    is_first = True
    for line, record in rows:
        if is_first:
            by = by or _columns_are(
                path, [n for n in record if n in numeric or not is_json], record
            )
            is_first = False
        qid = next((record[name] for name in _IDS if name in record), None)
        if qid is None or "results" in record:
            raise _refused(path, f"{', '.join(record)} are not values of a topic", line)
        system = next((record[name] for name in SYSTEMS if name in record), "")
        place = record.get("section", ""), record.get("group", ""), system, qid
        if {"measure", "value"} <= record.keys():
            higher = {"true": True, "false": False}.get(record.get(HIGHER, "").lower())
            yield *place, record["measure"], _number(record["value"]), line, higher
            continue
        for name, text in record.items():
            if name not in _OTHERS and (name in numeric or not is_json):
                if by == "systems":
                    yield *place[:2], name, qid, "score", _number(text), line, True
                else:
                    yield *place, name, _number(text), line, None


def _columns_are(path: Path, names: list[str], record: dict[str, str]) -> ColumnsAre:
    """Whether the columns of a file beside the id are systems, as leaderboards have them."""
    columns = [name for name in names if name not in _OTHERS]
    is_item = record.keys().isdisjoint(QIDS) and not record.keys().isdisjoint(ITEMS)
    if {"measure", "value", "score"}.isdisjoint(columns) and is_item and len(columns) > 1:
        is_measured = any(is_known(measure_of(name)) for name in columns)
        if record.keys().isdisjoint(SYSTEMS) and not is_measured:
            message = f"the columns {', '.join(columns[:5])} are systems"
            otherwise = f"{worded('score_columns', 'measures')} says otherwise"
            progress().note_once(f"{path}: {message} ({otherwise})")
            return "systems"
    return "measures"


def _from_leaderboard(path: Path) -> Iterator[Value]:
    for line, record in text_records(path):
        task, *models = record.items()
        for model, text in models:
            yield "", "", model, task[1], "score", _number(text), line, True


def _from_mteb(folder: Path) -> Iterator[Value]:
    """MTEB's ``MODEL/REVISION/TASK.json``: the mean main score of a task's splits and subsets."""
    for path in sorted(folder.rglob("*.json")):
        document = json_document(path)
        if not isinstance(document, dict) or not {"task_name", "scores"} <= document.keys():
            continue
        parts = [split_scores for split in document["scores"].values() for split_scores in split]
        scores = [part.get("main_score") for part in parts if isinstance(part, dict)]
        numbers = [_number(str(score)) for score in scores]
        valid = [number for number in numbers if number is not None]
        mean = math.fsum(valid) / len(valid) if len(valid) == len(parts) > 0 else None
        model, task = path.absolute().parent.parent.name, str(document["task_name"])
        yield "", "", model, task, "score", mean, None, True


def _from_json(path: Path) -> Iterator[Value]:
    """``{qid: {measure: value}}`` or ``{measure: {qid: value}}``: whichever keys are measures."""
    document = json_unique(read_text(path), path)
    inner: list[Any] = list(document.values()) if isinstance(document, dict) else [None]
    values = [value for items in inner if isinstance(items, dict) for value in items.values()]
    if not all(isinstance(items, dict) for items in inner) or any(
        isinstance(v, dict) for v in values
    ):
        reason = "the JSON is neither {qid: {measure: value}} nor {measure: {qid: value}}"
        raise _refused(path, reason)

    def has_measure(names: Iterable[str]) -> bool:
        return any(is_known(measure_of(name)) for name in names)

    by_measure = has_measure(document)
    if by_measure == any(map(has_measure, inner)):
        raise _refused(path, "it is not clear which keys are topics and which are measures")
    for outer, items in document.items():
        for key, value in items.items():
            qid, measure = (key, outer) if by_measure else (outer, key)
            yield "", "", "", qid, measure, _number(str(value)), None, None


def _refused(path: Path, reason: str, line: int | None = None) -> InputError:
    return InputError(f"{reason}.", path=path, line=line, hint=PER_TOPIC)
