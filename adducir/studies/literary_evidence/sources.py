"""Books and works of criticism, from files to sentences.

What a printed page adds would give a quotation away, so RELiC removes it (Thai et al., Table A1):
page numbers, running headers and footers, in-line citations, note marks, editors' brackets.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from adducir.core.errors import InputError
from adducir.corpora.sentences import literary_sentences
from adducir.studies.books import TEXT_ENDINGS, body, files_in, read_plain, stem_of, title_of

_WORD = r"[^\W\d_]+"

# Lines of the printed page.
_PAGE_NUMBER = re.compile(
    r"[-–—\[({|\s]*(?:p(?:age|g|\.)?\.?\s*)?(?:\d{1,4}|[ivxlc]{1,7})[-–—\])}|.\s]*", re.IGNORECASE
)
_NUMBERED = re.compile(
    r"\s*(?:\[?\d{1,4}\]?\s+(?P<after>\S.*?)|(?P<before>\S.*?)\s+\[?\d{1,4}\]?)\s*"
)
_LONGEST_TITLE = 60
_OFTEN = 3
_ENDS = tuple(".!?:;\"”’')]")

# Citations and note marks.
_NOTE = re.compile(
    r"(?<!\s)\s*+\[(?:Footnote|Illustration|Sidenote|Transcriber|Note|Pg|Page|p\.)\b[^\[\]]*"
    r"(?:\[[^\[\]]*\][^\[\]]*)*\]",
    re.IGNORECASE,
)
_MARK = re.compile(
    r"(?<!\s)\s*+\[\d{1,4}(?:\s*[,–-]\s*\d{1,4})*\]"  # [12]  [3, 4]
    r"|(?<=[^\s(\[])\[(?:[A-Za-z]|[*†‡§]+)\](?!\w)"  # word.[A]  word.[*], but not "[s]he"
    r"|(?<!\s)\s*+\{\d{1,4}\}"
)
_RAISED = re.compile(
    r"((?<=[A-Za-z]{4}[.,;!?])|(?<=[A-Za-z]{4}[.,;!?][\"”’]))\d{1,3}(?=\s+[A-Z“\"]|$)"
)
_BRACKETED = re.compile(r"(?<!\s)\s*+\(([^()]{1,90})\)")
_TOKEN = re.compile(r"[^\s,;:]+")
_CITED_NUMBER = re.compile(
    r"\d{1,4}[a-z]?(?:[-–.]\d{1,4}[a-z]?)*\.?|[ivxlc]{1,7}(?:[-–][ivxlc]{1,7})?\.?"
)
_PART_NUMBER = re.compile(r"[IVXLC]{1,7}\.?")
_NAME = re.compile(r"[^\W\d_a-z][\w.'’-]*|_[^_]+_")
_CITING_TEXT = """
    p. pp. p pp page pages vol. vols. vol volume ch. chap. chaps. chs. ch chapter chapters bk.
    book part act sc. scene l. ll. line lines n. nn. note notes no. nos. ibid ibid. op. cit.
    loc. see cf. cf also and & et al. al qtd. quoted in trans. ed. eds. rpt. sec. sect. § f.
    ff. passim
"""
_CITING = frozenset(_CITING_TEXT.split())
_IBID = frozenset(("ibid", "ibid.", "passim", "cit."))
_MONTHS_TEXT = """
    january february march april may june july august september october november december jan.
    feb. mar. apr. jun. jul. aug. sept. sep. oct. nov. dec.
