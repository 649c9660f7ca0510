"""Language models that order and choose: answers are read strictly, counted, no rank by chance."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from fake_llm import Server, chooses, number, numbered, passages, said, sorts
from hypothesis import given
from hypothesis import strategies as st

from adducir.core.errors import IncompleteError, InputError
from adducir.judges.prompting import ListPrompt, open_prompt
from adducir.rerankers.permutations import permutation


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


def test_prompts_that_do_not_fit_are_halved_and_counted(opened):
    def limited(body):
        if len(body["messages"][1]["content"].split()) <= 250:
            return said("[2] > [1]")
        return 400, {"error": {"message": "the request exceeds the available context size"}}

    reranker = opened({"model": "llm-listwise"}, Server(limited))
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
