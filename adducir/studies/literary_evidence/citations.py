"""In-line citations, note marks and editors' brackets, which would give a quotation away.

RELiC removes them, since a page number lets a model guess the place of the quotation (Thai et al.,
Table A1).
"""

import re

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
_NUMBER = re.compile(
    r"\d{1,4}[a-z]?(?:[-–.]\d{1,4}[a-z]?)*\.?|[ivxlc]{1,7}(?:[-–][ivxlc]{1,7})?\.?"
)
_NAME = re.compile(r"[^\W\d_a-z][\w.'’-]*|_[^_]+_")
_WORDS_TEXT = """
    p. pp. p pp page pages vol. vols. vol volume ch. chap. chaps. chs. ch chapter chapters bk.
    book part act sc. scene l. ll. line lines n. nn. note notes no. nos. ibid ibid. op. cit.
    loc. see cf. cf also and & et al. al qtd. quoted in trans. ed. eds. rpt. sec. sect. § f.
    ff. passim
"""
_WORDS = frozenset(_WORDS_TEXT.split())
_IBID = frozenset(("ibid", "ibid.", "passim", "cit."))
_MONTHS_TEXT = """
    january february march april may june july august september october november december jan.
    feb. mar. apr. jun. jul. aug. sept. sep. oct. nov. dec.
"""
_MONTHS = frozenset(_MONTHS_TEXT.split())
_MOST_NAMES = 5


def without_citations(paragraph: str) -> tuple[str, int]:
    """Take citations and note marks out of a paragraph, with the blank before each.

    Returns:
        The paragraph, and how many were taken out.
    """
    count = 0
    for pattern in (_NOTE, _MARK, _RAISED):
        paragraph, found = pattern.subn("", paragraph)
        count += found
    cited = [match for match in _BRACKETED.finditer(paragraph) if is_citation(match[1])]
    for match in reversed(cited):
        paragraph = paragraph[: match.start()] + paragraph[match.end() :]
    return paragraph.strip(), count + len(cited)


def is_citation(inside: str) -> bool:
    """Whether what stands between round brackets cites: "123", "p. 149", "Austen 45", "ibid.".

    It does if it is made of page numbers, years, roman numerals in small letters, the words of
    citing and names, with a number or "ibid." among them. A date with its month does not, nor do
    names alone.
    """
    tokens = _TOKEN.findall(inside)
    lower = [token.lower() for token in tokens]
    if not tokens or any(token in _MONTHS for token in lower):
        return False
    words = [token in _WORDS for token in lower]
    numbers = [bool(_NUMBER.fullmatch(token)) for token in tokens]
    roman_part = any(words) and any(re.fullmatch(r"[IVXLC]{1,7}\.?", token) for token in tokens)
    names = [
        bool(_NAME.fullmatch(token)) and not word and not number
        for token, word, number in zip(tokens, words, numbers, strict=True)
    ]
    if sum(names) > _MOST_NAMES or not all(map(any, zip(words, numbers, names, strict=True))):
        return False
    digits = any(token[0].isdigit() for token in tokens)
    if any(names) and not (digits or roman_part):
        return False
    return digits or roman_part or any(numbers) or any(token in _IBID for token in lower)
