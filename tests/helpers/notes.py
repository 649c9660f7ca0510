"""What a run of Adducir notes, kept for a test to read."""

from adducir.core.progress import Progress


class Notes(Progress):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, message: str) -> None:
        self.lines.append(message)
