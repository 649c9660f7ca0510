"""The spans that a recipe names, divided into those to learn from and those held out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adducir.corpora.references import file_path
from adducir.corpora.spans.record import MaskedSpan, read_spans
from adducir.corpora.spans.splitting import part_of
from adducir.encoders.recipe import DataPart, listed
from adducir.study.errors import InputError


@dataclass(frozen=True)
class Spans:
    """What is learned from, and what became of the files.

    Attributes:
        training: To learn from.
        held_out: For the validation loss.
        read: All spans of the files.
        excluded: Of them, left out because their group is in a file of ``without``.
        unused: Of them, those of the groups of the test share.
    """

    training: list[MaskedSpan]
    held_out: list[MaskedSpan]
    read: int
    excluded: int
    unused: int

    def record(self) -> dict[str, Any]:
        """Plain values for manifest and card."""
        return {
            "spans_read": self.read,
            "spans_excluded": self.excluded,
            "spans_of_the_test_share": self.unused,
            "training_spans": len(self.training),
            "training_groups": len({span.group for span in self.training}),
            "validation_spans": len(self.held_out),
            "validation_groups": len({span.group for span in self.held_out}),
        }


def files_of(part: DataPart, folder: Path) -> dict[str, list[Path]]:
    """The files that a recipe names, by its keys."""
    names = {"train": part.train, "validation": part.validation, "without": part.without}
    return {
        key: [file_path(name, folder) for name in listed(value)] for key, value in names.items()
    }


def read_lesson(part: DataPart, folder: Path) -> Spans:
    """Read and divide the spans of a recipe.

    Raises:
        InputError: A file cannot be read, a group is in ``train`` and in ``validation``, an id
            comes twice, or there is nothing to learn from.
    """
    files = files_of(part, folder)
    excluded = {span.group for span in _all(files["without"])}
    spans = list(_all(files["train"]))
    kept = [span for span in spans if span.group not in excluded]
    read, left_out, unused = len(spans), len(spans) - len(kept), 0
    if part.validation:
        held_out = list(_all(files["validation"]))
        read += len(held_out)
        some = [span for span in held_out if span.group not in excluded]
        left_out += len(held_out) - len(some)
        training, held_out = kept, some
        _refuse_shared(training, held_out, files["validation"])
    else:
        homes = {span.group: part_of(span.group, part.divided, part.seed) for span in kept}
        training = [span for span in kept if homes[span.group] == "train"]
        held_out = [span for span in kept if homes[span.group] == "validation"]
        unused = len(kept) - len(training) - len(held_out)
    if len(training) < 2:
        raise InputError(
            f"{len(training)} spans are left to learn from.",
            path=files["train"][0],
            mend="Look at `data.shares` and `data.without`.",
        )
    return Spans(training, held_out, read, left_out, unused)


def _all(paths: Iterable[Path]) -> Iterable[MaskedSpan]:
    seen: dict[str, Path] = {}
    for path in paths:
        for span in read_spans(path):
            if seen.setdefault(span.id, path) is not path:
                raise InputError(f"the id {span.id!r} is in {seen[span.id]} as well.", path=path)
            yield span


def _refuse_shared(
    training: Sequence[MaskedSpan], held_out: Sequence[MaskedSpan], paths: Sequence[Path]
) -> None:
    shared = {span.group for span in training} & {span.group for span in held_out}
    if shared:
        raise InputError(
            f"{len(shared)} groups are in the training data as well, such as {min(shared)!r}.",
            path=paths[0],
            mend="A validation loss over what was learned by heart tells nothing: take others.",
        )
