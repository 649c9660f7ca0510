"""Stop words: words that carry no topic and therefore get no target.

========  ======================================================================================
name      words
========  ======================================================================================
english   our own list of English function words, ``stopwords.txt`` beside this file
nltk      NLTK's English list, which the DeepCT study of argument retrieval took: a download of
          NLTK's, ``python -m nltk.downloader stopwords``
lucene    Lucene's 33 English stop words, which an index drops by default
none      no word
========  ======================================================================================

Any other name is a file with one word per line; lines that begin with ``#`` are ignored.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from adducir.core.errors import InputError, MachineError, UsageError
from adducir.core.files import read_lines
from adducir.corpora.digests import digest_of

NAMES = ("english", "nltk", "lucene", "none")

_ENGLISH = Path(__file__).with_name("stopwords.txt")
_LUCENE = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then "
    "there these they this to was will with"
)


@dataclass(frozen=True)
class StopWords:
    """A stop list.

    Attributes:
        words: The words in lower case, with the plain apostrophe.
    """

    name: str
    words: frozenset[str]

    def __contains__(self, word: object) -> bool:
        return word in self.words

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.words))

    def __len__(self) -> int:
        return len(self.words)

    def identity(self) -> dict[str, str]:
        """A digest of the words, for fingerprints; the name is not in it."""
        return {"stop_words": digest_of(self)}


def stop_words(name: str | Path) -> StopWords:
    """The stop list of a name, see the module's text.

    Raises:
        InputError: The file cannot be read, or has a line of several words.
        MachineError: NLTK's list is not on this machine.
        UsageError: Neither a known name nor a file.
    """
    match str(name):
        case "english":
            found = _read(_ENGLISH)
        case "nltk":
            found = _nltk()
        case "lucene":
            found = frozenset(_LUCENE.split())
        case "none":
            found = frozenset()
        case _:
            found = _read_named(Path(name))
    return StopWords(str(name), found)


def _read_named(path: Path) -> frozenset[str]:
    if not path.is_file():
        raise UsageError(
            f"{str(path)!r} is no stop list.",
            hint=f"Give one of {', '.join(NAMES)}, or a file with one stop word a line.",
        )
    return _read(path)


def _read(path: Path) -> frozenset[str]:
    found = set()
    for number, line in read_lines(path):
        word = line.strip().lower().replace("’", "'")
        if not word or word.startswith("#"):
            continue
        if len(word.split()) > 1:
            raise InputError(
                f"there are several words in this line: {word!r}.",
                path=path,
                line=number,
                hint="A stop list has one word a line.",
            )
        found.add(word)
    return frozenset(found)


def _nltk() -> frozenset[str]:
    from nltk.corpus import stopwords

    try:
        return frozenset(word.lower() for word in stopwords.words("english"))
    except LookupError as error:
        raise MachineError(
            "NLTK's stop words are not on this machine: they are no part of its package.",
            hint="Get them with `python -m nltk.downloader stopwords`, or choose `english`, the "
            "list that comes with Adducir.",
            absent=True,
        ) from error
