"""The data of a study of ranks: contexts with their candidates, from spans, RELiC or pools."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from adducir.core.errors import InputError, gathering
from adducir.core.fingerprint import fingerprint, source_digest
from adducir.core.planning import reads
from adducir.corpora.records import part_of
from adducir.corpora.sources import file_path
from adducir.corpora.spans import MaskedSpan, read_spans
from adducir.encoders.ranking import CONTEXTS, SpanTask, task_among
from adducir.training.data import GroupShares, Part, items_of
from adducir.training.recipe import Several, listed


class DataRecipe(GroupShares):
    """Contexts, and what is ranked for them: ``spans``, or a file of another kind by its name.

    The other kinds bring their candidates along: ``relic`` (a file in RELiC's form: the passages of
    a quotation's book and length), ``pools`` (a folder of queries with pools, as BIRCO has them),
    and those of installed packages.

    Attributes:
        spans: Files of masked spans: all of them are candidates for every context.
        brought: A file of another kind, by the kind's name, which is a key of its own in YAML.
        candidates: Files of spans that are candidates only, beside ``spans``.
        part: The part whose contexts are ranked; all groups stay candidates. None for all.
        shares: The shares of the groups, as an encoder's recipe divides them.
        groups: The books or questions whose contexts are ranked; none for all.
        sentences: The lengths of the spans whose contexts are ranked; none for all.
    """

    spans: Several = ()
    brought: dict[str, str] = Field(default_factory=dict)
    candidates: Several = ()
    part: Part | None = None
    groups: tuple[str, ...] = ()
    sentences: tuple[Annotated[int, Field(ge=1)], ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _kinds_are_keys(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        brought = {key: data[key] for key in data if key in CONTEXTS}
        return {key: data[key] for key in data if key not in brought} | (
            {"brought": brought} if brought else {}
        )

    @model_validator(mode="after")
    def _fits(self) -> "DataRecipe":
        if len(self.brought) + bool(listed(self.spans)) != 1:
            raise ValueError(
                f"one of {', '.join(f'`{name}`' for name in ('spans', *CONTEXTS))} is needed"
            )
        if listed(self.candidates) and not listed(self.spans):
            raise ValueError("`candidates` have no effect without `spans`")
        if (self.part or self.groups) and not all(
            CONTEXTS.kind(name).has_groups for name in self.brought
        ):
            raise ValueError(f"`{min(self.brought)}` has no groups: leave out `part` and `groups`")
        if self.shares and not self.part:
            raise ValueError("`shares` need `part`")
        return self

    def files(self, folder: Path) -> list[Path]:
        found = [file_path(one, folder) for one in (*listed(self.spans), *listed(self.candidates))]
        for kind, path in self.brought.items():
            found += CONTEXTS.make(kind).files(file_path(path, folder))
        return found

    def tasks(self, folder: Path) -> Iterator[SpanTask]:
        """Contexts of another kind, with the candidates that they bring along."""
        for kind, path in self.brought.items():
            yield from CONTEXTS.make(kind).tasks(file_path(path, folder))


@dataclass(frozen=True)
class SpanData:
    recipe: DataRecipe
    folder: Path
    spans: tuple[MaskedSpan, ...]
    identity: str
    is_read: bool = True

    @cached_property
    def groups(self) -> frozenset[str]:
        return frozenset(span.group for span in self.spans)

    def tasks(self) -> Iterator[SpanTask]:
        """The contexts by their sets of candidates, with ``length`` and ``group`` as keys."""
        recipe, folder = self.recipe, self.folder
        if listed(recipe.spans):
            names = (*listed(recipe.spans), *listed(recipe.candidates))
            every = (span for name in names for span in read_spans(file_path(name, folder)))
            yield replace(task_among(self.spans, every), keys=_keys(self.spans))
            return
        chosen = {span.id for span in self.spans}
        for task in recipe.tasks(folder):
            places = [place for place, span in enumerate(task.spans) if span.id in chosen]
            if places:
                spans = [task.spans[place] for place in places]
                gold = task.gold[np.array(places)]
                yield replace(task, spans=spans, gold=gold, keys=_keys(spans))


def open_data(recipe: DataRecipe, folder: Path) -> SpanData:
    """Read a data set's contexts, and choose those that are ranked."""
    paths = recipe.files(folder)
    with gathering() as each:
        digests = [each(partial(source_digest, path)) for path in paths]
    choice = recipe.model_dump(mode="json", include={"part", "seed", "groups", "sentences"})
    identity = fingerprint([*digests, choice | {"shares": recipe.divided}])
    if not reads(*paths):
        return SpanData(recipe, folder, (), identity, is_read=False)
    chosen, count, known = list[MaskedSpan](), 0, set[str]()
    for span in _contexts(recipe, folder):
        count += 1
        known.add(span.group)
        if (
            (not recipe.groups or span.group in recipe.groups)
            and (not recipe.sentences or len(span.span) in recipe.sentences)
            and (not recipe.part or part_of(span.group, recipe.divided, recipe.seed) == recipe.part)
        ):
            chosen.append(span)
    if unknown := set(recipe.groups) - known:
        what = f"unknown group {min(unknown)!r}; there are {', '.join(sorted(known)[:12])}."
        raise InputError(what, path=paths[0])
    if not chosen:
        raise InputError(
            f"none of its {count:,} contexts is chosen.",
            path=paths[0],
            hint="Look at `part`, `shares`, `seed`, `groups` and `sentences`.",
        )
    data = SpanData(recipe, folder, tuple(chosen), identity)
    if listed(recipe.spans):
        next(data.tasks())  # a candidate with two texts is found now
    return data


def _contexts(recipe: DataRecipe, folder: Path) -> Iterable[MaskedSpan]:
    if files := listed(recipe.spans):
        return items_of([file_path(name, folder) for name in files], read_spans)
    return (span for task in recipe.tasks(folder) for span in task.spans)


def _keys(spans: Sequence[MaskedSpan]) -> dict[str, list[str]]:
    return {
        "length": [f"{len(span.span)}" for span in spans],
        "group": [span.group for span in spans],
    }
