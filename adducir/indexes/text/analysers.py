"""Analysis of a few texts, in plain Python: of queries, and of what the compiled code leaves."""

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import ClassVar

from adducir.indexes.text.porter import RULES, stem
from adducir.indexes.text.tables import MOST_UNITS, STRIDE, Tables, blank_tables, word_tables

APOSTROPHES = "'\u2019\uff07"
# fmt: off
STOPWORDS = (  # Lucene's EnglishAnalyzer.ENGLISH_STOP_WORDS_SET
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it",
    "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these",
    "they", "this", "to", "was", "will", "with",
)
# fmt: on


def porter(word: str) -> str:
    """The stem of a word in lower case."""
    if word.isascii():
        letters = list(word.encode())
        return bytes(letters[: stem(letters, len(letters), RULES)]).decode()
    units = list(memoryview(word.encode("utf-16-le")).cast("H"))
    size = stem(units, len(units), RULES)
    return b"".join(unit.to_bytes(2, "little") for unit in units[:size]).decode("utf-16-le")


class TextAnalyser:
    """Texts to terms, as Lucene's WhitespaceAnalyzer: split at Java's white space."""

    is_english: ClassVar[bool] = False
    stopwords: frozenset[str] = frozenset()

    @property
    def tables(self) -> Tables:
        return word_tables() if self.is_english else blank_tables()

    @cached_property
    def _bytes(self) -> tuple[bytes, bytes, bytes]:
        classes, moves, types, *_ = self.tables
        return classes.tobytes(), moves.tobytes(), types.tobytes()

    def tokens(self, text: str) -> Iterator[tuple[str, str]]:
        """The tokens of a text, each with its type, which Lucene writes ``<ALPHANUM>``."""
        classes, moves, types = self._bytes
        names, first = self.tables.names, 0
        while first < len(text):
            state, units, end, kind = 1, 0, first + 1, 0
            for place in range(first, len(text)):
                code = ord(text[place])
                state = moves[state * STRIDE + classes[code]]
                width = 1 if code < 0x10000 else 2
                # Only the English tokeniser does not look behind the limit for a last surrogate.
                if not state or units + (width if self.is_english else 1) > MOST_UNITS:
                    break
                units += width
                if types[state]:
                    end, kind = place + 1, types[state]
            if kind:
                yield text[first:end], names[kind]
            first = end

    def stem(self, word: str) -> str:
        """The term of a word."""
        return word

    def _term(self, token: str) -> str:
        return token

    def terms(self, texts: Sequence[str]) -> list[list[str]]:
        """The terms of each text, in order, with repetitions."""
        terms_of: dict[str, str] = {}
        analysed = []
        for text in texts:
            terms = []
            for token, _ in self.tokens(text):
                term = terms_of.get(token)
                if term is None:
                    term = terms_of[token] = self._term(token)
                if term:
                    terms.append(term)
            analysed.append(terms)
        return analysed


class EnglishAnalyser(TextAnalyser):
    """Texts to terms, as Anserini's DefaultEnglishAnalyzer.

    Args:
        stems: By Porter's rules.
        stopwords: Words in lower case that are not terms.
    """

    is_english: ClassVar[bool] = True

    def __init__(self, *, stems: bool, stopwords: Collection[str] = STOPWORDS) -> None:
        self.stems, self.stopwords = stems, frozenset(stopwords)

    def stem(self, word: str) -> str:
        return porter(word) if self.stems else word

    def _term(self, token: str) -> str:
        if len(token) > 1 and token[-1] in "sS" and token[-2] in APOSTROPHES:
            token = token[:-2]
        small = self.tables.lower
        word = (
            token.lower()
            if token.isascii()
            else "".join(chr(small[ord(c)]) if ord(c) < len(small) else c for c in token)
        )
        return "" if word in self.stopwords else self.stem(word)
