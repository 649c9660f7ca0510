"""What the sections of an experiment file must keep to among each other.

Every check gives a fault for its place and goes on, so that one message can hold all of them.
"""

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from adducir.experiments.members import made_of, text_index
from adducir.experiments.recipe import (
    ComparisonRecipe,
    CorpusRecipe,
    ExperimentRecipe,
    SystemRecipe,
    file_name,
)
from adducir.indexes.models import MODELS
from adducir.study.recipe import Fault, nearest
from adducir.study.yaml import KeyPath


def inconsistencies(recipe: ExperimentRecipe, data: Mapping[str, Any]) -> Iterator[Fault]:
    """Every fault that lies between two entries of a file.

    Args:
        recipe: What the file says; it may lack entries that have faults of their own.
        data: The whole file, which says what names there are.
    """
    names = _Names(data)
    for name, corpus in recipe.corpora.items():
        yield from _corpus(name, corpus, recipe, names)
    for name, index in recipe.indexes.items():
        yield from names.check(("indexes", name, "corpus"), "corpora", index.corpus)
    for name, system in recipe.systems.items():
        yield from _system(name, system, recipe, names)
    if recipe.comparison is not None:
        yield from _comparison(recipe.comparison, names)
    yield from _table(recipe, names)
    yield from _clashing_files(recipe)


class _Names:
    """The names that a file defines, by section."""

    _ENTRY = {  # noqa: RUF012
        "corpora": "corpus",
        "indexes": "index",
        "topics": "topic set",
        "systems": "system",
    }

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.of = {key: [*(data.get(key) or {})] for key in self._ENTRY if _is_section(data, key)}

    def check(self, path: KeyPath, section: str, name: str) -> Iterator[Fault]:
        """A fault if the section has no entry of that name."""
        known = self.of.get(section, [])
        if name not in known:
            what = f"there is no {self._ENTRY[section]} `{name}` in this file"
            yield Fault(path, what + nearest(name, known))


def _is_section(data: Mapping[str, Any], key: str) -> bool:
    return data.get(key) is None or isinstance(data[key], Mapping)


def _corpus(
    name: str, corpus: CorpusRecipe, recipe: ExperimentRecipe, names: _Names
) -> Iterator[Fault]:
    if corpus.expand is None:
        return
    place = ("corpora", name, "expand")
    yield from names.check(place, "corpora", corpus.expand)
    if corpus.expand in recipe.corpora and recipe.corpora[corpus.expand].expand is not None:
        yield Fault(place, f"`{corpus.expand}` is itself expanded")


def _system(
    name: str, system: SystemRecipe, recipe: ExperimentRecipe, names: _Names
) -> Iterator[Fault]:
    place = ("systems", name)
    if system.index is not None:
        yield from names.check((*place, "index"), "indexes", system.index)
        yield from _unfit_index(name, system, recipe)
    for number, member in enumerate(system.fuse):
        yield from names.check((*place, "fuse", number), "systems", member)
        if member in recipe.systems and recipe.systems[member].fuse:
            yield Fault((*place, "fuse", number), f"`{member}` is itself a fusion")
        yield from _tuned_twice((*place, "fuse", number), system, member, recipe)
    if system.rerank is not None:
        yield from names.check((*place, "rerank"), "systems", system.rerank)
        yield from _rerank(place, name, system, recipe, names)
    topic_sets = names.of.get("topics", [])
    if isinstance(system.run, str) and len(topic_sets) > 1:
        what = "with several topic sets, name a run for each: `{topic set: file}`"
        yield Fault((*place, "run"), what)
    if isinstance(system.run, Mapping):
        for topic_set in system.run:
            yield from names.check((*place, "run", topic_set), "topics", topic_set)
        for topic_set in topic_sets:
            if topic_set not in system.run:
                yield Fault((*place, "run"), f"there is no run for the topic set `{topic_set}`")


def _tuned_twice(
    place: KeyPath, system: SystemRecipe, member: str, recipe: ExperimentRecipe
) -> Iterator[Fault]:
    """Members' runs of training topics were chosen with the labels of the held-out ones."""
    of = made_of(recipe.systems, member)
    tuned = [one for one in (member, *of) if one in recipe.systems and recipe.systems[one].tune]
    if system.tune and tuned:
        what = f"`{tuned[0]}` is tuned itself, so its figures know the topics held out here"
        yield Fault(place, what)


