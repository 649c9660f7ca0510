r"""Contexts from KILT's tasks, such as Wizard of Wikipedia, with their gold passages.

A line of ``wow-dev-kilt.jsonl``::

    {"id": "6bc2_0", "input": "Hi!\nDo you like ...", "output": [{"answer": "I do.", "provenance":
     [{"wikipedia_id": "73126", "title": "...", "start_paragraph_id": 1, "start_character": 260,
       "end_paragraph_id": 1, "end_character": 333, "bleu_score": 1.0}]}]}

x is the input, its turns parted by `` | ``; y the answer of the first output that has one, whose
provenance is gold. Gold passages are all that overlap a provenance in at least one character
(Hindsight's code keeps the last of them). Lines of a test set have no output.

The group of a context, within which contexts are not independent, is its dialogue: the id without
``_`` and the number of the turn.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from adducir.core.errors import UsageError
from adducir.core.json_lines import json_values
from adducir.corpora.records import read_records
from adducir.studies.grounded_generation.contexts import GroundedContext
from adducir.studies.grounded_generation.pages import PagePassage

TURNS = " | "


class Provenance(NamedTuple):
    """Where on a page an answer comes from; paragraphs as KILT counts them."""

    wikipedia_id: str
    start: tuple[int, int]
    end: tuple[int, int]


@dataclass(frozen=True, slots=True)
class KiltExample:
    """A line of a KILT task.

    Attributes:
        id: Its id.
        input: The input, as it stands there.
        answer: The answer; empty in a test set.
        provenance: Where the answer comes from.
    """

    id: str
    input: str
    answer: str
    provenance: tuple[Provenance, ...]


@dataclass
class GoldCounts:
    """What became of the contexts' gold passages.

    Attributes:
        contexts: Contexts.
        unknown: Those without a provenance.
        lost: Those with one that no passage overlaps.
        found: Those with a gold passage.
        several: Those with more than one.
    """

    contexts: int = 0
    unknown: int = 0
    lost: int = 0
    found: int = 0
    several: int = 0


@dataclass
class GoldContexts:
    """Contexts with their gold passages, and counts."""

    contexts: list[GroundedContext] = field(default_factory=list)
    counts: GoldCounts = field(default_factory=GoldCounts)


def read_kilt(path: Path) -> Iterator[KiltExample]:
    """Yield the examples of a task's file, in its order.

    Raises:
        InputError: A line is no example, or an id comes twice; with file and line.
    """
    hint = "Lines must be as in wow-dev-kilt.jsonl, each with an id of its own."
    yield from read_records(path, json_values(path), _example, hint)


def with_gold(
    examples: Sequence[KiltExample], passages: Iterable[PagePassage], turns: str = TURNS
) -> GoldContexts:
    """The contexts of examples with the passages that their provenance overlaps.

    Args:
        examples: The examples, which are in memory.
        passages: The passages, read once; they are not kept. Gold passages stand in their order.
        turns: Stands for the line breaks between the turns of an input.
    """
    wanted: dict[str, list[tuple[int, Provenance]]] = defaultdict(list)
    for number, example in enumerate(examples):
        for one in example.provenance:
            wanted[one.wikipedia_id].append((number, one))
    gold: dict[int, dict[str, None]] = defaultdict(dict)
    for passage in passages:
        for number, one in wanted.get(passage.wikipedia_id, ()):
            if _overlap(one, passage):
                gold[number][passage.id] = None
    made = GoldContexts()
    for number, example in enumerate(examples):
        made.contexts.append(
            GroundedContext(
                example.id,
                turns.join(example.input.split("\n")),
                example.answer,
                tuple(gold.get(number, ())),
                _dialogue(example.id),
            )
        )
    made.counts = GoldCounts(
        contexts=len(examples),
        unknown=sum(not example.provenance for example in examples),
        lost=sum(bool(one.provenance) and n not in gold for n, one in enumerate(examples)),
        found=len(gold),
        several=sum(len(docnos) > 1 for docnos in gold.values()),
    )
    return made


def _overlap(provenance: Provenance, passage: PagePassage) -> bool:
    """Whether they share a character; an empty provenance must lie within the passage."""
    if provenance.start == provenance.end:
        return passage.start <= provenance.start < passage.end
    return provenance.start < passage.end and passage.start < provenance.end


def _dialogue(name: str) -> str | None:
    dialogue, _, turn = name.rpartition("_")
    return dialogue if dialogue and turn.isdecimal() else None


def _example(record: Any) -> KiltExample:
    if not isinstance(record, dict):
        raise UsageError(f"an example must be a JSON object, not a {type(record).__name__}.")
    name, text, outputs = record.get("id"), record.get("input"), record.get("output", [])
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)
    if not isinstance(name, str) or name.split() != [name]:
        raise UsageError(f"'id' must be text without white space, not {name!r}.")
    if not isinstance(text, str):
        raise UsageError("'input' must be text.")
    if not isinstance(outputs, list) or not all(isinstance(one, dict) for one in outputs):
        raise UsageError("'output' must be a list of objects.")
    first: dict[str, Any] = next((one for one in outputs if one.get("answer")), {})
    answer = first.get("answer", "")
    if not isinstance(answer, str):
        raise UsageError("'answer' must be text.")
    return KiltExample(name, text, answer, tuple(_provenance(first.get("provenance", []))))


def _provenance(spans: Any) -> Iterator[Provenance]:
    """Those that name a place on a page; some of KILT's tasks name the page alone."""
    if not isinstance(spans, list) or not all(isinstance(one, dict) for one in spans):
        raise UsageError("'provenance' must be a list of objects.")
    for one in spans:
        page = one.get("wikipedia_id")
        places = [
            one.get(f"{side}_{what}")
            for side in ("start", "end")
            for what in ("paragraph_id", "character")
        ]
        if page is None or None in places:
            continue
        if not isinstance(page, str | int) or any(type(place) is not int for place in places):
            raise UsageError("a provenance's page must be text, its places whole numbers.")
        start, end = (places[0], places[1]), (places[2], places[3])
        if end < start:
            raise UsageError(f"a provenance ends at {end}, before its start {start}.")
        yield Provenance(str(page), start, end)
