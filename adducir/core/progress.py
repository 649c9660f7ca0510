"""How long work reports its progress to the command line, without printing."""


class Progress:
    """Receives the advance of one piece of work after another."""

    def start(self, what: str, total: int | None, unit: str) -> None:
        """Begin a piece of work of ``total`` units (None: not known)."""

    def advance(self, count: int) -> None:
        """Note that ``count`` more units are done."""

    def resume(self, count: int) -> None:
        """Note that ``count`` units were done before this piece of work began."""

    def detail(self, text: str) -> None:
        """Say how the piece of work begun last stands, in a few words that replace the last."""

    def finish(self) -> None:
        """End the piece of work begun last."""

    def note(self, message: str) -> None:
        """Show the user one line."""


class Silent(Progress):
    """Reports to nobody."""


SILENT = Silent()
