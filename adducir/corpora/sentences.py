"""Where sentences begin and end, as character offsets.

The cuts are those of syntok (Leitner, https://github.com/fnl/syntok), rules in plain Python that
need no download, with a few made and unmade again: novels join clauses by semicolons and dashes,
their learned abbreviations are more than syntok knows, and answers on forums make lists and
forget capitals. docs/spans.md has the figures of syntok and its rivals, with and without this.
"""

import re
from collections.abc import Iterator

_PARAGRAPHS = re.compile(r"\n[^\S\n]*\n")
_NO_ENDS = """
    al. approx. Aug. Bart. Bros. cf. Cor. dept. Dr. e.g. E.g. ed. eds. esp. Esq. etym. Eccl. Gen.
    Geo. Hon. i.e. I.e. ibid. Jas. Jno. Jun. M. Matt. Messrs. MM. Mlle. Mme. Mr. Mrs. Ms. MS. MSS.
    n. nat. op. Pres. Rev. Revs. Rom. sc. scil. sp. spp. St. Supt. Thos. transl. v. viz. Viz. vs.
    Wm.
"""
_ABBREVIATIONS = frozenset(_NO_ENDS.split())
"""Words that end in a full stop and end no sentence, beside those that syntok knows."""
_WITH_NUMBERS = """
    c. ch. chap. Chap. col. ex. Ex. figs. fol. lat. Lat. ll. long. No. Nos. no. nos. p. par. pl.
    pp. sec. Sec. sect. Sect. vols.
"""
_BEFORE_NUMBERS = frozenset(_WITH_NUMBERS.split())
"""Words that are abbreviations where a number follows."""
_LAST_WORD = re.compile(r"[^\s(\[{\"'“‘_—-]+$")
_LABEL = re.compile(r"(?:[-*•·>#]+|[(\[]?(?:\d{1,3}|[A-Za-z]|[ivxlIVXL]+)[.)\]]+)")
_LIST_ITEM = re.compile(r"\n[^\S\n]*(?=(?:[-*•·>]|[(\[]?\d{1,2}[.)\]])[^\S\n]+\S)")
_NO_CAPITAL = re.compile(r"(?<=[a-z]{4}\.)[^\S\n]+(?=[a-z']{2})")
_AFTER_BRACKET = re.compile(r"(?<=\w[)\]][.!?])\s+(?=[\"'“‘(]?[A-Z])")
_CLOSING = re.compile(r"(?:''|[.)\]”’]+)\s+")
_LONGEST_LABEL = 8
_LONGEST_WORD = 40


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, white space inside each narrowed to one blank."""
    return [" ".join(text[start:end].split()) for start, end in sentence_bounds(text)]


def sentence_bounds(text: str) -> list[tuple[int, int]]:
    r"""The first and past-the-last character of each sentence, in order.

    Between and around the sentences stands white space alone: nothing is lost. A blank line
    always ends a sentence, a line break alone never does, but before an item of a list. Time
    grows linearly with the text, about a second for a megabyte.

    Args:
        text: Plain text with ``\n`` as line break, wrapped or not.

    Returns:
        Half-open ranges that do not overlap; none where there is white space alone.
    """
    bounds: list[tuple[int, int]] = []
    for start, end in paragraph_bounds(text):
        cuts = [cut for cut in _cuts(text[start:end]) if 0 < cut < end - start]
        for first, past in zip([0, *cuts], [*cuts, end - start], strict=True):
            piece = text[start + first : start + past]
            bounds.append((start + first, start + first + len(piece.rstrip())))
    return bounds


def paragraph_bounds(text: str) -> Iterator[tuple[int, int]]:
    """The ranges of text that blank lines part, trimmed of white space; empty ones left out."""
    start = 0
    ends = [(match.start(), match.end()) for match in _PARAGRAPHS.finditer(text)]
    for end, following in [*ends, (len(text), len(text))]:
        piece = text[start:end]
        if stripped := piece.strip():
            first = start + len(piece) - len(piece.lstrip())
            yield first, first + len(stripped)
        start = following


def _cuts(paragraph: str) -> list[int]:
    """Where a sentence begins within a paragraph, ascending."""
    from syntok import segmenter

    items = {match.end() for match in _LIST_ITEM.finditer(paragraph)}
    found = {
        sentence[0].offset
        for part in segmenter.analyze(paragraph)
        for sentence in part
        if sentence[0].offset
    }
    for pattern in (_NO_CAPITAL, _AFTER_BRACKET):
        found |= {match.end() for match in pattern.finditer(paragraph)}
    kept: list[int] = []
    for cut in sorted(items | {_behind_closing(paragraph, cut) for cut in found}):
        start = kept[-1] if kept else 0
        if cut in items or _ends_a_sentence(paragraph, start, cut):
            kept.append(cut)
    return kept


def _behind_closing(paragraph: str, cut: int) -> int:
    """The cut, moved behind a closing mark that stands by itself and so began a sentence."""
    closing = _CLOSING.match(paragraph, cut)
    return cut if closing is None else closing.end()


def _ends_a_sentence(paragraph: str, start: int, cut: int) -> bool:
    """Whether what stands between ``start`` and ``cut`` can stand alone."""
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
    return not numbered and word[0] not in _ABBREVIATIONS
