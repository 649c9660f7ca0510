"""Language models as rerankers: answers are read strictly, counted, and no rank by chance."""

import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from itertools import permutations

import httpx2
import numpy as np
import pytest
from fake_llm import NOW, Server, client_of, said, thinks
from hypothesis import given
from hypothesis import strategies as st
from rerank_texts import QUERIES, TEXTS
from tiny import tiny_decoder

from adducir.cli.app import main
from adducir.core.errors import IncompleteError, InputError, MachineError, UsageError
from adducir.corpora.topics import Topics
from adducir.judges.answers import Answering
from adducir.judges.prompting import ListPrompt, open_prompt
from adducir.rerankers.permutations import permutation
from adducir.rerankers.recipe import open_reranker
from adducir.rerankers.rerank import Texts, rerank
from adducir.runs.run import Run

KNOWN = Texts({f"d{n}": text for n, text in enumerate(TEXTS)}.get)


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


def passages(body):
    """The labels and texts that a request shows, in order."""
    user = [message["content"] for message in body["messages"] if message["role"] == "user"]
    return re.findall(r"^(?:Passage |\[)(\w+)[\]:] (.*)$", "\n".join(user), re.MULTILINE)


def sorts(key):
    """A server that orders passages by a key of their texts, largest first."""

    def answer(body):
        shown = sorted(passages(body), key=lambda row: -key(row[1]))
        return said(" > ".join(f"[{label}]" for label, _ in shown))

    return Server(answer)


def chooses(key):
    return Server(lambda body: said(max(passages(body), key=lambda row: key(row[1]))[0]))


def numbered(count, seed=0):
    values = np.random.default_rng(seed).permutation(count)
    return [f"text {value}" for value in values], values


def number(text):
    return int(text.split()[-1])


@pytest.mark.parametrize(
    ("answer", "order", "faults"),
    [
        ("[2] > [3] > [1]", [1, 2, 0], {}),
        (' "[2]>[3] > [1]"\n', [1, 2, 0], {}),
        ("[2] > [2] > [1]", [1, 0, 2], {"repetition": 1, "missing": 1}),
        ("[3]", [2, 0, 1], {"missing": 1}),
        ("[9] > [3] > [0] > [1] > [2]", [2, 0, 1], {"out of range": 1}),
        ("Here it is: [3] > [1] > [2]. I hope it helps.", [2, 0, 1], {"wrong form": 1}),
        ("3 > 1 > 2", [2, 0, 1], {"wrong form": 1}),
        ("3, 1, 2", [2, 0, 1], {"wrong form": 1}),
        ("[3] > [1] > [", [2, 0, 1], {"wrong form": 1, "missing": 1}),
        ("[9] > [8]", None, {"out of range": 1, "missing": 1}),
        ("I cannot rank 3 passages.", None, {}),
        ("The best is [3].", None, {}),
        ("[1] Some Effects of the 6600 Computer [2] More", None, {}),
        ("not [1] > [2] but [2] > [1]", None, {}),
        ("", None, {}),
        ("2", None, {}),
    ],
)
def test_an_order_is_read_strictly(answer, order, faults):
    read = permutation(answer, 3)
    assert (None if read.order is None else read.order.tolist()) == order
    assert read.faults == Counter(faults)


@given(st.text(alphabet="[]> 0123456789a,", max_size=40), st.integers(1, 12))
def test_whatever_is_written_is_an_order_or_none(answer, count):
    order = permutation(answer, count).order
    assert order is None or sorted(order.tolist()) == list(range(count))


@given(st.permutations(range(8)))
def test_an_order_of_the_form_is_read_back(order):
    read = permutation(" > ".join(f"[{place + 1}]" for place in order), 8)
    assert read.order.tolist() == list(order) and not read.faults


def test_windows_bring_the_best_to_the_top(opened):
    texts, values = numbered(45)
    server = sorts(number)
    reranker = opened({"model": "llm-listwise", "window": 20, "stride": 10}, server)
    order = reranker.order("q", texts)
    assert values[order][:10].tolist() == list(range(44, 34, -1))  # the overlap reaches the top
    assert len(server.bodies) == 4
    assert {len(passages(body)) for body in server.bodies} == {20, 15}
    assert server.bodies[0]["max_tokens"] == 140
    assert (np.diff(reranker.score("q", texts)[order]) < 0).all()
    assert len(server.bodies) == 4  # from the cache
    sort = {"model": "llm-listwise", "window": 20, "stride": 10, "passes": 4}
    order = opened(sort, sorts(number)).order("q", texts)
    assert values[order].tolist() == list(range(44, -1, -1))


