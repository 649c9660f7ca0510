"""What is not asked: of a server that is down, in a plan, offline, about nothing."""

import json
import shutil
from collections import Counter
from contextlib import closing

import httpx2
import polars as pl
import pytest
from fake_llm import NOW, Server, ask, client_of, model, request, said, thinks

from adducir.cli.app import main
from adducir.core.errors import MachineError, UsageError
from adducir.judges.answers import AnswerCache, Answering, Request, converse, using_shared
from adducir.judges.grading import ModelJudgements, judging
from adducir.judges.nuggets import PROMPTS, Assigned, Nugget, NuggetWriter, assigning
from adducir.judges.prompting import Prompt, QueryPrompt, open_prompt
from adducir.rerankers.recipe import open_reranker

PAGE = "<!doctype html><title>Welcome to nginx!</title>"


def requests(count):
    return [request(f"text {number}") for number in range(count)]


@pytest.mark.parametrize(
    "step",
    [
        httpx2.ConnectError("[Errno 111] Connection refused"),
        httpx2.ConnectError("[Errno -2] Name or service not known"),
        httpx2.ConnectTimeout("timed out"),
        (200, PAGE),
        (502, PAGE),
    ],
)
@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_server_that_is_down_is_given_up_soon(step, concurrency, cache, instant):
    server = Server(step)
    with pytest.raises(MachineError, match=r"`endpoint` of m, http://localhost:1/v1") as error:
        ask(model(concurrency=concurrency), requests(500), cache, transport=server.transport)
    assert len(server.bodies) <= 2 * concurrency
    assert "cannot be reached" in error.value.what


def test_nobody_listens_at_a_real_port(tmp_path):
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(MachineError, match=f"127.0.0.1:{port}/v1"):
        asked = model(endpoint=f"http://127.0.0.1:{port}/v1", retries=0)
        ask(asked, requests(50), AnswerCache(tmp_path / "a.sqlite"))


def test_a_server_that_answers_some_requests_goes_on_being_asked(cache, instant):
    def answer(body):
        number = int(body["messages"][0]["content"].split()[1])
        return httpx2.ConnectError("refused") if number % 3 else said()

    server = Server(answer)
    record = ask(model(concurrency=1), requests(60), cache, transport=server.transport)
    assert record.statuses == {"ok": 20, "failed": 40}
    assert len(server.bodies) == 20 + 2 * 40  # each failed one was tried again


@pytest.mark.parametrize("step", [httpx2.ConnectError("refused"), (503, "no", NOW), (200, "{}")])
def test_a_server_that_goes_away_keeps_what_it_answered(step, cache, instant):
    server = Server(*[(200, said())] * 7, step)
    with pytest.raises(MachineError, match=r"22 requests in a row.*What was answered is kept"):
        ask(model(concurrency=1), requests(500), cache, transport=server.transport)
    assert len(cache.find([request.key(model()) for request in requests(500)])) == 7


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "topics.tsv": "1\tcats\n2\tdogs\n",
        "corpus.jsonl": "".join(
            json.dumps({"id": f"d{n}", "text": text}) + "\n"
            for n, text in enumerate(["cats", "dogs", "", "birds"])
        ),
        "a.trec": "".join(f"{q} Q0 d{n} {n} {9 - n} a\n" for q in (1, 2) for n in range(4)),
        "llm.yaml": "kind: llm\nendpoint: http://localhost:1/v1\nname: m\nretries: 0\n",
        "nuggets.jsonl": json.dumps({"qid": "1", "query": "cats", "nuggets": [{"text": "x"}]}),
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