def _rerank(
    place: KeyPath, name: str, system: SystemRecipe, recipe: ExperimentRecipe, names: _Names
) -> Iterator[Fault]:
    base = str(system.rerank)
    if name in made_of(recipe.systems, name):
        yield Fault((*place, "rerank"), f"`{name}` would rerank what is made of itself")
        return
    yield from _tuned_twice((*place, "rerank"), system, base, recipe)
    if system.texts is not None:
        yield from names.check((*place, "texts"), "indexes", system.texts)
    elif {base, *made_of(recipe.systems, base)} <= recipe.systems.keys() and (
        text_index(recipe.systems, name) is None
    ):
        what = f"there is not one index that `{base}` searches; name the one with the texts:"
        yield Fault((*place, "rerank"), f"{what} `texts: INDEX`")
    if recipe.most is not None and system.deepest > recipe.most:
        key = ("tune", "grid", "depth") if system.tune else ("depth",)
        what = f"{system.deepest} documents a topic are reranked; `depth` of the file is"
        yield Fault((*place, *key), f"{what} {recipe.most}")


def _unfit_index(name: str, system: SystemRecipe, recipe: ExperimentRecipe) -> Iterator[Fault]:
    """What the index is built without and the search needs."""
    index = recipe.indexes.get(str(system.index))
    if index is None:
        return
    if system.rm3 is not None and not index.vectors:
        what = f"RM3 reads document vectors, and the index `{system.index}` has `vectors: false`"
        yield Fault(("systems", name, "rm3"), what)
    kind = MODELS.kind(system.model)
    if index.engine not in kind.engines():
        what = f"Lucene has no model {system.model}: `{system.index}` needs `engine: memory`"
        if index.engine == "memory":
            what = f"only Lucene has a model {system.model}: `{system.index}` has `engine: memory`"
        yield Fault(("systems", name, "model"), what)
    if index.is_of_impacts and system.model != "impact":
        what = f"`{system.index}` holds token weights, which `model: impact` reads"
        yield Fault(("systems", name, "model"), what)
    if system.model != "bm25" and index.accurate_length and "lucene" in kind.engines():
        what = f"only bm25 reads exact lengths, and `{system.index}` has `accurate_length: true`"
        yield Fault(("systems", name, "model"), what)


def _comparison(comparison: ComparisonRecipe, names: _Names) -> Iterator[Fault]:
    for number, baseline in enumerate(comparison.baselines):
        place: KeyPath = ("comparison", "baseline")
        if not isinstance(comparison.baseline, str):
            place = (*place, number)
        yield from names.check(place, "systems", baseline)
    if comparison.against != "best":
        yield from names.check(("comparison", "against"), "systems", comparison.against)
    if comparison.equivalence is None:
        if "against" in comparison.model_fields_set:
            yield Fault(("comparison", "against"), "means nothing without `equivalence`")
        if not comparison.differences:
            what = "nothing is compared: name a `baseline`, `family: pairs` or an `equivalence`"
            yield Fault(("comparison",), what)


def _table(recipe: ExperimentRecipe, names: _Names) -> Iterator[Fault]:
    for name in recipe.table.system_names:
        yield from names.check(("table", "system_names", name), "systems", name)
    comparison = recipe.comparison
    for number, detail in enumerate(recipe.table.show):
        is_there = comparison is not None and comparison.differences
        needed = "`baseline` or `family: pairs`"
        if detail == "equivalence_p":
            is_there = comparison is not None and comparison.equivalence is not None
            needed = "`equivalence`"
        if not is_there:
            what = f"`{detail}` needs {needed} in `comparison`"
            yield Fault(("table", "show", number), what)


def _clashing_files(recipe: ExperimentRecipe) -> Iterator[Fault]:
    """Names that would get the same file, also where upper and lower case are one."""
    sections = ("indexes", recipe.indexes), ("topics", recipe.topics), ("systems", recipe.systems)
    for section, names in sections:
        seen: dict[str, str] = {}
        for name in names:
            before = seen.setdefault(_on_disk(name), name)
            if before != name:
                what = f"its files would have the names of those of `{before}`"
                yield Fault((section, name), what)
    runs: dict[str, tuple[str, str]] = {}
    made = (name for name, system in recipe.systems.items() if system.run is None)
    for system in made:
        for topic_set in recipe.topics:
            before_run = runs.setdefault(_on_disk(f"{system}.{topic_set}"), (system, topic_set))
            if before_run[0] != system and _on_disk(before_run[0]) != _on_disk(system):
                what = (
                    f"its run on `{topic_set}` would have the file of that of `{before_run[0]}` "
                    f"on `{before_run[1]}`"
                )
                yield Fault(("systems", system), what)


def _on_disk(name: str) -> str:
    return unicodedata.normalize("NFC", file_name(name)).casefold()
