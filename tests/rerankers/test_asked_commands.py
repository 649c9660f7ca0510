"""Language models as rerankers in commands and experiment files."""

import csv
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from fake_llm import NOW, Server, chooses, client_of, said, sorts
from rerank_texts import QUERIES, TEXTS

from adducir.cli.app import main
from adducir.core.errors import InputError, UsageError
from adducir.corpora.topics import Topics
from adducir.rerankers.recipe import open_reranker
from adducir.rerankers.rerank import Texts, rerank
from adducir.runs.run import Run
from adducir.runs.write import metadata_for, metadata_text

KNOWN = Texts({f"d{n}": text for n, text in enumerate(TEXTS)}.get)


RUN = {str(n): {f"d{m}": 9.0 - m for m in (0, 1, 2, 4, 5, 7)} for n in range(1, 4)}


def test_a_run_is_reranked_and_says_how(opened):
    topics = Topics.of({str(n): query for n, query in enumerate(QUERIES, 1)})
    server = sorts(len)
    reranker = opened({"model": "llm-listwise"}, server, price={"input": 1, "output": 2})
    reranked = rerank(Run.of(RUN, tag="bm25"), topics, KNOWN, reranker, depth=4)
    frame = reranked.run.frame
    for _, rows in frame.group_by("qid"):
        assert (np.diff(rows["score"].to_numpy()) < 0).all()
        assert rows["docno"].to_list()[4:] == ["d5", "d7"]
        best = sorted(["d0", "d1", "d2", "d4"], key=lambda d: -len(TEXTS[int(d[1:])]))
        assert rows["docno"].to_list()[:4] == best
    facts = reranked.settings
    assert facts["answers"] == {"ok": 3}
    assert facts["requests"] == 3
    assert facts["tokens"] == {"in": 33, "out": 9}
    assert facts["cost"] == pytest.approx((33 + 18) / 1e6)
    assert facts["language model"]["name"] == "m"
    assert "batch" not in facts


def test_another_prompt_or_model_is_another_identity(opened):
    base = opened({"model": "llm-listwise"}, None).identity
    for recipe, llm in (
        ({"prompt": "rankgpt"}, {}),
        ({"window": 10}, {}),
        ({}, {"name": "other"}),
        ({}, {"temperature": 1}),
    ):
        assert opened({"model": "llm-listwise", **recipe}, None, **llm).identity != base
    for llm in ({"endpoint": "http://elsewhere/v1"}, {"concurrency": 9}, {"timeout": 3}):
        assert opened({"model": "llm-listwise"}, None, **llm).identity == base


def test_the_command_plans_asks_and_repeats_offline(study, opened, monkeypatch, capsys):
    opened({"model": "llm-setwise", "best": 2}, None, cache="kept.sqlite", max_tokens=5)
    monkeypatch.chdir(study)
    words = "rerank -r runs/bm25.trec -t topics.tsv -c corpus.jsonl -m rerankers/r.yaml"
    words = f"{words} --depth 4 -o runs/llm.trec"
    assert main([*words.split(), "--dry-run"]) == 0
    assert "9 requests to m, 0 cached" in capsys.readouterr().err
    assert main([*words.split(), "--offline"]) == 2
    assert not (study / "runs" / "llm.trec").exists()
    server = chooses(len)
    monkeypatch.setattr("httpx2.AsyncClient", client_of(server))
    assert main([*words.split(), "--costs", "costs.jsonl"]) == 0
    count = len(server.bodies)
    costs = [json.loads(line) for line in (study / "costs.jsonl").read_text().splitlines()]
    assert [row["qid"] for row in costs] == ["1", "2", "3"]
    assert sum(row["requests"] for row in costs) == count
    assert sum(row["tokens_in"] for row in costs) == 11 * count
    assert (
        main(
            ["compare", "costs.jsonl", "--lower-is-better", "requests tokens_in tokens_out seconds"]
        )
        == 0
    )
    assert "tokens_in" in capsys.readouterr().out
    assert count <= 9 and (study / "kept.sqlite").is_file()
    first = (study / "runs" / "llm.trec").read_text()
    assert main([*words.split(), "--force", "--offline"]) == 0
    assert (study / "runs" / "llm.trec").read_text() == first
    assert main([*words.split(), "--dry-run"]) == 0
    assert f"0 requests to m, {count} cached" in capsys.readouterr().err
    assert len(server.bodies) == count
    monkeypatch.setattr("httpx2.AsyncClient", client_of(Server((500, "oh", NOW))))
    assert main([*words.split(), "--force", "--cache", "new.sqlite"]) == 6
    assert (study / "runs" / "llm.trec").read_text() == first
    words = words.replace("rerankers/r.yaml", "maxsim:minilm")
    assert main([*words.split(), "--dry-run"]) == 2
    assert "asks nobody" in capsys.readouterr().err


