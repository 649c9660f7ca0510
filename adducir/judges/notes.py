"""What a table says of who judged."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from adducir.core.errors import Keyed
from adducir.core.progress import progress
from adducir.runs.write import facts_at, part_of

_UMBRELA = re.compile(r".+?_(?P<model>[^/]+)_(?P<grades>0?1?2?3?)_[0-9]+_[0-9]+\.txt")
"""``QRELS_MODEL_GRADES_SHOTS_SAMPLES.txt``, in umbrela's folder of modified qrels."""

NOBODY_NAMED = Keyed(
    "{} corrects a model's judgements, but {} does not say who judged; name the model: {}.",
    *("people", "qrels", ("judge", "NAME, VERSION")),
)
WORD_ALONE = Keyed(
    "differences on a model's word alone are often wrong, and are not tested; let people judge a "
    "sample (`adducir sample`) and give it ({}), or set {}",
    *(("people", "SHEET"), ("uncorrected", "true")),
)


def judge_of(qrels: Sequence[str | Path]) -> str | None:
    """The model that made qrels; None if people did, or unknown.

    The metadata beside them say it, or the names of files and folders that umbrela writes.
    """
    for source in qrels:
        path = Path(source)
        named = _UMBRELA.fullmatch(path.name)
        if named and named["grades"] and (path.absolute().parent.name == "modified_qrels"):
            message = (
                f"umbrela's qrels by {named['model']}, grades {named['grades']}; pairs that it did "
                "not judge keep the grades of the original qrels, and unreadable answers are 0"
            )
            progress().note_once(f"{source}: {message}")
            return named["model"]
        if name := part_of(facts_at(source), "judge").get("name"):
            return str(name)
    return None


def circular_note(
    judge: str, qrels: Sequence[str | Path], systems: Mapping[Path, str]
) -> Iterator[str]:
    """A warning of systems that use the judge's own model, or one of its family.

    A judge favours what it ranked itself (Clarke and Dietz, 2024; Balog, Metzler and Qin, 2025).
    """
    known = {"name": judge}
    for source in qrels:
        known |= part_of(facts_at(source), "judge")
    shared = dict[str, list[str]]()
    for path, system in systems.items():
        for model in (step["language model"] for step in _asking(facts_at(path))):
            same = [key for key in ("weights", "name", "family") if known.get(key)]
            if key := next((key for key in same if model.get(key) == known[key]), None):
                what = f"of its family {known[key]}" if key == "family" else "itself"
                shared.setdefault(what, []).append(system)
                break
    for what, names in shared.items():
        yield (
            f"Warning: {judge} judged, and {', '.join(names)} used a model {what}: judges favour "
            "such systems."
        ).replace("used a model itself", "used it")


def answer_notes(qrels: Sequence[str | Path], systems: Mapping[Path, str]) -> Iterator[str]:
    """How many answers of language models were not as asked, of whom any were not."""
    sources: list[tuple[Any, str]] = [
        (part_of(facts_at(path), "judge"), "the judge") for path in qrels
    ]
    sources += [(step, name) for path, name in systems.items() for step in _asking(facts_at(path))]
    parts = []
    for facts, name in sources:
        if not part_of(facts, "answers"):
            continue
        from adducir.judges.exchange import EMPTY, told

        counts = Counter(
            {key: n for key, n in part_of(facts, "answers").items() if key not in (EMPTY, "cut")}
        )
        total, ok = counts.total(), counts.pop("ok", 0)
        if ok < total:
            parts.append(f"{total - ok:,} of {total:,} of {name} ({told(counts)})")
    if parts:
        yield f"Answers of language models that were not as asked: {'; '.join(parts)}."


def _asking(facts: Any) -> Iterator[Mapping[str, Any]]:
    """The steps that asked a language model, wherever metadata have them."""
    if isinstance(facts, Mapping):
        if isinstance(facts.get("language model"), Mapping):
            yield facts
        facts = list(facts.values())
    for value in facts if isinstance(facts, list) else ():
        yield from _asking(value)


def titled(caption: str, alone: str | None) -> str:
    """The table's first line: a model that judged alone is named there."""
    if not alone:
        return caption
    said = f"judged by {alone} alone"
    return f"{caption} ({said})" if caption else f"J{said[1:]}"


def alone_note(judge: str, *, tested: bool) -> str:
    """The note of a table that rests on a model's word alone."""
    claim = (
        "A model's grades alone often give wrong differences with small p-values"
        if tested
        else "Differences are not tested"
    )
    return f"All grades are by {judge}. {claim}; people's grades of a random sample correct them."
