"""Rankings that other programs write as JSON, read as runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from adducir.cli.app import main
from adducir.core.errors import InputError
from adducir.runs.check import check_file
from adducir.runs.read import read_run

RANKED = {"q2": {"d1": 0.25, "d3": 0.75}, "q1": {"d2": 1.5, "d1": -2, "d4": 1.5}}
MTEB = {
    "mteb_model_meta": {"model_name": "sentence-transformers/all-MiniLM-L6-v2", "revision": "8b3"},
    "default": {"test": RANKED},
}
LINES = "".join(
    json.dumps(
        {
            "query_id": qid,
            "query": f"text of {qid}",
            "results": [{"corpus_id": docno, "score": score} for docno, score in ranked.items()],
        }
    )
    + "\n"
    for qid, ranked in RANKED.items()
)
FILES = {
    "Touche2020Retrieval.v3_predictions.json": json.dumps(MTEB),
    "Information-Retrieval_evaluation_predictions_cosine.jsonl": LINES,
    "ranx.json": json.dumps(RANKED, indent=4),
}


@pytest.mark.parametrize("name", FILES)
def test_each_format_is_the_run_that_trec_eval_would_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(FILES[name])
    plain = tmp_path / "plain.trec"
    plain.write_text(
        "".join(f"{q} Q0 {d} 0 {s} x\n" for q, ranked in RANKED.items() for d, s in ranked.items())
    )
    assert read_run(path).frame.equals(read_run(plain).frame)
    anserini = read_run(path, ties="anserini").frame
    assert anserini.equals(read_run(plain, ties="anserini").frame)


def test_the_tag_is_the_model(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(MTEB))
    assert read_run(path).tag == "sentence-transformers/all-MiniLM-L6-v2"


def test_what_sentence_transformers_writes_is_read(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

    class Letters:
        """An encoder of letters, for which the evaluator needs no model."""

        def encode(self, texts: list[str], **_: Any) -> Any:
            import torch

            return torch.tensor([[float(text.count(one)) for one in "abc"] for text in texts])

        def __getattr__(self, name: str) -> Any:
            if name in ("encode_query", "encode_document"):
                return self.encode
            raise AttributeError(name)

    from sentence_transformers.util import dot_score

    evaluator = InformationRetrievalEvaluator(
        {"q1": "a", "q2": "b"},
        {"d1": "aab", "d2": "abbb", "d3": "c"},
        {"q1": {"d1"}, "q2": {"d2"}},
        score_functions={"dot": dot_score},
        write_predictions=True,
        write_csv=False,
    )
    model: Any = Letters()
    evaluator.compute_metrices(model, output_path=str(tmp_path))
    (path,) = tmp_path.glob("*.jsonl")
    found = read_run(path).frame
    assert found.filter(found["qid"] == "q2")["docno"].to_list()[:2] == ["d2", "d1"]
    assert found.filter(found["qid"] == "q1")["score"].to_list() == [2.0, 1.0, 0.0]


def test_commands_take_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "q.qrels").write_text("q1 0 d2 1\nq2 0 d3 1\n")
    (tmp_path / "bm25.trec").write_text("q1 Q0 d1 1 2 x\nq2 Q0 d3 1 2 x\n")
    (tmp_path / "mteb.json").write_text(json.dumps(MTEB))
    files = [str(tmp_path / name) for name in ("bm25.trec", "mteb.json")]
    qrels = ["-q", str(tmp_path / "q.qrels"), "-m", "P@1", "--format", "json"]
    assert main(["evaluate", *files, *qrels, "-b", "bm25"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    # d4 stands before d2, whose score is the same.
    assert {row["system"]: row["cells"][0]["mean"] for row in rows} == {"bm25": 0.5, "mteb": 0.5}
    assert main(["check", files[1]]) == 0
    assert main(["compare", files[1]]) == 3
    assert "adducir evaluate" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("a.json", '{"a": 1}', "it is not {query: {document: score}}"),
        ("a.json", '{"q": {"d": "x"}}', "document d for query q is 'x'"),
        ("a.json", '{"q": {"d": NaN}}', "no finite number"),
        ("a.json", '{"q": {"d": true}}', "no finite number"),
        ("a.json", '{"q": {}}', "the run is empty"),
        ("a.json", '{"q": {"d": 1}', "this is not JSON"),
        (
            "a.json",
            json.dumps(MTEB | {"de": {"dev": RANKED}}),
            r"of 2 subsets and splits \(default/test, de/dev\)",
        ),
        ("a.json", '{"mteb_model_meta": {}}', "of 0 subsets and splits"),
        ("a.jsonl", LINES + LINES, "query q2 comes twice"),
        ("a.jsonl", LINES + '{"query_id": "q3"}\n', "a.jsonl:3: this is no prediction"),
        (
            "a.jsonl",
            '{"query_id": "q", "results": [{"corpus_id": 1, "score": 1}, '
            '{"corpus_id": "1", "score": 2}]}\n',
            "a.jsonl:1: query q ranks a document twice",
        ),
        (
            "a.jsonl",
            '{"query_id": "q", "results": [{"corpus_id": "d", "score": null}]}\n',
            "a.jsonl:1: the score of document d for query q is None",
        ),
    ],
)
def test_what_is_no_ranking_is_refused(tmp_path: Path, name: str, text: str, what: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=what):
        read_run(path)
    (finding,) = check_file(path)
    assert finding.severity == "error"