def test_asking_a_server_imports_no_network(study, opened, monkeypatch):
    opened({"model": "llm-pointwise"}, None)
    monkeypatch.chdir(study)
    texts = "-t topics.tsv -c corpus.jsonl"
    commands = (
        f"rerank -r runs/bm25.trec {texts} -m rerankers/r.yaml --threads 1 -o runs/llm.trec",
        f"judge runs/bm25.trec {texts} -l llm/m.yaml -o llm.qrels",
        "query2doc -t topics.tsv -l llm/m.yaml -o expanded.tsv",
    )
    code = f"""
import sys, httpx2
from fake_llm import Server, client_of, said
from adducir.cli.app import main
grades = {{"content": [{{"top_logprobs": [{{"token": t, "logprob": -1}} for t in ("Yes", "No")]}}]}}
httpx2.AsyncClient = client_of(Server(lambda body: said("2", logprobs=grades)))
for command in {commands!r}:
    assert main(command.split()) == 0, command
    assert not {{"torch", "transformers", "numba", "sentence_transformers"}} & {{*sys.modules}}
"""
    path = os.pathsep.join(filter(None, sys.path))
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path}, check=True)
    assert len((study / "llm.qrels").read_text().splitlines()) == 21


@pytest.mark.parametrize(
    ("recipe", "key"),
    [
        ({"model": "llm-listwise", "precision": "bfloat16"}, "precision"),
        ({"model": "llm-setwise", "batch_tokens": 9}, "batch_tokens"),
        ({"model": "llm-pointwise", "prompt": "graded", "yes": "1"}, "yes"),
        ({"model": "llm-pairwise", "passes": 3}, "passes"),
        ({"model": "llm-listwise", "window": 5, "stride": 6}, "stride"),
        ({"model": "llm-listwise", "top": 6}, "top"),
    ],
)
def test_a_key_without_effect_is_refused(recipe, key, opened):
    with pytest.raises(InputError, match=key):
        opened(recipe, None)


def test_a_kind_takes_a_model_after_its_name(opened, tmp_path):
    opened({"model": "llm-listwise"}, None)
    named = open_reranker("llm-listwise:llm/m.yaml", tmp_path)
    assert named.llm.name == "m" and named.recipe.window == 20
    with pytest.raises((UsageError, InputError)):
        open_reranker("llm-listwise:llm/absent.yaml", tmp_path).check()
    path = tmp_path / "llm" / "local.yaml"  # relative paths start in the study
    path.write_text("base: weights.gguf\ncache: kept.sqlite\n")
    (tmp_path / "weights.gguf").write_bytes(b"x")
    local = open_reranker(f"llm-listwise:{path}", tmp_path / "elsewhere").llm
    assert local.identity["weights"].startswith("gguf:")
    assert local.cache_path == tmp_path / "kept.sqlite"


DOCUMENT = Path(__file__).parents[2] / "docs" / "reranking.md"
STUDY = next(re.finditer(r"```yaml\n(corpora:.*?)```", DOCUMENT.read_text(), re.DOTALL))[1]


