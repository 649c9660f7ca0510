"""Options of commands that ask language models."""

from pathlib import Path
from typing import TYPE_CHECKING

from adducir.cli.command import option
from adducir.core.recipe import Recipe

if TYPE_CHECKING:
    from adducir.judges.answers import Answering
LLM = "The language model's file, or the folder or GGUF file with its weights."


class Asking(Recipe):
    """Where a language model's answers are kept, and whether it is asked at all."""

    cache: Path | None = option(
        "The file with all answers.",
        default=None,
        shown="the model's, or answers.sqlite beside the output",
        rare=True,
        flag=True,
    )
    offline: bool = option("Use the cache alone.", default=False, rare=True, flag=True)
    dry_run: bool = option(
        "Say what asking would take, and stop.", default=False, rare=True, flag=True
    )

    def answering(self) -> "Answering":
        from adducir.judges.answers import Answering

        return Answering(self.cache, self.offline, dry=self.dry_run)
