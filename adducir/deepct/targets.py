"""Target weights: how much each word of a passage matters, taken from its document's queries.

Query term recall (Dai and Callan, 2020): QTR(t, d) is the share of the document's queries that hold
the term t. Where a field of the document stands in for a query (the content-based weak supervision
of Dai and Callan, 2020a, which the DeepCT study of argument retrieval takes), it is the one query,
and targets are 1 or 0. Terms are stems; stop words are none, on neither side.

Two ways to find the terms, ``keys``:

``words``
    Those of :func:`adducir.deepct.words.words`, with the possessive ``'s`` cut off, in lower case.
``original``
    Those of the published script get_training_query_term_recall.py: every ``'s`` (and no other form
    of it) becomes a blank, then every character that is no ASCII letter or digit, then NLTK's word
    tokeniser cuts what is left ("cannot" into "can" and "not"). A target is found under the lower
    case form of a document's token, and the words that look it up are BERT's basic words: "café" is
    looked up as "cafe", was kept as "caf", and has no target.
"""

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple

from adducir.core.errors import UsageError
from adducir.deepct.words import Word, basic_words, match_key, words

Stemmer = Callable[[str], str]
Keys = Literal["words", "original"]

_NOT_ASCII_ALNUM = re.compile(r"[^a-zA-Z0-9]")


class Targets(NamedTuple):
    """A passage's words, for each its target weight (0 to 1), and whether it is a stop word.

    A stop word's value is 0; whether the loss counts it is the training's choice.
    """

    words: list[Word]
    values: list[float]
    is_stop: list[bool]


class Terms(NamedTuple):
    """A passage's words, the stem of each (None for one that is no term), which are stop words."""

    words: list[Word]
    stems: list[str | None]
    is_stop: list[bool]


def weights_of(terms: Iterable[Any], recall: Mapping[Any, float]) -> list[float]:
    """The target of each of some terms: its recall; 0 for one that no query holds."""
    return [recall.get(term, 0.0) for term in terms]


@lru_cache(maxsize=1 << 20)
def porter(word: str) -> str:
    """The stem of a lower-case word by NLTK's Porter stemmer with NLTK's extensions."""
    stem: str = _nltk_porter().stem(word)
    return stem


@dataclass(frozen=True)
class Matcher:
    """How words of passages and of queries are recognised as the same term.

    Attributes:
        stop_words: Words that are no terms, in lower case.
        keys: See the module's text.
    """

    stop_words: Container[str]
    stemmer: Stemmer = porter
    keys: Keys = "words"

    def __post_init__(self) -> None:
        if self.keys not in ("words", "original"):
            raise UsageError(f"there are no keys {self.keys!r}.", hint="Choose words or original.")

    def terms(self, text: str) -> set[str]:
        """The stems of a text's words without its stop words."""
        stems: set[str] = set(map(self.stemmer, self._forms(text)))
        return stems

    def recall(self, queries: Sequence[str]) -> dict[str, float]:
        """QTR: for each stem of the queries the share of them that hold it; empty ones count."""
        held: dict[str, int] = {}
        for query in queries:
            for stem in self.terms(query):
                held[stem] = held.get(stem, 0) + 1
        return {stem: count / len(queries) for stem, count in held.items()}

    def targets(self, passage: str, recall: Mapping[str, float]) -> Targets:
        """The target of each word of a passage.

        Args:
            passage: Its words are those of ``words``, or ``basic_words`` for the original keys.
            recall: The weight of each stem, from :meth:`recall`; a stem that it lacks has 0.
        """
        found = self.read(passage)
        return Targets(found.words, weights_of(found.stems, recall), found.is_stop)

    def read(self, passage: str) -> "Terms":
        """The words of a passage, and the term that each is."""
        if self.keys == "original":
            known = set(self._forms(passage))
            inside = basic_words(passage)
            stems = [self.stemmer(one.text) if one.text in known else None for one in inside]
            return Terms(inside, stems, [word.text in self.stop_words for word in inside])
        inside = words(passage)
        keys = [match_key(word.text) for word in inside]
        is_stop = [key in self.stop_words for key in keys]
        stems = [
            None if stop else self.stemmer(key) for key, stop in zip(keys, is_stop, strict=True)
        ]
        return Terms(inside, stems, is_stop)

    def _forms(self, text: str) -> Iterable[str]:
        """The lower-case forms that are no stop words, not stemmed."""
        if self.keys == "original":
            cleaned = _NOT_ASCII_ALNUM.sub(" ", text.replace("'s", " "))
            forms = [token.lower() for token in _nltk_tokenizer().tokenize(cleaned)]
        else:
            forms = [match_key(word.text) for word in words(text)]
        return [form for form in forms if form not in self.stop_words]


def query_term_recall(
    passage: str,
    queries: Sequence[str],
    *,
    stop_words: Container[str],
    stemmer: Stemmer = porter,
    keys: Keys = "words",
) -> Targets:
    """QTR of each word of the passage: the share of the queries that hold its stem.

    Args:
        passage: The text whose words get targets.
        queries: All queries of the passage's document; with none, every target is 0.
        stop_words: Words that match nothing, on both sides; in lower case.
        keys: ``words`` or ``original``, see the module's text.
    """
    matcher = Matcher(stop_words, stemmer, keys)
    return matcher.targets(passage, matcher.recall(queries))


# NLTK takes more than a second to import.
@cache
def _nltk_porter() -> Any:
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()


@cache
def _nltk_tokenizer() -> Any:
    # The part of word_tokenize that works within sentences; without marks there is but one.
    from nltk.tokenize.destructive import NLTKWordTokenizer

    return NLTKWordTokenizer()
