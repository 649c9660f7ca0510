"""The data of a study of ranks: contexts with their candidates, from spans, RELiC or pools."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from adducir.corpora.quotations.pools import read_pools
from adducir.corpora.quotations.relic import spans_of_relic
from adducir.corpora.quotations.relic_files import read_relic
from adducir.corpora.references import file_path
from adducir.corpora.spans.record import MaskedSpan, read_spans
from adducir.corpora.spans.splitting import part_of
from adducir.encoders.ranking import SpanTask, book_tasks, collection_task, pool_tasks
from adducir.experiments.known_item.recipe import DataRecipe
from adducir.study.absent import gathering
from adducir.study.errors import InputError
from adducir.study.files import file_digest
from adducir.study.fingerprint import fingerprint
from adducir.training.recipe import Several, listed


@dataclass(frozen=True)
class SpanData:
    """A data set, opened.

    Attributes:
        recipe: What the study's file says of it.
        folder: The study's folder.
        spans: The contexts that are ranked.
        identity: The fingerprint of its files and of the choice of contexts.
    """

    recipe: DataRecipe
    folder: Path
    spans: tuple[MaskedSpan, ...]
    identity: str

    @property
    def groups(self) -> frozenset[str]:
        """The books or questions of the contexts."""
        return frozenset(span.group for span in self.spans)

    def tasks(self) -> Iterator[SpanTask]:
        """The contexts by their sets of candidates, with ``length`` and ``group`` as keys."""
        chosen = {span.id for span in self.spans}
        for task in self._all_tasks():
            places = [place for place, span in enumerate(task.spans) if span.id in chosen]
            if places:
                spans = [task.spans[place] for place in places]
                yield replace(
                    task, spans=spans, gold=task.gold[np.array(places)], keys=_keys(spans)
                )

    def _all_tasks(self) -> Iterator[SpanTask]:
        recipe = self.recipe
        if recipe.relic:
            yield from book_tasks(read_relic(file_path(recipe.relic, self.folder)))
        elif recipe.pools:
            yield from pool_tasks(read_pools(file_path(recipe.pools, self.folder)))
        else:
            spans = list(_read(recipe.spans, self.folder))
            yield collection_task(spans, list(_read(recipe.candidates, self.folder)))


def open_data(recipe: DataRecipe, folder: Path) -> SpanData:
    """Read a data set's contexts, and choose those that are ranked.

    Raises:
        InputError: A file cannot be read or is malformed, an id comes twice, a group is not
            there, or no context is left.
    """
    paths = _paths(recipe, folder)
    with gathering() as each:
        digests = [each(partial(file_digest, path)) for path in paths]
    every = _contexts(recipe, folder)
    known = {span.group for span in every}
    unknown = set(recipe.groups) - known
    if unknown:
        raise InputError(
            f"there is no group {min(unknown)!r}; there are {', '.join(sorted(known)[:12])}.",
            path=paths[0],
        )
    spans = tuple(span for span in every if _is_chosen(span, recipe))
    if not spans:
        raise InputError(
            f"none of its {len(every):,} contexts is chosen.",
            path=paths[0],
            mend="Look at `part`, `shares`, `seed`, `groups` and `sentences`.",
        )
    data = SpanData(recipe, folder, spans, fingerprint([*digests, _choice(recipe)]))
    if recipe.relic or recipe.pools:
        return data
    for _ in data.tasks():  # a candidate with two texts is found now
        pass
    return data


def _contexts(recipe: DataRecipe, folder: Path) -> list[MaskedSpan]:
    """All contexts whose truth is known."""
    if recipe.relic:
        path = file_path(recipe.relic, folder)
        return [s for s in spans_of_relic(read_relic(path)) if s.extra["start"] is not None]
    if recipe.pools:
        return read_pools(file_path(recipe.pools, folder)).spans
    for _ in _read(recipe.candidates, folder):
        pass
    spans = list(_read(recipe.spans, folder))
    seen: set[str] = set()
    for span in spans:
        if span.id in seen:
            raise InputError(f"the id {span.id!r} is in two of the files.", path=folder)
        seen.add(span.id)
    return spans


def _is_chosen(span: MaskedSpan, recipe: DataRecipe) -> bool:
    if recipe.groups and span.group not in recipe.groups:
        return False
    if recipe.sentences and len(span.span) not in recipe.sentences:
        return False
    return recipe.part is None or part_of(span.group, recipe.divided, recipe.seed) == recipe.part


def _choice(recipe: DataRecipe) -> dict[str, object]:
    names = {"part", "seed", "groups", "sentences"}
    return recipe.model_dump(mode="json", include=names) | {"shares": recipe.divided}


def _paths(recipe: DataRecipe, folder: Path) -> list[Path]:
    if recipe.pools:
        pools = file_path(recipe.pools, folder)
        return [pools / name for name in ("queries.jsonl", "corpus.jsonl", "qrels.txt")]
    if recipe.relic:
        return [file_path(recipe.relic, folder)]
    named = (*listed(recipe.spans), *listed(recipe.candidates))
    return [file_path(name, folder) for name in named]


def _read(names: Several, folder: Path) -> Iterator[MaskedSpan]:
    for name in listed(names):
        yield from read_spans(file_path(name, folder))


def _keys(spans: Sequence[MaskedSpan]) -> dict[str, list[str]]:
    return {
        "length": [f"{len(span.span)}" for span in spans],
        "group": [span.group for span in spans],
    }
