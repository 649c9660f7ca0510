"""What two official evaluation scripts compute in ways of their own: KILT's and MS MARCO's.

KILT (Petroni et al., NAACL 2021, section 5, ``kilt/eval_retrieval.py``) measures Wikipedia pages. A
question has one or several evidence sets, the pages behind each of its answers. Its ROUGE-L is that
of the PyPI package ``rouge`` (1.0.0, 1.0.1), which differs from ``rouge_score``: texts are cut into
sentences at every full stop (``9.4`` as well) and into words at white space; capitals and other
punctuation count; of each pair of sentences the longest common subsequence is found, and the union
over all pairs counts, words once however often they occur. Of several longest subsequences the
package takes the one that goes back in the answer where both ways are as long.

``ms_marco_eval`` cuts texts by spaCy's English rules of 2016, written here as far as answers need
them. BLEU is Papineni et al.'s (2002) in the form of the COCO caption evaluation; ROUGE-L weighs
recall with b = 1.2 and takes the best precision and the best recall each over all references. On
the official sample (10,047 queries) BLEU is within .00002 of the official figures and ROUGE-L
.00014 above; spaCy 3.8, whose rules have changed, is .00004 and .00027 off.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from rapidfuzz.distance import LCSseq

ORDER = 4
_TINY, _SMALL, _BETA = 1e-15, 1e-9, 1.2
_LONGEST = 500  # longer pieces are not words, and would take time with the square of their length


def r_precision(pages: Iterable[str], evidence: Sequence[Sequence[str]]) -> float:
    """Of the R pages of an evidence set, the share among the first R found; the best over sets."""
    found = list(dict.fromkeys(pages))
    each = [set(one) for one in evidence if one]
    return max((len({*found[: len(one)]} & one) / len(one) for one in each), default=0.0)


def recall_at(k: int, pages: Iterable[str], evidence: Sequence[Sequence[str]]) -> float:
    """The share of evidence sets that are whole among the first k places.

    A set takes one place, that of its last page found; a page of no set takes one, too.
    """
    left = [set(one) for one in dict.fromkeys(map(frozenset, evidence))]
    if not left:
        return 0.0
    places: list[int] = []  # a set that is found in part by its number, or one of these two
    whole, none = -1, -2
    for page in dict.fromkeys(pages):
        holding = [number for number, wanted in enumerate(left) if page in wanted]
        for number in holding:
            if number in places:
                places.remove(number)
            left[number].remove(page)
            places.append(number if left[number] else whole)
        if not holding:
            places.append(none)
    return places[:k].count(whole) / len(left)


def kilt_rouge_l(answer: str, reference: str) -> float:
    """KILT's ROUGE-L, 0 to 1."""
    said, wanted = _sentences(answer), _sentences(reference)
    said_words, wanted_words = ({word for one in some for word in one} for some in (said, wanted))
    if not said_words or not wanted_words:
        return 0.0
    union = {word for one in wanted for other in said for word in _subsequence(one, other)}
    recall, precision = len(union) / len(wanted_words), len(union) / len(said_words)
    return 2 * (precision * recall) / (precision + recall + 1e-8)


def _sentences(text: str) -> list[list[str]]:
    """The words of each sentence; blanks between two full stops are one empty word there."""
    return [sentence.split() or [""] for sentence in text.split(".") if sentence]


