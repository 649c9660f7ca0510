"""Values per topic in files, as programs write them: the formats of ``adducir compare``.

====================  ============================================================================
Adducir               CSV with system, group, qid, measure, value (``evaluate --per-topic``)
PyTerrier             CSV with name, qid, measure, value (``pt.Experiment(..., perquery=True)``), or
                      a column per measure; with tabs as well
ir_measures           lines ``qid measure value`` (``ir_measures --by_query``), or JSON lines
trec_eval             lines ``measure qid value`` (``trec_eval -q``); lines of ``all`` are left out
ranx                  JSON ``{measure: {qid: value}}`` (``run.scores``)
pytrec_eval, BEIR,    JSON ``{qid: {measure: value}}`` (what ``RelevanceEvaluator.evaluate`` gives,
MTEB                  which BEIR and MTEB average)
JSON lines            a record per topic: ``qid`` or ``query_id``, ``system`` if any, measures
====================  ============================================================================

BEIR, MTEB and sentence-transformers write means or predictions themselves. Means are refused, with
what to do; predictions are runs, for ``adducir evaluate`` (:mod:`adducir.runs.read`).

Measures are read under the names of ir_measures, trec_eval, ranx, MTEB (``ndcg_at_10``) and
sentence-transformers (``cosine-NDCG@10``). A name that none of them has stays as it is; which way
it points is known of our own, or where a column ``higher_is_better`` says it.

Sections of our own tables show how systems are arranged, or which contexts were ranked. Where a
system has values in several, each is a topic set of its own.
"""

import re
from collections.abc import Iterable
from pathlib import Path

import polars as pl
from ir_measures import Measure

from adducir.core.errors import InputError, UsageError
from adducir.core.files import read_lines
from adducir.core.json_lines import json_document
from adducir.evaluation.measures import NamedMeasure, parse_measure
from adducir.evaluation.records import is_json, records, table
from adducir.evaluation.scores import SCHEMA, Scores

QIDS = ("qid", "query_id", "query-id", "topic")
SYSTEMS = ("system", "name", "run")
HIGHER = "higher_is_better"
_OTHERS = {*QIDS, *SYSTEMS, "section", "group", HIGHER, ""}
_MEANS = ("all", "amean")
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
    r"|Recall@5|KILT-F1|KILT-ROUGE-L|BLEU-[1-4]"
)
_OURS_FALLING = ("Rank", "Mean rank", "Median rank")
_FALLING = re.compile(
    r"ranks?|.*loss|errors?|latency|latencies|perplexity|ppl|.*entropy|nll|r?mse|mae|mape|[wct]er|"
    r"time|runtime|seconds|ms|cost|distance"
)
_RISING = {"reciprocal", "recip", "biased", "correlation"}


_PLACE = ("section", "group", "system", "qid", "measure")
VALUES = pl.Schema(
    dict.fromkeys((*_PLACE, "value"), pl.String) | {"line": pl.Int64, "higher": pl.Boolean}
)
"""What is read of a file: where each value stands in tables of ours, the value as the file has it,
its line, and whether the higher value is the better, if the file says it."""


def read_scores(path: Path, system: str) -> Scores:
    """Read the values per topic of the systems of a file, plain or gzipped.

    Args:
        path: The file; the format is found by what it holds.
        system: The system's name where the file does not say it.

    Raises:
        InputError: No format of these, a value that is not a number, a value given twice, or a
            topic without one; with the line.
    """
    frame = _values(path).filter(~pl.col("qid").is_in(_MEANS))
    if frame.is_empty():
        raise InputError("the file holds no values of topics.", path=path)
    frame = frame.with_columns(
        system=pl.when(system="").then(pl.lit(system)).otherwise("system"), value=_NUMBER
    ).rename({"value": "number"})
    other = pl.col("higher").ne_missing(pl.col("higher").first().over("measure"))
    for which, what in (
        (pl.col("number").is_null(), "{measure} of topic {qid} is not a number."),
        (~pl.struct(_PLACE).is_first_distinct(), "{system} has {measure} of topic {qid} twice."),
        (other, f"{HIGHER} of {{measure}} is not the same in all lines."),
    ):
        if (wrong := frame.filter(which)).height:
            first = wrong.row(0, named=True)
            raise InputError(what.format(**first), path=path, line=first["line"])
    place = frame.select("section", "group", "system").unique()
    apart = place.select("group", "system").is_duplicated().any()
    named = pl.col("section", "group").replace("", None)
    joint = pl.concat_str(named, separator=", ", ignore_nulls=True)
    frame = frame.with_columns(set=joint if apart else "group", run="system", value="number")
    _refuse_gaps(frame, path)
    known = dict(frame.select("measure", "higher").unique(maintain_order=True).iter_rows())
    measures = {name: _directed(name, higher) for name, higher in known.items()}
    if len({str(one) for one in measures.values()}) < len(measures):
        raise InputError(f"{', '.join(measures)} name a measure twice.", path=path)
    frame = frame.with_columns(pl.col("measure").replace({n: str(m) for n, m in measures.items()}))
    return Scores(frame.select(list(SCHEMA)), {str(one): one for one in measures.values()})


