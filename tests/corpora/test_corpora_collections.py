"""The readers over the real collections."""

import pytest

from adducir import load_qrels, load_topics, open_corpus
from adducir.corpora.documents import refuse_duplicates, text_of

TOUCHE_2020 = "touche/qrels/touche2020-task1-relevance-args-me-corpus-version-2020-04-01"


@pytest.mark.parametrize(
    ("path", "documents", "fields"),
    [("cacm/corpus.jsonl", 3204, 1), ("touche/argsme-subset.jsonl", 4967, 2)],
)
def test_documents(collections, path, documents, fields):
    corpus = open_corpus(collections / path)
    found = list(refuse_duplicates(corpus))
    assert len(found) == documents
    assert len(corpus.default_fields) == fields
    assert all(text_of(document, corpus.default_fields) for document in found)


def test_topics(collections):
    trec = load_topics(collections / "cacm/topics.cacm.trec.txt")
    tsv = load_topics(collections / "cacm/topics.tsv")
    assert (len(trec), trec.identity()) == (64, tsv.identity())
    first = collections / "touche/topics/topics-task-1-2020.xml"
    topics = load_topics(first)
    # 50 were published; topic 25 was taken out again.
    assert topics.qids == [str(qid) for qid in range(1, 51) if qid != 25]
    assert topics.queries[0] == "Should teachers get tenure?"
    assert load_topics(first, field="description").queries[0].startswith("A user has heard that")
    assert not load_topics(first, field="title+description+narrative").empty


@pytest.mark.parametrize(
    ("path", "judgements", "topics", "grades"),
    [
        (f"{TOUCHE_2020}-corrected.qrels", 2298, 49, [-2, 0, 1, 2]),
        (f"{TOUCHE_2020}.qrels", 2298, 49, [-2, 1, 2, 3, 4, 5]),
        ("touche/qrels/touche-task1-51-100-relevance.qrels", 3711, 50, [-2, 0, 1, 2]),
        ("cacm/qrels.cacm.txt", 796, 52, [1]),
        ("robust03/qrels.txt.gz", 128_796, 100, [0, 1, 2]),
        ("trec_eval/qrels.rel_level", 3681, 3, [-1, 0, 1, 2, 3, 4]),
    ],
)
def test_qrels(collections, path, judgements, topics, grades):
    qrels = load_qrels(collections / path)
    assert (len(qrels), len(qrels.qids)) == (judgements, topics)
    assert sorted(qrels.frame["grade"].unique()) == grades
