"""ROUGE-L of generated or retrieved texts with true ones.

Lin, "ROUGE: A Package for Automatic Evaluation of Summaries" (2004), section 3.1, on texts as one
sentence each: with the longest common subsequence LCS of a reference of m tokens and a text of n,
recall R = LCS / m, precision P = LCS / n, F = (1 + b^2) R P / (R + b^2 P). Here b = 1, as
everywhere since Lin's script: F = 2 LCS / (m + n).

Tokens are those of Google's ``rouge_score``, from which today's figures come: lower case, runs of
a to z and 0 to 9; all else (accented letters too) separates words. With stems (its
``use_stemmer``) words of more than three letters go through Porter's stemmer with NLTK's
extensions. The subsequence is found by RapidFuzz, a hundred times faster than ``rouge_score``.

Without stemming this gives the .111 of the first retrieved text in Table 5 of the study of
exemplification; the .22 beside it cannot be derived from the text printed there, which gives .146.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from adducir.core.errors import InputError, UsageError
from adducir.corpora.spans import MaskedSpan, candidates_of
from adducir.evaluation.measures import NamedMeasure
from adducir.evaluation.scores import Scores
from adducir.runs.run import Run

if TYPE_CHECKING:
    from nltk.stem.porter import PorterStemmer

_WORD = re.compile(r"[a-z0-9]+")


def words_of(text: str) -> list[str]:
    """The words of a text, as ``rouge_score`` cuts it."""
    return _WORD.findall(text.lower())


@lru_cache(maxsize=1 << 12)
def stems_of(text: str) -> list[str]:
    """The stems of the words of a text, as ``rouge_score`` makes them."""
    return [_stemmer().stem(word) if len(word) > 3 else word for word in words_of(text)]


@cache
def _stemmer() -> "PorterStemmer":
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()


def rouge_l(reference: str, text: str, words: Callable[[str], Sequence[str]] = words_of) -> float:
    """F of a text, 0 to 1; 0 where either has no token."""
    from rapidfuzz.distance import LCSseq

    wanted, found = words(reference), words(text)
    common = LCSseq.similarity(wanted, found)
    return 2 * common / (len(wanted) + len(found)) if common else 0.0


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

    The run's qids are the spans' ids, its docnos their candidates or those of ``candidates``. A
    span that it lacks counts 0 and is reported. ``without_gold`` leaves the gold candidate out,
    where it is asked how near the others come.
    """
    if not spans:
        raise UsageError(f"{system} has no query.")
    texts = candidates_of([*spans, *candidates])
    gold = {span.id: span.candidate or span.id for span in spans}
    retrieved: dict[str, list[str]] = {}
    for qid, docno in run.frame.select("qid", "docno").iter_rows():
        if docno not in texts:
            raise InputError(
                f"the run of {system} ranks {docno!r}, which is not a candidate.",
                hint="Name all files of candidates, with --candidates.",
            )
        if not (without_gold and gold.get(qid) == docno):
            retrieved.setdefault(qid, []).append(texts[docno])
    rows = []
    for span in spans:
        some = retrieved.get(span.id, [])[:depth]
        found = [rouge_l(span.text, text, words) for text in some] or [0.0]
        rows.append((found[0], max(found), float(np.mean(found))))
    names = ("ROUGE-L", f"max ROUGE-L@{depth}", f"mean ROUGE-L@{depth}")[: 1 if depth == 1 else 3]
    return Scores.of(
        system,
        tuple(gold),
        tuple(map(NamedMeasure, names)),
        np.array(rows)[:, : len(names)],
        missing=tuple(qid for qid in gold if not retrieved.get(qid)),
        extra=tuple(qid for qid in retrieved if qid not in gold),
    )
