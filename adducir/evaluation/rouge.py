"""ROUGE-L of retrieved against true texts.

Lin, "ROUGE: A Package for Automatic Evaluation of Summaries" (2004), section 3.1, on texts as one
sentence each: with the longest common subsequence LCS of a reference of m tokens and a retrieved
text of n, recall R = LCS / m, precision P = LCS / n, F = (1 + b^2) R P / (R + b^2 P). Here b = 1,
as everywhere since Lin's script: F = 2 LCS / (m + n).

Tokens are those of Google's ``rouge_score``, from which today's figures come: lower case, runs of
a to z and 0 to 9, all else (accented letters too) parts words. ``stem=True`` is its
``use_stemmer``: words of more than three letters by Porter's stemmer with NLTK's extensions.
``unicode=True`` takes the letters and digits of all scripts instead, for texts that are not
English.

Without stemming this gives the .111 of the first retrieved text in Table 5 of the study of
exemplification; the .22 beside it cannot be derived from the text printed there, which gives .146.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from adducir.core.errors import InputError, UsageError
from adducir.corpora.spans import MaskedSpan, candidates_of
from adducir.evaluation.judgements import Floats
from adducir.evaluation.named import NamedMeasure
from adducir.evaluation.scores import Scores
from adducir.runs.run import Run

if TYPE_CHECKING:
    from nltk.stem.porter import PorterStemmer

_LATIN = re.compile(r"[a-z0-9]+")
_ANY = re.compile(r"[^\W_]+")
_SURROGATES = range(0xD800, 0xE000)


def words_of(text: str) -> list[str]:
    """The words of a text, as ``rouge_score`` cuts it."""
    return _LATIN.findall(text.lower())


class RougeL:
    """ROUGE-L between texts, each cut into tokens once.

    Args:
        unicode: Letters and digits of all scripts make words.
        cut: Cuts a text into words in place of all that.

    The common subsequence is found by RapidFuzz's bit-parallel algorithm (Hyyrö 2004), 64 tokens a
    step: tokens are numbered, and a text becomes a string of one character a token.
    """

    def __init__(
        self,
        *,
        stem: bool = False,
        unicode: bool = False,
        cut: Callable[[str], list[str]] | None = None,
    ) -> None:
        self._stem = stem
        pattern = _ANY if unicode else _LATIN
        self._cut = cut or (lambda text: pattern.findall(text.lower()))
        self._numbers: dict[str, str] = {}
        self._known: dict[str, str] = {}

    def encoded(self, text: str) -> str:
        """A text as a string of one character a token; equal tokens have equal characters."""
        if text not in self._known:
            tokens = self._cut(text)
            if self._stem:
                tokens = [_stemmed(token) for token in tokens]
            self._known[text] = "".join(map(self._number, tokens))
        return self._known[text]

    def score(self, reference: str, text: str) -> float:
        """F of one retrieved text: 0 to 1; 0 where either has no token."""
        return float(self.scores(reference, [text])[0])

    def scores(self, reference: str, texts: Sequence[str]) -> Floats:
        """(n,) F of n retrieved texts against one reference."""
        values = np.zeros(len(texts))
        for place, text in enumerate(texts):
            common, wanted, found = self.lengths(reference, text)
            if common:
                values[place] = 2 * common / (wanted + found)
        return values

    def lengths(self, reference: str, text: str) -> tuple[int, int, int]:
        """Tokens of the longest common subsequence, of the reference and of the text."""
        from rapidfuzz.distance import LCSseq

        wanted, found = self.encoded(reference), self.encoded(text)
        common = LCSseq.similarity(wanted, found) if wanted and found else 0
        return common, len(wanted), len(found)

    def _number(self, token: str) -> str:
        number = self._numbers.get(token)
        if number is None:
            code = len(self._numbers)
            code += len(_SURROGATES) if code >= _SURROGATES.start else 0
            number = self._numbers[token] = chr(code)
        return number


@cache
def _stemmer() -> "PorterStemmer":
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()


@cache
def _stemmed(token: str) -> str:
    return str(_stemmer().stem(token)) if len(token) > 3 else token


def rouge_scores(
    system: str,
    references: Mapping[str, str],
    retrieved: Mapping[str, Sequence[str]],
    *,
    depth: int = 1,
    rouge: RougeL | None = None,
) -> Scores:
    """ROUGE-L of the first text, and best and mean of the top k, for every query.

    Args:
        retrieved: The retrieved texts of each query, best first. A query without any counts 0 and
            is reported; the mean is over those retrieved where they are fewer than k.
        depth: The k of best and mean; with 1 there is the first alone.
        rouge: How texts are compared; give one to several systems, to cut each text once.

    Returns:
        Scores with the measures ``ROUGE-L``, ``max ROUGE-L@k`` and ``mean ROUGE-L@k``.

    Raises:
        UsageError: No query, or ``depth`` below 1.
    """
    if depth < 1:
        raise UsageError(f"a depth must be 1 or more, not {depth}.")
    if not references:
        raise UsageError(f"{system} has no query.")
    rouge = rouge or RougeL()
    rows = []
    for qid, reference in references.items():
        found = rouge.scores(reference, retrieved.get(qid, ())[:depth])
        rows.append((found[0], found.max(), found.mean()) if found.size else (0.0, 0.0, 0.0))
    names = ("ROUGE-L", f"max ROUGE-L@{depth}", f"mean ROUGE-L@{depth}")
    kept = 1 if depth == 1 else len(names)
    values = np.array(rows)[:, :kept]
    values.setflags(write=False)
    return Scores(
        system,
        tuple(references),
        tuple(NamedMeasure(name) for name in names[:kept]),
        values,
        missing=tuple(qid for qid in references if not retrieved.get(qid)),
        extra=tuple(qid for qid in retrieved if qid not in references),
    )


def rouge_of_run(
    system: str,
    run: Run,
    spans: Sequence[MaskedSpan],
    candidates: Sequence[MaskedSpan] = (),
    *,
    depth: int = 1,
    without_gold: bool = False,
    rouge: RougeL | None = None,
) -> Scores:
    """ROUGE-L of the texts that a run ranks first for masked spans; see :func:`rouge_scores`.

    Args:
        run: Its qids are the spans' ids, its docnos their candidates.
        spans: The spans, whose texts are gold.
        without_gold: Leave the gold candidate out, as where the study asks how near the others
            come.

    Raises:
        InputError: A docno of the run is no candidate, or a candidate has two texts.
        UsageError: No span, or ``depth`` below 1.
    """
    texts = candidates_of([*spans, *candidates])
    gold = {span.id: span.candidate or span.id for span in spans}
    retrieved: dict[str, list[str]] = {}
    frame = run.frame.select("qid", "docno")
    for qid, docno in frame.iter_rows():
        if docno not in texts:
            raise InputError(
                f"the run of {system} ranks {docno!r}, which is no candidate.",
                hint="Name all files of candidates, with --candidates.",
            )
        if not (without_gold and gold.get(qid) == docno):
            retrieved.setdefault(qid, []).append(texts[docno])
    references = {span.id: span.text for span in spans}
    return rouge_scores(system, references, retrieved, depth=depth, rouge=rouge)
