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
sentence-transformers (``cosine-NDCG@10``). A name that none of them has stays as it is;
which way it points is known of our own, or where a column ``higher_is_better`` says it.

Sections of our own tables show how systems are arranged, or which contexts were ranked. Where a
system has values in several, each is a topic set of its own.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adducir.core.errors import InputError, UsageError
from adducir.core.files import read_lines
from adducir.core.json_lines import json_document
from adducir.evaluation.measures import Measure, parse_measure
from adducir.evaluation.named import NamedMeasure, named
from adducir.evaluation.records import records
from adducir.evaluation.scores import Scores

QIDS = ("qid", "query_id", "query-id", "topic")
SYSTEMS = ("system", "name", "run")
HIGHER = "higher_is_better"
_OTHERS = {"section", "group", HIGHER, ""}
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


class Value(NamedTuple):
    """One value, as a file has it.

    Attributes:
        group: The topic set.
        system: The system; empty: the file's.
        line: 1-based; 0: none.
        section: Where in a table of ours it stood.
        higher: Whether the higher value is the better; None where the file does not say it.
    """

    group: str
    system: str
    qid: str
    measure: str
    value: Any
    line: int
    section: str = ""
    higher: bool | None = None


def read_scores(path: Path, system: str) -> dict[str, list[Scores]]:
    """Read the values per topic of one or several systems.

    Args:
        path: The file, plain or gzipped; the format is found by what it holds.
        system: The system's name where the file does not say it.

    Returns:
        By topic set (one without a name where the file has none) the scores of each system.

    Raises:
        InputError: No format of these, a value that is no number, a value given twice, or a topic
            without one; with the line.
    """
    found: dict[tuple[str, str, str], dict[str, dict[str, float]]] = {}
    higher: dict[str, bool | None] = {}
    for one in _values(path):
        name = one.system or system
        qids = found.setdefault((one.section, one.group, name), {})
        measures = qids.setdefault(one.qid, {})
        if one.measure in measures:
            what = f"{name} has {one.measure} of topic {one.qid} twice."
            raise InputError(what, path=path, line=one.line or None)
        measures[one.measure] = _number(one, path)
        if higher.setdefault(one.measure, one.higher) != one.higher:
            what = f"{HIGHER} of {one.measure} is not the same in all lines."
            raise InputError(what, path=path, line=one.line or None)
    if not found:
        raise InputError("the file holds no values of topics.", path=path)
    apart = len({(group, name) for _, group, name in found}) < len(found)
    groups: dict[str, list[Scores]] = {}
    for (section, group, name), qids in found.items():
        of = ", ".join(one for one in (section * apart, group) if one)
        groups.setdefault(of, []).append(_scores(name, qids, path, higher))
    return groups


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
    return named(name)


def is_known(measure: Measure) -> bool:
    """Whether it is known which way a measure points."""
    return getattr(measure, "lower_is_better", False) is not None


def _scores(
    system: str,
    qids: dict[str, dict[str, float]],
    path: Path,
    higher: dict[str, bool | None],
) -> Scores:
    """The scores of one system, whose topics must all have the same measures."""
    names = list(dict.fromkeys(name for values in qids.values() for name in values))
    for qid, values in qids.items():
        lacking = [name for name in names if name not in values]
        if lacking:
            raise InputError(f"{system} has no {lacking[0]} of topic {qid}.", path=path)
    measures = tuple(
        measure_of(name)
        if higher[name] is None or (higher[name] and is_known(measure_of(name)))
        else NamedMeasure(name, lower_is_better=not higher[name])
        for name in names
    )
    if len(set(measures)) < len(measures):
        raise InputError(f"{', '.join(names)} name a measure twice.", path=path)
    rows = np.array([[values[name] for name in names] for values in qids.values()])
    return Scores(system, tuple(qids), measures, rows)


def _values(path: Path) -> Iterator[Value]:
    """Every value of a file, whatever its format."""
    ending = Path(path.name.removesuffix(".gz")).suffix.lower()
    first = next((text for _, text in read_lines(path) if text.strip()), "")
    is_object = not ending and first.lstrip().startswith("{")  # it may come through a pipe
    if ending == ".json" or (is_object and not any(f'"{one}"' in first for one in QIDS)):
        return _from_json(path)
    if ending in (".csv", ".jsonl") or is_object or set(QIDS) & {*re.split(r"[\t,]", first)}:
        return _from_records(path, ending == ".jsonl" or is_object)
    return _from_lines(path)


def _from_records(path: Path, texts_beside: bool) -> Iterator[Value]:
    """A value a record, or a measure a column; texts beside the measures may be ignored."""
    for line, row in records(path, ()):
        if {"epoch", "steps"} <= row.keys():
            raise _means(path, "sentence-transformers writes means here")
        if "results" in row:
            raise _predictions(path, line)
        qid = next((row[name] for name in QIDS if name in row), None)
        if qid is None:
            raise InputError(
                f"there is no {' or '.join(QIDS[:2])}, but {', '.join(row)}.",
                path=path,
                line=line if texts_beside else 1,
                hint="Give values per topic, as adducir evaluate --per-topic --format csv does.",
            )
        if qid in _MEANS:
            continue
        system = next((row[name] for name in SYSTEMS if name in row), "")
        group, section = row.get("group", ""), row.get("section", "")
        if row.keys() >= {"measure", "value"}:
            higher = {"true": True, "false": False}.get(row.get(HIGHER, "").lower())
            yield Value(group, system, qid, row["measure"], row["value"], line, section, higher)
            continue
        for name, value in row.items():
            is_text = texts_beside and number_of(value) is None
            if name not in {*QIDS, *SYSTEMS, *_OTHERS} and not is_text:
                yield Value(group, system, qid, name, value, line, section)


def _from_lines(path: Path) -> Iterator[Value]:
    """``qid measure value`` or ``measure qid value``: whichever the first line's measure is."""
    order: Callable[[list[str]], tuple[str, str]] | None = None
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
        if cells[0] == "runid" or _MEANS[0] in cells[:2]:
            continue
        if order is None:
            swapped = is_known(measure_of(cells[0]))
            order = (lambda row: (row[1], row[0])) if swapped else (lambda row: (row[0], row[1]))
        qid, measure = order(cells)
        yield Value("", "", qid, measure, cells[2], line)


def _from_json(path: Path) -> Iterator[Value]:
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
    by_measure = _knows_measure(found)
    if by_measure and all(map(_knows_measure, found.values())):
        raise _means(path, "BEIR's results hold means")
    if by_measure == any(_knows_measure(inner) for inner in found.values()):
        raise InputError(
            "it is not clear which keys of the JSON are topics and which are measures.",
            path=path,
            hint="Save a CSV with the columns qid, measure and value. Rankings are for adducir "
            "evaluate.",
        )
    for outer, inner in found.items():
        for key, value in inner.items():
            qid, measure = (key, outer) if by_measure else (outer, key)
            if qid not in _MEANS:
                yield Value("", "", str(qid), measure, value, 0)


def _knows_measure(names: Iterable[str]) -> bool:
    """Whether one of the names is known to be a measure's."""
    return any(is_known(measure_of(name)) for name in names)


def number_of(value: Any) -> float | None:
    """The finite number that a cell holds (True is 1, False 0); None if it holds none."""
    try:
        number = float({"true": 1, "false": 0}.get(str(value).lower(), value))
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None


def _number(one: Value, path: Path) -> float:
    value = number_of(one.value)
    if value is None:
        what = f"{one.measure} of topic {one.qid} is not a number: {one.value!r}."
        raise InputError(what, path=path, line=one.line or None)
    return value


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