"""
_MONTHS = frozenset(_MONTHS_TEXT.split())
_MOST_NAMES = 5

# Wrapped lines, broken words, headings.
_BLANK = re.compile(r"\n\s*\n")
_WORDS = re.compile(rf"{_WORD}(?:-{_WORD})*")
_BREAK = re.compile(rf"(?<![-\w])({_WORD})-[ \t]*\n[ \t]*({_WORD})")
_GAP = re.compile(rf"(?<![-\w])({_WORD})-[ ]({_WORD})")
_EMPHASIS = re.compile(r"(?<![^\W_])_([^_]{1,400})_(?![^\W_])")
_HEADING = re.compile(
    r"(?:(?:chapter|volume|vol\.|book|part)\s+(?:[ivxlcdm]+|\d+|the\s+\w+|one|two|three|four)\b"
    r".{0,80}|[ivxlcdm]{1,7}\.?|\d{1,3}\.?)",
    re.IGNORECASE | re.DOTALL,
)
_LONGEST_HEADING = 100
_PAIRING = frozenset(("and", "or", "nor", "to", "but"))
"""After "pre-" such a word does not complete a broken one: "pre- and post-war"."""

_COMMON_TEXT = """
    the of and to a in that it was i is he his with as for you had be not her at on but she him
    by have this which my so from all or me they were no an are there if we would when their
    been who your has will what one than more its some them could do very into out up our then
    any said must only upon should these those such did other about how may can before now
    after most
"""
_COMMON = frozenset(_COMMON_TEXT.split())
_LEAST_SHARE = 0.25
_LEAST_WORDS = 12


@dataclass(frozen=True, slots=True)
class Source:
    """A book or a work of criticism, named after its file; its title is Gutenberg's, if any."""

    name: str
    title: str
    sentences: list[str]


def text_files(paths: Iterable[Path]) -> list[Path]:
    """The text files among and below ``paths``, by name; names are unique."""
    names: dict[str, Path] = {}
    for _, path in sorted(files_in(paths, TEXT_ENDINGS), key=lambda pair: stem_of(pair[1])):
        if path != (namesake := names.setdefault(stem_of(path), path)):
            raise InputError(
                f"its name {stem_of(path)!r} is already used by {namesake}.",
                path=path,
                hint="Rename one, because names identify books.",
            )
    return list(names.values())


def read_source(path: Path, *, is_work: bool = False) -> Source:
    text = read_plain(path)
    plain = body(text, path)
    if is_work:
        plain = without_pages(plain)
    sentences = literary_sentences(map(without_citations, paragraphs(plain)))
    if not sentences:
        raise InputError("this file contains no sentences.", path=path)
    name = stem_of(path)
    return Source(name, title_of(text) or name, sentences)


def without_pages(text: str) -> str:
    """The text without the lines that the printed page added, with open sentences joined.

    These lines are numbers, titles with a number if frequent or in capitals, and, between form
    feeds, a first or last line that is on at least three pages.
    """
    lines: list[str] = []
    edges: set[int] = set()
    pages = text.split("\f")
    for page in pages:
        start = len(lines)
        lines += page.split("\n")
        written = [place for place in range(start, len(lines)) if lines[place].strip()]
        if len(pages) > 1 and written:
            edges |= {n for n in (written[0], written[-1]) if len(lines[n]) <= _LONGEST_TITLE}
    titles = Counter(title for line in lines if (title := _running_title(line)))
    repeated = Counter(_without_digits(lines[place]) for place in edges)
    kept: list[str] = []
    crossing = False
    for place, line in enumerate(lines):
        stripped, title = line.strip(), _running_title(line)
        # A capital roman numeral is a chapter's number: a paragraph of its own, not the page's.
        is_number = not stripped.isupper() and bool(_PAGE_NUMBER.fullmatch(stripped))
        is_title = bool(title) and (titles[title] >= _OFTEN or title.isupper())
        is_edge = place in edges and repeated[_without_digits(line)] >= _OFTEN
        if (stripped and is_number) or is_title or is_edge:
            # Blank lines around it are also removed if a sentence is open there.
            while kept and not kept[-1].strip():
                kept.pop()
            crossing = True
        elif not crossing:
            kept.append(line)
        elif stripped:
            if kept and kept[-1].rstrip().endswith(_ENDS):
                kept.append("")
            kept.append(line)
            crossing = False
    return "\n".join(kept)


