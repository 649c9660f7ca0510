"""The readers over the real collections."""

import pytest

from adducir.core.errors import InputError
from adducir.corpora.documents import refuse_duplicates, text_of
from adducir.corpora.qrels import load_qrels
from adducir.corpora.sources import open_corpus
from adducir.corpora.topics import load_topics

TOUCHE_2020 = "touche2020-task1-relevance-args-me-corpus-version-2020-04-01"


@pytest.mark.parametrize(
    ("path", "documents", "fields"),
    [("cacm/corpus.jsonl", 3204, 1), ("touche/argsme-subset.jsonl", 4967, 2)],
)
def test_documents(collections, path, documents, fields):
    corpus = open_corpus(collections / path)
    found = list(refuse_duplicates(corpus))
    assert len(found) == corpus.size_hint() == documents
    assert len(corpus.default_fields) == fields
    assert all(text_of(document, corpus.default_fields) for document in found)


def test_folder_of_mixed_files_is_refused(collections):
    with pytest.raises(InputError, match="several formats"):
        open_corpus(collections / "cacm")
    assert len(list(open_corpus(collections / "cacm", format="jsonl"))) == 3204


def test_topics_of_cacm(collections):
    trec = load_topics(collections / "cacm" / "topics.cacm.trec.txt")
    tsv = load_topics(collections / "cacm" / "topics.tsv")
    assert len(trec) == 64
    assert (trec.qids, trec.queries) == (tsv.qids, tsv.queries)
    assert trec.identity() == tsv.identity()


def test_topics_of_touche(collections):
    folder = collections / "touche" / "topics"
    first = folder / "topics-task-1-2020.xml"
    topics = load_topics(first)
    # 50 were published; topic 25 was taken out again.
    assert topics.qids == [str(qid) for qid in range(1, 51) if qid != 25]
    assert topics.queries[0] == "Should teachers get tenure?"
    assert not topics.empty
    assert load_topics(first, field="description").queries[0].startswith("A user has heard that")
    assert not load_topics(first, field="title+description+narrative").empty
    second = folder / "topics-task-1-2021-only-titles.xml"
    assert load_topics(second).qids == [str(qid) for qid in range(51, 101)]
    with pytest.raises(InputError, match="fields are: title"):
        load_topics(second, field="description")


@pytest.mark.parametrize(
    ("path", "judgements", "topics", "grades"),
    [
        (f"touche/qrels/{TOUCHE_2020}-corrected.qrels", 2298, 49, [-2, 0, 1, 2]),
        (f"touche/qrels/{TOUCHE_2020}.qrels", 2298, 49, [-2, 1, 2, 3, 4, 5]),
        ("touche/qrels/touche-task1-51-100-relevance.qrels", 3711, 50, [-2, 0, 1, 2]),
        ("cacm/qrels.cacm.txt", 796, 52, [1]),
        ("cacm/qrels.cacm.padded.txt", 796, 52, [1]),
        ("robust03/qrels.txt.gz", 128_796, 100, [0, 1, 2]),
        ("trec_eval/qrels.test", 3681, 3, [0, 1]),
        ("trec_eval/qrels.rel_level", 3681, 3, [-1, 0, 1, 2, 3, 4]),
    ],
)
def test_qrels(collections, path, judgements, topics, grades):
    qrels = load_qrels(collections / path)
    assert len(qrels) == judgements
    assert len(qrels.qids) == topics
    assert sorted(qrels.frame["grade"].unique()) == grades


def test_both_years_together(collections):
    folder = collections / "touche" / "qrels"
    years = [f"{TOUCHE_2020}-corrected.qrels", "touche-task1-51-100-relevance.qrels"]
    both = load_qrels([folder / year for year in years])
    assert len(both) == 2298 + 3711
    assert len(both.restricted(map(str, range(51, 101)))) == 3711
    with pytest.raises(InputError, match="judged twice"):
        load_qrels([folder / f"{TOUCHE_2020}-corrected.qrels", folder / f"{TOUCHE_2020}.qrels"])


@pytest.mark.parametrize("run", ["trec_eval/results.test", "robust03/input.uic0301.gz"])
def test_run_given_as_qrels(collections, run):
    with pytest.raises(InputError, match="looks like a run") as caught:
        load_qrels(collections / run)
    assert caught.value.line == 1
