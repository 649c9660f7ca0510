"""``tune:`` of a system in an experiment file.

    BM25:
      index: argsme
      tune:
        grid:
          k1: [0.6, 1.2, 1.6]
          b: {from: 0.15, to: 0.75, step: 0.2}
        folds: topics            # or {k: 5, seed: 42}, or {file: folds.json}
        objective: nDCG(judged_only=True)@5

The topics of all topic sets are tuned together. The system's row in the table holds the held-out
figures.
"""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from adducir.core.errors import UsageError
from adducir.core.recipe import KeyPath, Recipe, errors_at
from adducir.experiments.tuning.folds import Folds, Pool, by_topic_set, from_file, k_fold
from adducir.experiments.tuning.grid import Grid, Hyperparameter, from_recipe

Range = dict[Literal["from", "to", "step"], float]


class FoldsRecipe(Recipe):
    """Folds cut by a seed, or from a file."""

    k: Annotated[int, Field(ge=2)] | None = None
    seed: int = 42
    file: str | None = None

    @model_validator(mode="after")
    def _one(self) -> "FoldsRecipe":
        if (self.k is None) == (self.file is None):
            raise ValueError("folds are `topics`, `{k: 5, seed: 42}` or `{file: PATH}`")
        if self.file is not None and "seed" in self.model_fields_set:
            raise ValueError("`seed` means nothing beside `file`")
        return self


class TuneRecipe(Recipe):
    """What is tuned, over which values, by which folds and measure."""

    grid: dict[str, float | tuple[float, ...] | Range]
    folds: Literal["topics"] | FoldsRecipe
    objective: str = "nDCG(judged_only=True)@5"

    @field_validator("grid")
    @classmethod
    def _exact(cls, grid: dict[str, float | tuple[float, ...] | Range]) -> object:
        errors = []
        for name, given in grid.items():
            try:
                from_recipe(_given(given))
            except UsageError as error:
                errors.append(((name,), error.paragraph()))
        if errors:
            raise errors_at(*errors)
        return grid

    @property
    def values(self) -> dict[str, list[Decimal]]:
        """The values by parameter."""
        return {name: from_recipe(_given(given)) for name, given in self.grid.items()}

    def errors(
        self, hyperparameters: Mapping[str, Hyperparameter]
    ) -> Iterator[tuple[KeyPath, str]]:
        """What is wrong with the grid of a system that has these parameters, with its place."""
        if not self.grid:
            yield ("grid",), "there is nothing to tune"
        for name, values in self.values.items():
            try:
                Grid.of({name: values}, hyperparameters)
            except UsageError as error:
                yield ("grid", name), error.paragraph()

    def make_folds(self, pool: Pool, path_of: Callable[[str], str | Path]) -> Folds:
        """The folds of the topics.

        Args:
            pool: All topics of the file.
            path_of: Where a file that the recipe names is.

        Raises:
            UsageError: The topics cannot be cut so.
            InputError: The fold file does not fit the topics.
        """
        if isinstance(self.folds, str):
            return by_topic_set(pool)
        if self.folds.file is not None:
            return from_file(pool, path_of(self.folds.file))
        return k_fold(pool, self.folds.k or 0, self.folds.seed)


def _given(
    value: float | tuple[float, ...] | Range,
) -> float | tuple[float, ...] | dict[str, float]:
    return {str(key): bound for key, bound in value.items()} if isinstance(value, dict) else value
