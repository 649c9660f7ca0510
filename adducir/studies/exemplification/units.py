"""Exemplifying units: where in a text they begin and end (EGRET paper, section 2.1).

A sentence that contains a marker is a unit, and so is a parenthesised clause that opens with one.
Under the strict rules, which are ours, a marker anywhere in a parenthesis makes that the unit, and
a sentence also ends where its full stop or the following space is missing. "Such as" is too noisy
a marker (Hyland, 2007).
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from adducir.corpora.sentences import paragraph_bounds, sentence_bounds

SENTENCE, PARENTHESIS = "sentence", "parenthesis"
FOR_EXAMPLE, EG = "for example", "e.g."

Bounds = tuple[int, int]
"""The start and end offsets of a piece of the text."""

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
_STARTERS = "This|These|They|There|It|It['’]s|You|We|However|But|So|If|When|Because|Also|Then"
_EDGE = re.compile(
    rf"""
    (?<=[a-z]{{2}}[.!?])(?=[A-Z][a-z'’]*[\s,])             # a blank is missing: "done.Next"
    |(?<=[a-z]{{2}}[.!?][)"”])(?=[A-Z][a-z'’]*[\s,])
    |(?<=[)\]][.!?])\s+(?=["“'‘(]?(?:[A-Z]|[a-z]{{2}}))    # "(as here). and so on"
    |(?<=[a-z]{{3}}[.!?])\s+(?=e\.?\s?g\b|for[ ]example)    # two examples in a row
    |(?:(?<=[.!?)"”\n])|(?<=[.!?]\s))(?:>|&gt;)[>\s]*(?=["“'‘(]?[A-Z])  # a quoted line
    |(?<=[a-z]{{3}})\s+(?=(?:{_STARTERS})\b)                # a full stop is missing
    |(?<=[a-z]{{2}})\s+(?=For[ ]example\b)
    """,
    re.VERBOSE,
)
"""Sentence boundaries in forum answers. In running text a cut there would be wrong as often as not;
around an example it matters more, since a unit that is too long masks text outside the example."""
_QUOTED = re.compile(r"(?:(?:>|&gt;)\s*)+")
_FAR = 8192
"""Maximum characters to search for a boundary: many examples in one endless sentence would take
quadratic time."""
_CLOSING = {"(": ")", "[": "]"}
_BRACKET = re.compile(r"[][()]")
_OPENING = re.compile(r"[(\[][\s_*\"'“‘`]*(?:(?:see|as|like),?[\s_]+)?$", re.IGNORECASE)
_ENDED = re.compile(r"\w{2}[.!?]+[\"'”’)\]]*\s+[_*\"'“‘]*$")
_MARKS = re.compile(r"[\s.,;:!?\"'”’_*]*")
_WORD = re.compile(r"[^\W_]+")
_BEFORE = 16
"""Characters to read before a marker."""
_CLAIM = 2
"""Words before a parenthesis that make it an example of something, not the whole sentence."""
_LONGEST_WORD = 100


class ExampleMarker(NamedTuple):
    """A marker in a text. Spellings of "e.g." count (``E.g.``, ``e. g.``, ``e.g``, ``eg.``)."""

    start: int
    end: int
    kind: str


class Unit(NamedTuple):
    """An exemplifying unit of a text, or a rejected one with the reason."""

    start: int
    end: int
    marker: ExampleMarker
    form: str
    reason: str | None = None


class Sentences:
    """The sentences of one text, split only on demand: in a book few contain an example."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.paragraphs = list(paragraph_bounds(text))
        self._starts = [start for start, _ in self.paragraphs]
        self._cut: dict[int, list[Bounds]] = {}
        self._closed: dict[int, dict[int, int]] = {}

    def paragraph_at(self, place: int) -> int:
        """The number of the paragraph that contains this offset, or of the last one before it."""
        return bisect_right(self._starts, place) - 1

    def of_paragraph(self, number: int) -> list[Bounds]:
        if number not in self._cut:
            start, end = self.paragraphs[number]
            bounds = sentence_bounds(self.text[start:end])
            self._cut[number] = [(start + first, start + past) for first, past in bounds]
        return self._cut[number]

    def at(self, place: int) -> Bounds:
        sentences = self.of_paragraph(self.paragraph_at(place))
        return sentences[bisect_right(sentences, (place, len(self.text))) - 1]

    def brackets_around(self, place: int) -> dict[int, int]:
        """The brackets in an offset's paragraph: opening offsets, and those after the closing."""
        number = self.paragraph_at(place)
        if number not in self._closed:
            pairs = self._closed[number] = {}
            opened: dict[str, list[int]] = {closing: [] for closing in _CLOSING.values()}
            for bracket in _BRACKET.finditer(self.text, *self.paragraphs[number]):
                if bracket[0] in _CLOSING:
                    opened[_CLOSING[bracket[0]]].append(bracket.start())
                elif opened[bracket[0]]:
                    pairs[opened[bracket[0]].pop()] = bracket.end()
        return self._closed[number]

    def within(self, start: int, end: int) -> Iterator[Bounds]:
        """The sentences between two offsets; the first and the last may be partial."""
        for first, past in self.after(start):
            if first >= end:
                break
            if self.text[first : min(end, past)].strip():
                yield first, min(end, past)

    def before(self, place: int) -> Iterator[Bounds]:
        """The sentences left of an offset, nearest first; the first may be partial."""
        for number in range(self.paragraph_at(place), -1, -1):
            for first, past in reversed(self.of_paragraph(number)):
                if first < place and self.text[first : min(past, place)].strip():
                    yield first, min(past, place)

    def after(self, place: int) -> Iterator[Bounds]:
        """The sentences right of an offset, nearest first; the first may be partial."""
        for number in range(max(0, self.paragraph_at(place)), len(self.paragraphs)):
            for first, past in self.of_paragraph(number):
                if past > place and self.text[max(first, place) : past].strip():
                    yield max(first, place), past


def find_units(
    sentences: Sentences, min_words: int = 1, max_words: int = 256, *, strict: bool = True
) -> Iterator[Unit]:
    """All units of a text in order, without overlaps, and what is dropped, with its reason."""
    text = sentences.text
    markers = [
        ExampleMarker(match.start(), match.end(), FOR_EXAMPLE if match["words"] else EG)
        for match in _MARKER.finditer(text)
    ]
    starts = [marker.start for marker in markers]
    end = 0
    candidates = _candidates(sentences, markers, strict)
    for unit in sorted(candidates, key=lambda unit: (unit.start, -unit.end)):
        if unit.start < end:
            if unit.form == PARENTHESIS:  # a sentence comes up once per marker
                yield unit._replace(reason="inside another unit")
            continue
        inside = markers[bisect_left(starts, unit.start) : bisect_left(starts, unit.end)]
        reason = unit.reason or _error(text, unit, inside, min_words, max_words)
        if reason is None:
            end = unit.end
        yield unit._replace(reason=reason)


def _error(
    text: str, unit: Unit, inside: list[ExampleMarker], min_words: int, max_words: int
) -> str | None:
    if unit.end - unit.start > _LONGEST_WORD * max_words:
        return "too long"  # before its words are counted, once per marker in it
    words = _words(text, unit.start, unit.end)
    words -= sum(_words(text, marker.start, marker.end) for marker in inside)
    if words <= 0:
        return "nothing but the marker"
    if not min_words <= words <= max_words:
        return "too short" if words < min_words else "too long"
    elsewhere = (
        _POINTS_TO.match(text, marker.end)
        or _SEE.search(text[max(0, marker.start - _BEFORE) : marker.start])
        for marker in inside
    )
    return "points to a figure, table, page or book" if all(elsewhere) else None


def _words(text: str, start: int, end: int) -> int:
    return len(_WORD.findall(text, start, end))


def _candidates(sentences: Sentences, markers: list[ExampleMarker], strict: bool) -> Iterator[Unit]:
    """The units that the markers give, valid or not."""
    seen: set[Bounds] = set()
    end = 0
    for marker in markers:
        unit = _parenthesis(sentences, marker)
        if unit is None and strict:
            unit = _enclosing(sentences, marker)
        if unit is None:
            if marker.start < end:
                continue  # it is in a parenthesis that is already a unit
            unit = _sentence(sentences, marker, strict)
        elif unit.reason is None:
            end = max(end, unit.end)
        if unit[:2] not in seen:
            seen.add(unit[:2])
            yield unit


def _parenthesis(sentences: Sentences, marker: ExampleMarker) -> Unit | None:
    """The clause in brackets that the marker opens; ``(for example)`` alone is an adverb."""
    text = sentences.text
    first, limit = sentences.paragraphs[sentences.paragraph_at(marker.start)]
    looked_at = max(first, marker.start - _BEFORE)
    opening = _OPENING.search(text[looked_at : marker.start])
    if opening is None:
        return None
    start = looked_at + opening.start()
    end = sentences.brackets_around(start).get(start)
    if end is None:
        return Unit(start, limit, marker, PARENTHESIS, "parenthesis not closed")
    if not _WORD.search(text, marker.end, end):
        return None
    return Unit(start, _with_full_stop(sentences, end), marker, PARENTHESIS)


def _enclosing(sentences: Sentences, marker: ExampleMarker) -> Unit | None:
    """The narrowest brackets around the marker, if their sentence says more."""
    pairs = sentences.brackets_around(marker.start).items()
    enclosing = max(
        (pair for pair in pairs if pair[0] < marker.start and marker.end < pair[1]), default=None
    )
    if enclosing is None:
        return None
    text, (start, end) = sentences.text, enclosing
    first, last = sentences.at(marker.start)
    empty = _words(text, start, end) == _words(text, marker.start, marker.end)
    if start < first or end > last or empty or _words(text, first, start) < _CLAIM:
        return None
    return Unit(start, _with_full_stop(sentences, end), marker, PARENTHESIS)


def _with_full_stop(sentences: Sentences, end: int) -> int:
    """The end of a parenthesis, including a lone full stop after it."""
    sentence_end = sentences.at(end - 1)[1]
    return sentence_end if _MARKS.fullmatch(sentences.text, end, sentence_end) else end


def _sentence(sentences: Sentences, marker: ExampleMarker, strict: bool) -> Unit:
    """The sentence with the marker, and the next one if it is nothing but the marker."""
    text = sentences.text
    start, end = sentences.at(marker.start)
    if _ENDED.search(text[max(start, marker.start - _BEFORE) : marker.start]):
        start = marker.start
    if strict:
        near = max(start, marker.start - _FAR), min(end, marker.end + _FAR)
        for edge in _EDGE.finditer(text, *near):
            if edge.end() <= marker.start:
                start = edge.end()
            elif edge.start() >= marker.end:
                end = edge.start()
                break
        quoted = _QUOTED.match(text, start, marker.start)
        start = start if quoted is None else quoted.end()
    if not _WORD.search(text, start, marker.start) and not _WORD.search(text, marker.end, end):
        following = next(sentences.after(end), None)
        if following is not None:
            end = following[1]
    return Unit(start, end, marker, SENTENCE)
