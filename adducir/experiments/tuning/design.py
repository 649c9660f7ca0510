"""The design of a tuning: the grid of settings, the pool of topics, the folds.

**Settings** are all combinations of the parameters' values, exact decimals in ascending order; the
last parameter varies fastest, so the first of equal settings has the smallest first values.

**Topics** are the judged ones of all topic sets, each with an id: its qid, or ``SET:QID`` if topic
sets share the qid. A judged topic without a query counts 0 in every setting, as in an evaluation.
The same topic in two sets (same qid, and the same query or judgements) must be in one fold;
otherwise it would be tuned on its own labels.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from itertools import pairwise, product
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import polars as pl
from pydantic import BaseModel, Field, model_validator

from adducir.core.errors import InputError, UsageError
from adducir.core.files import read_text
from adducir.core.json_lines import json_value
from adducir.core.recipe import KeyPath, Recipe, without
from adducir.core.texts import listed, nearest, shortened
from adducir.corpora.frames import Integers
from adducir.corpora.qrels import Qrels
from adducir.corpora.topics import Topics
from adducir.runs.run import Run

Number = int | float
Setting = dict[str, Number]
"""A value per parameter, in the order of the grid."""

_MOST_VALUES = 100_000


def decimal(value: Number | str | Decimal) -> Decimal:
    """The decimal number as written; floats as they are printed."""
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation as error:
        raise UsageError(f"{value!r} is not a number.") from error
    if not number.is_finite() or abs(number.adjusted()) > 100:
        raise UsageError(f"{shortened(str(value))} is not a finite number of at most 100 places.")
    return number


def plain(value: Number | Decimal) -> str:
    """A value in plain notation: ``4``, ``0.4``, ``1000``."""
    text = format(decimal(value), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def span(first: Decimal, last: Decimal, step: Decimal) -> list[Decimal]:
    """The values from ``first`` to ``last`` in steps that must end on ``last``."""
    message = f"from {plain(first)} to {plain(last)}"
    if step <= 0 or last < first:
        raise UsageError(f"a range must go up by a positive step, not {message} by {plain(step)}.")
    if (last - first) / step >= _MOST_VALUES:
        raise UsageError(f"{message} by {plain(step)} has more than {_MOST_VALUES:,} values.")
    steps, remainder = divmod(last - first, step)
    if remainder:
        below = first + steps * step
        raise UsageError(
            f"steps of {plain(step)} from {plain(first)} do not end on {plain(last)}.",
            hint=f"End on {plain(below)} or {plain(below + step)}.",
        )
    return [first + number * step for number in range(int(steps) + 1)]


def from_recipe(values: Number | Iterable[Number] | Mapping[Any, Number]) -> list[Decimal]:
    """The values of a number, of a list, or of the keys ``from``, ``to`` and ``step``."""
    if isinstance(values, Mapping):
        if missing := [key for key in ("from", "to", "step") if key not in values]:
            raise UsageError(f"a range has the keys from, to and step; {missing[0]} is missing.")
        return span(decimal(values["from"]), decimal(values["to"]), decimal(values["step"]))
    return [decimal(value) for value in ([values] if isinstance(values, Number) else values)]


@dataclass(frozen=True)
class Hyperparameter:
    """A parameter's valid values: integers only, from ``low`` to ``high``."""

    whole: bool = False
    low: float = -inf
    high: float = inf


def hyperparameters_of(kind: type[BaseModel]) -> dict[str, Hyperparameter]:
    """A recipe's numeric fields, which can be tuned, with their bounds."""
    kinds_of = {}
    for name, field in kind.model_fields.items():
        if field.annotation in (int, float):
            low = next((float(bound.ge) for bound in field.metadata if hasattr(bound, "ge")), -inf)
            high = next((float(bound.le) for bound in field.metadata if hasattr(bound, "le")), inf)
            kinds_of[name] = Hyperparameter(field.annotation is int, low, high)
    return kinds_of


@dataclass(frozen=True)
class Parameter:
    name: str
    values: tuple[Number, ...]
    allowed: Hyperparameter

    def is_edge(self, value: Number) -> bool:
        """Whether a value is the first or last tried, and a value beyond it is valid."""
        first, last = self.values[0], self.values[-1]
        low, high = first > self.allowed.low, last < self.allowed.high
        return first != last and ((value == first and low) or (value == last and high))


