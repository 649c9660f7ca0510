"""The look of progress bars; imported only when there is a terminal and work to show."""

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class CountColumn(ProgressColumn):
    """``1,200/3,204 documents``."""

    def render(self, task: Task) -> Text:
        """The count of one piece of work."""
        total = "" if task.total is None else f"/{task.total:,.0f}"
        return Text(f"{task.completed:,.0f}{total} {task.fields['unit']}")


class RateColumn(ProgressColumn):
    """``7,400/s`` over the whole piece of work once it is done, of late until then."""

    def render(self, task: Task) -> Text:
        """The rate of one piece of work."""
        speed = task.finished_speed or task.speed
        if task.stop_time is not None and task.elapsed:
            speed = task.completed / task.elapsed
        return Text("" if speed is None else f"{speed:,.{0 if speed >= 10 else 1}f}/s")


def make_bars() -> Progress:
    """Bars on stderr, not yet started."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        CountColumn(),
        RateColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[detail]}", markup=False),
        console=Console(stderr=True),
        redirect_stdout=False,  # results may go to a file while the bars are on the terminal
    )
