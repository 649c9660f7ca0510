"""Options of commands that work in chunks."""

from typing import TYPE_CHECKING, Any

from adducir.cli.command import option
from adducir.core.recipe import Recipe

if TYPE_CHECKING:
    from adducir.core.executors import Execution
    from adducir.models.running import Running


class Workers(Recipe):
    """Who computes chunks; it does not affect the result."""

    workers: int = option("Parallel processes, such as one per core or GPU.", default=1, ge=1)
    ray: str | None = option(
        "Work on a Ray cluster: 'auto' or its address.", default=None, rare=True
    )
    slurm: str | None = option(
        "Work in Slurm jobs, at most --workers at a time; settings of submitit, as in "
        "partition=gpu.",
        default=None,
        rare=True,
    )

    def execution(self) -> "Execution":
        from adducir.core.executors import Execution

        return Execution(self.workers, self.ray, self.slurm)

    def running(self: Any) -> "Running":
        """How a command's network runs: also device, threads and tokens per batch."""
        from adducir.models.running import Running

        precision: Any = getattr(self, "precision", "float32")
        return Running(self.device, self.threads, self.batch_tokens, precision, self.execution())


class Computing(Workers):
    """How a network computes chunks."""

    batch_tokens: int | None = option(
        "Padded tokens per batch, which affect the last digits of figures.",
        default=None,
        ge=1,
        shown="2,048 on a CPU, 16,384 on a GPU",
        rare=True,
    )