@dataclass(frozen=True)
class Grid:
    parameters: tuple[Parameter, ...]

    @classmethod
    def of(
        cls,
        values: Mapping[str, Sequence[Number | Decimal]],
        hyperparameters: Mapping[str, Hyperparameter],
    ) -> "Grid":
        if not values:
            raise UsageError("there is nothing to tune.", hint="Name a parameter and its values.")
        parameters = list[Parameter]()
        for name, numbers in values.items():
            if name not in hyperparameters:
                hint = f" Parameters are {', '.join(hyperparameters)}." if hyperparameters else ""
                guess = nearest(name, hyperparameters) or "."
                raise UsageError(f"unknown parameter `{name}`{guess}{hint}")
            allowed, tried = hyperparameters[name], sorted(decimal(value) for value in numbers)
            if not tried:
                raise UsageError(f"{name} lacks values.")
            for value, after in pairwise(tried):
                if value == after:
                    raise UsageError(f"{name} repeats the value {plain(value)}.")
            for value in tried:
                if allowed.whole and value != value.to_integral_value():
                    raise UsageError(f"{name} must be an integer, not {plain(value)}.")
                if not allowed.low <= value <= allowed.high:
                    end = "up" if allowed.high == inf else f"to {allowed.high:g}"
                    message = f"{name} takes values from {allowed.low:g} {end}, not {plain(value)}."
                    raise UsageError(message)
            kind = int if allowed.whole else float
            parameters.append(Parameter(name, tuple(kind(value) for value in tried), allowed))
        return cls(tuple(parameters))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self.parameters)

    @cached_property
    def settings(self) -> list[Setting]:
        """All combinations; the last parameter varies fastest."""
        combinations = product(*(parameter.values for parameter in self.parameters))
        return [dict(zip(self.names, values, strict=True)) for values in combinations]


@dataclass(frozen=True)
class JudgedTopics:
    name: str
    topics: Topics
    qrels: Qrels


