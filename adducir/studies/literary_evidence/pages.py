"""Page numbers, running headers and footers, found by their place and by coming again."""

import re
from collections import Counter

_ROMAN = r"[ivxlc]{1,7}"
_NUMBER = re.compile(
    rf"[-–—\[({{|\s]*(?:p(?:age|g|\.)?\.?\s*)?(?:\d{{1,4}}|{_ROMAN})[-–—\])}}|.\s]*", re.IGNORECASE
)
_NUMBERED = re.compile(
    r"\s*(?:\[?\d{1,4}\]?\s+(?P<after>\S.*?)|(?P<before>\S.*?)\s+\[?\d{1,4}\]?)\s*"
)
_LONGEST = 60
_OFTEN = 3
_ENDS = tuple(".!?:;\"”’')]")


def without_pages(text: str) -> tuple[str, int]:
    r"""Take out what the printed page added to the text.

    That is: a line that is a number (arabic, or roman in small letters), with brackets, dashes or
    "page"; a line of a number and a title where the title comes with three numbers or more, or is
    in capitals; and, where form feeds part the pages, a first or last line that comes on three
    pages or more. A sentence that went on over the page is one paragraph again.

    Returns:
        The text, and the number of lines taken out.
    """
    lines, edges = _lines(text)
    titles = Counter(title for line in lines if (title := _title(line)))
    repeated = Counter(_without_digits(lines[place]) for place in edges)
    furniture = [
        _is_number(line)
        or _is_running(_title(line), titles)
        or (place in edges and repeated[_without_digits(line)] >= _OFTEN)
        for place, line in enumerate(lines)
    ]
    return "\n".join(_kept(lines, furniture)), sum(furniture)


def _lines(text: str) -> tuple[list[str], set[int]]:
    """All lines, and the places of each page's first and last where form feeds part pages."""
    lines: list[str] = []
    edges: set[int] = set()
    pages = text.split("\f")
    for page in pages:
        start = len(lines)
        lines += page.split("\n")
        written = [place for place in range(start, len(lines)) if lines[place].strip()]
        if len(pages) > 1 and written:
            edges |= {place for place in (written[0], written[-1]) if len(lines[place]) <= _LONGEST}
    return lines, edges


def _is_number(line: str) -> bool:
    stripped = line.strip()
    # A capital roman numeral is a chapter's number: a paragraph of its own, not the page's.
    return bool(stripped) and not stripped.isupper() and bool(_NUMBER.fullmatch(stripped))


def _title(line: str) -> str:
    """The title of a line that reads "196 Mark M. Hennelly" or "Jane Austen 45", or ""."""
    if len(line) > _LONGEST:
        return ""
    found = _NUMBERED.fullmatch(line)
    if found is None:
        return ""
    title = found["after"] or found["before"]
    words = [word for word in re.findall(r"[^\W\d_]+", title) if len(word) > 3]
    capital = bool(words) and all(word[0].isupper() for word in words)
    return " ".join(title.split()) if capital and title[0].isupper() else ""


def _is_running(title: str, titles: Counter[str]) -> bool:
    return bool(title) and (titles[title] >= _OFTEN or title.isupper())


def _without_digits(line: str) -> str:
    return " ".join(re.sub(r"\d+", " ", line).split())


def _kept(lines: list[str], furniture: list[bool]) -> list[str]:
    """The other lines; blank ones around furniture go too where a sentence is open there."""
    kept: list[str] = []
    crossing = False
    for line, gone in zip(lines, furniture, strict=True):
        if gone:
            while kept and not kept[-1].strip():
                kept.pop()
            crossing = True
        elif not crossing:
            kept.append(line)
        elif line.strip():
            if kept and kept[-1].rstrip().endswith(_ENDS):
                kept.append("")
            kept.append(line)
            crossing = False
    return kept