COMMANDS = {
    "judge": "judge a.trec -t topics.tsv -c corpus.jsonl -l llm.yaml -o new/a.qrels",
    "rerank": "rerank -r a.trec -t topics.tsv -c corpus.jsonl -m llm-setwise:llm.yaml -o b.trec",
    "query2doc": "query2doc -t topics.tsv -l llm.yaml -o new/c.tsv",
    "create": "nuggets create a.trec -t topics.tsv -c corpus.jsonl -l llm.yaml -o new/d.jsonl",
    "assign": "nuggets assign a.trec -n nuggets.jsonl -c corpus.jsonl -l llm.yaml -o new/e.jsonl",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_a_plan_and_an_offline_miss_write_nothing(command, study, capsys):
    before = sorted(study.rglob("*"))
    assert main([*command.split(), "--dry-run"]) == 0
    assert "to m, 0 cached" in capsys.readouterr().err
    assert main([*command.split(), "--offline"]) == 2
    assert "by m are not in" in capsys.readouterr().err
    (study / "llm.yaml").write_text((study / "llm.yaml").read_text() + "offline: true\n")
    assert main(command.split()) == 2
    assert sorted(study.rglob("*")) == before


def test_a_plan_reads_what_a_killed_process_left_and_leaves_it(study, capsys):
    words = [*COMMANDS["query2doc"].split(), "--cache", "kept.sqlite"]
    kept = AnswerCache(study / "kept.sqlite")
    plan = [*words, "--dry-run"]
    prompt = open_prompt("query2doc", QueryPrompt)
    transport = Server((200, said())).transport
    ask(model(), [Request(prompt.messages("cats"))], kept, transport=transport)
    copy = study / "copy"
    copy.mkdir()
    for path in study.glob("kept.sqlite*"):  # as after a kill: the last answers are in the log
        shutil.copy(path, copy)
    kept.close()
    before = {path.name: path.read_bytes() for path in copy.iterdir()}
    assert {*before} == {"kept.sqlite", "kept.sqlite-wal", "kept.sqlite-shm"}
    assert main([*plan[:-2], "copy/kept.sqlite", "--dry-run"]) == 0
    assert "1 request to m, 1 cached" in capsys.readouterr().err
    assert {*before} == {path.name for path in copy.iterdir()}
    assert before["kept.sqlite"] == (copy / "kept.sqlite").read_bytes()
    assert main(plan) == 0
    assert "1 request to m, 1 cached" in capsys.readouterr().err
    assert not list(study.glob("kept.sqlite-*"))
    assert main([*words, "--offline"]) == 2
    assert "has answers of m." in capsys.readouterr().err


def test_another_model_s_answers_are_not_this_one_s(cache):
    ask(model(name="a"), requests(2), cache, transport=Server((200, said())).transport)
    kept = AnswerCache(cache.path, writes=False)
    with pytest.raises(
        UsageError, match=r"2 answers of 2 by b are not in.*has answers of a\."
    ) as error:
        ask(model(name="b"), requests(2), kept)
    assert error.value.exit_code == 2
    with pytest.raises(UsageError, match="1 answer of 1 by a is not in"):
        ask(model(name="a"), [Request(requests(1)[0].messages, {}, 1)], kept)
    kept.close()


@pytest.mark.parametrize("named", [None, "kept.sqlite", "../outside.sqlite"])
def test_a_study_of_strangers_asks_nobody(named, tmp_path):
    study, server = tmp_path / "study", Server((200, said()))
    study.mkdir()
    named = named and study / named
    with (
        using_shared(study, study / "answers.sqlite"),
        closing(Answering(named).opened(model(), None)) as cache,
    ):
        is_inside = named is not None and named.name == "kept.sqlite"
        assert cache.path == (named if is_inside else study / "answers.sqlite")
        with pytest.raises(UsageError, match="1 answer of 1 by m is not in"):
            ask(model(), requests(1), cache, transport=server.transport)
    assert not server.bodies and not [*tmp_path.rglob("*.sqlite")]


@pytest.mark.parametrize("command", ["judge", "rerank", "query2doc", "create"])
def test_an_empty_query_is_refused(command, study, capsys):
    (study / "topics.tsv").write_text("1\tcats\n2\t\n3\t\n")
    for more in (["--dry-run"], []):
        assert main([*COMMANDS[command].split(), *more]) == 2
        assert "topic 2 has no query" in capsys.readouterr().err


def test_an_empty_query_without_documents_is_not_asked_about(study, capsys):
    (study / "topics.tsv").write_text("1\tcats\n2\tdogs\n3\t\n")
    assert main([*COMMANDS["judge"].split(), "--dry-run"]) == 0
    assert "6 requests to m" in capsys.readouterr().err  # nor is the empty document


def test_a_pair_without_text_is_counted_and_unjudged(cache):
    pairs = pl.DataFrame({"qid": ["1", "1", "1"], "docno": ["a", "b", "c"]})
    server = Server((200, said("1")))
    texts = {"a": "text", "b": " \n", "c": "more"}
    judge, prompt = model(), open_prompt("graded", Prompt)
    talk = judging(pairs, {"1": {"query": "q"}}, texts, judge, prompt)
    (frame,), record = converse(judge, [talk], cache, transport=server.transport)
    judged = ModelJudgements(frame, judge, prompt, record)
    assert judged.frame["docno"].to_list() == ["a", "b", "c"]
    assert judged.frame["grade"].to_list() == [1, None, 1]
    assert judged.statuses == {"ok": 2, "without text": 1}
    assert judged.ungraded == 0 and len(server.bodies) == 2
    assert judged.qrels.frame["docno"].to_list() == ["a", "c"]


def test_nuggets_are_not_sought_in_nothing(cache):
    server = Server(lambda body: said('["x"]' if "JSON" in str(body) else "vital"))
    statuses = Counter()
    texts, writer = ["", "text", " "], NuggetWriter(model(), window=1)
    talk = writer.talk("1", {"query": "q"}, texts, statuses)
    (bank,), _ = converse(model(), [talk], cache, transport=server.transport)
    assert statuses["without text"] == 2 and len(bank.nuggets) == 1
    assert len(server.bodies) == 2
    item = Assigned("1", "q", " ", (Nugget("x", "vital"),), "a")
    prompt, statuses = open_prompt("assign.yaml", Prompt, PROMPTS), Counter()
    (told,), _ = converse(model(), [assigning(item, model(), prompt, statuses)], cache)
    assert told.nuggets[0].assignment == "not_support" and statuses == {"without text": 1}


@pytest.mark.parametrize("kind", ["llm-pointwise", "llm-listwise", "llm-setwise", "llm-pairwise"])
def test_a_document_without_text_follows_unasked(kind, study, monkeypatch):
    def answer(body):
        if kind == "llm-pointwise":
            return thinks(Yes=-1.0, No=-2.0)
        return said("[1] > [2]" if kind == "llm-listwise" else "A")

    server = Server(answer)
    monkeypatch.setattr("httpx2.AsyncClient", client_of(server))
    reranker = open_reranker(f"{kind}:llm.yaml", study)
    verdicts = reranker.verdicts([("cats", ["", "cats", "\t", "dogs"]), ("dogs", ["", " "])])
    assert verdicts.whole.facts["without text"] == 4
    requests_of = {"llm-pointwise": 2, "llm-pairwise": 2}
    assert len(server.bodies) == requests_of.get(kind, 1)
    scores = verdicts.verdicts[0].scores
    assert (-scores).argsort(kind="stable").tolist() == [1, 3, 0, 2]
    first, second = verdicts.verdicts[1].scores
    assert first > second
    if kind != "llm-pointwise":
        assert scores.tolist() == [1 / 3, 1, 1 / 4, 1 / 2]
    with pytest.raises(UsageError, match="a query is empty"):
        reranker.score(" ", ["cats", "dogs"])
