"""doc2query: what is drawn, from which tokens, and which queries a reranker leaves."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from json_files import jsonl
from tiny import tiny_bert, tiny_t5

from adducir.cli.app import main
from adducir.core.errors import ArtifactError
from adducir.corpora.sources import open_corpus
from adducir.expansion.doc2query import (
    Generation,
    QueryCorpus,
    QueryGenerator,
    generate_queries,
    score_queries,
    stored_queries,
)
from adducir.experiments.experiment import plan_experiment, run_experiment
from adducir.models.running import Running
from adducir.models.sources import ModelSource
from adducir.rerankers.recipe import open_reranker

DOCUMENTS = [("d1", "the cat runs fast"), ("d2", " "), ("d3", "nuclear power plants are clean")]
FEW = {"number": 3, "query_length": 4}


@pytest.fixture(scope="module")
def t5(tmp_path_factory):
    folder = tiny_t5(tmp_path_factory.mktemp("models") / "t5")
    return ModelSource(str(folder), folder)


@pytest.fixture
def corpus(tmp_path):
    rows = ({"docno": docno, "text": text} for docno, text in DOCUMENTS)
    return open_corpus(jsonl(tmp_path / "corpus.jsonl", rows))


def drawn(t5, running=Running(), **settings):  # noqa: B008 - a frozen value
    generator = QueryGenerator(t5, Generation(**{**FEW, **settings}))
    return generator, generator.queries(DOCUMENTS, running)


def test_queries_depend_on_the_document_and_the_seed_not_on_batches(t5):
    generator, queries = drawn(t5)
    assert [len(some) for some in queries] == [3, 0, 3] and len(set(queries[0])) > 1
    alone = [generator.queries([document])[0] for document in DOCUMENTS]
    assert alone == queries == generator.queries(DOCUMENTS, Running(tokens=1))
    assert drawn(t5, seed=1)[1] != queries


def test_the_best_token_alone_is_greedy_generation(t5):
    generator, queries = drawn(t5, top_k=1)
    inputs = generator.tokenizer(DOCUMENTS[2][1], return_tensors="pt")
    output = generator.network.generate(**inputs, max_new_tokens=4, do_sample=False, num_beams=1)
    (text,) = generator.tokenizer.batch_decode(output, skip_special_tokens=True)
    assert queries[2] == [" ".join(text.split())] * 3


def test_tokens_are_drawn_from_the_softmax_of_the_best(t5):
    generator, queries = drawn(t5, number=3000, query_length=1, top_k=4)
    inputs = generator.tokenizer(DOCUMENTS[0][1], return_tensors="pt")
    with torch.inference_mode():
        logits = generator.network(**inputs, decoder_input_ids=torch.tensor([[0]])).logits[0, 0]
    best = logits.topk(4)
    wanted = Counter[str]()
    for share, number in zip(best.values.softmax(0).tolist(), best.indices.tolist(), strict=True):
        text = generator.tokenizer.decode([number], skip_special_tokens=True)
        wanted[" ".join(text.split())] += share
    found = Counter(queries[0])
    assert found.keys() <= wanted.keys()
    for text, share in wanted.items():  # four standard errors
        assert abs(found[text] / 3000 - share) < 4 * np.sqrt(share * (1 - share) / 3000) + 1e-9


def test_one_threshold_keeps_the_best_share_of_all_queries(t5, corpus, tmp_path):
    folder, scores = tmp_path / "queries", tmp_path / "scores"
    made = generate_queries(t5, corpus, folder, Generation(**FEW))
    classifier = tiny_bert(tmp_path / "ce", kind="BertForSequenceClassification", num_labels=1)
    reranker = open_reranker(f"cross-encoder:{classifier}")
    scored = score_queries(folder, corpus, reranker, scores)
    every = [*stored_queries(folder)]
    assert made.counts["queries"] == 6 and [len(some) for some in every] == [3, 0, 3]
    pairs = [(n, query) for n, queries in enumerate(every) for query in queries]
    values = [reranker.score(query, [DOCUMENTS[n][1]])[0] for n, query in pairs]
    least = sorted(values)[-2]
    kept = [[] for _ in DOCUMENTS]
    for (n, query), value in zip(pairs, values, strict=True):
        if value >= least:
            kept[n].append(query)
    fingerprints = made.fingerprint, scored.fingerprint
    best = QueryCorpus(corpus, folder, fingerprints, scores, keep=0.3)  # 1.8 of 6 queries
    assert [document.fields["queries"] for document in best] == [
        " ".join(filter(None, q)) for q in kept
    ]
    whole = QueryCorpus(corpus, folder, fingerprints[:1])
    assert [document.fields["queries"].split() for document in whole] == [
        " ".join(queries).split() for queries in every
    ]
    assert whole.default_fields == ("text", "queries")
    assert whole.identity() != best.identity()


def test_queries_of_a_shorter_corpus_are_refused(t5, corpus, tmp_path):
    (tmp_path / "short.jsonl").write_text('{"docno": "d1", "text": "cats"}\n')
    short = open_corpus(tmp_path / "short.jsonl")
    made = generate_queries(t5, short, tmp_path / "queries", Generation(**FEW))
    with pytest.raises(ArtifactError, match="d2"):
        [*QueryCorpus(corpus, tmp_path / "queries", (made.fingerprint,))]


def test_an_experiment_ends_in_a_table_of_expansions(t5, corpus, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    tiny_bert(tmp_path / "ce", kind="BertForSequenceClassification", num_labels=1)
    (tmp_path / "experiments").mkdir()
    (tmp_path / "topics.tsv").write_text("1\tthe cat\n2\tclean power\n")
    (tmp_path / "qrels.txt").write_text("1 0 d1 1\n2 0 d3 1\n")
    made = f"doc2query: c, model: {t5.folder}, generation: {{number: 2, query_length: 4}}"
    (tmp_path / "experiments" / "e.yaml").write_text(f"""
corpora:
  c: {{source: corpus.jsonl}}
  all: {{{made}}}
  best: {{{made}, filter: {{reranker: "cross-encoder:ce", keep: 0.5}}}}
indexes:
  c: {{corpus: c, engine: memory}}
  all: {{corpus: all, engine: memory}}
  best: {{corpus: best, engine: memory, fields: [text, queries]}}
topics: {{t: {{source: topics.tsv, qrels: qrels.txt}}}}
systems: {{BM25: {{index: c}}, doc2query: {{index: all}}, doc2query--: {{index: best}}}}
measures: [RR]
""")
    assert main(["experiment", "experiments/e.yaml"]) == 0
    assert "doc2query--" in capsys.readouterr().out
    costs = run_experiment(plan_experiment(Path("experiments/e.yaml"))).table.material.costs
    tokens = [costs[name].index_tokens for name in ("BM25", "doc2query--", "doc2query")]
    assert sorted(set(tokens)) == tokens
    seconds = [costs[name].expansion_seconds for name in ("doc2query", "doc2query--")]
    assert costs["BM25"].expansion_seconds is None and 0 < seconds[0] < seconds[1]
    assert len([*(tmp_path / "doc2query").glob("*.queries")]) == 1
    assert main(["experiment", "experiments/e.yaml", "--dry-run"]) == 0
    assert "generate" not in capsys.readouterr().out
