"""Words and terms of texts, and query term recall, a word's importance in a passage.

:func:`words` breaks a text as Lucene's StandardTokenizer does (Unicode's word boundaries, UAX #29),
because the weights end up in a Lucene index: "don't" and "1,000.5" are one word, "e-mail" two, and
every Han or Hiragana character is one. Unlike Lucene, it skips emoji.

:func:`passages` splits a text into parts that fit a model's input: at white space, or at BERT's
basic words inside a chunk without white space (a web address, Chinese) that is too long by itself.
Joined passages equal the text: white space belongs to the passage before it.

QTR(t, d) is the share of a document's queries that contain the term t (Dai and Callan, 2020). If a
field of the document serves as the query (the content-based weak supervision of Dai and Callan,
2020a, used in the DeepCT study of argument retrieval), targets are 1 or
0. Terms are Porter stems; stop words are not terms, on either side. Two tokenizations:

``lucene``
    The words of :func:`words`, without a possessive ``'s``, in lower case.
``bert``
    Those of the published script get_training_query_term_recall.py: every ``'s`` (and no other form
    of it) becomes a blank, then every character that is not an ASCII letter or digit, and NLTK's
    word tokenizer cuts what is left ("cannot" into "can" and "not"). Targets are looked up by
    BERT's basic words: "café" is looked up as "cafe" but was stored as "caf", so it lacks a target.

Stop lists: ``english`` (our own function words), ``nltk`` (as in the study; a download), ``lucene``
(the 33 that an index drops), ``none``, or a file with one word per line.
"""

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

import regex

from adducir.core.errors import InputError, MachineError, UsageError
from adducir.core.files import read_lines
from adducir.core.texts import STOP_WORDS
from adducir.corpora.passages import filled

Tokenization = Literal["lucene", "bert"]
STOP_LISTS = ("english", "nltk", "lucene", "none")

_ENGLISH = Path(__file__).with_name("stopwords.txt")
_NOT_ASCII_ALNUM = re.compile(r"[^a-zA-Z0-9]")
# Lucene cuts a longer word into parts of this length (StandardTokenizer's maxTokenLength).
LONGEST = 255
CountPieces = Callable[[list[str]], Iterable[int]]
"""Counts the word pieces of chunks of text, as if each were between blanks."""
Unit = Literal["pieces", "words"]
_CHUNK = re.compile(r"\S+")


class Word(NamedTuple):
    """A word: ``text`` is in the passage from ``start`` to ``end`` (characters)."""

    start: int
    end: int
    text: str


def words(text: str, *, whole: bool = True) -> list[Word]:
    """The words of a text in order, as in an index; if not ``whole``, :func:`basic_words`."""
    if not whole:
        return basic_words(text)
    # A pattern of Unicode properties takes five times as long, and most texts need none.
    matches: Iterable[Any] = (_ASCII if text.isascii() else _UNICODE).finditer(text)
    tokens = [Word(match.start(), match.end(), match.group()) for match in matches]
    if all(len(word.text) <= LONGEST for word in tokens):
        return tokens
    return [
        Word(at, min(at + LONGEST, end), text[at : min(at + LONGEST, end)])
        for start, end, _ in tokens
        for at in range(start, end, LONGEST)
    ]


def basic_words(text: str) -> list[Word]:
    """The words of BERT's basic tokenisation (uncased), the original DeepCT's look-up keys.

    A word's text, in lower case and without accents, may differ in length from its slice.
    """
    from tokenizers import PreTokenizedString

    normalizer, splitter = _bert()
    cut = PreTokenizedString(text)
    cut.normalize(normalizer.normalize)
    splitter.pre_tokenize(cut)
    parts = cut.get_splits(offset_referential="original", offset_type="char")
    return [Word(start, end, part) for part, (start, end), _ in parts]


def match_key(word: str) -> str:
    """A word's key before stemming: lower case, without possessive ``'s``.

    As in Lucene's filters, but "don’t" is the stop word "don't".
    """
    key = word.lower()
    if not key.isascii():
        key = key.translate(_APOSTROPHES)
    return key[:-2] if key.endswith("'s") else key


