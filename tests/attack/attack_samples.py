"""A small valid file for every reader."""

# ruff: noqa: E501

import json
from typing import Any


def lines(*records: Any) -> bytes:
    """JSON lines."""
    return "".join(json.dumps(record) + "\n" for record in records).encode()


_MASK = "[masked sentence(s)]"
_QUOTE = [["Before it."], 1, 2, ["After it."]]
_BOOK = {
    "quotes": {"q1": _QUOTE, "q2": [[], 0, 1, []]},
    "sentences": ["One.", "Two.", "Three.", "Four."],
    "candidates": {f"{n}_sentence": list(range(5 - n)) for n in range(1, 5)},
}
_HOTPOT = {
    "_id": "5a7a", "question": "Which firm audits it?", "answer": "Ernst", "type": "bridge",
    "level": "hard", "supporting_facts": [["Park", 0], ["Ernst", 0]],
    "context": [["Other", ["One.", " Two."]], ["Ernst", ["A firm."]], ["Park", ["A park."]]],
}  # fmt: skip
_NQ = {
    "example_id": 1, "question_text": "why", "document_text": "<P> For example , dogs help . </P>",
    "annotations": [{"long_answer": {"start_token": 0, "end_token": 8}, "short_answers": []}],
}  # fmt: skip
_SPAN = {"id": "s1", "group": "g", "left": ["a b ."], "span": ["c ."], "right": ["d ."]}
_QUESTION = {
    "id": "q1", "question": "what ?",
    "passages": [{"id": f"p{n}", "title": "t", "text": f"text {n}"} for n in range(4)],
    "gold": [[0, 1]], "sets": [{"members": [0, 1], "label": True}], "missing": [0],
}  # fmt: skip
_WOW = {
    "id": "d_1", "input": "a\nb",
    "output": [{"answer": "c", "provenance": [
        {"wikipedia_id": "7", "start_paragraph_id": 1, "start_character": 0, "end_paragraph_id": 1, "end_character": 3}
    ]}],
}  # fmt: skip
_PASSAGE = {
    "id": "7-1", "title": "T", "text": "a b", "wikipedia_id": "7", "start_paragraph_id": 1, "start_character": 0,
    "end_paragraph_id": 1, "end_character": 3,
}  # fmt: skip
_NLGEN = {
    "passages": {"0": [{"is_selected": 1, "passage_text": "a b"}]}, "query": {"0": "q"}, "query_id": {"0": 7},
    "wellFormedAnswers": {"0": ["A."]},
}  # fmt: skip
_SGML = "<DOC>\n<DOCNO> d{} </DOCNO>\n<TITLE>Cats &amp; dogs</TITLE>\n<TEXT>\nThey run.\n</TEXT>\n</DOC>\n"
_TOP = "<top>\n<num> Number: {}\n<title> cats run\n<desc> Description:\nDo cats run?\n</top>\n"
_XML = "<topics>\n<topic><number>1</number><title>cats</title></topic>\n<topic number='2'><title>dogs &eacute;</title></topic>\n</topics>\n"
_TASK = '{"item": "1", "context": "a [masked] b", "candidates": ["x", "y", "z"], "choice": 2, "task": "abc"}'
_METADATA = """ir_metadata: {version: 0.1}
platform: {hardware: {cpu: {model: x}}}
method:
  automatic: true
  retrieval:
  - {name: bm25, method: BM25, k1: 0.9}
data:
  test_collection: {name: x, source: y}
run: {digest: abc, tag: t}
"""
_BOOK_TEXT = (
    "CHAPTER I\n\nThe harbour lay still that morning. Old Margaret counted her baskets twice, for "
    'she trusted nobody (e.g. her sister).\n\nFor example, dogs slept. "Stop!" he said.\n'
)