@pytest.mark.parametrize("count", [0, 1, 2, 7])
@pytest.mark.parametrize(
    "recipe",
    [
        {"model": "llm-listwise", "window": 20, "shuffle": 3},
        {"model": "llm-setwise", "best": 9},
        {"model": "llm-setwise", "children": 1, "best": 9},
        {"model": "llm-pairwise"},
        {"model": "llm-pairwise", "method": "sliding", "passes": 6},
    ],
)
def test_a_consistent_model_sorts_within_the_bound(recipe, count, opened):
    server = chooses(number) if recipe["model"] != "llm-listwise" else sorts(number)
    for texts in (
        permutations([f"text {n}" for n in range(count)])
        if count < 4
        else [numbered(count, seed)[0] for seed in range(4)]
    ):
        server.bodies.clear()
        reranker = opened(recipe, server)
        ranked = [texts[place] for place in reranker.order("q", texts)]
        assert ranked == sorted(texts, key=number, reverse=True)
        assert len(server.bodies) <= len(reranker.asker.bound("q", texts))


def test_setwise_ranks_the_best_and_keeps_the_rest(opened):
    texts, values = numbered(30, 5)
    server = chooses(number)
    order = opened({"model": "llm-setwise", "children": 3, "best": 5}, server).order("q", texts)
    assert values[order][:5].tolist() == [29, 28, 27, 26, 25]
    assert sorted(order[5:]) == order[5:].tolist()
    assert len(server.bodies) < 30
    assert server.bodies[0]["max_tokens"] == 8
    assert "response_format" not in server.bodies[0]
    server = chooses(number)
    _ = opened({"model": "llm-setwise"}, server, constrains=True).order("q", texts)
    schemas = [body["response_format"]["json_schema"]["schema"] for body in server.bodies]
    assert {"enum": [*"ABCD"]} in schemas


@pytest.mark.parametrize("text", ["B", " b", "[B]", "Passage B.", '"B"'])
def test_a_choice_is_read_strictly(text, opened):
    reranker = opened({"model": "llm-pairwise", "failures": 1}, Server((200, said(text))))
    verdict = reranker.verdicts([("q", ["a", "b"])]).whole
    wanted = {"unparsed": 2} if text == " b" else {"ok": 2}
    assert verdict.statuses == Counter(wanted)
    # Always the second: the model says nothing, and both keep their order.
    assert reranker.order("q", ["a", "b"]).tolist() == [0, 1]


@pytest.mark.parametrize("text", ["Both", "A or B", "The first is better", "Z", "", "AB"])
@pytest.mark.parametrize("kind", ["llm-pairwise", "llm-setwise", "llm-listwise"])
def test_what_is_not_an_answer_changes_nothing(kind, text, opened):
    texts = numbered(6)[0]
    reranker = opened({"model": kind, "failures": 1}, Server((200, said(text))))
    verdicts = reranker.verdicts([("q", texts)])
    assert verdicts.whole.unreadable == verdicts.whole.statuses.total() > 0
    assert reranker.order("q", texts).tolist() == [*range(6)]
    with pytest.raises(IncompleteError, match=r"100\.0% of the answers") as error:
        opened({"model": kind}, Server((200, said(text)))).order("q", texts)
    assert error.value.exit_code == 6


def test_repairs_and_copies_are_counted(opened):
    script = ["[1] > [2]", "[2] > [2] > [9]", "sorry", "So: [2] > [1]", "[2] > [1]"]
    server = Server(*((200, said(text)) for text in script))
    recipe = {"model": "llm-listwise", "window": 2, "stride": 1, "failures": 0.2}
    reranker = opened(recipe, server, concurrency=1)
    whole = reranker.verdicts([("q", numbered(6)[0])]).whole
    assert whole.statuses == Counter(ok=2, repaired=2, unparsed=1)
    wanted = {"wrong form": 1, "repetition": 1, "missing": 1, "out of range": 1}
    assert +whole.facts == Counter({**wanted, "unchanged windows": 1})
    assert str(whole).startswith("5 answers: 2 ok, 2 repaired, 1 unparsed (")


