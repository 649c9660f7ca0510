"""What the tests of rerankers share: tiny models of each architecture, a tiny study."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from rerank_texts import QUERIES, TEXTS

from adducir.judges.answers import Answering
from adducir.rerankers.recipe import open_reranker


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "rerankers").mkdir(exist_ok=True)
    (tmp_path / "runs").mkdir()
    lines = [json.dumps({"docno": f"d{n}", "text": text}) for n, text in enumerate(TEXTS)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    topics = "".join(f"{n}\t{query}\n" for n, query in enumerate(QUERIES, 1))
    (tmp_path / "topics.tsv").write_text(topics, encoding="utf-8")
    run = [
        f"{qid} Q0 d{number} {rank} {20 - rank} bm25\n"
        for qid in (1, 2, 3)
        for rank, number in enumerate([0, 1, 2, 4, 5, 6, 7], 1)
    ]
    (tmp_path / "runs" / "bm25.trec").write_text("".join(run), encoding="utf-8")
    (tmp_path / "judged.qrels").write_text(
        "1 0 d1 2\n1 0 d4 1\n1 0 d0 0\n"
        "2 0 d0 1\n2 0 d2 0\n2 0 d7 1\n"
        "3 0 d2 1\n3 0 d5 2\n3 0 d6 0\n",
        encoding="utf-8",
    )
    return tmp_path


@pytest.fixture
def opened(tmp_path):
    """Opens a recipe that asks a fake server."""
    for name in ("rerankers", "llm"):
        (tmp_path / name).mkdir(exist_ok=True)

    def open_it(recipe, server, base="llm/m.yaml", **llm):
        stated = {"endpoint": "http://localhost:1/v1", "name": "m", "retries": 0, **llm}
        (tmp_path / "llm" / "m.yaml").write_text(json.dumps(stated))
        path = tmp_path / "rerankers" / "r.yaml"
        path.write_text(json.dumps({"base": base, **recipe}))
        answering = Answering(tmp_path / "answers.sqlite", transport=server and server.transport)
        return replace(open_reranker(path), answering=answering)

    return open_it
