"""Measures: parsed as people type them, checked, with their direction.

``nDCG(judged_only=True)@5 Bpref, P_5 ndcg_cut.10,20`` uses ir_measures' and trec_eval's names,
``recall@100, mrr@10`` those of papers.
ir_measures' own ``parse_measure`` is not used, because it walks ``ast.Num``, which Python 3.14
lacks, and its errors are assertions. The results are the same.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from math import exp
from typing import Any

from ir_measures import Measure, parse_trec_measure
from ir_measures.measures import registry
from ir_measures.measures.base import ParamInfo

from adducir.core.errors import UsageError
from adducir.core.meanings import meaning
from adducir.core.texts import LARGEST, items_in, nearest, shortened
from adducir.evaluation.formulas import MEASURES, MeasureKind

_PIECE = re.compile(r"(?:[^\s,()]|\([^()]*\))+")
_LONGEST = 1000
_TREC = re.compile(r"(?P<family>\w{1,40}?)(?:[._](?P<value>[0-9.]{1,40}))?")

_OF_NDEVAL = re.compile("(?<=[A-Za-z])-(?=n?DCG|IA)")  # alpha-nDCG, MAP-IA

_SPELLINGS = {
    "precision": "P",
    "recall": "R",
    "relative_p": "R_cap",
    "capped_recall": "R_cap",
    "map": "AP",
    "strec": "StRecall",
    "compatibility": "Compat",
    **dict.fromkeys(("mrr", "recip_rank"), "RR"),
    **dict.fromkeys(("hit", "hits", "hitrate", "hit_rate"), "Success"),
}
DEFAULT_MEASURES = ("nDCG@10", "AP", "R@100")


_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_OF_TREC: dict[str, tuple[str, str | None, Sequence[float]]] = {
    "relative_P": ("R_cap", "cutoff", _CUTOFFS),
    "Rprec_mult": ("Rprec_mult", "multiple", [n / 5 for n in range(1, 11)]),
    "unj": ("unj", "cutoff", (5, 10, 20)),
    "rbp_resid": ("RBP_residual", "p", (0.9,)),
    "rbp": ("RBP", "p", (0.9,)),
    **{
        name: (name, None, ())
        for name in (
            *("infAP", "gm_map", "gm_bpref", "11pt_avg", "binG", "utility"),
            "num_nonrel_judged_ret",
        )
    },
}
"""Measures of trec_eval that ir_measures lacks: our name, its parameter, trec_eval's values."""
NICKNAMES = {
    "official": "num_q num_ret num_rel num_rel_ret map gm_map Rprec bpref recip_rank "
    "iprec_at_recall P.5,10,15,20,30,100,200,500,1000",
    "set": "num_q num_ret num_rel num_rel_ret utility set_P set_relative_P set_recall set_map "
    "set_F",
    "all_trec": "num_q num_ret num_rel num_rel_ret map gm_map Rprec bpref recip_rank "
    "iprec_at_recall P.5,10,15,20,30,100,200,500,1000 recall infAP gm_bpref Rprec_mult "
    "utility 11pt_avg binG ndcg ndcg_cut "
    "map_cut relative_P success set_P set_relative_P set_recall set_map set_F "
    "num_nonrel_judged_ret rbp rbp_resid unj",
}
"""trec_eval's groups of measures, without G, Rndcg and ndcg_rel, which are not available."""


