"""Free prompts against books: the passages that answer best, by words, by meaning, or both.

RELiC's authors found that scholars may put prompts of their own to such a retriever ("Elizabeth
displays frustration towards her mother"; Thai et al., 2022, section 5). Several rankings become one
by reciprocal rank fusion (Cormack et al., SIGIR 2009): a passage's score is the sum of
1 / (60 + rank). Of passages that overlap the best one is kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import MachineError, UsageError
from adducir.core.fingerprint import fingerprint
from adducir.core.progress import progress
from adducir.indexes.candidates import CandidateSet
from adducir.indexes.models import BM25
from adducir.studies.literary_evidence.book import Book

if TYPE_CHECKING:
    from adducir.encoders.model import DualEncoder
    from adducir.encoders.sources import EncoderSource
    from adducir.models.machine import Precision

WORDS = BM25(k1=0.5, b=0.9)
"""BM25 with the parameters that RELiC's authors tuned for passages of novels."""
_EVENING = 60
_NAME = 16

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Passage:
    """A passage that was found.

    Attributes:
        book: The title of its book.
        start: Its first sentence in that book.
        text: Its sentences, joined by blanks.
        place: Where it begins, as a share of the book.
        chapter: The heading above it.
        ranks: Its rank in each ranking; None where a prompt and it share no word.
    """

    book: str
    start: int
    text: str
    place: float
    chapter: str | None
    ranks: Mapping[str, int | None]


class SearchableBooks:
    """Books that can be asked: their passages, ready for each ranking, ranked all together.

    Args:
        books: At least one.
        length: Sentences in a passage.
        encoders: Encoders that rank, by the names to show.
        keep: A folder for the passages' vectors, which the next prompts then need not wait for.
        precision: What encoders compute passages in.

    Raises:
        UsageError: Nothing ranks, or every book is shorter than a passage.
        MachineError: No Java for BM25's analysis.
    """

    def __init__(
        self,
        books: Sequence[Book],
        length: int,
        *,
        words: bool = True,
        encoders: "Mapping[str, tuple[EncoderSource, DualEncoder]] | None" = None,
        keep: Path | None = None,
        precision: "Precision" = "float32",
    ) -> None:
        self.length = length
        self.starts = [(book, start) for book in books for start in book.passages(length)]
        if not self.starts:
            raise UsageError(f"there is no passage of {length} sentences.")
        if not words and not encoders:
            raise UsageError("name at least one ranking.")
        by_book = [[book.text_of(n, length) for n in book.passages(length)] for book in books]
        texts = list(chain.from_iterable(by_book))
        self._set = CandidateSet.of_texts(texts) if words else None
        self._encoders = {name: encoder for name, (_, encoder) in (encoders or {}).items()}
        self._vectors = {
            name: np.concatenate(
                [_vectors(own, source, encoder, keep, precision) for own in by_book if own]
            )
            for name, (source, encoder) in (encoders or {}).items()
        }

    def best(self, prompt: str, top: int = 5) -> list[Passage]:
        """The best passages for a prompt, none overlapping another.

        Args:
            prompt: What is looked for, in a few words.
            top: How many; fewer where the prompt shares no word with more, and only words rank.
        """
        ranks = {name: _ranks(scores) for name, scores in self._scores(prompt).items()}
        total = sum(np.where(one > 0, 1 / (_EVENING + one), 0.0) for one in ranks.values())
        found: list[Passage] = []
        taken: list[tuple[Book, int]] = []
        for number in np.argsort(-np.asarray(total), kind="stable"):
            book, start = self.starts[number]
            if len(found) == top or not np.asarray(total)[number]:
                break
            if any(book is other and abs(start - first) < self.length for other, first in taken):
                continue
            taken.append((book, start))
            found.append(
                Passage(
                    book.title,
                    start,
                    book.text_of(start, self.length),
                    book.places[start],
                    book.chapter_of(start),
                    {name: int(one[number]) or None for name, one in ranks.items()},
                )
            )
        return found

    def _scores(self, prompt: str) -> dict[str, Scores]:
        scores: dict[str, Scores] = {}
        if self._set is not None:
            own = self._set.scores([prompt], WORDS)[0]
            scores["bm25"] = np.where(own > 0, own, -np.inf)
        for name, encoder in self._encoders.items():
            (vector,) = encoder.encode_queries([prompt])
            scores[name] = (self._vectors[name] @ vector).astype(np.float64)
        return scores


def _vectors(
    texts: Sequence[str],
    source: "EncoderSource",
    encoder: "DualEncoder",
    keep: Path | None,
    precision: "Precision",
) -> NDArray[np.float32]:
    """Vectors of passages; those that ``keep`` has from an earlier time are taken from there."""
    if keep is not None:
        try:
            return _kept(texts, source, encoder, keep, precision)
        except MachineError as error:  # an answer needs no cache
            progress().note(f"what {source.name} makes of the book is not kept: {error}")
    with progress().doing(f"reading with {source.name}", len(texts), "passages"):
        return encoder.encode_documents(texts, precision=precision, on_batch=progress().advance)


def _kept(
    texts: Sequence[str],
    source: "EncoderSource",
    encoder: "DualEncoder",
    keep: Path,
    precision: "Precision",
) -> NDArray[np.float32]:
    """Vectors of passages as the folder has them, made if they are not there."""
    from adducir.encoders.encoding import Vectors, encode, items_of_texts

    items = items_of_texts(texts, "passages")
    folder = keep / fingerprint([items.identity, source.identity()])[:_NAME]
    encode(
        source,
        items,
        folder,
        encoder=encoder,
        device=str(encoder.device),
        precision=precision,
    )
    return Vectors(folder).all()


def _ranks(scores: Sequence[float] | Scores) -> NDArray[np.int64]:
    """Ranks from 1, equal scores in the book's order; 0 for a score of minus infinity."""
    values = np.asarray(scores)
    order = np.argsort(-values, kind="stable")
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[order] = np.arange(1, len(values) + 1)
    ranks[np.isneginf(values)] = 0
    return ranks
