"""Measures of generated texts: by hand, by definition, against official figures, on real data."""

import csv
import random
import re
import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_files import jsonl

from adducir.core.errors import InputError, UsageError
from adducir.studies.grounded_generation.measures import (
    answers,
    common_words,
    f1,
    grounding,
    grounding_by_rank,
    kilt,
    kilt_rouge_l,
    knowledge,
    mass_scores,
    r_precision,
    recall_at,
    without_gold,
    words_of,
)
from adducir.studies.grounded_generation.texts import (
    Generated,
    Output,
    Reference,
    read_generated,
    read_references,
)

WORDS = st.lists(st.sampled_from(["the", "A", "cat", "cats", "don't", "9.4", "été", "-", "an"]))
TEXTS = WORDS.map(" ".join)
PAPER = """
i and of in is to it that are you they have was but for as its like with on so be or not yes do can
from there by well also one my know has some he their love most people think really all about just
too them im which sure more been at would many were good very dont when thats no yeah what other
great if because used actually first since lot me even your how we time different world use get
called only out much over had though music around popular his am made than such back up us make
usually who favorite new food oh long she now did pretty any where years this way go
"""
"""The common words of Wizard of Wikipedia that the paper prints in appendix A.2, by frequency."""


@given(st.text())
def test_words_by_the_definition(text) -> None:
    kept = "".join(mark for mark in text.lower() if mark not in set(string.punctuation))
    assert list(words_of(text)) == re.sub(r"\b(a|an|the)\b", " ", kept).split()


@given(TEXTS, TEXTS)
def test_f1_by_enumeration(first, second) -> None:
    left, right = list(words_of(first)), list(words_of(second))
    rest, same = list(right), 0
    for word in left:
        if word in rest:
            rest.remove(word)
            same += 1
    assert f1(first, second) == pytest.approx(2 * same / (len(left) + len(right)) if same else 0)


def values_of(scores) -> np.ndarray:
    return scores.matrix().values[:, 0].T


def novel_f1(first, second, context, common=()) -> float:
    right = {"1": Reference("1", (second,), context)}
    scores = answers(common).scores("x", right, {"1": Generated("1", (Output(first),))})
    return float(scores.values("Novel-F1")[0])


def test_novel_f1_by_hand() -> None:
    # novel: {bucatini, hollow, spaghetti} and {bucatini, hollow, pasta, tube}: 2 P R / (P + R).
    first = "Bucatini is a hollow spaghetti"
    second = "Bucatini: hollow pasta, like a tube"
    value = novel_f1(first, second, "Do you like noodles?", {"is"})
    assert value == pytest.approx(2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4))


@given(TEXTS, TEXTS.filter(bool), TEXTS, st.frozensets(st.sampled_from(["cat", "dont", "94"])))
def test_novel_f1_edges(first, second, context, common) -> None:
    assert novel_f1(context, second, context, common) == 0  # a copy of x
    assert novel_f1(" ".join(common), second, context, common) == 0  # common words alone
    assert novel_f1(first, second, "") == f1(first, second)
    assert 0 <= novel_f1(first, second, context, common) <= 1


def test_common_words_to_the_word_that_reaches_the_share() -> None:
    texts = ["b b b b", "c c c", "a a", "d"]  # of 10 words; "a" is an article: 8 are left
    assert common_words(texts, 0) == common_words([], 0.5) == ()
    assert common_words(texts, 0.5) == ("b",)
    assert common_words(texts, 0.51) == ("b", "c")
    assert common_words(["y x"], 0.5) == ("x",)  # equally frequent: by the alphabet


def test_answers_take_the_nearest_and_count_pairs_without_novel_words() -> None:
    right = {
        "1": Reference("1", ("red wine", "white wine"), "Which wine?"),
        "2": Reference("2", ("yes",), "yes?"),
        "3": Reference("3", ()),
        "4": Reference("4", ("a dog",)),
    }
    found = {
        "1": Generated("1", (Output("white wine"), Output("red wine, yes"))),
        "2": Generated("2", (Output("yes"),)),
        "9": Generated("9", ()),
    }
    measure = answers((), 2)
    scores = measure.scores("ours", right, found)
    names = ["F1", "Novel-F1", "ROUGE-L"]
    assert [*scores.measures] == [*names, *(f"max {one}@2" for one in names)]
    (known,) = scores.evaluations
    assert (scores.qids, known.missing, known.extra) == (("1", "2", "4"), ("4",), ("9",))
    assert values_of(scores).tolist() == [[1] * 6, [1, 0, 1, 1, 0, 1], [0] * 6]