def passages(
    text: str,
    count_pieces: CountPieces,
    *,
    length: int,
    unit: Unit = "pieces",
    blanks: bool = False,
) -> list[tuple[int, int]]:
    """Starts and ends of passages, as long as possible within ``length`` pieces or words.

    A single longer word is its own passage, and so is a text of only white space. With ``blanks``,
    the white space before a word has pieces, too.
    """
    if unit == "words":
        count_pieces = partial(map, count_words)
    spans = [match.span() for match in _CHUNK.finditer(text)]
    steps: list[tuple[int, int]] = []  # indivisible parts: start and number of pieces
    counts = list(count_pieces([text[start:end] for start, end in spans])) if spans else []
    if blanks and unit == "pieces":  # a passage's first word stands without them
        lines = (text[a:b] for (_, a), (_, b) in pairwise([(0, 0), *spans]))
        counts = [*map(max, counts, count_pieces([*lines]))]
    for (start, end), pieces in zip(spans, counts, strict=True):
        if pieces <= length:
            steps.append((start, pieces))
            continue
        inner = basic_words(text[start:end])
        starts = list(dict.fromkeys([start, *(start + word.start for word in inner[1:])]))
        parts = [text[a:b] for a, b in zip(starts, [*starts[1:], end], strict=True)]
        steps += zip(starts, count_pieces(parts), strict=True)
    cuts = filled(steps, length)
    return list(zip(cuts, [*cuts[1:], len(text)], strict=True))


@lru_cache(maxsize=1 << 18)
def count_words(chunk: str) -> int:
    """The number of words in a chunk, at least 1."""
    return max(1, len(words(chunk)))


@cache
def _bert() -> tuple[Any, Any]:
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    return BertNormalizer(lowercase=True), BertPreTokenizer()


def stop_words(name: str | Path) -> frozenset[str]:
    """The words of a stop list, in lower case with the plain apostrophe; see the module's text."""
    if name == "nltk":
        from nltk.corpus import stopwords

        try:
            return frozenset(word.lower() for word in stopwords.words("english"))
        except LookupError as error:
            raise MachineError(
                "NLTK's stop words are not installed: its package does not include them.",
                hint="Get them with `python -m nltk.downloader stopwords`, or choose `english`, "
                "Adducir's own list.",
                absent=True,
            ) from error
    if name in ("lucene", "none"):
        return frozenset(STOP_WORDS.split() if name == "lucene" else ())
    path = _ENGLISH if name == "english" else Path(name)
    if not path.is_file():
        raise UsageError(
            f"{str(name)!r} is not a stop list.",
            hint=f"Give one of {', '.join(STOP_LISTS)}, or a file with one stop word per line.",
        )
    stop_words = set()
    for number, line in read_lines(path):
        word = line.strip().lower().replace("’", "'")
        if not word or word.startswith("#"):
            continue
        if len(word.split()) > 1:
            message = f"this line has several words: {word!r}."
            hint = "Write one stop word per line."
            raise InputError(message, path=path, line=number, hint=hint)
        stop_words.add(word)
    return frozenset(stop_words)


class Targets(NamedTuple):
    """A passage's words, their targets (0 to 1; 0 for stop words), and which are stop words."""

    words: list[Word]
    values: list[float]
    is_stop: list[bool]


