"""The bundled collection: its shape, and what its README says of it."""

import re
from collections import Counter

from adducir.corpora import load_qrels, load_topics, open_corpus, refuse_duplicates
from adducir.corpora.sources import BUNDLED

ARGUMENTS = list(refuse_duplicates(open_corpus("bundled:arguments")))
TOPICS = load_topics("bundled:topics")
QRELS = load_qrels("bundled:qrels").frame.rows()


def test_the_arguments_are_like_those_of_args_me():
    assert 280 <= len(ARGUMENTS) <= 360
    debates: dict[str, set[str]] = {}
    for docno, fields in ARGUMENTS:
        assert re.fullmatch(r"S[0-9a-f]{8}-A[0-9a-f]{8}", docno)
        assert fields.keys() == {"topic", "conclusion", "premise", "stance"}
        assert fields["stance"] in {"PRO", "CON"}
        debates.setdefault(docno.split("-")[0], set()).add(fields["topic"])
    assert all(len(names) == 1 for names in debates.values())
    cut = Counter(docno[:14] for docno, _ in ARGUMENTS)
    assert max(cut.values()) > 1  # truncation of docnos would show
    lengths = [len(fields["premise"].split()) for _, fields in ARGUMENTS]
    assert lengths.count(0) == 1
    assert len({fields["premise"] for _, fields in ARGUMENTS}) == len(ARGUMENTS)
    assert 35 <= sum(lengths) / len(lengths) <= 80
    text = "\n".join(fields["premise"] for _, fields in ARGUMENTS)
    assert all(part in text for part in ("and/or", "café", "'s"))


def test_topics_and_judgements_are_like_those_of_touche():
    assert TOPICS.qids == [str(number) for number in range(1, 21)]
    assert all(query.endswith("?") for query in TOPICS.queries)
    assert not load_topics("bundled:topics", field="description+narrative").empty
    assert {docno for _, docno, _ in QRELS} <= {docno for docno, _ in ARGUMENTS}
    assert {qid for qid, _, _ in QRELS} == set(TOPICS.qids)
    grades = Counter(grade for _, _, grade in QRELS)
    assert grades.keys() == {-2, 0, 1, 2}
    sizes = Counter(qid for qid, _, _ in QRELS)
    relevant = Counter(qid for qid, _, grade in QRELS if grade > 0)
    assert all(10 <= sizes[qid] <= 18 and 3 <= relevant[qid] <= sizes[qid] - 3 for qid in sizes)


def test_the_judgements_are_incomplete():
    for qid in TOPICS.qids:
        judged = {docno for topic, docno, _ in QRELS if topic == qid}
        best = {docno for topic, docno, grade in QRELS if topic == qid and grade == 2}
        debates = {docno.split("-")[0] for docno in best}
        near = {docno for docno, _ in ARGUMENTS if docno.split("-")[0] in debates}
        assert near - judged, qid


def test_the_readme_states_licence_purpose_and_the_true_counts():
    path = BUNDLED["bundled:qrels"].with_name("README.md")
    readme = " ".join(path.read_text(encoding="utf-8").split())
    assert "Apache-2.0" in readme
    assert "Do not base findings on it" in readme
    debates = {fields["topic"] for _, fields in ARGUMENTS}
    assert f"{len(ARGUMENTS)} arguments in {len(debates)} debates" in readme
    judged = {docno for _, docno, _ in QRELS}
    assert f"{len(QRELS)} judgements of {len(judged)} arguments" in readme
    stances = Counter(fields["stance"] for _, fields in ARGUMENTS)
    assert f"{stances['PRO']} arguments are PRO, {stances['CON']} CON" in readme
    for grade, count in Counter(grade for _, _, grade in QRELS).items():
        assert re.search(rf"\| {grade} \| [^|]+ \| {count} \|", readme)