def test_groundedness_and_knowledge() -> None:
    asked = {"1": Reference("1", ("z",), "do you like pasta", ("p", "q"))}
    outputs = Output("pasta like rice", "p"), Output("long hollow pasta", passage="a long pasta")
    written = {"1": Generated("1", (*outputs, Output("none", passage="other")))}
    texts = {"p": "pasta and rice", "q": "hollow"}
    # rank 1: {pasta, rice} of 3 and 3; novel {rice} of {rice} and {and, rice}
    # rank 2: {long, pasta} of 3 and 2; novel {long} of {long, hollow} and {long}
    scores = grounding((), texts, depth=2).scores("ours", asked, written)
    assert values_of(scores)[0] == pytest.approx([2 / 3, 2 / 3, 0.8, 2 / 3])
    with pytest.raises(InputError):
        grounding((), {}).scores("ours", asked, written)
    scores = knowledge(texts, 2).scores("ours", {**asked, "2": Reference("2", ("x",))}, written)
    assert scores.qids == ("1",)
    assert values_of(scores).tolist() == [[pytest.approx(2 / 3)] * 2]
    with pytest.raises(UsageError):
        knowledge({}).scores("ours", asked, written)


def kilt_line(name, answer, *pages):
    output = {"answer": answer, "provenance": [{"wikipedia_id": page} for page in pages]}
    return {"id": name, "input": "In one word, how?", "output": [output]}


def test_kilts_own_figures(tmp_path) -> None:
    # tests/test_eval_downstream.py of facebookresearch/KILT: these answers and pages.
    texts = ["suicide", "suicide", "it was suicide"], ["suicide", "a suicide", "suicide"]
    pages = ["10287141"] * 3, ["10287141", "999", 999]
    gold, guess = (
        jsonl(tmp_path / f"{n}.jsonl", map(kilt_line, range(3), texts[n], pages[n]))
        for n in range(2)
    )
    scores = kilt().scores("guess", read_references(gold), read_generated(guess))
    assert dict(zip(scores.measures, values_of(scores).mean(axis=0), strict=True)) == {
        "R-precision": 1 / 3,
        "Recall@5": 1 / 3,
        "EM": 2 / 3,
        "Accuracy": 1 / 3,
        "KILT-EM": 1 / 3,
        "KILT-Accuracy": 1 / 3,
        "F1": pytest.approx(0.8333333333333334, abs=1e-15),
        "ROUGE-L": pytest.approx(0.7222222178240741, abs=1e-15),
        "KILT-F1": 1 / 3,
        "KILT-ROUGE-L": pytest.approx(0.3333333316666667, abs=1e-15),
    }


def test_kilts_own_figures_of_pages() -> None:
    # tests/test_eval_retrieval.py of facebookresearch/KILT.
    evidence = [["1", "2"], ["5"], ["7", "9", "11"]]
    found = ["2", "5", "7", "33", "1", "9", "44", "88"]
    assert (r_precision(found, evidence), recall_at(5, found, evidence)) == (1 / 2, 2 / 3)
    assert (r_precision(["5"], evidence), recall_at(5, ["5"], evidence)) == (1, 1 / 3)


def test_pages_count_once_and_without_evidence_nothing() -> None:
    assert r_precision(["3", "3", "2"], [["2", "3", "2"]]) == 1
    assert recall_at(1, ["3", "3", "2"], [["2", "3"]]) == 1  # a set takes one place, its last
    assert recall_at(1, ["9", "2"], [["2"]]) == 0
    assert recall_at(2, ["2"], [["2"], ["2"]]) == 1  # one set given twice is one
    assert r_precision([], [["2"]]) == recall_at(5, [], [["2"]]) == 0
    assert r_precision(["2"], []) == recall_at(5, ["2"], []) == r_precision(["2"], [[]]) == 0
    right = Reference("1", ("yes",), evidence=(("41", "7-x"),))
    outputs = (Output("yes", "41-2"), Output("no", "41-1"), Output("no"), Output("no", "7-x-9"))
    assert kilt().values(right, Generated("1", outputs))[:2] == [1, 1]
    assert kilt().values(right, Generated("1", outputs, ("41", "8")))[:2] == [0.5, 0]


@pytest.mark.parametrize(
    ("said", "wanted", "value"),
    [
        ("Suicide", "suicide", 0),  # capitals count
        ("...", "suicide", 0),
        ("x x y", "x y y", 2 / (2 + 1e-8)),  # sets of words
        ("a b", "b a", 0.5 / (1 + 1e-8)),
        # The rest are figures of rouge 1.0.1.
        ("a suicide", "suicide", 0.6666666622222223),
        ("suicide", "it was suicide", 0.4999999962500001),
        ("d. . d. d. A e a f", "9.4 b c e b . 9.4 f 9.4 d. e e ", 0.4615384565680473),
        (
            "9.4 d. f 9.4 .  . A e 9.4  a f 9.4",
            "c 9.4 9.4 d. f a A .  9.4 d. 9.4",
            0.7999999950222222,
        ),
        ("A . f . a 9.4", "  . A  a d. c", 0.3999999950000001),
        (". f a e c d. a e b b e e", "c f  e c a 9.4 a  d. ", 0.7142857093877552),
        ("c  9.4 a f d. .", "d.", 0.24999999781250004),
        (".  9.4 e", ". . b e d.", 0.2857142808163266),
    ],
)
def test_rouge_of_kilt_is_that_of_its_package(said, wanted, value) -> None:
    assert kilt_rouge_l(said, wanted) == pytest.approx(value, abs=1e-15)