SAMPLES: dict[str, list[bytes]] = {
    "topics.trec": [(_TOP.format(1) + _TOP.format(2)).encode()],
    "topics.xml": [_XML.encode(), _SGML.format(1).encode()],
    "topics.tsv": [b"1\tcats run\n2\tdogs sleep\n", b"qid\tquery\n1\tcats\n"],
    "topics.jsonl": [lines({"qid": "1", "title": "cats"}, {"qid": 2, "query": "dogs", "n": 1})],
    "qrels.txt": [b"1 0 d1 1\n1 0 d2 0\n2 0 d1 -2\n"],
    "run.trec": [b"1 Q0 d1 1 3.5 t\n1 Q0 d2 2 2.5 t\n2 Q0 d1 1 1e-3 t\n"],
    "corpus.jsonl": [lines({"docno": "d1", "title": "t", "text": "cats run"}, {"docno": 2, "contents": "x"})],
    "corpus.trec": [(_SGML.format(1) + _SGML.format(2)).encode()],
    "corpus.tsv": [b"docno\ttitle\ttext\nd1\tt\tcats run\nd2\tu\tdogs\n", b"d1\tcats\n"],
    "cacm.all": [
        lines(
            {"docno": "CACM-1", "contents": "a < b", "html_text": "a\n1\t5\t1\n"},
            {"docno": "CACM-2", "contents": "They run", "html_text": "They run"},
        )
    ],
    "weights.jsonl": [lines({"docno": "d1", "weights": {"cat": 3, "dog": 1}}, {"docno": "d2", "weights": {}})],
    "folds.json": [b'[["1", "2"], ["3", 4]]', b'{"a": ["1", "2"], "b": ["3", "4"]}'],
    "ratings.csv": [
        b"item,rater,system,rating,rank\ni1,anna,a,5,1\ni1,ben,a,4,2\ni1,anna,b,1,2\ni1,ben,b,2,1\n",
        b"item,rater,system,rating\ni1,anna,a,yes\ni1,ben,a,no\n",
    ],
    "ranks.tsv": [b"qid\trank\tcandidates\tlength\nq1\t3\t10\t1\nq2\t1\t10\t2\n", lines({"qid": "q1", "rank": 3, "candidates": 10, "system": "s"})],
    "key.csv": [b"item,gold,group,docno_1,docno_2,task\n1,2,g,d1,d2,abc\n2,1,g,d3,d1,abc\n"],
    "choices.csv": [b"item,context,candidate_1,candidate_2,choice,task\n1,c,x,y,2,abc\n2,c,x,y,1,abc\n"],
    "choices.jsonl": [f"{_TASK}\n".encode()],
    "relic.json": [json.dumps({"a book": _BOOK}).encode()],
    "submission.json": [json.dumps({"q1": list(range(100)), "q2": list(range(99, -1, -1))}).encode()],
    "hotpot.json": [json.dumps([_HOTPOT]).encode(), lines(_HOTPOT)],
    "mnli.jsonl": [lines({"gold_label": "neutral", "sentence1": "P p", "sentence2": "H h"})],
    "mnli.tsv": [b"index\tsentence1\tsentence2\tgold_label\n0\tP\tH\tcontradiction\n"],
    "kilt.jsonl": [lines({"id": "1", "input": "why", "output": [{"answer": "For example, dogs."}]})],
    "eli5.jsonl": [lines({"q_id": "1", "title": "why", "answers": {"a_id": ["a"], "text": ["For example, dogs."], "score": [3]}})],
    "nq.jsonl": [lines(_NQ)],
    "qa.jsonl": [lines({"id": "1", "question": "why", "answer": "For example, dogs."})],
    "book.txt": [_BOOK_TEXT.encode()],
    "work.txt": [_BOOK_TEXT.encode()],
    "spans.jsonl": [lines(_SPAN, _SPAN | {"id": "s2", "candidate": "c"})],
    "questions.jsonl": [lines(_QUESTION, _QUESTION | {"id": "q2"})],
    "chosen.jsonl": [lines({"id": "q1", "chosen": ["p0", "p2"], "score": 1.5})],
    "contexts.jsonl": [lines({"id": "1", "input": "a", "target": "b", "gold": ["d1"], "group": "g"})],
    "pages.jsonl": [lines({"wikipedia_id": "7", "wikipedia_title": "T", "text": ["T", "A. b", "Section::::S.", "c"]})],
    "passages.jsonl": [lines(_PASSAGE)],
    "wow.jsonl": [lines(_WOW)],
    "nlgen.json": [json.dumps(_NLGEN).encode(), lines({name: one["0"] for name, one in _NLGEN.items()})],
    "generated.jsonl": [lines({"id": "1", "outputs": [{"text": "a", "docno": "d1", "passage": "b"}]}), lines(_WOW)],
    "references.jsonl": [lines({"query_id": 1, "answers": ["a", "b"]}), lines(_WOW)],
    "run.trec.ir-metadata.yml": [_METADATA.encode()],
    "manifest.json": [],
    "settings.json": [b'{"pooling": "mean", "context": {"left": 1, "right": 0, "tokens": 20}}'],
    "stopwords.txt": [b"the\na\nof\n"],
}  # fmt: skip
