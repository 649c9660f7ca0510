"""Where sentences begin and end, as character offsets.

The cuts are those of syntok (Leitner, https://github.com/fnl/syntok), with rules added and undone
for novels and forums; docs/spans.md compares it with other libraries.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from adducir.corpora.passages import ABBREVIATIONS

_PARAGRAPHS = re.compile(r"\n[^\S\n]*\n")
_WITH_NUMBERS = """
    c. ch. chap. Chap. col. ex. Ex. figs. fol. lat. Lat. ll. long. No. Nos. no. nos. p. par. pl.
    pp. sec. Sec. sect. Sect. vols.
"""
_BEFORE_NUMBERS = frozenset(_WITH_NUMBERS.split())
"""Words that are abbreviations before a number."""
_LAST_WORD = re.compile(r"[^\s(\[{\"'“‘_—-]+$")
_LABEL = re.compile(r"(?:[-*•·>#]+|[(\[]?(?:\d{1,3}|[A-Za-z]|[ivxlIVXL]+)[.)\]]+)")
_LIST_ITEM = re.compile(r"\n[^\S\n]*(?=(?:[-*•·>]|[(\[]?\d{1,2}[.)\]])[^\S\n]+\S)")
_NO_CAPITAL = re.compile(r"(?<=[a-z]{4}\.)[^\S\n]+(?=[a-z']{2})")
_AFTER_BRACKET = re.compile(r"(?<=\w[)\]][.!?])\s+(?=[\"'“‘(]?[A-Z])")
_CLOSING = re.compile(r"(?:''|[.)\]”’]+)\s+")
_LONGEST_LABEL = 8
_LONGEST_WORD = 40


def sentence_bounds(text: str) -> list[tuple[int, int]]:
    """The start and end offsets of each sentence; between sentences is only white space.

    A blank line always ends a sentence, a line break only before an item of a list.
    """
    bounds: list[tuple[int, int]] = []
    for start, end in paragraph_bounds(text):
        cuts = [cut for cut in _cuts(text[start:end]) if 0 < cut < end - start]
        for first, past in zip([0, *cuts], [*cuts, end - start], strict=True):
            piece = text[start + first : start + past]
            bounds.append((start + first, start + first + len(piece.rstrip())))
    return bounds


def paragraph_bounds(text: str) -> Iterator[tuple[int, int]]:
    """The ranges of text between blank lines, trimmed of white space, without empty ones."""
    start = 0
    ends = [(match.start(), match.end()) for match in _PARAGRAPHS.finditer(text)]
    for end, following in [*ends, (len(text), len(text))]:
        piece = text[start:end]
        if stripped := piece.strip():
            first = start + len(piece) - len(piece.lstrip())
            yield first, first + len(stripped)
        start = following


def _cuts(paragraph: str) -> list[int]:
    from syntok import segmenter

    items = {match.end() for match in _LIST_ITEM.finditer(paragraph)}
    cuts = {
        sentence[0].offset
        for part in segmenter.analyze(paragraph)
        for sentence in part
        if sentence[0].offset
    }
    for pattern in (_NO_CAPITAL, _AFTER_BRACKET):
        cuts |= {match.end() for match in pattern.finditer(paragraph)}
    # A lone closing mark belongs to the sentence before it.
    cuts = {mark.end() if (mark := _CLOSING.match(paragraph, cut)) else cut for cut in cuts}
    kept: list[int] = []
    for cut in sorted(items | cuts):
        if cut in items or _ends_a_sentence(paragraph, kept[-1] if kept else 0, cut):
            kept.append(cut)
    return kept


def _ends_a_sentence(paragraph: str, start: int, cut: int) -> bool:
    """Whether the text between ``start`` and ``cut`` can be a sentence."""
    before = paragraph[max(start, cut - _LONGEST_WORD) : cut]
    if before == before.rstrip() or not before.strip():
        return False
    before = before.rstrip()
    if before[-1] in ";:,—-" or (len(before) <= _LONGEST_LABEL and _LABEL.fullmatch(before)):
        return False
    word = _LAST_WORD.search(before)
    if word is None:
        return True
    numbered = word[0] in _BEFORE_NUMBERS and paragraph[cut : cut + 1].isdigit()
    return not numbered and word[0] not in ABBREVIATIONS


_CLOSING_MARKS = "\"'”’)]"
_CLOSING_RUN = rf"[{re.escape(_CLOSING_MARKS)}]*"
_ELLIPSIS = rf"(?:\.(?:\s?\.){{2,}}|…+|\*(?:\s?\*){{2,}}){_CLOSING_RUN}"
_EXTRA = re.compile(rf"{_ELLIPSIS}\s*|[:;]{_CLOSING_RUN}(?:\s+|(?:--|—|–)\s*)")
_LETTER = re.compile(r"[^\W_]")


def literary_sentences(paragraphs: Iterable[str]) -> list[str]:
    """Sentences as scholars quote them, also ended by (semi)colons (Thai et al., 2022, note 5)."""
    sentences: list[str] = []
    for paragraph in paragraphs:
        for start, end in sentence_bounds(paragraph):
            sentences += [" ".join(piece.split()) for piece in cut_sentence(paragraph[start:end])]
    return sentences


def cut_sentence(sentence: str) -> list[str]:
    """Cut a sentence after ellipses, and (semi)colons before a blank or dash (not "3:16")."""
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