class NamedMeasure(Measure):
    """A measure compared by name only, equal to ir_measures' of that name."""

    def __init__(
        self, title: str, *, lower_is_better: bool | None = False, is_descriptive: bool = False
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # ir_measures has no types
        self.title = title
        self.lower_is_better, self.is_descriptive = lower_is_better, is_descriptive

    def __repr__(self) -> str:
        return self.title


def kind_of(measure: Measure) -> type[MeasureKind] | None:
    name = str(getattr(measure, "NAME", ""))
    return MEASURES.kind(name) if name in MEASURES else None


def computable(measure: Measure) -> Measure:
    """The measure; a UsageError if it is not supported."""
    if kind_of(measure) is None or hasattr(measure, "runtime_impl"):
        raise UsageError(
            f"the measure {measure} is not supported.",
            hint="`adducir kinds measures` lists those that are. Compare another program's values "
            "per topic with adducir compare.",
        )
    return measure


def needs_subtopics(measures: Iterable[Measure]) -> bool:
    """Whether qrels have to be read by subtopic."""
    return any(getattr(kind_of(measure), "needs_subtopics", False) for measure in measures)


def lower_is_better(measure: Measure) -> bool:
    of_kind = getattr(kind_of(measure), "lower_is_better", False)
    return bool(getattr(measure, "lower_is_better", of_kind))


def is_descriptive(measure: Measure) -> bool:
    """Whether it does not rate systems, and so is not tested."""
    return bool(getattr(kind_of(measure) or measure, "is_descriptive", False))


def is_summed(measure: Measure) -> bool:
    """Whether it is a count, shown as its sum over topics, as in trec_eval and ir_measures."""
    return bool(getattr(kind_of(measure), "is_summed", False))


def summary(measure: Measure, mean: float, topics: int) -> float:
    """What stands for a system: its mean over topics, their sum, or the geometric mean."""
    if is_summed(measure):
        return float(round(mean * topics))
    return exp(mean) if getattr(kind_of(measure), "is_geometric", False) else mean


def leaves_unjudged_out(measure: Measure) -> bool:
    """Whether its lists leave out unjudged documents."""
    always = getattr(kind_of(measure), "leaves_unjudged_out", False)
    return bool(always or getattr(measure, "params", {}).get("judged_only"))


@cache
def known() -> dict[str, Measure]:
    """Every measure by name: those of ir_measures, and those that our kinds add or extend."""
    measures: dict[str, Measure] = dict(registry)
    for name, kind in MEASURES.kinds().items():
        if name in measures and kind.model_fields.keys() <= measures[name].SUPPORTED_PARAMS.keys():
            continue
        parameters = {
            key: ParamInfo(  # type: ignore[no-untyped-call]  # ir_measures has no types
                dtype=field.annotation if isinstance(field.annotation, type) else None,
                required=field.is_required(),
                desc=meaning(kind, key),
                **({} if field.is_required() else {"default": field.default}),
            )
            for key, field in kind.model_fields.items()
        }
        about = {"NAME": name, "AT_PARAM": kind.at, "SUPPORTED_PARAMS": parameters}
        measures[name] = type(
            name, (Measure,), about | {"__name__": name, "__doc__": kind.__doc__}
        )()
    return measures


def parse_measures(text: str | Measure | Iterable[str | Measure]) -> list[Measure]:
    """Read measures separated by blanks or commas, in the order given, without duplicates."""
    is_one = isinstance(text, (str, Measure))
    expected = "names, such as 'nDCG@10 AP'"
    parts: list[Any] = [text] if is_one else [*items_in(text, "`measures`", expected)]
    measures: dict[Measure, None] = {}
    for part in parts:
        read = _from_text(part) if isinstance(part, str) else [part]
        measures.update(dict.fromkeys(map(check_measure, read)))
    if not measures:
        raise UsageError("Measures are missing.", hint="Name at least one, such as nDCG@10.")
    return list(measures)


def parse_measure(text: str | Measure) -> Measure:
    measures = parse_measures(text)
    if len(measures) != 1:
        raise UsageError(f"{text!r} names {len(measures)} measures, but one is needed.")
    return measures[0]


def is_measure(text: str) -> bool:
    try:
        return bool(parse_measures(text))
    except UsageError:
        return False


def _from_text(text: str) -> Iterator[Measure]:
    from pytrec_eval import supported_measures

    families = supported_measures | _OF_TREC.keys()
    if _PIECE.sub("", text).strip(", \t\n"):
        raise UsageError(f"{shortened(text)!r}: its parentheses do not match.")
    family = ""
    for piece in _PIECE.findall(text):
        if family and re.fullmatch("[0-9.]+", piece):
            yield from _from_trec(f"{family}.{piece}")  # the 10 of trec_eval's "P.5,10"
            continue
        match = _TREC.fullmatch(piece)
        is_trec = match and piece not in registry and match["family"] in families
        family = match["family"] if match and is_trec and match["value"] else ""
        if piece in NICKNAMES:
            yield from _from_text(NICKNAMES[piece])
        elif is_trec:
            yield from _from_trec(piece)
        else:
            yield _named(piece)


def _from_trec(name: str) -> list[Measure]:
    match = _TREC.fullmatch(name)
    family, values = (match["family"], match["value"]) if match else (name, None)
    if name in _OF_TREC:
        family, values = name, None
    if family in _OF_TREC:
        ours, parameter, default = _OF_TREC[family]
        if parameter is None and not values:
            return [known()[ours]]
        if parameter is None:
            raise UsageError(f"{name!r}: {family} does not have parameters here.")
        numbers = [ast.literal_eval(values)] if values else default
        return [known()[ours](**{parameter: number}) for number in numbers]
    try:
        return list(parse_trec_measure(name))
    except (ValueError, TypeError) as error:
        message = f"trec_eval's measure {name} is not available here: {error}."
        raise UsageError(message, hint="Use one of ir_measures' instead.") from None


def _named(piece: str) -> Measure:
    unreadable = UsageError(
        f"{shortened(piece)!r} cannot be read as a measure.",
        hint="Write Name@cutoff or Name(parameter=value,...)@cutoff, such as "
        "nDCG(judged_only=True)@5.",
    )
    piece = _OF_NDEVAL.sub("_", piece)
    try:
        node: ast.expr = ast.parse(piece[:_LONGEST], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise unreadable from None
    arguments: list[tuple[str | None, ast.expr]] = []
    at = None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        at, node = node.right, node.left
    if isinstance(node, ast.Call) and not node.args:
        arguments = [(keyword.arg, keyword.value) for keyword in node.keywords]
        node = node.func
    if not isinstance(node, ast.Name):
        raise unreadable
    measure: Measure | None = registry.get(node.id)
    if measure is None:  # imports the kinds of measures
        folded = {name_.lower(): name_ for name_ in (*known(), *MEASURES)} | _SPELLINGS
        measure = known().get(node.id) or known().get(folded.get(node.id.lower(), ""))
    if measure is None:
        near = nearest(node.id, [measure_.NAME or name for name, measure_ in known().items()])
        cutoff = re.sub(r"^[^(@]*|\([^()]*\)", "", piece)
        glued = re.fullmatch(r"(\w+?)_?([0-9]+)", node.id)  # ndcg10
        if glued and glued[1].lower() in folded:
            near, cutoff = f"; did you mean `{folded[glued[1].lower()]}`?", f"@{glued[2]}"
        hint = None if near else "Is its package installed? See adducir kinds measures."
        message = f"unknown measure {piece!r}{near.replace('`?', f'{cutoff}`?') or '.'}"
        raise UsageError(message, hint=hint)
    if at is not None:
        arguments.append((measure.AT_PARAM, at))
    parameters: dict[str, Any] = {}
    for key, value in arguments:
        if str(key) in parameters:
            raise UsageError(f"{piece!r} gives {key} twice.")
        parameters[str(key)] = _value(value, piece)
    if not parameters.keys() <= measure.SUPPORTED_PARAMS.keys():  # perhaps our kind has more
        measure = known().get(str(measure.NAME), measure)
    return measure(**parameters)


def _value(node: ast.expr, piece: str) -> Any:
    text = ast.unparse(node).replace(" ", "")
    if text in ("true", "false"):
        return text == "true"
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError):
        if re.fullmatch(r"[A-Za-z][\w-]*", text):
            return text  # dcg=exp-log2 without quotes
        message = f"{shortened(text)!r} is not a number, True, False or text."
        raise UsageError(f"{shortened(piece)!r}: {message}") from None
    parts = (*value, *value.values()) if isinstance(value, dict) else (value,)
    for part in parts:
        if isinstance(part, int) and abs(part) > LARGEST:
            raise UsageError(f"{shortened(piece)!r}: a number in it is too large.")
    return value


def check_measure(measure: Measure) -> Measure:
    """The measure with its parameters checked: ir_measures does so late, and by assertions."""
    if not isinstance(measure, Measure):
        raise UsageError(f"{measure!r} is not a measure.")
    if kind_of(measure) is not None:
        formula = MEASURES.make(str(measure.NAME), measure.params)
        parameters = formula.model_dump(include=set(measure.params))
        return measure(**parameters) if parameters else measure
    try:
        measure.validate_params()  # type: ignore[no-untyped-call]
    except AssertionError as error:
        raise UsageError(f"the measure {measure.NAME}: {error}.") from None
    return measure
