"""Examples in context: EGRET's data set from answers and books.

Each exemplifying unit gives one masked span: what stands left of it, the unit, what stands right
(EGRET paper, sections 2.1 and 3.1, Table 1). Units that read alike are one candidate, so that no
true answer is counted as a false one.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from adducir.core.names import Numbered, Seen, TextFile
from adducir.corpora.spans import MaskedSpan
from adducir.studies.exemplification.masking import CONTEXT_WORDS, masked
from adducir.studies.exemplification.sentences import Sentences
from adducir.studies.exemplification.texts import Text
from adducir.studies.exemplification.units import DUPLICATE, STRICT, Unit, find_units

LONGEST_UNIT = 256
"""Words of a unit, by default: what is longer is a table, or text without full stops."""


@dataclass
class Tally:
    """What an extraction found; filled while its spans are read.

    Attributes:
        texts: Answers or books read.
        groups: Questions or books that gave a unit.
        spans: Units.
        candidates: Different units, by their words.
        left, unit, right: Words on the left, of the units, on the right, all together.
        kinds: Units by form and marker.
        dropped: What was dropped, by reason.
    """

    texts: int = 0
    groups: int = 0
    spans: int = 0
    candidates: int = 0
    left: int = 0
    unit: int = 0
    right: int = 0
    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)

    def means(self) -> tuple[float, float, float]:
        """Mean words of left context, unit and right context; zeros where there is no unit."""
        count = max(1, self.spans)
        return self.left / count, self.unit / count, self.right / count


def extract_examples(
    texts: Iterable[Text],
    tally: Tally | None = None,
    *,
    words: int | None = CONTEXT_WORDS,
    min_words: int = 1,
    max_words: int | None = LONGEST_UNIT,
    rules: str = STRICT,
) -> Iterator[MaskedSpan]:
    """Yield the exemplifying units of texts with their contexts.

    A unit is a duplicate where another one before it has the same words, and the sentence left
    of it has as well; only the first is yielded. Time grows linearly; of what was yielded, some 40
    bytes are kept for each unit: two digests of 8 bytes, and where its id stands in a file. With n
    units, the probability that one is dropped since digests agree by chance is n^2 / 2^65.

    Args:
        words: Whole sentences are kept on each side until they have so many words; None: all.
        min_words: Words that a unit must have beside its markers.
        max_words: Words that it may have beside them; None: any number.
        rules: How the edges of units are found, :data:`STRICT` or as the paper has it.
    """
    tally = Tally() if tally is None else tally
    seen, numbered, first_ids = Seen(), Numbered(), TextFile()
    groups: set[str] = set()
    for text in texts:
        tally.texts += 1
        sentences = Sentences(text.content)
        for unit in find_units(sentences, min_words, max_words, rules):
            if unit.reason is not None:
                tally.dropped[unit.reason] += 1
                continue
            what = {"kind": "example", "form": unit.form, "marker": unit.marker.kind}
            span = masked(text, sentences, unit.start, unit.end, words, **what)
            key = _digest(span.text)
            if seen.add_hash(_number(key + _digest(span.left[-1] if span.left else ""))):
                tally.dropped[DUPLICATE] += 1
                continue
            groups.add(span.group)
            tally.groups = len(groups)
            number = numbered.number(_number(key))
            candidate = first_ids[number] if number < len(first_ids) else span.id
            if number == len(first_ids):
                first_ids.append(span.id)
            tally.candidates = len(first_ids)
            _count(tally, span, unit)
            yield MaskedSpan(
                span.id, span.group, span.left, span.span, span.right, candidate, extra=span.extra
            )


def _digest(sentence: str) -> bytes:
    """The words of a sentence, whatever their capitals, spaces and punctuation, in 16 bytes."""
    words = " ".join(re.findall(r"\w+", sentence.casefold()))
    return hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _number(digest: bytes) -> int:
    """64 bits of a digest."""
    found = hashlib.blake2b(digest, digest_size=8).digest()
    return int.from_bytes(found, "little", signed=True)


def _count(tally: Tally, span: MaskedSpan, unit: Unit) -> None:
    tally.spans += 1
    tally.left += sum(len(sentence.split()) for sentence in span.left)
    tally.unit += sum(len(sentence.split()) for sentence in span.span)
    tally.right += sum(len(sentence.split()) for sentence in span.right)
    tally.kinds[unit.form, unit.marker.kind] += 1
