"""Exemplifying units: where in a text they begin and end (EGRET paper, section 2.1).

A sentence that holds a marker is a unit, and so is a parenthesised clause that opens with one; of
the latter's sentence the rest is context. These are the paper's rules. By the strict ones, a marker
anywhere in a parenthesis makes that the unit, and a sentence ends where its full stop or the blank
behind it was forgotten. What looks like a unit and is none has a reason.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from adducir.studies.exemplification.edges import narrowed
from adducir.studies.exemplification.markers import Marker, Markers, points_elsewhere
from adducir.studies.exemplification.sentences import Sentences

SENTENCE = "sentence"
PARENTHESIS = "parenthesis"

STRICT, PAPER = "strict", "paper"
RULES = (STRICT, PAPER)
"""The rules for the edges of units."""

DUPLICATE = "duplicate"
UNBALANCED = "parenthesis not closed"
EMPTY = "nothing but the marker"
TOO_SHORT = "too short"
TOO_LONG = "too long"
NESTED = "inside another unit"
REFERENCE = "points to a figure, table, page or book"
REASONS = (DUPLICATE, UNBALANCED, EMPTY, TOO_SHORT, TOO_LONG, NESTED, REFERENCE)
"""Why something is dropped."""

_CLOSING = {"(": ")", "[": "]"}
_BRACKET = re.compile(r"[][()]")
_OPENING = re.compile(r"[(\[][\s_*\"'“‘`]*(?:(?:see|as|like),?[\s_]+)?$", re.IGNORECASE)
_OPENING_REACH = 16
_CLAIM = 2
"""Words before a parenthesis that make it an example of something, and not all there is."""
_ENDED = re.compile(r"\w{2}[.!?]+[\"'”’)\]]*\s+[_*\"'“‘]*$")
_MARKS = re.compile(r"[\s.,;:!?\"'”’_*]*")
_WORD = re.compile(r"[^\W_]+")


class Unit(NamedTuple):
    """An exemplifying unit of a text, or what failed to be one.

    Attributes:
        start: Its first character.
        end: The character behind its last.
        marker: The marker that makes it one.
        form: :data:`SENTENCE` or :data:`PARENTHESIS`.
        reason: Why it is dropped, of :data:`REASONS`, or None.
    """

    start: int
    end: int
    marker: Marker
    form: str
    reason: str | None = None


def find_units(
    sentences: Sentences, min_words: int = 1, max_words: int | None = None, rules: str = STRICT
) -> Iterator[Unit]:
    """Every unit of a text by place, and what is dropped with its reason.

    Units do not overlap. A parenthesis is no unit of its own in a sentence that is one, nor in
    a parenthesis that is one.

    Args:
        min_words: Words that a unit must have beside its markers.
        max_words: Words that it may have beside them; None: any number.
    """
    markers = Markers(sentences.text)
    end = 0
    for unit in sorted(
        _candidates(sentences, markers, rules == STRICT), key=lambda one: (one.start, -one.end)
    ):
        if unit.start < end:
            if unit.form == PARENTHESIS:  # a sentence is met once for each of its markers
                yield unit._replace(reason=NESTED)
            continue
        reason = unit.reason or _error(sentences.text, unit, markers, (min_words, max_words))
        if reason is None:
            end = unit.end
        yield unit._replace(reason=reason)


def _candidates(sentences: Sentences, markers: Markers, strict: bool) -> list[Unit]:
    """What the markers make, whatever else is wrong with it."""
    brackets = _Brackets(sentences)
    units: list[Unit] = []
    seen: set[tuple[int, int]] = set()
    end = 0
    for marker in markers.all:
        unit = _parenthesis(sentences, brackets, marker)
        if unit is None and strict:
            unit = _enclosing(sentences, brackets, marker)
        if unit is None and marker.start < end:
            continue  # it stands in a parenthesis that is a unit already
        if unit is None:
            unit = _sentence(sentences, marker, strict)
        elif unit.reason is None:
            end = max(end, unit.end)
        if (unit.start, unit.end) not in seen:
            seen.add((unit.start, unit.end))
            units.append(unit)
    return units


class _Brackets:
    """Which bracket closes which, in a paragraph of the text."""

    def __init__(self, sentences: Sentences) -> None:
        self._sentences = sentences
        self._closed: dict[int, dict[int, int]] = {}

    def closing(self, start: int) -> int | None:
        """The character behind the bracket that closes the one at ``start``, or None."""
        return self._of(start).get(start)

    def around(self, start: int, end: int) -> tuple[int, int] | None:
        """The narrowest brackets around a place: the first, and the one behind the last."""
        found = [pair for pair in self._of(start).items() if pair[0] < start and end < pair[1]]
        return max(found, default=None)

    def _of(self, place: int) -> dict[int, int]:
        number = self._sentences.paragraph_at(place)
        if number not in self._closed:
            self._closed[number] = self._pairs(*self._sentences.paragraphs[number])
        return self._closed[number]

    def _pairs(self, start: int, end: int) -> dict[int, int]:
        open_ones: dict[str, list[int]] = {closing: [] for closing in _CLOSING.values()}
        pairs: dict[int, int] = {}
        for found in _BRACKET.finditer(self._sentences.text, start, end):
            if found[0] in _CLOSING:
                open_ones[_CLOSING[found[0]]].append(found.start())
            elif open_ones[found[0]]:
                pairs[open_ones[found[0]].pop()] = found.end()
        return pairs


def _parenthesis(sentences: Sentences, brackets: _Brackets, marker: Marker) -> Unit | None:
    """The clause in brackets that the marker opens, or None where it opens none.

    ``(for example)``, with nothing else inside, is an adverb of its sentence and no unit.
    """
    text = sentences.text
    first, limit = sentences.paragraphs[sentences.paragraph_at(marker.start)]
    reach = max(first, marker.start - _OPENING_REACH)
    opening = _OPENING.search(text[reach : marker.start])
    if opening is None:
        return None
    start = reach + opening.start()
    end = brackets.closing(start)
    if end is None:
        return Unit(start, limit, marker, PARENTHESIS, UNBALANCED)
    if not _WORD.search(text, marker.end, end):
        return None
    return Unit(start, _with_full_stop(sentences, end), marker, PARENTHESIS)


def _with_full_stop(sentences: Sentences, end: int) -> int:
    """The end of a parenthesis: a lone full stop goes with what it ends."""
    sentence_end = sentences.at(end - 1)[1]
    return sentence_end if _MARKS.fullmatch(sentences.text, end, sentence_end) else end


def _enclosing(sentences: Sentences, brackets: _Brackets, marker: Marker) -> Unit | None:
    """The clause in brackets that the marker stands in, where its sentence has more to say."""
    found = brackets.around(marker.start, marker.end)
    if found is None:
        return None
    text, (start, end) = sentences.text, found
    first, last = sentences.at(marker.start)
    words = len(_WORD.findall(text, start, end)) - len(_WORD.findall(text, *marker[:2]))
    if start < first or end > last or not words:
        return None
    if len(_WORD.findall(text, first, start)) < _CLAIM:
        return None
    return Unit(start, _with_full_stop(sentences, end), marker, PARENTHESIS)


_LONGEST_WORD = 100


def _sentence(sentences: Sentences, marker: Marker, strict: bool) -> Unit:
    """The sentence that holds the marker.

    It begins at the marker where that follows a full stop, though no capital shows so. Where it
    is nothing but the marker ("For example:"), the next sentence belongs to it.
    """
    text = sentences.text
    start, end = sentences.at(marker.start)
    if _ENDED.search(text[max(start, marker.start - _OPENING_REACH) : marker.start]):
        start = marker.start
    if strict:
        start, end = narrowed(text, start, end, marker.start, marker.end)
    if not _WORD.search(text, start, marker.start) and not _WORD.search(text, marker.end, end):
        following = next(sentences.after(end), None)
        if following is not None:
            end = following[1]
    return Unit(start, end, marker, SENTENCE)


def _error(text: str, unit: Unit, markers: Markers, bounds: tuple[int, int | None]) -> str | None:
    """Why a unit is to be dropped; None: it is sound."""
    if bounds[1] is not None and unit.end - unit.start > _LONGEST_WORD * max(1, bounds[1]):
        return TOO_LONG  # before its words are counted, which every marker in it would ask for
    inside = markers.between(unit.start, unit.end)
    words = len(_WORD.findall(text, unit.start, unit.end))
    words -= sum(len(_WORD.findall(text, marker.start, marker.end)) for marker in inside)
    if words <= 0:
        return EMPTY
    least, most = bounds
    if words < least:
        return TOO_SHORT
    if most is not None and words > most:
        return TOO_LONG
    return REFERENCE if all(points_elsewhere(text, marker) for marker in inside) else None
