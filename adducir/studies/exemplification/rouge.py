"""ROUGE-L between the texts that runs rank for masked spans and the gold text.

Without stemming this gives the .111 of the first retrieved text in the paper's Table 5; the .22
next to it cannot be derived from the text printed there, which gives .146.
"""

from collections.abc import Callable, Sequence

import numpy as np

from adducir.core.errors import InputError, UsageError
from adducir.corpora.spans import MaskedSpan, candidates_of
from adducir.evaluation.measures import NamedMeasure
from adducir.evaluation.rouge import rouge_l, words_of
from adducir.evaluation.scores import Scores
from adducir.runs.run import Run


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
                hint="Name all files of candidates with --candidates.",
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