def test_shown_at_random_an_echo_is_no_order(opened):
    texts, _ = numbered(8)
    echo = Server(lambda body: said(" > ".join(f"[{label}]" for label, _ in passages(body))))
    plain = opened({"model": "llm-listwise"}, echo).verdicts([("q", texts)]).whole
    assert plain.facts["unchanged windows"] == 1
    assert opened({"model": "llm-listwise"}, echo).order("q", texts).tolist() == [*range(8)]
    shuffled = opened({"model": "llm-listwise", "shuffle": 1}, echo).order("q", texts)
    assert shuffled.tolist() != [*range(8)] and sorted(shuffled) == [*range(8)]


def by_length(body):
    text = re.search(r"<document>\n(.*)\n</document>", body["messages"][1]["content"], re.DOTALL)
    odds = len(text[1].split())
    return thinks(Yes=-2.0 + odds / 10, _yes=-3.0, No=-1.0, The=-0.9)


def test_pointwise_is_the_log_odds_over_all_spellings(opened):
    server = Server(by_length)
    reranker = opened({"model": "llm-pointwise"}, server)
    texts = ["one two", "one", "one two three"]
    wanted = [np.logaddexp(-2.0 + n / 10, -3.0) + 1.0 for n in (2, 1, 3)]
    np.testing.assert_allclose(reranker.score("q", texts), wanted)
    assert {k: server.bodies[0][k] for k in ("max_tokens", "logprobs", "top_logprobs")} == {
        "max_tokens": 1,
        "logprobs": True,
        "top_logprobs": 20,
    }
    whole = reranker.verdicts([("q", texts)]).whole
    assert whole.statuses == Counter(ok=3)
    assert not +whole.facts


@pytest.mark.parametrize(
    ("top", "score", "facts"),
    [
        ({"Yes": -0.1}, np.log(np.exp(-0.1) / 1e-12), {"one answer not listed": 1}),
        # "No" is at most as probable as the last spelling that is listed.
        ({"yes": -1.0, "The": -1.2, "A": -3.0}, 2.0, {"one answer not listed": 1, "low mass": 1}),
        ({"No": -0.1, "The": -4.0}, -3.9, {"one answer not listed": 1}),
        ({"The": -0.1, "yesterday": -3.0}, None, {"low mass": 1}),
    ],
)
def test_probabilities_that_are_not_listed(top, score, facts, opened):
    reranker = opened({"model": "llm-pointwise", "failures": 1}, Server((200, thinks(**top))))
    verdicts = reranker.verdicts([("q", ["text"])])
    assert +verdicts.whole.facts == Counter(facts)
    assert verdicts.whole.statuses == Counter({"unparsed" if score is None else "ok": 1})
    expected = -1.0 if score is None else score
    assert verdicts.verdicts[0].scores[0] == pytest.approx(expected, abs=1e-6)


def test_expected_grades(opened):
    answers = {"d0": {"3": -0.5, "0": -1.0}, "d1": {"0": -0.1}, "d2": {"2": -1.0, "1": -1.0}}
    server = Server(
        lambda body: thinks(**answers[re.search(r"\bd\d", body["messages"][1]["content"])[0]])
    )
    recipe = {"model": "llm-pointwise", "prompt": "graded"}
    share = np.exp(-0.5) / (np.exp(-0.5) + np.exp(-1.0))
    np.testing.assert_allclose(
        opened(recipe, server).score("q", ["d0", "d1", "d2"]), [3 * share, 0, 1.5]
    )


def test_documents_without_an_answer_follow_in_their_order(opened):
    script = {"a": 0.0, "b": None, "c": 1.0, "d": None, "e": 0.5}

    def answer(body):
        letter = re.search(r"letter (\w)", body["messages"][1]["content"])[1]
        value = script[letter]
        return (
            said("I will not.") | ({} if value is None else thinks(Yes=value - 2, No=-2.0))
            if value is not None
            else said("", finish="content_filter")
        )

    reranker = opened({"model": "llm-pointwise", "failures": 0.5}, Server(answer))
    order = reranker.order("q", [f"letter {name}" for name in script])
    assert [list(script)[place] for place in order] == ["c", "e", "a", "b", "d"]
    whole = reranker.verdicts([("q", [f"letter {name}" for name in script])]).whole
    assert whole.statuses == Counter(ok=3, refused=2)


