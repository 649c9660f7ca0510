"""Selects sets for questions, with a model of either kind; and the choice of settings."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from adducir.core.errors import ArtifactError, UsageError
from adducir.core.progress import progress
from adducir.models.machine import Precision
from adducir.models.sources import trained_folder
from adducir.studies.complementary_evidence.questions import EvidenceQuestion, SelectedSet
from adducir.studies.complementary_evidence.selectors.selector import SELECTORS, Selector
from adducir.studies.complementary_evidence.selectors.settings import Settings, variants

EvidenceModel = Any
"""A ``ComplementaryModel``, a ``DRNModel`` or another with their methods; see :class:`Selector`."""

_CHUNK = 1 << 18
"""Tokens of the questions whose vectors are held at a time."""


def load_evidence_model(path: Path, device: torch.device | None = None) -> EvidenceModel:
    """The trained model of a folder, or of its recipe; or a selector that needs none, by its name.

    Raises:
        ArtifactError: The recipe's model is not trained.
        InputError: The folder holds no such model.
        UsageError: The selector of that name needs a model.
    """
    if names_selector(path):
        return without_model(SELECTORS.make(str(path)))
    folder = trained_folder(path, error=ArtifactError)
    module, _, name = SELECTORS.kind(Settings.load(folder).kind).trained.partition(":")
    found = getattr(import_module(module), name).load(folder)
    return found if device is None else found.to(device)


def names_selector(path: Path) -> bool:
    """Whether a model's name is that of a selector, and no file or folder."""
    return str(path) in SELECTORS and not path.exists()


def without_model(selector: Selector) -> EvidenceModel:
    """A selector that needs no model, in a model's place.

    Raises:
        UsageError: It needs one.
    """
    selector.choose(())  # a kind that needs a model says so
    return _Untrained(selector)


class _Untrained:
    """A selector without a model, in a model's place."""

    def __init__(self, selector: Selector) -> None:
        kind = SELECTORS.name_of(type(selector))
        self.settings = SimpleNamespace(kind=kind, selection=selector)

    def read(self, question: EvidenceQuestion) -> Sequence[object]:
        return question.passages

    def states(self, batch: Sequence[object], **_: Any) -> None:
        return None

    def choose(
        self, questions: Sequence[EvidenceQuestion], _: None, selection: Selector
    ) -> list[SelectedSet]:
        return selection.choose(questions)


def changed(selection: Selector, changes: dict[str, Any]) -> Selector:
    """A selection with some settings changed; None stands for no change.

    Raises:
        UsageError: The model has no such setting, or the value does not fit.
    """
    given = {key: value for key, value in changes.items() if value is not None}
    known = type(selection).model_fields
    for key in given:
        if key not in known:
            raise UsageError(
                f"--set {key} means nothing for this model.",
                hint=f"It has: {', '.join(known)}.",
            )
    try:
        return type(selection).model_validate({**selection.model_dump(), **given})
    except ValueError as error:
        raise UsageError(f"these settings do not fit: {_first(error)}.") from error


def _first(error: ValueError) -> str:
    errors: list[dict[str, Any]] = getattr(error, "errors", list)()
    return str(errors[0]["msg"]).removeprefix("Value error, ") if errors else str(error)


def select(
    model: EvidenceModel,
    questions: Iterable[EvidenceQuestion],
    selection: Selector | None = None,
    *,
    precision: Precision = "float32",
    tokens: int | None = None,
) -> Iterator[SelectedSet]:
    """Yield the selected set of each question, in the order given.

    Args:
        questions: The questions; one without passages gets an empty set.
        selection: Settings; by default the model's.
        tokens: Padded tokens that are computed at a time.
    """
    every = list(questions)
    with progress().doing("selecting", len(every), "questions"):
        for some, states in _states(model, every, precision, tokens):
            yield from chosen(model, some, states, selection or model.settings.selection)
            progress().advance(len(some))


def _states(
    model: EvidenceModel,
    questions: Sequence[EvidenceQuestion],
    precision: Precision,
    tokens: int | None,
) -> Iterator[tuple[list[EvidenceQuestion], Any]]:
    encoded = [model.read(question) for question in questions]
    for numbers in chunks([len(one) for one in encoded], _CHUNK):
        batch = [encoded[number] for number in numbers]
        found = model.states(batch, tokens=tokens, precision=precision)
        yield [questions[number] for number in numbers], found


def chosen(
    of: EvidenceModel,
    questions: Sequence[EvidenceQuestion],
    states: Any,
    selection: Selector,
) -> list[SelectedSet]:
    """The sets that a model of this kind selects from its states."""
    if type(selection) is not type(of.settings.selection):
        raise UsageError(f"these settings are not those of a {of.settings.kind} model.")
    found: list[SelectedSet] = of.choose(questions, states, selection)
    return found


@dataclass(frozen=True)
class Tuned:
    """The settings that were chosen, and how they do on the questions they were chosen on."""

    selection: Selector
    exact_match: float
    f1: float
    tried: int


def tune(
    of: EvidenceModel,
    questions: Sequence[EvidenceQuestion],
    grid: dict[str, tuple[float, ...]],
    *,
    precision: Precision = "float32",
    tokens: int | None = None,
) -> Tuned:
    """Choose the settings with the best mean exact match, then F1; of equals the first.

    The questions are encoded once, whatever is tried.

    Args:
        questions: The validation questions, each with a gold set.
        grid: Values of each setting, in the order in which they are preferred.
        tokens: Padded tokens that are computed at a time.

    Raises:
        UsageError: No combination fits, such as sets larger than the candidates.
    """
    kind = type(of.settings.selection)
    valid = (_valid(kind, values) for values in variants(grid))
    tried = [selection for selection in valid if selection is not None]
    if not tried:
        raise UsageError("no combination of the selection's values fits together.")
    totals = [[0.0, 0.0] for _ in tried]
    for some, states in _states(of, questions, precision, tokens):
        for total, selection in zip(totals, tried, strict=True):
            made = chosen(of, some, states, selection)
            for question, one in zip(some, made, strict=True):
                exact, f1 = _measured(question, frozenset(one.chosen))
                total[0] += exact
                total[1] += f1
    best = max(range(len(tried)), key=lambda place: (*totals[place], -place))
    count = max(1, len(questions))
    return Tuned(tried[best], totals[best][0] / count, totals[best][1] / count, len(tried))


def _valid(kind: type[Selector], values: dict[str, float]) -> Selector | None:
    try:
        return kind.model_validate(values)
    except ValueError:
        return None


def _measured(question: EvidenceQuestion, members: frozenset[str]) -> tuple[float, float]:
    """Exact match and F1, as :mod:`adducir.studies.complementary_evidence.measures` has them."""
    f1 = max(2 * len(members & one) / (len(members) + len(one)) for one in question.gold_ids)
    return float(members in question.gold_ids), f1


def chunks(lengths: Sequence[int], budget: int) -> Iterator[range]:
    """Cut items into runs in their order, each of at most ``budget`` tokens or of one item."""
    first = total = 0
    for number, length in enumerate(lengths):
        if number > first and total + length > budget:
            yield range(first, number)
            first, total = number, 0
        total += length
    if first < len(lengths):
        yield range(first, len(lengths))
