"""Contexts of grounded generation: JSONL, gzipped where the name ends in ``.gz``, one per line.

``target`` is missing where it is not known (KILT's test set), ``gold`` where no passage is known,
``group`` where contexts are not grouped::

    {"id": "7", "input": "Who was Vivaldi?", "target": "A composer ...", "gold": ["d4"],
     "group": "music"}
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, ConfigDict
from pydantic.dataclasses import dataclass

from adducir.core.files import writing_text
from adducir.core.json_lines import json_values
from adducir.corpora.records import Id, all_different, parsed_as, read_records, write_records


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class GroundedContext:
    """A context x, the target text y, and the docnos of the passages that y draws on.

    Contexts of one group are not independent: tests and splits keep them together.
    """

    id: Id
    input: str
    target: str = ""
    gold: Annotated[tuple[Id, ...], AfterValidator(all_different)] = ()
    group: str | None = None


def read_contexts(path: Path) -> Iterator[GroundedContext]:
    yield from read_records(path, json_values(path), parsed_as(GroundedContext))


def write_contexts(contexts: Iterable[GroundedContext], path: Path) -> int:
    def record_of(one: GroundedContext) -> dict[str, object]:
        further = {"target": one.target, "gold": one.gold, "group": one.group}
        given = {key: value for key, value in further.items() if value}
        return {"id": one.id, "input": one.input, **given}

    return write_records(contexts, path, record_of)


def write_gold(contexts: Iterable[GroundedContext], path: Path) -> None:
    """Write gold passages as qrels; contexts without one have no line, so measures skip them."""
    with writing_text(path) as handle:
        for context in contexts:
            handle.writelines(f"{context.id} 0 {docno} 1\n" for docno in context.gold)
