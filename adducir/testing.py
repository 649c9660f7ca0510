"""Checks that every kind of every family must pass, ours and other packages' alike.

A kind is run once on a little data, if that is all its family needs.

>>> from adducir.testing import check_kind
>>> check_kind("fusion", "rrf")

This does not need pytest: a failed check is an ``AssertionError`` that explains it.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, TypeAlias, get_args

import numpy as np
import polars as pl

from adducir.core.errors import UsageError
from adducir.core.meanings import meaning
from adducir.core.registry import Family
from adducir.corpora.qrels import Qrels
from adducir.evaluation.lists import Judgements, Lists
from adducir.evaluation.scores import Scores
from adducir.families import family as family_of
from adducir.families import recipe_of
from adducir.indexes.candidates import CandidateSet
from adducir.indexes.feedback import FeedbackDoc, FeedbackMethod
from adducir.runs.run import Run
from adducir.statistics.comparison import compare
from adducir.statistics.settings import PairFamily
from adducir.tables.build import build_table

__all__ = ["check_kind"]

Checks: TypeAlias = Iterator[tuple[bool, str]]
"""A condition on a kind, and the message if it fails."""


def check_kind(family: str, name: str, *, settings: Mapping[str, Any] | None = None) -> None:
    """Check that a kind is documented, refuses wrong keys and values, and round-trips.

    Args:
        family: The family's name, such as ``fusion``.
        name: The kind's name.
        settings: Values of its required fields; missing numbers and texts are made up.

    Raises:
        AssertionError: A check failed.
        MachineError: It cannot be imported, or does not belong to the family.
        UsageError: The family or kind is unknown.
    """
    registry = family_of(family)
    kind = registry.kind(name)
    recipe = recipe_of(kind)
    fields = recipe.model_fields
    types = {
        key: get_args(field.annotation) or (field.annotation,) for key, field in fields.items()
    }
    examples = {int: 10, float: 0.5, str: "x"}
    hyperparameters = {
        key: next((examples[type_] for type_ in types[key] if type_ in examples), None)
        for key, field in fields.items()
        if field.is_required()
    }
    hyperparameters |= settings or {}

    docstring = str(vars(kind).get("__doc__") or "").strip()
    _must(docstring.partition("\n")[0].endswith("."), f"{name}: its docstring lacks a sentence.")
    _must(bool(sys.modules[kind.__module__].__doc__), f"{name}: its module lacks a docstring.")
    left = ", ".join(sorted(getattr(kind, "__abstractmethods__", ())))
    _must(not left, f"{name}: {left} must be defined.")
    if recipe is not kind:  # of training: it needs data
        return
    instance = registry.make(name, hyperparameters)
    for key in fields:
        _must(bool(meaning(kind, key)), f"{name}: {key} lacks a description.")
        _must(types[key] not in ((None,), (Any,)), f"{name}: {key} lacks a type.")
        message = _refusal(registry, name, {**hyperparameters, f"{key}_x": 1})
        is_refused = f"{key}_x" in message and f"`{key}`" in message
        _must(is_refused, f"{name}: the key {key}_x is not refused.")
        if str not in types[key] and {int, float, bool} & {*types[key]}:
            is_named = key in _refusal(registry, name, {**hyperparameters, key: "no such value"})
            failure = f"{key} accepts 'no such value', or its error does not name the key"
            _must(is_named, f"{name}: {failure}.")
    written = instance.model_dump(mode="json")
    is_same = registry.make(name, written) == instance
    _must(is_same, f"{name}: its recipe changes when it is read back.")
    texts = {
        key: str(written[key])
        for key in fields
        if {int, float} & {*types[key]} and isinstance(written[key], int | float)
    }
    is_same = registry.make(name, {**written, **texts}) == instance
    _must(is_same, f"{name}: its recipe written as text changes when it is read back.")
    for holds, failure in _USES[family](instance) if family in _USES else ():
        _must(holds, f"{name}: {failure}.")


def _finite(values: Any, *shape: int) -> bool:
    array = np.asarray(values)
    return array.shape == shape and bool(np.isfinite(array).all())


def _fusion(method: Any) -> Checks:
    run = Run.of({"1": {"a": 2.0, "b": 1.0}, "2": {"a": 1.0}}, tag="run")
    yield _finite(method.contributions(run), 3), "contributions() does not return a number per row"
    sums = method.combined(np.array([2.0, 1.0]), np.array([2.0, 1.0]))
    yield _finite(sums, 2), "combined() does not return a score per sum"


def _measure(measure: Any) -> Checks:
    run = Run.of({"1": {"a": 3.0, "x": 2.0, "b": 1.0}, "2": {"x": 1.0}}, tag="run")
    rows = [("1", "a", 0, "s"), ("1", "b", 1, "t"), ("2", "a", 1, "s"), ("3", "c", 1, "s")]
    qrels = Qrels.of(pl.DataFrame(rows, schema=["qid", "docno", "grade", "subtopic"], orient="row"))
    values = measure.values(Lists.find(run, Judgements.prepare(qrels, "zero")))
    yield _finite(values, 3), "values() does not return a number per topic of the qrels"


_SCORES = np.array([[0.1, 0.5, 0.2, 0.9], [0.3, 0.4, 0.6, 0.8], [0.2, 0.6, 0.7, 0.8]])
_PAIRS = np.array([0, 0]), np.array([1, 2])


def _test(test: Any) -> Checks:
    statistics, p = test.pairs(_SCORES, *_PAIRS)
    yield np.shape(statistics) == (2,), "it does not return one statistic per pair"
    yield _finite(p, 2) and 0 < p.min() <= p.max() <= 1, "a p-value is not in (0, 1]"
    yield bool(test.title), "its title is empty"


def _correction(correction: Any) -> Checks:
    p = np.array([0.04, 0.01])
    adjusted = correction.of_pairs(PairFamily(p, _SCORES, *_PAIRS))
    are_p = _finite(adjusted, 2) and 0 <= adjusted.min() <= adjusted.max() <= 1
    yield are_p, "its adjusted p-values are not between 0 and 1"


def _loss(loss: Any) -> Checks:
    import torch

    from adducir.training.losses import ScoredBatch

    scores = torch.tensor([[2.0, 1.0, 0.0, 1.0], [0.0, 1.0, 1.0, 2.0]], requires_grad=True)
    own = torch.tensor([[True, True, False, False], [False, False, True, True]])
    teacher = torch.tensor([[3.0, 1.0], [2.0, 4.0]]).repeat(1, 2).where(own, torch.nan)
    batch = ScoredBatch(scores, torch.tensor([0, 2]), own, torch.zeros_like(own), teacher)
    value = loss(batch)
    yield value.shape == () and bool(value.isfinite()), "it does not return one finite number"
    yield value.requires_grad, "its value has no gradient"
    value.backward()
    grad = scores.grad
    yield grad is not None and bool(grad.isfinite().all()), "its gradient is not finite"


def _table(format_: Any) -> Checks:
    scores = Scores.of("A", ["1", "2"], ["AP"], np.array([[0.5], [0.25]]))
    table = build_table(compare(scores))
    text = format_.render(table)
    is_whole = isinstance(text, str) and "A" in text and text.endswith("\n")
    yield is_whole, "render() does not return the table's text with a final line break"
    yield format_.ending.startswith("."), "its ending does not begin with a dot"


def _model(model: Any) -> Checks:
    if "memory" not in model.engines():
        return
    texts = CandidateSet.of_texts(["cats and dogs", "cats", "birds"])
    scores = texts.scores(["cats"], model)
    yield _finite(scores, 1, 3), "its scores are not numbers"
    yield scores[0, 2] == 0, "a document without any query term has a score other than 0"


def _feedback(method: Any) -> Checks:
    if type(method).expanded is not FeedbackMethod.expanded:
        documents = [FeedbackDoc(2.0, {"cats": 1, "dogs": 2}), FeedbackDoc(1.0, {"birds": 1})]
        counts = {"frequency": lambda _: 1, "occurrences": lambda _: 2}
        collection: Any = SimpleNamespace(documents=30, **counts)
        weights = method.expanded({"cats": 1}, documents[: method.depth], collection)
        are_weights = bool(weights) and min(weights.values()) >= 0
        yield are_weights, "expanded() does not return weights of 0 or more"


def _encoder(encoder: Any) -> Checks:
    both = encoder.encode_documents(["cats and dogs", "birds"])
    are_vectors = both.ndim == 2 and _finite(both, 2, both.shape[1])
    yield are_vectors, "encode() does not return a vector per text"
    alone = encoder.encode_documents(["birds"])
    yield np.allclose(alone, both[1:], atol=1e-4), "a vector depends on the other texts"


def _reranker(reranker: Any) -> Checks:
    if reranker.base == "":  # others need model weights, which are not known here
        pairs = [("cats", "cats and dogs"), ("birds", "")]
        scores = reranker.load(None).scores(pairs)
        yield _finite(scores, 2), "scores() does not return a number per pair"
        yield bool(reranker.scale(None)), "scale() does not name its scores"


_USES: dict[str, Callable[[Any], Checks]] = {
    "fusion": _fusion,
    "losses": _loss,
    "measures": _measure,
    "tests": _test,
    "corrections": _correction,
    "tables": _table,
    "models": _model,
    "feedback": _feedback,
    "encoders": _encoder,
    "rerankers": _reranker,
}
"""How to run a kind of each family once, on a little data."""


def _must(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(message)


def _refusal(registry: Family[Any], name: str, settings: Mapping[str, Any]) -> str:
    try:
        registry.make(name, settings)
    except UsageError as error:
        return str(error)
    return ""