def test_an_id_is_in_one_file_of_references(tmp_path) -> None:
    with pytest.raises(InputError):
        read_references(*[jsonl(tmp_path / "x.jsonl", [{"id": "1", "input": "x"}])] * 2)


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=12))
def test_sharpness_by_the_definition(scores) -> None:
    cutoffs = [1, 2, 5, 20]
    weights = sorted(map(np.exp, scores), reverse=True)
    expected = [sum(weights[:cutoff]) / sum(weights) for cutoff in cutoffs]
    found = mass_scores("x", {"q": scores}, cutoffs)
    assert values_of(found)[0] == pytest.approx(expected, abs=1e-12)
    assert values_of(mass_scores("x", {"q": [0.0, -1e4, -np.inf]}, [1])).tolist() == [[1]]
    for wrong in ([], [np.nan]):
        with pytest.raises(UsageError):
            mass_scores("x", {"q": wrong})


@pytest.fixture(scope="module")
def turns(collections):
    """544 turns of Wizard of Wikipedia: message, knowledge sentence, answer, two systems'."""
    path = collections / "wow" / "q2.cross_annotation.csv"
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def test_real_dialogue(turns) -> None:
    """As docs/generation.md has them; the one passage that is given is the gold one."""
    common = common_words((turn["gold"] for turn in turns), 0.5)
    named = {f"t{number}": turn for number, turn in enumerate(turns)}
    right = {name: Reference(name, (one["gold"],), one["message"]) for name, one in named.items()}
    wanted = {
        "memnet_response": [0.287, 0.271, 0.274, 0.351, 0.345],
        "dodeca_response": [0.303, 0.291, 0.277, 0.313, 0.333],
        "gold": [1.000, 0.998, 1.000, 0.407, 0.433],
    }
    for key, figures_of in wanted.items():
        outputs = {name: Output(one[key], passage=one["knowledge"]) for name, one in named.items()}
        found = {name: Generated(name, (output,)) for name, output in outputs.items()}
        scores = (one.scores(key, right, found) for one in (answers(common), grounding(common, {})))
        means = np.concatenate([values_of(one).mean(axis=0) for one in scores])
        assert means.round(3).tolist() == figures_of
        plain = np.mean([f1(turn[key], turn["knowledge"]) for turn in turns])
        assert means[3] == pytest.approx(plain)


def test_overlap_by_rank_and_without_gold_passages_by_hand() -> None:
    texts = {"d1": "big red wine", "d2": "old dog"}
    outputs = (Output("red wine", "d1"), Output("the old wine", "d2"), Output("dog", "d2"))
    right = {
        "1": Reference("1", ("old wine",), "Which dog?", gold=("d1",)),
        "2": Reference("2", ("old wine",), "Which?"),
    }
    found = {"1": Generated("1", outputs), "2": Generated("2", outputs[:1])}
    scores = grounding_by_rank(("big",), texts, 3).scores("x", right, found)
    assert [*scores.measures] == [f"Novel-F1 rank {rank}" for rank in (1, 2, 3)]
    # "dog" is a word of the first input: only "old" is left of the second passage.
    assert values_of(scores).tolist() == [[1, 2 / 3, 0], [1, 0, 0]]
    scores = without_gold(("old",), 3).scores("x", right, found)
    # Of "the old wine" and "dog" against "old wine"; gold is not known of the other input.
    assert scores.qids == ("1",)
    assert values_of(scores).tolist() == [[0.5, 0.5, 0.5]]
    assert values_of(without_gold((), 1).scores("x", right, found)).tolist() == [[0, 0, 0]]


def test_common_words_are_those_of_the_paper(turns) -> None:
    assert words_of(PAPER) == tuple(PAPER.split())
    # Half of all words, as in the paper; from 544 answers and not from its whole training set.
    ours = common_words((turn["gold"] for turn in turns), 0.5)
    assert (len(PAPER.split()), len(ours), len({*ours} & {*PAPER.split()})) == (121, 116, 99)


def test_rouge_is_that_of_googles_package() -> None:
    package = pytest.importorskip("rouge_score.rouge_scorer")
    from adducir.evaluation.rouge import rouge_l, stems_of, words_of

    drawn = random.Random(2)
    words = ["a", "b", "C", "d.", "9.4", "été", "-", "running", "runs", "gas"]
    for stem, cut in ((False, words_of), (True, stems_of)):
        scorer = package.RougeScorer(["rougeL"], use_stemmer=stem)
        for _ in range(200):
            said, wanted = (" ".join(drawn.choices(words, k=drawn.randint(0, 14))) for _ in "ab")
            value = scorer.score(wanted, said)["rougeL"].fmeasure
            assert rouge_l(wanted, said, cut) == pytest.approx(value, abs=1e-12)