@dataclass(frozen=True)
class Matcher:
    stop_words: Container[str]
    tokenization: Tokenization = "lucene"

    def recall(self, queries: Sequence[str]) -> dict[str, float]:
        """QTR: for each stem, the share of queries that contain it; empty queries count."""
        held: dict[str, int] = {}
        for query in queries:
            for stem in {porter(form) for form in self._forms(query)}:
                held[stem] = held.get(stem, 0) + 1
        return {stem: count / len(queries) for stem, count in held.items()}

    def targets(
        self, passage: str, inside: Sequence[Word], recall: Mapping[str, float]
    ) -> tuple[list[float], list[bool]]:
        """The target of each word of a passage, and whether it is a stop word."""
        if self.tokenization == "bert":
            forms = set(self._forms(passage))
            stems = [porter(word.text) if word.text in forms else None for word in inside]
            is_stop = [word.text in self.stop_words for word in inside]
        else:
            keys = [match_key(word.text) for word in inside]
            is_stop = [key in self.stop_words for key in keys]
            stems = [None if stop else porter(key) for key, stop in zip(keys, is_stop, strict=True)]
        return [0.0 if stem is None else recall.get(stem, 0.0) for stem in stems], is_stop

    def _forms(self, text: str) -> list[str]:
        if self.tokenization == "bert":
            cleaned = _NOT_ASCII_ALNUM.sub(" ", text.replace("'s", " "))
            forms = [token.lower() for token in _nltk()[1].tokenize(cleaned)]
        else:
            forms = [match_key(word.text) for word in words(text)]
        return [form for form in forms if form not in self.stop_words]


def query_term_recall(
    passage: str,
    queries: Sequence[str],
    *,
    stop_words: Container[str],
    tokenization: Tokenization = "lucene",
) -> Targets:
    """QTR of each word of a passage; ``stop_words``, in lower case, match nothing."""
    matcher = Matcher(stop_words, tokenization)
    inside = words(passage, whole=tokenization == "lucene")
    return Targets(inside, *matcher.targets(passage, inside, matcher.recall(queries)))


@lru_cache(maxsize=1 << 20)
def porter(word: str) -> str:
    """The stem of a lower-case word by NLTK's Porter stemmer with NLTK's extensions."""
    return _nltk()[0].stem(word)


@cache
def _nltk() -> tuple[Any, Any]:
    """Stemmer and tokenizer of NLTK, which takes more than a second to import."""
    from nltk.stem.porter import PorterStemmer

    # word_tokenize's part within sentences; without punctuation there is only one.
    from nltk.tokenize.destructive import NLTKWordTokenizer

    return PorterStemmer(), NLTKWordTokenizer()


_APOSTROPHES = str.maketrans("’＇", "''")

# The following expresses rules WB4 to WB13b of UAX #29 as one pattern. Every character includes the
# marks that extend it (WB4).
_MARKS = r"[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*+"
_LETTER = r"[\p{WB=ALetter}\p{WB=Hebrew_Letter}]" + _MARKS
_DIGIT = r"[\p{WB=Numeric}０-９]" + _MARKS
_JOINER = r"\p{WB=ExtendNumLet}" + _MARKS
_KATAKANA = r"\p{WB=Katakana}" + _MARKS
_IN_WORD = r"[\p{WB=MidLetter}\p{WB=MidNumLet}']" + _MARKS
_IN_NUMBER = r"[\p{WB=MidNum}\p{WB=MidNumLet}']" + _MARKS


def _pattern(
    opening: str, letter: str, digit: str, joiner: str, in_word: str, in_number: str
) -> str:
    """Letters and digits, joined by underscores, dots and the like inside words."""
    run = f"{letter}(?:(?:{in_word})?{letter})*|{digit}(?:(?:{in_number})?{digit})*"
    return f"{opening}(?:{run})(?:{run}|(?:{joiner})+)*"


# A row of joiners without a word is read once: ASCII tries only its first, else it is skipped as a
# whole. Trying each of them would take quadratic time.
# Groups are not possessive: Python before 3.11.5 matches such groups wrongly (gh-106052).
_ASCII = re.compile(_pattern("(?:_(?<!__)_*+)?", "[A-Za-z]", "[0-9]", "_", "[:.']", "[,;.']"))
_UNICODE = regex.compile(
    _pattern(f"(?:{_JOINER})*+", _LETTER, _DIGIT, _JOINER, _IN_WORD, _IN_NUMBER)
    + rf"|(?:{_JOINER})++(*SKIP)(*FAIL)"
    + rf"|(?:{_KATAKANA})++"
    + rf"|(?:\p{{Line_Break=SA}}{_MARKS})++"
    + rf"|[\p{{Script=Han}}\p{{Script=Hiragana}}]{_MARKS}"
)
