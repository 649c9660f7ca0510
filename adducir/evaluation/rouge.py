"""ROUGE-L of generated or retrieved texts against references (Lin 2004, section 3.1).

Each text counts as one sentence: if LCS is the length of the longest common subsequence of a
reference of m tokens and a text of n, F = 2 LCS / (m + n). Tokens are those of Google's
``rouge_score``: lower case, runs of a to z and 0 to
9. RapidFuzz finds the subsequence a hundred times faster.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from adducir.core.errors import InputError, UsageError, worded
from adducir.corpora.spans import MaskedSpan, candidates_of
from adducir.evaluation.measures import NamedMeasure
from adducir.evaluation.scores import Scores
from adducir.runs.run import Run

_WORD = re.compile(r"[a-z0-9]+")


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower())


@lru_cache(maxsize=1 << 12)
def stems_of(text: str) -> list[str]:
    from nltk.stem.porter import PorterStemmer

    stem = PorterStemmer().stem
    return [stem(word) if len(word) > 3 else word for word in words_of(text)]


def rouge_l(reference: str, text: str, words: Callable[[str], Sequence[str]] = words_of) -> float:
    """F of a text, 0 to 1; 0 if either lacks tokens."""
    from rapidfuzz.distance import LCSseq

    gold, words_ = words(reference), words(text)
    common = LCSseq.similarity(gold, words_)
    return 2 * common / (len(gold) + len(words_)) if common else 0.0


def rouge_of_run(
    system: str,
    run: Run,
    spans: Sequence[MaskedSpan],
    candidates: Sequence[MaskedSpan] = (),
    *,
    depth: int = 1,
    without_gold: bool = False,
    words: Callable[[str], Sequence[str]] = words_of,
) -> Scores:
    """ROUGE-L of the texts that a run ranks for masked spans: of the first, and of the top k.

    Spans missing from the run count 0. ``without_gold`` measures how close other candidates come.
    """
    if not spans:
        raise UsageError(f"{system} does not have any queries.")
    texts = candidates_of([*spans, *candidates])
    gold = {span.id: span.candidate or span.id for span in spans}
    retrieved: dict[str, list[str]] = {}
    for qid, docno in run.frame.select("qid", "docno").iter_rows():
        if docno not in texts:
            raise InputError(
                f"the run of {system} ranks {docno!r}, which is not a candidate.",
                hint=f"Name all files of candidates: {worded('candidates')}.",
            )
        if not (without_gold and gold.get(qid) == docno):
            retrieved.setdefault(qid, []).append(texts[docno])
    rows = []
    for span in spans:
        some = retrieved.get(span.id, [])[:depth]
        scores = [rouge_l(span.text, text, words) for text in some] or [0.0]
        rows.append((scores[0], max(scores), float(np.mean(scores))))
    names = ("ROUGE-L", f"max ROUGE-L@{depth}", f"mean ROUGE-L@{depth}")[: 1 if depth == 1 else 3]
    return Scores.of(
        system,
        tuple(gold),
        tuple(map(NamedMeasure, names)),
        np.array(rows)[:, : len(names)],
        missing=tuple(qid for qid in gold if not retrieved.get(qid)),
        extra=tuple(qid for qid in retrieved if qid not in gold),
    )