_TEXT = pl.col("value").str.to_lowercase()
_NUMBER = (
    pl.when(_TEXT == "true")
    .then(1.0)
    .when(_TEXT == "false")
    .then(0.0)
    .otherwise(pl.col("value").cast(pl.Float64, strict=False))
    .replace([float("inf"), float("-inf"), float("nan")], None)
)
"""The finite number that a cell holds (true is 1, false 0); null if it holds none."""


def _refuse_gaps(frame: pl.DataFrame, path: Path) -> None:
    """Refuse a system of which a topic lacks a measure."""
    for (_, system), part in frame.group_by("set", "system", maintain_order=True):
        qids, names = (part[key].unique(maintain_order=True) for key in ("qid", "measure"))
        if part.height < len(qids) * len(names):
            found = set(part.select("qid", "measure").iter_rows())
            qid, name = next((q, m) for q in qids for m in names if (q, m) not in found)
            raise InputError(f"{system} has no {name} of topic {qid}.", path=path)


def measure_of(name: str) -> Measure:
    """A measure by any of the names that programs give it, or one of that name.

    Its ``lower_is_better`` is None where the name says nothing.
    """
    match = _AT.fullmatch(name)
    spelt = _NAMES.get(name.lower(), name)
    if match and match["name"].lower() in _NAMES:
        spelt = f"{_NAMES[match['name'].lower()]}@{match['at']}"
    for one in (name, spelt):
        try:
            return parse_measure(one)
        except UsageError:
            continue
    falls = name in _OURS_FALLING
    is_ours = falls or _OURS.fullmatch(name)
    return NamedMeasure(name, lower_is_better=falls if is_ours else None)


def is_known(measure: Measure) -> bool:
    """Whether it is known which way a measure points."""
    return getattr(measure, "lower_is_better", False) is not None