def _running_title(line: str) -> str:
    """The title of a line that reads "196 Mark M. Hennelly" or "Jane Austen 45", or ""."""
    numbered = _NUMBERED.fullmatch(line) if len(line) <= _LONGEST_TITLE else None
    if numbered is None:
        return ""
    title: str = numbered["after"] or numbered["before"]
    words = [word for word in re.findall(_WORD, title) if len(word) > 3]
    capital = bool(words) and all(word[0].isupper() for word in words)
    return " ".join(title.split()) if capital and title[0].isupper() else ""


def _without_digits(line: str) -> str:
    return " ".join(re.sub(r"\d+", " ", line).split())


def paragraphs(text: str) -> list[str]:
    joined = (" ".join(part.split()) for part in _BLANK.split(rejoin_breaks(text)))
    plain = (_EMPHASIS.sub(r"\1", part) for part in joined)
    return [part for part in plain if part and not is_heading(part)]


def is_heading(paragraph: str) -> bool:
    """Whether a paragraph is a chapter number or title: not a sentence, and never quoted."""
    if len(paragraph) > _LONGEST_HEADING:
        return False
    if _HEADING.fullmatch(paragraph):
        return True
    letters = [letter for letter in paragraph if letter.isalpha()]
    shouted = len(letters) > 1 and all(letter.isupper() for letter in letters)
    return not letters or (shouted and paragraph[-1] not in "!?\"”’'")


def rejoin_breaks(text: str) -> str:
    r"""Join words broken by a line's end or a scanner.

    The rest of the text decides whether ``drawing-\nroom`` is one word or two; if it has neither,
    the hyphen is kept between halves that are words themselves.
    """
    whole = _GAP.sub(" ", _BREAK.sub(" ", text))
    frequency = Counter(word.lower() for word in _WORDS.findall(whole))

    def joined(match: re.Match[str], kept: str) -> str:
        first, second = match[1], match[2]
        joined_count, two = (
            frequency[(first + second).lower()],
            frequency[f"{first}-{second}".lower()],
        )
        if joined_count or two:
            return first + second if joined_count >= two else f"{first}-{second}"
        return kept if frequency[first.lower()] and frequency[second.lower()] else first + second

    text = _BREAK.sub(lambda match: joined(match, f"{match[1]}-{match[2]}"), text)
    return _GAP.sub(lambda m: m[0] if m[2] in _PAIRING else joined(m, m[0]), text)


def without_citations(paragraph: str) -> str:
    for pattern in (_NOTE, _MARK, _RAISED):
        paragraph = pattern.sub("", paragraph)
    kept = _BRACKETED.sub(lambda bracket: "" if is_citation(bracket[1]) else bracket[0], paragraph)
    return kept.strip()


def is_citation(inside: str) -> bool:
    """Whether the text between round brackets cites: "123", "p. 149", "Austen 45", "ibid."."""
    tokens = _TOKEN.findall(inside)
    lower = [token.lower() for token in tokens]
    if not tokens or any(token in _MONTHS for token in lower):
        return False
    has_word = any(token in _CITING for token in lower)
    has_part = has_word and any(_PART_NUMBER.fullmatch(token) for token in tokens)
    names = numbers = 0
    for token, small in zip(tokens, lower, strict=True):
        if _CITED_NUMBER.fullmatch(token):
            numbers += 1
        elif small not in _CITING:
            if not _NAME.fullmatch(token):
                return False
            names += 1
    digits = any(token[0].isdigit() for token in tokens)
    if names > _MOST_NAMES or (names and not (digits or has_part)):
        return False
    return digits or has_part or numbers > 0 or any(token in _IBID for token in lower)


def is_english(text: str) -> bool:
    """Whether common English words are frequent; with few words, whether letters are Latin."""
    words = re.findall(_WORD, text.lower())
    if len(words) < _LEAST_WORDS:
        return all(letter < "ɐ" for word in words for letter in word)
    return sum(word in _COMMON for word in words) / len(words) >= _LEAST_SHARE
