"""Terms of texts, and how much each word of a passage matters: query term recall.

QTR(t, d) is the share of a document's queries that hold the term t (Dai and Callan, 2020). Where a
field of the document stands in for a query (the content-based weak supervision of Dai and Callan,
2020a, which the DeepCT study of argument retrieval takes), it is the one query, and targets are 1
or 0. Terms are Porter stems; stop words are not terms, on either side. Two ways to find them:

``lucene``
    The words of :func:`adducir.deepct.words.words`, without a possessive ``'s``, in lower case.
``bert``
    Those of the published script get_training_query_term_recall.py: every ``'s`` (and no other form
    of it) becomes a blank, then every character that is not an ASCII letter or digit, and NLTK's
    word tokenizer cuts what is left ("cannot" into "can" and "not"). The words that look their
    target up are BERT's basic words: "café" is looked up as "cafe", was kept as "caf", and has no
    target.

Stop lists: ``english`` (our own function words, ``stopwords.txt``), ``nltk`` (as in the study; a
download), ``lucene`` (the 33 that an index drops), ``none``, or a file with one word per line.
"""

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from adducir.core.errors import InputError, MachineError, UsageError
from adducir.core.files import read_lines
from adducir.deepct.words import Word, match_key, words

Tokenization = Literal["lucene", "bert"]
STOP_LISTS = ("english", "nltk", "lucene", "none")

_ENGLISH = Path(__file__).with_name("stopwords.txt")
_LUCENE = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then "
    "there these they this to was will with"
)
_NOT_ASCII_ALNUM = re.compile(r"[^a-zA-Z0-9]")


def stop_words(name: str | Path) -> frozenset[str]:
    """The words of a stop list, in lower case with the plain apostrophe; see the module's text."""
    if name == "nltk":
        from nltk.corpus import stopwords

        try:
            return frozenset(word.lower() for word in stopwords.words("english"))
        except LookupError as error:
            raise MachineError(
                "NLTK's stop words are not on this machine: its package does not hold them.",
                hint="Get them with `python -m nltk.downloader stopwords`, or choose `english`, "
                "the list that comes with Adducir.",
                absent=True,
            ) from error
    if name in ("lucene", "none"):
        return frozenset(_LUCENE.split() if name == "lucene" else ())
    path = _ENGLISH if name == "english" else Path(name)
    if not path.is_file():
        raise UsageError(
            f"{str(name)!r} is not a stop list.",
            hint=f"Give one of {', '.join(STOP_LISTS)}, or a file with one stop word per line.",
        )
    found = set()
    for number, line in read_lines(path):
        word = line.strip().lower().replace("’", "'")
        if not word or word.startswith("#"):
            continue
        if len(word.split()) > 1:
            what = f"there are several words in this line: {word!r}."
            hint = "A stop list has one word per line."
            raise InputError(what, path=path, line=number, hint=hint)
        found.add(word)
    return frozenset(found)


class Targets(NamedTuple):
    """A passage's words, the target of each (0 to 1; 0 for a stop word), and if it is a stop."""

    words: list[Word]
    values: list[float]
    is_stop: list[bool]


@dataclass(frozen=True)
class Matcher:
    stop_words: Container[str]
    tokenization: Tokenization = "lucene"

    def recall(self, queries: Sequence[str]) -> dict[str, float]:
        """QTR: for each stem of the queries the share of them that hold it; empty ones count."""
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
            known = set(self._forms(passage))
            stems = [porter(word.text) if word.text in known else None for word in inside]
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

    # The part of word_tokenize that works within sentences; without marks there is only one.
    from nltk.tokenize.destructive import NLTKWordTokenizer

    return PorterStemmer(), NLTKWordTokenizer()
