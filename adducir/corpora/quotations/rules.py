"""The numbers that the building of quotation windows depends on, with RELiC's values."""

from dataclasses import dataclass

from adducir.study.errors import UsageError

NOT_CRITICISM = ("anthology", "cyclopaedia", "cyclopedia", "dictionary", "encyclop", "thesaurus")
"""Titles with such a word are no criticism. RELiC names dictionary, anthology and encyclopedia."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How windows are built; where RELiC gives no value, the docstring says so.

    Attributes:
        words: A sentence of the book is sought if it has so many words (RELiC: tokens) or more.
        alike: The least QRatio of a match.
        run: A block grows by a neighbour that shares so many characters in a row.
        context: Sentences of criticism on each side of the quotation.
        longest: Quotations of more sentences are dropped: RELiC's candidates have 1 to 5.
        fewest: A work with fewer matching sentences of a book is no criticism of it. RELiC sets
            its bounds by hand ("only once or twice").
        most: A work with more matching sentences of a book is another edition of it. RELiC:
            "hundreds of matches".
        echo: A window is dropped where its context repeats so many characters of the quotation
            in a row; not in RELiC.
    """

    words: int = 10
    alike: float = 80.0
    run: int = 15
    context: int = 4
    longest: int = 5
    fewest: int = 3
    most: int = 500
    echo: int = 25

    def __post_init__(self) -> None:
        """Refuse what cannot be meant.

        Raises:
            UsageError: A number is out of its range.
        """
        for name in ("words", "run", "context", "longest", "fewest", "most", "echo"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be 1 or more, not {getattr(self, name)}.")
        if not 0 < self.alike <= 100:
            raise UsageError(f"alike must be above 0 and at most 100, not {self.alike:g}.")
        if self.fewest > self.most:
            raise UsageError(f"fewest ({self.fewest}) is more than most ({self.most}).")