def test_a_server_without_probabilities_is_refused(opened):
    with pytest.raises(MachineError, match="without the probabilities"):
        opened({"model": "llm-pointwise"}, Server((200, said("Yes")))).order("q", ["a", "b"])


@pytest.mark.parametrize("key", ["instruction", "yes", "no"])
def test_a_token_without_a_template_is_refused(opened, key):
    with pytest.raises(InputError, match=f"`{key}` has no effect"):
        opened({"model": "llm-pointwise", key: "true"}, Server((200, said("Yes")))).check()


def test_a_published_template_is_continued_as_it_stands(opened):
    top = {"yes": -0.2, "no": -2.0, "Yes": -3.0}
    answer = {"choices": [{"text": "yes", "finish_reason": "length", "index": 0}], "usage": {}}
    answer["choices"][0]["logprobs"] = {"top_logprobs": [top]}
    server = Server((200, answer))
    reranker = opened(
        {"model": "llm-pointwise", "instruction": "Find cats"},
        server,
        name="Qwen/Qwen3-Reranker-4B",
    )
    assert reranker.score("a cat", ["a text"]).tolist() == [pytest.approx(1.8)]
    body = server.bodies[0]
    assert "messages" not in body and body["logprobs"] == 20
    assert body["prompt"].startswith("<|im_start|>system\n")
    middle = "<Instruct>: Find cats\n<Query>: a cat\n<Document>: a text<|im_end|>"
    assert middle in body["prompt"] and body["prompt"].endswith("</think>\n\n")
    with pytest.raises(InputError, match="logit of one token"):
        name = "ContextualAI/ctxl-rerank-v2-instruct-multilingual-1b"
        opened({"model": "llm-pointwise"}, server, name=name).check()


def test_prompts_that_do_not_fit_are_halved_and_counted(opened):
    def handle(body):
        return said("[2] > [1]")

    server = Server(handle)
    plain = server.handle

    def limited(request):
        long = len(json.loads(request.content)["messages"][1]["content"].split()) > 250
        if long:
            error = {"error": {"message": "the request exceeds the available context size"}}
            return httpx2.Response(400, json=error)
        return plain(request)

    server.transport = httpx2.MockTransport(limited)
    reranker = opened({"model": "llm-listwise"}, server)
    whole = reranker.verdicts([("q", ["word " * 400, "other " * 500])]).whole
    assert whole.statuses == Counter(ok=1)
    assert whole.facts["shortened prompts"] == 1  # in two steps: 300, 150, 75 words
    assert whole.facts["cut texts"] == 2