def usually_falls(title: str) -> bool:
    """Whether lower values are better of most measures of such a name: ``val_loss``, ``meanRank``.

    The words of reciprocal rank, rank-biased overlap and rank correlation are exceptions.
    """
    words = {one.lower() for one in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", title)}
    return not words & _RISING and any(map(_FALLING.fullmatch, words))


def _directed(name: str, higher: bool | None) -> Measure:
    """A measure with the direction that the file says."""
    measure = measure_of(name)
    if higher is None or (higher and is_known(measure)):
        return measure
    return NamedMeasure(name, lower_is_better=not higher)


def _values(path: Path) -> pl.DataFrame:
    """Every value of a file, whatever its format, as :data:`VALUES`."""
    ending = Path(path.name.removesuffix(".gz")).suffix.lower()
    first = next((text for _, text in read_lines(path) if text.strip()), "")
    is_object = first.lstrip().startswith("{")
    has_records = is_object and (ending == ".jsonl" or any(f'"{one}"' in first for one in QIDS))
    if ending == ".json" or (is_object and not ending and not has_records):  # it may be a pipe
        return _from_json(path)
    if ending in (".csv", ".jsonl") or has_records or set(QIDS) & {*re.split(r"[\t,]", first)}:
        return _from_records(path)
    return _from_lines(path)


def _from_records(path: Path) -> pl.DataFrame:
    """A value a record, or a measure a column; texts beside the measures of JSON are ignored."""
    if texts_beside := is_json(path):
        found = list(records(path, ()))
        keys = dict.fromkeys(key for _, record in found for key in record)
        columns = {key: [record.get(key) for _, record in found] for key in keys}
        frame, lines = (
            pl.DataFrame(columns, schema_overrides=dict.fromkeys(keys, pl.String)),
            [line for line, _ in found],
        )
    else:
        frame, lines = table(path)
    names = frame.columns
    if {"epoch", "steps"} <= set(names):
        raise _means(path, "sentence-transformers writes means here")
    if "results" in names:
        raise _predictions(path, lines[0])
    qid = next((name for name in QIDS if name in names), None)
    if qid is None or frame[qid].null_count():
        raise InputError(
            f"there is no {' or '.join(QIDS[:2])}, but {', '.join(names)}.",
            path=path,
            line=1,
            hint="Give values per topic, as adducir evaluate --per-topic --format csv does.",
        )
    empty = pl.lit("")
    frame = frame.with_columns(
        pl.Series("\0line", lines, pl.Int64),
        section="section" if "section" in names else empty,
        group="group" if "group" in names else empty,
        system=next((pl.col(name) for name in SYSTEMS if name in names), empty),
        qid=qid,
    ).with_columns(pl.col("section", "group", "system").fill_null(""))
    index = [*_PLACE[:4], "\0line"]
    if {"measure", "value"} <= set(names):
        said = pl.col(HIGHER).str.to_lowercase() if HIGHER in names else empty
        higher = pl.when(said == "true").then(True).when(said == "false").then(False)
        return _shaped(frame.with_columns(higher=higher))
    measures = [name for name in names if name not in _OTHERS and name[0] != "\0"]
    frame = frame.with_row_index("\0row")
    frame = frame.unpivot(measures, index=[*index, "\0row"], variable_name="measure")
    if texts_beside:
        frame = frame.filter(_NUMBER.is_not_null())
    return _shaped(frame.sort("\0row", maintain_order=True))


def _shaped(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns of :data:`VALUES`; what a format does not have is null, or an empty text."""
    if "\0line" in frame.columns:
        frame = frame.drop("line", strict=False).rename({"\0line": "line"})
    lacking = [
        pl.lit("" if name in _PLACE else None, kind).alias(name)
        for name, kind in VALUES.items()
        if name not in frame.columns
    ]
    return frame.with_columns(lacking).select(VALUES.names()).cast(VALUES)


def _from_lines(path: Path) -> pl.DataFrame:
    """``qid measure value`` or ``measure qid value``: whichever the first line's measure is."""
    rows: list[tuple[str, str, str, int]] = []
    for line, text in read_lines(path):
        cells = text.split("\t") if text.count("\t") == 2 else text.split()
        cells = [cell.strip() for cell in cells]
        if not any(cells):
            continue
        if len(cells) == 6:
            what = "the file is a run, and holds no values of topics."
            raise InputError(what, path=path, line=line, hint="Use adducir evaluate.")
        if len(cells) != 3:
            raise InputError(
                f"the line has {len(cells)} columns, not topic, measure and value.",
                path=path,
                line=line,
                hint="Give what ir_measures --by_query or trec_eval -q prints.",
            )
        if cells[0] != "runid" and _MEANS[0] not in cells[:2]:
            rows.append((cells[0], cells[1], cells[2], line))
    swapped = bool(rows) and is_known(measure_of(rows[0][0]))
    names = ["measure", "qid", "value"] if swapped else ["qid", "measure", "value"]
    return _shaped(pl.DataFrame(rows, schema=[*names, "line"], orient="row"))


def _from_json(path: Path) -> pl.DataFrame:
    found = json_document(path)
    if isinstance(found, dict) and ("mteb_version" in found or "model_names" in found):
        raise _means(path, "MTEB's results and ranx's reports hold means")
    if isinstance(found, dict) and "mteb_model_meta" in found:
        raise _predictions(path)
    nested = isinstance(found, dict) and all(isinstance(one, dict) for one in found.values())
    if not found or not nested:
        raise InputError(
            "the JSON is neither {qid: {measure: value}} nor {measure: {qid: value}}.", path=path
        )
    if any(isinstance(one, dict) for inner in found.values() for one in inner.values()):
        raise _predictions(path)

    def has_measure(names: Iterable[str]) -> bool:
        return any(is_known(measure_of(name)) for name in names)

    by_measure = has_measure(found)
    if by_measure and all(map(has_measure, found.values())):
        raise _means(path, "BEIR's results hold means")
    if by_measure == any(map(has_measure, found.values())):
        raise InputError(
            "it is not clear which keys of the JSON are topics and which are measures.",
            path=path,
            hint="Save a CSV with the columns qid, measure and value. Rankings are for adducir "
            "evaluate.",
        )
    rows = [
        (outer, key, str(value)) for outer, inner in found.items() for key, value in inner.items()
    ]
    names = ["measure", "qid", "value"] if by_measure else ["qid", "measure", "value"]
    return _shaped(pl.DataFrame(rows, schema=names, orient="row"))


def _means(path: Path, what: str) -> InputError:
    return InputError(
        f"{what}, and no values of topics.",
        path=path,
        hint="Have the rankings saved (sentence-transformers: write_predictions=True; mteb: "
        "prediction_folder=...; BEIR: save_runfile), and give those to adducir evaluate.",
    )


def _predictions(path: Path, line: int | None = None) -> InputError:
    return InputError(
        "the file holds rankings, and no values of topics.",
        path=path,
        line=line,
        hint=f"Evaluate them: adducir evaluate {path} --qrels QRELS",
    )
