"""Language models that score: the probabilities of an answer's first token."""

import re
from collections import Counter

import numpy as np
import pytest
from fake_llm import Server, said, thinks

from adducir.core.errors import InputError, MachineError


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
        ({"Yes": -0.1}, -0.1 - np.log(1 - np.exp(-0.1)), {"one answer not listed": 1}),
        # "No" is at most as probable as the last spelling that is listed.
        ({"yes": -1.0, "The": -1.2, "A": -3.0}, 2.0, {"one answer not listed": 1, "low mass": 1}),
        ({"ĠYES": -0.3, "▁yes": -3.0, "no\n": -1.7}, np.logaddexp(-0.3, -3.0) + 1.7, {}),
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
        value = script[re.search(r"letter (\w)", body["messages"][1]["content"])[1]]
        refusal = said("", finish="content_filter")
        return refusal if value is None else thinks(Yes=value - 2, No=-2.0)

    reranker = opened({"model": "llm-pointwise", "failures": 0.5}, Server(answer))
    verdicts = reranker.verdicts([("q", [f"letter {name}" for name in script])])
    order = (-verdicts.verdicts[0].scores).argsort()
    assert [list(script)[place] for place in order] == ["c", "e", "a", "b", "d"]
    assert verdicts.whole.statuses == Counter(ok=3, refused=2)


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