def test_turns_fences_and_rank_llm_s_templates(tmp_path):
    path = tmp_path / "theirs.yaml"
    path.write_text(
        'method: "multiturn_listwise"\nsystem_message: "Rank."\nprefix_user: "{num} for {query}"\n'
        'prefix_assistant: "Go on."\nbody_user: "[{rank}] {candidate}"\n'
        'body_assistant: "Got [{rank}]."\nsuffix_user: "Rank for {query}"\n'
        'output_validation_regex: r"^\\[\\d+\\]( > \\[\\d+\\])*$"\n'
        'output_extraction_regex: r"\\[(\\d+)\\]"\n'
    )
    prompt = open_prompt(str(path), ListPrompt)
    messages = prompt.messages("cats [3]", ["one\n\n[2] two {query}", "three"], "12", 99)
    assert messages == (
        ("system", "Rank."),
        ("user", "2 for cats (3)"),
        ("assistant", "Go on."),
        ("user", "[1] one (2) two {query}"),
        ("assistant", "Got [1]."),
        ("user", "[2] three"),
        ("assistant", "Got [2]."),
        ("user", "Rank for cats (3)"),
    )
    path.write_text("method: pairwise\nbody: x\n")
    with pytest.raises(InputError, match="not listwise"):
        open_prompt(str(path), ListPrompt)
    path.write_text("version: a\nbefore: x\npassage: '{text}'\nafter: y\n")
    with pytest.raises(InputError, match=r"lacks the place \{rank\}"):
        open_prompt(str(path), ListPrompt)
    single = open_prompt("rankzephyr", ListPrompt).messages("q", ["a", "b"], "12")
    assert len(single) == 2 and "\n[1] a\n[2] b\nSearch Query: q.\n" in single[1][1]


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


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("llm") / "qwen"
    made = tiny_decoder(folder, kind="Qwen3ForCausalLM", max_position_embeddings=2048)
    (made / "chat_template.jinja").write_text(
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    return made


def test_a_local_model_answers_as_the_network_computes(decoder, opened):
    template = ["Is {query} answered by {document} ?"]
    words = {"template": template, "yes": "yes", "no": "no"}
    local = opened({"model": "llm-pointwise", **words, "top": 1000}, None, base=str(decoder))
    path = decoder.parent / "yes-no.yaml"
    path.write_text(json.dumps({"model": "yes-no", "base": str(decoder), **words}))
    texts = [*TEXTS[:3], TEXTS[4]]
    wanted = open_reranker(path).score("cats", texts)
    np.testing.assert_allclose(local.score("cats", texts), wanted, atol=1e-4)
    assert np.ptp(wanted) > 1e-2
    assert open_reranker(path).identity != local.identity


def test_a_local_model_writes_what_greedy_decoding_writes(decoder, opened):
    import torch
    import transformers

    from adducir.judges.answers import AnswerCache, Request, ask, spellings
    from adducir.judges.llm import open_llm

    tokenizer = transformers.AutoTokenizer.from_pretrained(decoder)
    network = transformers.AutoModelForCausalLM.from_pretrained(decoder).eval()
    prompts = ["cats run", "the dog ran not fast " * 5, "energy"]
    requests = [Request((("user", text),), {"max_tokens": 6}) for text in prompts]
    schema = {"json_schema": {"schema": {"enum": ["yes", "no"]}}}
    limited = Request(requests[0].messages, {"max_tokens": 6, "response_format": schema})
    first = Request(requests[0].messages, {"max_tokens": 1, "logprobs": True, "top_logprobs": 5})
    long = Request((("user", "cats " * 3000),), {"max_tokens": 1})
    model = open_llm(decoder)
    cache = AnswerCache(decoder.parent / "cache.sqlite")
    answers = ask(model, [*requests, limited, first, long], cache).answers
    for text, answer in zip(prompts, answers, strict=False):
        chat = f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"
        ids = tokenizer(chat, return_tensors="pt")["input_ids"]
        written = []
        with torch.inference_mode():
            for _ in range(6):
                logits = network(input_ids=ids).logits[0, -1]
                if text == prompts[0] and not written:
                    top = logits.log_softmax(-1).topk(5)
                written.append(int(logits.argmax()))
                ids = torch.cat([ids, logits.argmax().reshape(1, 1)], 1)
        end = written.index(2) if 2 in written else 6
        assert answer.text == tokenizer.decode(written[:end], skip_special_tokens=True)
        assert answer.tokens_in == ids.shape[1] - 6
    assert answers[3].text in ("yes", "no") and answers[3].status == "ok"
    wanted = spellings(
        (tokenizer.decode([token]), value)
        for value, token in zip(top.values.tolist(), top.indices.tolist(), strict=True)
    )
    assert answers[4].top == pytest.approx(wanted, abs=1e-4)
    assert answers[5].status == "too_long"
    cache.close()


def test_a_local_model_without_a_chat_template_is_refused(tmp_path, opened):
    folder = tiny_decoder(tmp_path / "base", kind="Qwen3ForCausalLM")
    with pytest.raises(InputError, match="chat template"):
        opened({"model": "llm-listwise"}, None, base=str(folder)).order("q", ["a", "b"])
    with pytest.raises(InputError, match="does not exist"):
        opened({"model": "llm-listwise"}, None, base="absent.gguf").check()


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


EXPERIMENT = """\
topics: {pets: {source: topics.tsv, qrels: judged.qrels}}
corpora: {all: {source: corpus.jsonl}}
indexes: {main: {corpus: all, engine: memory}}
systems:
  BM25: {index: main}
  Listwise: {rerank: BM25, by: rerankers/r.yaml, depth: 5}
  ceiling: {oracle: BM25, depth: 5}
  Longer: {query2doc: main, llm: llm/m.yaml, repeats: 2}
measures: [nDCG@5, AP]
comparison: {baseline: BM25, equivalence: 0.5}
depth: 7
"""


def test_an_experiment_file_ends_in_the_same_table_offline(study, opened, monkeypatch, capsys):
    opened({"model": "llm-listwise"}, None, cache="kept.sqlite")
    monkeypatch.chdir(study)
    (study / "experiments").mkdir()
    (study / "experiments" / "llm.yaml").write_text(EXPERIMENT)
    order = sorts(len).script[0]

    def answer(body):
        asks = body["messages"][-1]["content"].endswith("Passage:")
        return said("nuclear plants") if asks else order(body)

    server = Server(answer)
    monkeypatch.setattr("httpx2.AsyncClient", client_of(server))
    words = ["experiment", "experiments/llm.yaml"]
    assert main(words) == 0
    table = capsys.readouterr().out
    assert "Listwise" in table and "ceiling" in table
    rows = re.finditer(
        r"^(BM25|Listwise|ceiling|Longer)\b[^:\n]*?(\d?\.\d{3})", table, re.MULTILINE
    )
    values = {row[1]: float(row[2]) for row in rows}
    assert len(values) == 4
    assert values["ceiling"] >= max(values["BM25"], values["Listwise"])
    (costs,) = study.rglob("*.costs.jsonl")
    assert json.loads(costs.read_text().splitlines()[0])["requests"] == 1
    for folder in ("runs", "experiments/llm"):
        shutil.rmtree(study / folder)
    count = len(server.bodies)
    stated = json.loads((study / "llm" / "m.yaml").read_text()) | {"offline": True}
    (study / "llm" / "m.yaml").write_text(json.dumps(stated))
    assert main(words) == 0
    assert capsys.readouterr().out == table and len(server.bodies) == count


def as_gguf(folder, path):
    """A tiny Qwen2 as llama.cpp's converter writes it."""
    import gguf
    from safetensors.numpy import load_file

    config = json.loads((folder / "config.json").read_text())
    vocabulary = json.loads((folder / "tokenizer.json").read_text())
    tokens = {**vocabulary["model"]["vocab"]}
    tokens |= {token["content"]: token["id"] for token in vocabulary["added_tokens"]}
    special = {token["content"] for token in vocabulary["added_tokens"]}
    names = sorted(tokens, key=tokens.__getitem__)
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(names)
    writer.add_token_types([3 if name in special else 1 for name in names])
    merges = vocabulary["model"]["merges"]
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in merges])
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(0)
    writer.add_chat_template((folder / "chat_template.jinja").read_text())
    theirs = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN2, config["num_hidden_layers"])
    for name, values in load_file(folder / "model.safetensors").items():
        writer.add_tensor(theirs.get_name(name, (".weight", ".bias")), values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_a_gguf_answers_as_the_folder_does(decoder, opened, tmp_path):
    pytest.importorskip("gguf")
    sizes = {"kind": "Qwen2ForCausalLM", "max_position_embeddings": 2048}
    folder = tiny_decoder(tmp_path / "qwen2", **sizes)
    shutil.copy(decoder / "chat_template.jinja", folder)
    as_gguf(folder, tmp_path / "tiny.gguf")
    recipe = {"model": "llm-pointwise", "top": 1000, "failures": 1}
    texts = [TEXTS[number] for number in (0, 1, 2, 4)]
    wanted = opened(recipe, None, base=str(folder)).score("cats", texts)
    reranker = opened(recipe, None, base="tiny.gguf")
    np.testing.assert_allclose(reranker.score("cats", texts), wanted, atol=1e-3)
    assert np.ptp(wanted) > 1e-3
    digest = reranker.llm.identity["weights"]
    (tmp_path / "tiny.gguf").rename(tmp_path / "other.gguf")
    assert opened(recipe, None, base="other.gguf").llm.identity["weights"] == digest
    (tmp_path / "bad.gguf").write_bytes(b"GGUF" + b"\0" * 99)
    with pytest.raises(InputError):
        opened(recipe, None, base="bad.gguf").score("cats", texts)
