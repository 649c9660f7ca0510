"""The sentences below a table: what a reader must know to judge its figures."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from adducir.evaluation.vectorised import kind_of
from adducir.statistics.comparison.statements import statements
from adducir.tables.table import printed_name

if TYPE_CHECKING:
    from adducir.evaluation.scores import Scores
    from adducir.statistics.comparison.results import Comparison

ESTIMATED = "infAP"
"""It estimates the relevance of documents that were pooled and not judged (a negative grade: -1 by
convention, and all others as well), and counts
what the qrels do not name as not relevant (m_infap.c of trec_eval; Yilmaz and Aslam, 2006)."""
SHOWN = 5
"""So many names are listed before the rest is counted."""


def footer(
    sources: "Mapping[str, tuple[Comparison, Mapping[str, Scores]]]",
    names: Mapping[str, str],
    systems: Mapping[str, str],
    notes: Sequence[str] = (),
    *,
    evaluated: bool = True,
) -> tuple[str, ...]:
    """All sentences; one that holds for every topic set is said once, the others name theirs.

    Args:
        sources: For each topic set by name (empty if there is only one) the comparison and, by
            system, the scores behind it, which may be absent.
        names: Printed names of measures, by exact name.
        systems: Printed names of systems, likewise.
        notes: Sentences to put at the end.
        evaluated: Whether the values are ours: only then is it known how unjudged documents count.
    """
    each = {
        name: [
            *_sentences(renamed(comparison, systems), scores, names, systems, len(sources) > 1),
            *(_unjudged(comparison.measures, names) if evaluated else ()),
            *_descriptive(comparison, names),
        ]
        for name, (comparison, scores) in sources.items()
    }
    sentences: dict[str, None] = {}
    for together in zip_longest(*each.values()):
        for name, sentence in zip(each, together, strict=True):
            if sentence is None:
                continue
            common = not name or all(sentence in others for others in each.values())
            sentences[sentence if common else f"{name}: {sentence}"] = None
    return tuple(map(printed_name, (*sentences, *notes)))


def _sentences(
    comparison: "Comparison",
    scores: "Mapping[str, Scores]",
    names: Mapping[str, str],
    systems: Mapping[str, str],
    several_sets: bool,
) -> list[str]:
    """The sentences of one topic set."""
    return [
        *unmatched(scores.values(), systems),
        *statements(comparison, names, several_sets=several_sets),
        *_extra(scores.values(), systems),
        *_negative(scores.values(), comparison.measures, names),
        *_hollow(scores.values(), comparison.measures, names),
    ]


def renamed(comparison: "Comparison", names: Mapping[str, str]) -> "Comparison":
    """A comparison whose parts that the footer is made of go by the systems' printed names."""
    settings = replace(
        comparison.settings,
        baselines=tuple(names.get(name, name) for name in comparison.settings.baselines),
        against=names.get(comparison.settings.against, comparison.settings.against),
    )
    missing = {names.get(name, name): qids for name, qids in comparison.missing.items()}
    runs = {names.get(name, name): count for name, count in comparison.runs.items()}
    return replace(comparison, settings=settings, missing=missing, runs=runs)


def unmatched(scores: "Iterable[Scores]", names: Mapping[str, str]) -> list[str]:
    """A warning of runs that seem to be of another collection."""
    found = [names.get(one.system, one.system) for one in scores if one.unmatched]
    return [
        f"Warning: no document of {name} is judged for its topic, so its figures say nothing. Is "
        "it a run of this collection?"
        for name in found
    ]


def _extra(scores: "Iterable[Scores]", names: Mapping[str, str]) -> list[str]:
    """Topics of the runs that the qrels lack; systems with the same ones in one sentence."""
    together: dict[tuple[str, ...], list[str]] = {}
    for one in scores:
        if one.extra:
            together.setdefault(tuple(one.extra), []).append(names.get(one.system, one.system))
    return [
        f"Ignored, because the qrels lack them: {_counted(qids, 'topic')} of {listed(systems)} "
        f"({listed(qids)})."
        for qids, systems in together.items()
    ]


def _negative(
    scores: "Iterable[Scores]", measures: Sequence[Hashable], names: Mapping[str, str]
) -> list[str]:
    """How negative grades were treated, where there are any."""
    one = next((one for one in scores if one.negatives), None)
    if one is None:
        return []
    what = f"{_counted(one.negatives, 'judgement')} with a negative grade"
    inferred = [_name(m, names) for m in measures if getattr(m, "NAME", None) == ESTIMATED]
    if len(inferred) == len(measures):
        return [f"{what}, taken by {listed(inferred)} for pooled and not judged."]
    apart = f"; taken by {listed(inferred)} for pooled and not judged" if inferred else ""
    if one.negative == "zero":
        return [f"{what} (spam) counted as judged and not relevant{apart}."]
    return [
        f"{what} (spam) taken as trec_eval does: left out like unjudged documents by condensed "
        f"measures and Bpref{apart}."
    ]


def _hollow(
    scores: "Iterable[Scores]", measures: Sequence[Hashable], names: Mapping[str, str]
) -> list[str]:
    """A warning of measures that leave out all but relevant documents."""
    shown = [_name(m, names) for m in measures if _passes_over(m)]
    if not shown or not any(one.positives_only for one in scores):
        return []
    return [
        f"Warning: the qrels hold relevant documents only, and {listed(shown)} "
        f"{'leave' if len(shown) > 1 else 'leaves'} out all others: only relevant documents are "
        "left, and the figures tell next to nothing."
    ]


def _unjudged(measures: Sequence[Hashable], names: Mapping[str, str]) -> list[str]:
    """Which measures count unjudged documents as not relevant, and which leave them out."""
    named = [m for m in measures if getattr(m, "NAME", None) is not None]
    known = [m for m in named if not getattr(kind_of(m), "is_descriptive", False)]
    without = [m for m in known if _passes_over(m)]
    counting = [m for m in known if not _passes_over(m)]
    sentences = []
    if counting:
        what = "all measures" if not without else listed([_name(m, names) for m in counting])
        sentences.append(f"Unjudged documents count as not relevant in {what}.")
    if without:
        sentences.append(
            f"Unjudged documents are left out by {listed([_name(m, names) for m in without])}."
        )
    inferred = [m for m in known if getattr(m, "NAME", None) == ESTIMATED]
    if inferred:
        sentences.append(
            f"{listed([_name(m, names) for m in inferred])} estimates the relevance of pooled "
            "documents that were not judged (a negative grade)."
        )
    return sentences


def _passes_over(measure: Hashable) -> bool:
    always = getattr(kind_of(measure), "leaves_unjudged_out", False)
    return always or bool(getattr(measure, "params", {}).get("judged_only"))


def _descriptive(comparison: "Comparison", names: Mapping[str, str]) -> list[str]:
    """Which columns rate no system."""
    shown = [_name(m, names) for m in comparison.measures if m in comparison.settings.descriptive]
    tested = any(comparison.tests_in_family.values())
    return [f"Not tested, because it is descriptive: {listed(shown)}."] if shown and tested else []


def _name(measure: Hashable, names: Mapping[str, str]) -> str:
    return names.get(str(measure)) or printed_name(str(measure))


def _counted(what: int | Sequence[str], noun: str) -> str:
    count = what if isinstance(what, int) else len(what)
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(names: Sequence[str]) -> str:
    """Names joined by commas, beyond :data:`SHOWN` counted."""
    shown = ", ".join(names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"