@pytest.fixture
def documented(study, opened, classifier, monkeypatch):
    """The documents' experiment in a small study, whose language model writes and orders."""
    opened({"model": "llm-listwise"}, None, cache="kept.sqlite", price={"input": 1, "output": 10})
    (study / "llm" / "m.yaml").rename(study / "llm" / "qwen.yaml")
    recipes = {
        "rankgpt": {"model": "llm-listwise", "base": "llm/qwen.yaml"},
        "ce": {"model": "monobert", "base": str(classifier)},
    }
    for name, recipe in recipes.items():
        (study / "rerankers" / f"{name}.yaml").write_text(json.dumps(recipe))
    (study / "experiments").mkdir()
    (study / "experiments" / "llm.yaml").write_text(STUDY)
    monkeypatch.chdir(study)
    order = sorts(lambda text: -len(text)).script[0]

    def answer(body):
        asks = body["messages"][-1]["content"].endswith("Passage:")
        return said("nuclear plants") if asks else order(body)

    server = Server(answer)
    monkeypatch.setattr("httpx2.AsyncClient", client_of(server))
    return server


def figures(path):
    """The table's means by system and measure."""
    rows = csv.DictReader(path.read_text().splitlines())
    return {(row["system"], row["measure"]): row for row in rows}


def test_an_experiment_file_has_costs_and_equivalence_and_repeats_offline(
    study, documented, capsys
):
    words = ["experiment", "experiments/llm.yaml", "--set", "comparison.equivalence_test=t"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    out, count = study / "experiments" / "llm", len(documented.bodies)
    means = figures(out / "table.csv")
    took = [json.loads(line) for line in (study / "runs").rglob("*.jsonl").__next__().open()]
    assert {"requests", "tokens_in", "tokens_out", "seconds", "cost"} < took[0].keys()
    for system in ("RankGPT", "query2doc"):
        wanted = {"requests": 1, "tokens": 14, "cost": 41e-6}
        values = {name: float(means[system, name]["mean"]) for name in wanted}
        assert values == pytest.approx(wanted)
        assert float(means[system, "seconds"]["mean"]) >= 0
        assert (means[system, "cost"]["p"], means[system, "cost"]["best"]) == ("", "false")
    assert {system for system, name in means if name == "cost"} == {"RankGPT", "query2doc"}
    assert float(means["ceiling", "AP"]["mean"]) >= float(means["RankGPT", "AP"]["mean"])
    # In every format: a value, and a dash where nobody was asked.
    for text, dash in (
        (shown, "–"),
        ((out / "table.md").read_text(), "–"),
        ((out / "table.tex").read_text(), "\\textendash"),
        ((out / "report.html").read_text(), "–"),
    ):
        (row,) = [
            part
            for part in re.split(r"\n|<tr", text)
            if re.search(r"\bRankGPT\b.*0\.000041", part, re.DOTALL)
        ]
        assert "14" in row and "1.0" in row
        assert any("CE" in part and part.count(dash) >= 4 for part in re.split(r"\n|</tr", text))
    data = json.loads((out / "table.json").read_text())
    assert [column["measure"] for column in data["columns"]][2:] == [
        "requests",
        "tokens",
        "seconds",
        "cost",
    ]
    cells = {row["system"]: row["cells"] for row in data["rows"]}
    assert cells["CE"][5]["mean"] is None and cells["RankGPT"][5]["mean"] == pytest.approx(41e-6)
    # Equivalence is tested to the cross-encoder, not to the best.
    assert means["BM25", "AP"]["equivalent_to"] == "CE"
    for folder in ("runs", "experiments/llm"):
        shutil.rmtree(study / folder)
    stated = json.loads((study / "llm" / "qwen.yaml").read_text()) | {"offline": True}
    (study / "llm" / "qwen.yaml").write_text(json.dumps(stated))
    assert main(words) == 0
    assert capsys.readouterr().out == shown and len(documented.bodies) == count


def test_costs_are_those_of_all_that_a_system_is_made_of(study, documented, capsys):
    words = ["experiment", "experiments/llm.yaml", "--set"]
    more = "{rerank: query2doc, reranker: rerankers/rankgpt.yaml, depth: 3}"
    again = "{fuse: [both, RankGPT]}"
    tuned = "{query2doc: main, llm: llm/qwen.yaml, tune: {grid: {k1: [0.9, 2]}, folds: {k: 3}}}"
    text = STUDY.replace(
        "measures:", f"  both: {more}\n  fused: {again}\n  tuned: {tuned}\nmeasures:"
    )
    (study / "experiments" / "llm.yaml").write_text(text)
    assert main([*words, "table.measure_names.tokens=Tok"]) == 0
    assert "Tok" in capsys.readouterr().out
    means = figures(study / "experiments" / "llm" / "table.csv")
    requests = {
        system: float(row["mean"]) for (system, name), row in means.items() if name == "requests"
    }
    assert requests == {"query2doc": 1, "RankGPT": 1, "both": 2, "fused": 3, "tuned": 1}
    # A given run has the costs that lie beside it; without a price, the cost is not known.
    beside = study / "runs" / "bm25.costs.jsonl"
    row = {"qid": "1", "requests": 3, "tokens_in": 6, "tokens_out": 0, "seconds": 0.5}
    beside.write_text(json.dumps(row) + "\n")
    text = STUDY[: STUDY.index("systems:")] + "systems: {given: {run: runs/bm25.trec}}\n"
    text += "costs: [requests, cost]\n"
    (study / "experiments" / "given.yaml").write_text(text)
    assert main(["experiment", "experiments/given.yaml"]) == 0
    means = figures(study / "experiments" / "given" / "table.csv")
    assert float(means["given", "requests"]["mean"]) == 1  # of three topics
    assert ("given", "cost") not in means
    beside.write_text(json.dumps(row) + "\n" + json.dumps(row | {"qid": "2", "seconds": -1}) + "\n")
    assert main(["experiment", "experiments/given.yaml"]) == 3
    assert "bm25.costs.jsonl:2" in capsys.readouterr().err


def test_query2doc_is_a_search_like_any_other(study, documented, capsys):
    """Its parameters, feedback and tuning are those of a search of the longer queries."""
    longer = [f"{' '.join([query] * 5)} nuclear plants" for query in QUERIES]
    lines = "".join(f"{number}\t{query}\n" for number, query in enumerate(longer, 1))
    (study / "longer.tsv").write_text(lines)
    systems = {
        "k1": "k1: 2.5, b: 0.9",
        "rm3": "rm3: {fb_docs: 2}",
        "tuned": "tune: {grid: {k1: [0.4, 3], b: [0.1, 0.9]}, folds: {k: 3}, objective: AP}",
    }
    before = STUDY[: STUDY.index("systems:")]
    for name, start, topics in (
        ("asked", "query2doc: main, llm: llm/qwen.yaml", "topics.tsv"),
        ("plain", "index: main", "longer.tsv"),
    ):
        rows = [f"  {key}: {{{start}, {more}}}\n" for key, more in systems.items()]
        text = f"{before.replace('topics.tsv', topics)}systems:\n{''.join(rows)}"
        (study / "experiments" / f"{name}.yaml").write_text(text)
        assert main(["experiment", f"experiments/{name}.yaml"]) == 0
    asked, plain = (
        figures(study / "experiments" / name / "table.csv") for name in ("asked", "plain")
    )
    assert {key: row["mean"] for key, row in asked.items()} == {
        key: row["mean"] for key, row in plain.items()
    }
    (study / "topics.tsv").write_text("1\tcats\n2\t\n3\tdogs\n")
    assert main(["experiment", "experiments/asked.yaml"]) == 3
    assert "topic 2 has no query" in capsys.readouterr().err


def test_a_shared_study_repeats_from_its_answers(study, documented, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("SOME_KEY", "sk-secret")
    path = study / "llm" / "qwen.yaml"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"key_from": "SOME_KEY"}))
    assert main(["experiment", "experiments/llm.yaml"]) == 0
    (study / "kept.sqlite-wal").write_bytes(b"")  # as a killed process leaves one
    assert main(["share", ".", "-o", "../shared.zip"]) == 0
    assert re.search(
        r"answers of language models: kept.sqlite, \d+\.\d MB", capsys.readouterr().err
    )
    count = len(documented.bodies)
    monkeypatch.delenv("SOME_KEY")
    archive = tmp_path.parent / "shared.zip"
    assert main(["verify", str(archive)]) == 0
    assert "runs that are the same from the answers kept: 2" in capsys.readouterr().out
    assert len(documented.bodies) == count  # nobody was asked
    with zipfile.ZipFile(archive) as packed:
        names = {name.partition("/")[2] for name in packed.namelist()}
        assert {"kept.sqlite", "llm/qwen.yaml"} <= names and "kept.sqlite-wal" not in names
        assert all(b"sk-secret" not in packed.read(name) for name in packed.namelist())
        packed.extractall(unpacked := tmp_path.parent / "unpacked")
    (root,) = unpacked.iterdir()
    for change, verdict in (
        ("UPDATE answers SET answer = replace(answer, 'plants', 'cats dogs uniforms')", "wrong"),
        ("DELETE FROM answers WHERE answer LIKE '%plants%' OR answer LIKE '%cats%'", "open"),
    ):
        with closing(sqlite3.connect(root / "kept.sqlite")) as database, database:
            database.execute(change)
        assert main(["verify", str(root)]) == 1  # its digest, too
        shown = capsys.readouterr().out
        told = {
            "wrong": "the answers kept give another run of query2doc",
            "open": "3 answers of 3 by m are not in",
        }
        assert re.search(rf"^{verdict} .*{told[verdict]}", shown, re.MULTILINE), shown


