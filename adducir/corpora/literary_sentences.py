"""Sentences as literary scholars quote them: ellipses, colons and semicolons end one as well.

RELiC's reason: "literary scholars often only quote part of what would typically be defined as a
sentence" (Thai et al., 2022, note 5).
"""

import re
from collections.abc import Iterable
from itertools import pairwise

from adducir.corpora.sentences import sentence_bounds

_CLOSING_MARKS = "\"'”’)]"
_CLOSING = rf"[{re.escape(_CLOSING_MARKS)}]*"
_ELLIPSIS = rf"(?:\.(?:\s?\.){{2,}}|…+|\*(?:\s?\*){{2,}}){_CLOSING}"
_EXTRA = re.compile(rf"{_ELLIPSIS}\s*|[:;]{_CLOSING}(?:\s+|(?:--|—|–)\s*)")
_ENDS_IN_DOTS = re.compile(r"(?:\.\s?\.\s?\.|…|\*\s?\*\s?\*)\Z")
_LONGEST_DOTS = 5
_STARTS_WITH_ELLIPSIS = re.compile(rf"[\"'“‘(\[]*{_ELLIPSIS}")
_LETTER = re.compile(r"[^\W_]")


def literary_sentences(paragraphs: Iterable[str]) -> list[str]:
    """The sentences of paragraphs, in order, cut also at ellipses, colons and semicolons."""
    found: list[str] = []
    for paragraph in paragraphs:
        for start, end in sentence_bounds(paragraph):
            found += [" ".join(piece.split()) for piece in cut_sentence(paragraph[start:end])]
    return found


def cut_sentence(sentence: str) -> list[str]:
    """Cut one sentence behind each ellipsis, colon and semicolon.

    A colon or semicolon cuts where a blank or a dash follows, so that "3:16" stays whole. Marks
    without a letter or digit go to the piece before them, or else to the one behind. A short
    form's point before an ellipsis is part of the ellipsis.

    Returns:
        The pieces, trimmed; joined again they lack nothing but white space.
    """
    cuts = [match.end() for match in _EXTRA.finditer(sentence)]
    ends: list[int] = []
    for start, end in zip([0, *cuts], [*cuts, len(sentence)], strict=True):
        if _LETTER.search(sentence, start, end):
            ends.append(end)
        elif ends:
            ends[-1] = end
    ends = ends or [len(sentence)]
    pieces = (sentence[start:end].strip() for start, end in pairwise([0, *ends]))
    return [piece for piece in pieces if piece]


def are_elided(before: str, after: str) -> bool:
    """Whether an ellipsis stands between two neighbouring sentences."""
    # Looked at from its end: a pattern over the whole sentence would try every point of a long row.
    dots = before.removesuffix("]").rstrip().rstrip(_CLOSING_MARKS)[-_LONGEST_DOTS:]
    return bool(_ENDS_IN_DOTS.search(dots) or _STARTS_WITH_ELLIPSIS.match(after))