def _subsequence(first: Sequence[str], second: Sequence[str]) -> set[str]:
    lengths = [[0] * (len(second) + 1)]
    for word in first:
        above, row = lengths[-1], [0]
        for place, other in enumerate(second):
            row.append(above[place] + 1 if word == other else max(above[place + 1], row[place]))
        lengths.append(row)
    words: set[str] = set()
    i, j = len(first), len(second)
    while i and j:
        if first[i - 1] == second[j - 1]:
            i, j = i - 1, j - 1
            words.add(first[i])
        elif lengths[i - 1][j] > lengths[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return words


def marco_rouge_l(text: str, answers: Sequence[str]) -> float:
    """MS MARCO's ROUGE-L of a text with answers, 0 to 1."""
    found, precision, recall = marco_words(text), 0.0, 0.0
    for answer in answers:
        wanted = marco_words(answer)
        if common := LCSseq.similarity(wanted, found):
            precision = max(precision, common / len(found))
            recall = max(recall, common / len(wanted))
    weight = _BETA**2
    return (1 + weight) * precision * recall / (recall + weight * precision) if precision else 0.0


def bleu(pairs: Iterable[tuple[Sequence[str], Sequence[Sequence[str]]]]) -> tuple[float, ...]:
    """BLEU-1 to BLEU-4 of a collection of (answer, references) pairs, all as words.

    N-grams are clipped at their greatest number in one reference; lengths are compared with the
    reference of the nearest length, of two equally near the shorter; precisions are
    (correct + 1e-15) / (all + 1e-9). BLEU-n is the geometric mean of the precisions to order n,
    times exp(1 - r / c) where the answers' words c are fewer than the references' r.
    """
    correct, guessed, length, wanted = [0] * ORDER, [0] * ORDER, 0, 0
    for answer, references in pairs:
        most: Counter[tuple[str, ...]] = Counter()
        for reference in references:
            most |= _grams(reference)
        for gram, count in _grams(answer).items():
            correct[len(gram) - 1] += min(count, most[gram])
        for order in range(ORDER):
            guessed[order] += max(0, len(answer) - order)
        length += len(answer)
        wanted += min(map(len, references), key=lambda one: (abs(one - len(answer)), one))
    ratio = (length + _TINY) / (wanted + _SMALL)
    penalty = math.exp(1 - 1 / ratio) if ratio < 1 else 1.0
    product, found = 1.0, []
    for order, (right, every) in enumerate(zip(correct, guessed, strict=True), start=1):
        product *= (right + _TINY) / (every + _SMALL)
        found.append(penalty * product ** (1 / order))
    return tuple(found)


def _grams(words: Sequence[str]) -> Counter[tuple[str, ...]]:
    return Counter(
        tuple(words[start : start + order])
        for order in range(1, ORDER + 1)
        for start in range(len(words) - order + 1)
    )


_ENDS = r"""''|``|[\[\](){}<>*_"'‘’“”«»`´?!;:,…–—~]"""
_FIRST = re.compile(rf"\.\.+|--+|{_ENDS}|C\$|US\$|[$£€¥#§%=¿¡&|•]")
_UNITS = (
    "km²|km³|km|m²|m³|m|dm|cm²|cm³|cm|mm²|mm³|mm|ha|µm|nm|yd|in|ft|kg|g|mg|µg|t|lb|oz|m/s|km/h|mph|"
    "hPa|Pa|mbar|mb|MB|kb|KB|gb|GB|tb|TB|T|G|M|K|%|[$£€¥]"
)
_LAST = re.compile(
    rf"(?:['’][sS]|\.\.+|--+|{_ENDS}|[°®™]|(?<=[0-9])(?:\+|{_UNITS})|(?<=°[FCK])\."
    r"""|(?<=[0-9a-z%²+'"”’)\]-])\.|(?<=[A-Z][A-Z])\.)$"""
)
_INNER = re.compile(
    r"\.\.+|…|(?<=[a-z])\.(?=[A-Z])|(?<=[A-Za-z])(?:--?|,)(?=[A-Za-z])|(?<=[0-9])-(?=[0-9])"
)
_ABBREVIATION = re.compile(
    r"(?:[a-z]|[apn]\.m|d\.c|e\.g|i\.e|n\.[cdhjy]|ph\.d|s\.c|u\.s|v\.s|adm|bros|co|corp|dr|gen|"
    r"gov|inc|jr|ltd|md|messrs|mo|mr|mrs|ms|rep|rev|sen|st|vs|ala|apr|ariz|ark|aug|calif|colo|conn|"
    r"dec|del|feb|fla|ga|ia|id|ill|ind|jan|jul|jun|kans?|ky|la|mar|mass|mich|minn|miss|mont|nebr?|"
    r"nev|nov|oct|okla|ore|pa|sept?|tenn|va|wash|wis)\.",
    re.IGNORECASE,
)
_SHORT = re.compile(
    r"((?:is|are|was|were|have|has|had|do|does|did|ca|could|should|would|might|must|need|wo|sha|ai)"
    r"(?=n['’]t$)|(?:i|you|he|she|it|we|they|who|what|where|when|how|that|there)(?=['’]))"
    r"(n['’]t|['’](?:ll|d|re|ve|m|s))|(can)(not)|(let)(['’]s)",
    re.IGNORECASE,
)


def marco_words(text: str) -> list[str]:
    return [word.lower() for piece in text.split() for word in _words_of(piece)]


@lru_cache(maxsize=1 << 16)
def _words_of(piece: str) -> tuple[str, ...]:
    if len(piece) > _LONGEST:
        return (piece,)
    before: list[str] = []
    after: list[str] = []
    while piece and not _stays(piece):
        first = _FIRST.match(piece)
        if first:
            before.append(first.group())
            piece = piece[first.end() :]
        last = _LAST.search(piece) if piece and not _stays(piece) else None
        if last:
            after.append(last.group())
            piece = piece[: last.start()]
        if not first and not last:
            break
    short = _SHORT.fullmatch(piece)
    if short:
        return (*before, *filter(None, short.groups()), *reversed(after))
    words, start = [], 0
    for mark in _INNER.finditer(piece):
        words += [piece[start : mark.start()], mark.group()]
        start = mark.end()
    return (*before, *filter(None, (*words, piece[start:])), *reversed(after))


def _stays(piece: str) -> bool:
    """Whether a piece is a word, or two, with the mark at its end."""
    return bool(_ABBREVIATION.fullmatch(piece) or _SHORT.fullmatch(piece))