def test_what_a_model_judged_is_shared_with_its_answers(study, opened):
    from adducir.experiments.sharing import share

    (study / "experiments").mkdir()
    (study / "judged").mkdir()
    for name in ("m.qrels", "m.qrels.ir-metadata.yml", "m.qrels.judgements.jsonl"):
        (study / "judged" / name).write_text("")
    with closing(sqlite3.connect(study / "judged" / "answers.sqlite")) as database, database:
        database.execute("CREATE TABLE answers (key, request, answer)")
    recipe = "topics: {t: {source: topics.tsv, qrels: judged/m.qrels}}\nsystems: {}\n"
    (study / "experiments" / "e.yaml").write_text(recipe)
    share(study, study / "a.zip", "", 10**6)
    with zipfile.ZipFile(study / "a.zip") as packed:
        judged = {name for name in packed.namelist() if "/judged/" in name}
    assert {Path(name).name for name in judged} == {
        "m.qrels",
        "m.qrels.ir-metadata.yml",
        "m.qrels.judgements.jsonl",
        "answers.sqlite",
    }


def test_a_table_on_a_model_s_word_alone_says_so_from_both_doors(study, monkeypatch, capsys):
    monkeypatch.chdir(study)
    judge = {"name": "m", "answers": {"ok": 7, "unparsed": 2, "without text": 1}}
    metadata_for("judged.qrels").write_text(metadata_text({"judge": judge}))
    stage = {"language model": {"name": "m"}, "answers": {"ok": 8, "repaired": 1}}
    shutil.copy("runs/bm25.trec", "runs/llm.trec")
    facts = metadata_text({"method": {"reranking": [stage]}})
    metadata_for("runs/llm.trec").write_text(facts)
    (study / "experiments").mkdir()
    systems = "{bm25: {run: runs/bm25.trec}, llm: {run: runs/llm.trec}}"
    text = f"topics: {{t: {{source: topics.tsv, qrels: judged.qrels}}}}\nsystems: {systems}\n"
    (study / "experiments" / "e.yaml").write_text(f"{text}measures: [P@5]\n")
    words = ["experiment", "experiments/e.yaml"]
    runs = ["evaluate", "runs/bm25.trec", "runs/llm.trec", "-q", "judged.qrels", "-m", "P@5"]
    tested = ["--set", "comparison.baseline=bm25"], ["--baseline", "bm25"]
    forced = ["--set", "topics.t.uncorrected=true"], ["--set", "uncorrected=true"]
    for command, test, force in zip((words, runs), tested, forced, strict=True):
        assert main([*command, *test]) in (2, 3)
        assert "all judgements are by m" in " ".join(capsys.readouterr().err.split())
        for options, note in (([], "are not tested"), ([*test, *force], "small p-values")):
            assert main([*command, *options]) == 0
            shown = " ".join(capsys.readouterr().out.split())
            assert shown.startswith("Judged by m alone")
            assert "Warning: m judged, and llm used it" in shown and note in shown
            assert "2 of 9 of the judge (2 unparsed)" in shown
            assert "1 of 9 of llm (1 repaired)" in shown
