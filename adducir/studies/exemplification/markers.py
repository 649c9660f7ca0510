"""The exemplification markers: "for example" and "e.g.".

They are two of the three markers that signal three quarters of all examples in written English;
"such as", the third, is too noisy (Hyland, 2007; EGRET paper, section 2.1).
"""

import re
from bisect import bisect_left
from typing import NamedTuple

FOR_EXAMPLE = "for example"
EG = "e.g."

_MARKER = re.compile(
    r"""(?<![A-Za-z0-9])(?:
        (?P<words>for[\s_]+example(?![A-Za-z]|['’]s\b))
        |(?<!\w\.)e\.\s?g(?:\s?\.|(?![A-Za-z]))
        |(?<!\.)eg(?:\.|(?=[\s,:;)\]]))
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_POINTS_TO = re.compile(
    r"""[\s_,:;]*(?:(?:see|in)[\s_,:]+)?(?:the[\s_]+)?
    (?:fig(?:ure)?s?|tables?|tabs?|sect?(?:ion)?s?|chap(?:ter)?s?|ch|eqn?s?|equations?|plates?
    |append(?:ix|ices)|pages?|pp?|vols?|volumes?|lines?|notes?|refs?|§+)
    (?:\.|\b)[\s_]*[(\[]?(?:\d|[IVXLC]+\b|[A-H]\b|above\b|below\b)""",
    re.IGNORECASE | re.VERBOSE,
)
_SEE = re.compile(r"(?:\b(?:See|Compare|Cf\.?|Vide)|[(\[;]\s*(?:see|compare|cf\.?|vide))[\s_,:]+$")
_SEE_REACH = 16


class Marker(NamedTuple):
    """A marker in a text: its first character, the one behind its last, and its kind."""

    start: int
    end: int
    kind: str


class Markers:
    """Every marker of a text, in order.

    Spellings of "e.g." count (``E.g.``, ``e. g.``, ``e.g``, ``eg.``, the bare word ``eg``), and
    ``_`` around it, as plain-text books print italics.
    """

    def __init__(self, text: str) -> None:
        self.all = [
            Marker(found.start(), found.end(), FOR_EXAMPLE if found["words"] else EG)
            for found in _MARKER.finditer(text)
        ]
        self._starts = [marker.start for marker in self.all]

    def between(self, start: int, end: int) -> list[Marker]:
        """The markers that begin between two places."""
        return self.all[bisect_left(self._starts, start) : bisect_left(self._starts, end)]


def points_elsewhere(text: str, marker: Marker) -> bool:
    """Whether the marker names a place to look up: "e.g. Fig. 3", "(see, for example, Mill)"."""
    if _POINTS_TO.match(text, marker.end) is not None:
        return True
    return _SEE.search(text[max(0, marker.start - _SEE_REACH) : marker.start]) is not None