@dataclass(frozen=True, eq=False)
class TopicPool:
    """The T judged topics of all topic sets."""

    sets: tuple[JudgedTopics, ...]
    ids: tuple[str, ...]  # (T,) set after set, each set in the order of its qrels
    qids: tuple[str, ...]  # (T,)
    set_of: Integers  # (T,) the number of each topic's set
    queries: dict[str, str]  # by id, without topics that cannot be searched
    weights: dict[str, Mapping[str, float]]  # by id, of words or tokens

    @classmethod
    def of(cls, sets: Sequence[JudgedTopics]) -> "TopicPool":
        names = [part.name for part in sets]
        if not names or len(set(names)) < len(names):
            raise UsageError("tuning needs topic sets with unique names.")
        shared = Counter(qid for part in sets for qid in part.qrels.qids)
        ids: list[str] = []
        queries: dict[str, str] = {}
        weights: dict[str, Mapping[str, float]] = {}
        for part in sets:
            texts = dict(zip(part.topics.qids, part.topics.texts, strict=True))
            vectors = dict(zip(part.topics.qids, part.topics.vectors or (), strict=False))
            if texts.keys().isdisjoint(part.qrels.qids):
                raise InputError(
                    f"the topics of {part.topics.source} and the qrels do not share qids (such "
                    f"as {part.topics.qids[0]!r} and {part.qrels.qids[0]!r}).",
                    path=part.qrels.source,
                )
            for qid in part.qrels.qids:
                ids.append(f"{part.name}:{qid}" if shared[qid] > 1 else qid)
                if qid in texts:
                    queries[ids[-1]] = texts[qid]
                if qid in texts and vectors:
                    weights[ids[-1]] = vectors[qid]
        qids = tuple(qid for part in sets for qid in part.qrels.qids)
        set_of = np.repeat(np.arange(len(sets)), [len(part.qrels.qids) for part in sets])
        return cls(tuple(sets), tuple(ids), qids, set_of, queries, weights)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def qrels(self) -> Qrels:
        def joined(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
            numbered = enumerate(frames)
            return pl.concat(_renamed(frame, *self.names_of(number)) for number, frame in numbered)

        parts = [part.qrels for part in self.sets]
        by_subtopic = [qrels.subtopics for qrels in parts if qrels.subtopics is not None]
        return Qrels(
            joined(qrels.frame for qrels in parts),
            " + ".join(qrels.source for qrels in parts),
            joined(by_subtopic) if len(by_subtopic) == len(parts) else None,
        )

    def topics(self, ids: Iterable[str]) -> Topics:
        searched = [id_ for id_ in ids if id_ in self.queries]
        source = " + ".join(part.topics.source for part in self.sets)
        vectors = [self.weights[id_] for id_ in searched if id_ in self.weights]
        queries, are_all = [self.queries[id_] for id_ in searched], len(vectors) == len(searched)
        return Topics(searched, queries, source, vectors=vectors if are_all else None)

    @cached_property
    def same(self) -> Integers:
        """(T,) numbers, equal for the same topic (qid, and query or judgements) in two sets."""
        judged, count = dict[str, Any](), Counter(self.qids)
        twice = [id_ for id_, qid in zip(self.ids, self.qids, strict=True) if count[qid] > 1]
        for (id_,), rows in self.qrels.frame.filter(pl.col("qid").is_in(twice)).group_by("qid"):
            judged[id_] = frozenset(rows.select("docno", "grade").iter_rows())
        rows_with, groups = dict[Any, int](), np.arange(len(self), dtype=np.int64)
        for row, (id_, qid) in enumerate(zip(self.ids, self.qids, strict=True)):
            for key in ((qid, self.queries.get(id_, id_)), (qid, judged.get(id_, id_))):
                first = rows_with.setdefault(key, row)
                if groups[first] != groups[row]:
                    groups[groups == groups[row]] = groups[first]
        return groups

    def notes(self) -> Iterator[str]:
        judged = [(part.topics.qids, set(part.qrels.qids)) for part in self.sets]
        unjudged = [qid for qids, answered in judged for qid in qids if qid not in answered]
        unasked = [id_ for id_ in self.ids if id_ not in self.queries]
        for problem, names in {
            "lack judgements and were not used": unjudged,
            "have judgements but no query, and count 0": unasked,
        }.items():
            if names:
                yield f"{len(names)} topics {problem}: {', '.join(names[:10])}"

    def names_of(self, number: int) -> tuple[list[str], list[str]]:
        rows = np.flatnonzero(self.set_of == number).tolist()
        return [self.qids[row] for row in rows], [self.ids[row] for row in rows]

    def of_set(self, run: Run, name: str) -> Run:
        """The part of a run over ids that belongs to one topic set, with its qids."""
        qids, ids = self.names_of([part.name for part in self.sets].index(name))
        return Run(_renamed(run.frame, ids, qids), run.tag)

    def joined(self, runs: Sequence[Run]) -> Run:
        """One run over ids from a run per topic set, without unjudged topics."""
        parts = [_renamed(run.frame, *self.names_of(number)) for number, run in enumerate(runs)]
        return Run(pl.concat(parts), runs[0].tag)


def _renamed(frame: pl.DataFrame, old: Sequence[str], new: Sequence[str]) -> pl.DataFrame:
    """The topics ``old`` under new names."""
    names = pl.Series(old, dtype=pl.String)
    renamed = pl.col("qid").replace_strict(names, new, return_dtype=pl.String)
    return frame.filter(pl.col("qid").is_in(names.implode())).with_columns(renamed)


@dataclass(frozen=True, eq=False)
class Folds:
    """A partition of topics into at least two folds."""

    names: tuple[str, ...]
    of: Integers  # (T,) the number of each topic's fold
    rule: str  # how they were made, in words

    def __len__(self) -> int:
        return len(self.names)

    def test(self, fold: int) -> Integers:
        """The topics of a fold, ascending."""
        return np.flatnonzero(self.of == fold)

    def train(self, fold: int) -> Integers:
        """The topics of all other folds, ascending."""
        return np.flatnonzero(self.of != fold)

    def members(self, ids: Sequence[str]) -> dict[str, list[str]]:
        return {name: [ids[row] for row in self.test(n)] for n, name in enumerate(self.names)}


def by_topic_set(pool: TopicPool) -> Folds:
    """Each topic set is a fold (two years: tuned on one, applied to the other)."""
    if len(pool.sets) < 2:
        hint = "Add topics and qrels, or split the topics into folds."
        raise UsageError("folds by topic set need at least two topic sets.", hint=hint)
    folds = Folds(tuple(part.name for part in pool.sets), pool.set_of, "each topic set is a fold")
    if torn := _torn(pool, folds):
        raise UsageError(torn, hint="Split the topics into folds instead.")
    return folds


def _torn(pool: TopicPool, folds: Folds) -> str:
    first: dict[int, int] = {}
    for row, topic in enumerate(pool.same.tolist()):
        left, right = (folds.names[folds.of[at]] for at in (first.setdefault(topic, row), row))
        if left != right:
            return f"topic {pool.qids[row]} is in two folds: {left} and {right}."
    return ""


def k_fold(pool: TopicPool, k: int, seed: int = 42) -> Folds:
    """Split the topics into k folds of equal size, within one.

    Topics are sorted by the SHA-256 of ``seed qid`` and dealt out in turn, so that the folds depend
    only on the seed and the qids.
    """
    name_of = {topic: pool.ids[row] for row, topic in reversed([*enumerate(pool.same.tolist())])}
    if not 2 <= k <= len(name_of):
        most = f"can be split into 2 to {len(name_of)} folds, not {k}"
        raise UsageError(f"{len(name_of)} topic{'s' * (len(name_of) != 1)} {most}.")

    def drawn(topic: int) -> tuple[bytes, str]:
        return hashlib.sha256(f"{seed} {name_of[topic]}".encode()).digest(), name_of[topic]

    fold_of = {topic: rank % k for rank, topic in enumerate(sorted(name_of, key=drawn))}
    numbers = np.array([fold_of[topic] for topic in pool.same.tolist()], dtype=np.int64)
    names = tuple(str(number + 1) for number in range(k))
    return Folds(names, numbers, f"{k} folds over {len(name_of)} topics, seed {seed}")


def from_file(pool: TopicPool, path: Path | str) -> Folds:
    """Folds from a JSON file: a list of lists of qids, as in Anserini, or an object of lists."""
    path = Path(path)
    data = json_value(read_text(path), path)
    if isinstance(data, list):
        data = {str(number): fold for number, fold in enumerate(data, 1)}
    if not isinstance(data, dict) or not all(isinstance(fold, list) for fold in data.values()):
        raise InputError("folds must be a JSON list of lists of qids.", path=path)
    names = list(data)
    fold_of: dict[str, int] = {}
    for number, (name, fold) in enumerate(data.items()):
        for qid in fold:
            if isinstance(qid, bool) or not isinstance(qid, str | int):
                raise InputError(f"{qid!r} in the fold {name} is not a qid.", path=path)
            if (before := fold_of.setdefault(str(qid), number)) != number:
                message = f"topic {qid} is in two folds: {names[before]} and {name}."
                raise InputError(message, path=path)
    # The file lists each judged topic by its id or qid.
    folded = [id_ if id_ in fold_of else qid for id_, qid in zip(pool.ids, pool.qids, strict=True)]
    valid = {qid for part in pool.sets for qid in part.topics.qids} | {*pool.qids, *pool.ids}
    for qids, message in (
        ([name for name in folded if name not in fold_of], "judged topics are not in any fold"),
        (sorted(fold_of.keys() - valid), "these are not topics"),
    ):
        if qids:
            hint = "Are these folds for other topics?"
            raise InputError(f"{message}: {listed(qids)}.", path=path, hint=hint)
    topic_of: dict[str, int] = {}
    for name, topic in zip(folded, pool.same.tolist(), strict=True):
        if topic_of.setdefault(name, topic) != topic:
            message = f"the qid {name} is in two topic sets; write SET:{name} for each."
            raise InputError(message, path=path)
    numbers = np.array([fold_of[name] for name in folded], dtype=np.int64)
    if len(names) < 2 or len(set(numbers.tolist())) < len(names):
        raise InputError("at least two folds with judged topics are needed.", path=path)
    folds = Folds(tuple(names), numbers, f"{len(names)} folds from {path.name}")
    if torn := _torn(pool, folds):
        raise InputError(torn, path=path)
    return folds


Range = dict[Literal["from", "to", "step"], float]


class FoldsRecipe(Recipe):
    """Folds drawn with a seed, or from a file."""

    k: Annotated[int, Field(ge=2)] | None = None
    """The number of folds."""
    seed: Annotated[int, without("file")] = 42
    """What determines the topics of the `k` folds."""
    file: str | None = None
    """A file of folds, instead."""

    @model_validator(mode="after")
    def _one(self) -> "FoldsRecipe":
        if (self.k is None) == (self.file is None):
            raise ValueError("folds are `topics`, `{k: 5, seed: 42}` or `{file: PATH}`")
        return self


class TuneRecipe(Recipe):
    """The parameters to tune, their values, the folds and the measure."""

    grid: dict[str, float | tuple[float, ...] | Range]
    """Parameters and their values: a list, or a range with both ends."""
    folds: Literal["topics"] | FoldsRecipe
    """Whether each topic set is a fold, or how folds are made."""
    objective: str = "nDCG@10"
    """The measure whose mean to maximise."""

    @property
    def values(self) -> dict[str, list[Decimal]]:
        return {name: from_recipe(values) for name, values in self.grid.items()}

    def errors(self, allowed: Mapping[str, Hyperparameter]) -> Iterator[tuple[KeyPath, str]]:
        if not self.grid:
            yield ("grid",), "there is nothing to tune"
        for name, values in self.grid.items():
            try:
                Grid.of({name: from_recipe(values)}, allowed)
            except UsageError as error:
                yield ("grid", name), error.paragraph()

    def make_folds(self, pool: TopicPool, path_of: Callable[[str], str | Path]) -> Folds:
        """The folds of the topics; ``path_of`` resolves a file's path."""
        if isinstance(self.folds, str):
            return by_topic_set(pool)
        if self.folds.file is not None:
            return from_file(pool, path_of(self.folds.file))
        return k_fold(pool, self.folds.k or 0, self.folds.seed)


@dataclass(frozen=True)
class Tunable:
    """A system with some open hyperparameters."""

    run: Callable[[Setting, Topics], Run]  # ranks topics with a setting
    facts: Mapping[str, Any]  # the system, for metadata
    check: Callable[[Setting], object] = bool  # raises UsageError for an invalid setting
