"""The bundled collection: how its parts fit together, and what its README says of it."""

import re
from collections import Counter

from adducir import load_qrels, load_topics, open_corpus
from adducir.corpora.documents import refuse_duplicates
from adducir.corpora.sources import BUNDLED


def test_the_parts_fit_together_and_the_readme_states_their_counts():
    arguments = list(refuse_duplicates(open_corpus("bundled:arguments")))
    topics, qrels = load_topics("bundled:topics"), load_qrels("bundled:qrels").frame.rows()
    assert topics.qids == [str(number) for number in range(1, 21)]
    assert not load_topics("bundled:topics", field="description+narrative").empty
    assert {docno for _, docno, _ in qrels} <= {docno for docno, _ in arguments}
    assert {qid for qid, _, _ in qrels} == set(topics.qids)
    cut = Counter(docno[:14] for docno, _ in arguments)
    assert max(cut.values()) > 1  # truncation of docnos would show
    readme = BUNDLED["bundled:qrels"].with_name("README.md").read_text(encoding="utf-8")
    text = " ".join(readme.split())
    debates, judged = {one["topic"] for _, one in arguments}, {docno for _, docno, _ in qrels}
    assert f"{len(arguments)} arguments in {len(debates)} debates" in text
    assert f"{len(qrels)} judgements of {len(judged)} arguments" in text
    grades = Counter(grade for _, _, grade in qrels)
    assert grades.keys() == {-2, 0, 1, 2}
    assert all(re.search(rf"\| {one} \| [^|]+ \| {n} \|", text) for one, n in grades.items())
