"""RELiC's queries as the BIRCO benchmark has them: each with a pool of candidates.

A folder of three files: ``queries.jsonl`` (qid, text, with ``[masked sentence(s)]`` in place of the
quotation), ``corpus.jsonl`` (docid, text) and ``qrels.txt``, in which each judged passage of a
topic, relevant or not, belongs to its pool. BIRCO (Wang et al., 2024, github.com/BIRCO-benchmark)
took 100 queries of RELiC with about 50 passages of the same book each.
"""

from dataclasses import dataclass
from pathlib import Path

from adducir.core.errors import InputError
from adducir.corpora.formats import read_jsonl
from adducir.corpora.literary_sentences import literary_sentences
from adducir.corpora.qrels import load_qrels
from adducir.corpora.spans import MaskedSpan

MASK = "[masked sentence(s)]"


@dataclass(frozen=True, slots=True)
class Pools:
    """Masked spans that have candidates of their own.

    Attributes:
        spans: One per query. The book is not given, so that each is a group of its own; the
            candidate is the docno of the gold item.
        candidates: For each span's id the docnos of its pool, in the order of the qrels.
        texts: The text of each docno.
    """

    spans: list[MaskedSpan]
    candidates: dict[str, list[str]]
    texts: dict[str, str]


def read_pools(folder: Path) -> Pools:
    """Read a folder of queries with pools.

    Raises:
        InputError: A file is missing or malformed, a query has not exactly one mask or not exactly
            one relevant passage, or a passage is missing; with file and line where there is one.
    """
    passages = folder / "corpus.jsonl"
    texts = {
        document.docno: _text(document.fields, path=passages, line=line)
        for line, document in read_jsonl(passages)
    }
    qrels = folder / "qrels.txt"
    pools: dict[str, list[str]] = {}
    gold_items: dict[str, list[str]] = {}
    for qid, docno, grade in load_qrels(qrels).frame.iter_rows():
        if docno not in texts:
            raise InputError(
                f"the passage {docno!r} of topic {qid!r} is not in {passages}.", path=qrels
            )
        pools.setdefault(qid, []).append(docno)
        if grade > 0:
            gold_items.setdefault(qid, []).append(docno)
    spans = _spans(folder / "queries.jsonl", gold_items, texts)
    return Pools(spans, {span.id: pools[span.id] for span in spans}, texts)


def _spans(path: Path, gold_items: dict[str, list[str]], texts: dict[str, str]) -> list[MaskedSpan]:
    spans: list[MaskedSpan] = []
    for line, query in read_jsonl(path, "qid"):
        text = _text(query.fields, path, line)
        sides = text.split(MASK)
        if len(sides) != 2:
            raise InputError(
                f"query {query.docno!r} has the mask {MASK} {len(sides) - 1} times, not once.",
                path=path,
                line=line,
            )
        relevant = gold_items.get(query.docno, [])
        if len(relevant) != 1:
            raise InputError(
                f"query {query.docno!r} has {len(relevant)} relevant passages, not one.",
                path=path,
                line=line,
            )
        left, right = (tuple(literary_sentences([side])) for side in sides)
        gold = tuple(literary_sentences([texts[relevant[0]]]))
        spans.append(MaskedSpan(query.docno, query.docno, left, gold, right, relevant[0]))
    return spans


def _text(fields: dict[str, str], path: Path, line: int) -> str:
    text = fields.get("text", "")
    if not text.strip():
        raise InputError("this has no text in 'text'.", path=path, line=line)
    return text
