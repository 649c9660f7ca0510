"""Names of measures as ir_measures reads them; ROUGE-L of what is ranked."""

import ast
import re

import ir_measures
import pytest
from evaluation_cases import table_of
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, RR, IPrec, Judged, NumRet, P, R, nDCG

from adducir.core.errors import InputError, UsageError
from adducir.corpora.spans import MaskedSpan
from adducir.evaluation.measures import parse_measure, parse_measures
from adducir.evaluation.rouge import rouge_l, rouge_of_run, stems_of
from adducir.runs.run import Run


def test_measures_of_the_papers_line() -> None:
    text = "nDCG(judged_only=True)@5 Bpref Judged@5 R@100"
    expected = [nDCG(judged_only=True) @ 5, ir_measures.Bpref, Judged @ 5, R @ 100]
    for given_as in (text, text.replace(" ", ","), text.split(), expected):
        assert parse_measures(given_as) == expected
    assert parse_measures("P@5 P_5 Precision@5 P(rel=1)@5") == [P @ 5]


@pytest.mark.parametrize(
    "text",
    [
        "P@10",
        "Precision@1",
        "MAP",
        "AP(rel=2)@100",
        "nDCG(dcg='exp-log2',judged_only=True)@20",
        "nDCG(gains={0:0,1:1,2:5})@10",
        'nDCG(dcg="log2")',
        "RBP(rel=1,p=0.8)",
        "NumRelRet",
        "SetRelP",
        "SetF(beta=0.5)",
        "IPrec@0.1",
        "INST(max_rel=2,T=1.5)",
        "Compat(p=0.8,normalize=False)",
        "α_nDCG@5",
        "MRR@10",
        "Accuracy(cutoff=3)",
    ],
)
def test_equals_ir_measures_own_parser(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = ir_measures.parse_measure(text)
    for name in ("Num", "Str", "NameConstant"):  # Python 3.14 lacks them
        monkeypatch.delattr(ast, name, raising=False)
    measure = parse_measure(text)
    assert measure == expected
    assert measure.params == expected.params


@given(
    name=st.sampled_from(["AP", "P", "R", "RR", "Success"]),
    cutoff=st.integers(1, 10_000),
    rel=st.none() | st.integers(1, 9),
    judged_only=st.none() | st.booleans(),
    blanks=st.sampled_from(["", " ", "  "]),
)
def test_reads_back_what_ir_measures_prints(
    name: str, cutoff: int, rel: int | None, judged_only: bool | None, blanks: str
) -> None:
    parameters = {"cutoff": cutoff, "rel": rel, "judged_only": judged_only}
    given_ones = {key: value for key, value in parameters.items() if value is not None}
    measure = ir_measures.measures.registry[name](**given_ones)
    assert parse_measure(repr(measure)) == measure
    assert parse_measures(repr(measure).replace(",", "," + blanks) + " , P@7") == [measure, P @ 7]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("map ndcg_cut.10 P_5", [AP, nDCG @ 10, P @ 5]),
        ("P.5,10,map", [P @ 5, P @ 10, AP]),
        ("recall_100 success.1", [R @ 100, ir_measures.Success @ 1]),
        ("iprec_at_recall.0,0.1", [IPrec @ 0.0, IPrec @ 0.1]),
        ("iprec_at_recall_0.10", [IPrec @ 0.1]),
        ("set_F.2", [ir_measures.SetF(beta=2.0)]),
        ("num_rel_ret num_ret", [NumRet(rel=1), NumRet]),
        ("recall@100 NDCG@10 mrr@10", [R @ 100, nDCG @ 10, RR @ 10]),
        ("success@5 Map recip_rank@10", [ir_measures.Success @ 5, AP, RR @ 10]),
        ("IPrec@1 SetF(beta=2)", [IPrec @ 1.0, ir_measures.SetF(beta=2.0)]),
    ],
)
def test_parameters_of_trec_eval_and_whole_numbers(
    text: str, expected: list[ir_measures.Measure]
) -> None:
    assert parse_measures(text) == expected
    assert [repr(one) for one in parse_measures(text)] == [repr(one) for one in expected]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        *((empty, "nDCG@10") for empty in ("", " , ")),
        *(("nGCD@10", "`nDCG@10`"), ("bprf", "`Bpref`"), ("f1", "f1")),
        ("nDCG(judgedonly=True)@5", "judged_only"),
        *((lacking, "cutoff") for lacking in ("Bpref@5", "P", "P(cutoff=3)@5", "ERR@0")),
        *((f"P@{wrong}", "cutoff") for wrong in ("0", "-5", "ten", "True", "1.5")),
        ("IPrec", "recall"),
        *((wrong, "rel") for wrong in ("AP(rel=0)", "P(rel=1,rel=2)@5", "P(rel=f('os'))@5")),
        ("RBP(rel=1,p=1.5)", "p"),
        *(("nDCG(dcg='ln')@5", "exp-log2"), ("nDCG(gains={1:'x'})@5", "gains")),
        *((broken, "") for broken in ("P(5)", "P@5@6", "P@", "P(rel=1@5", "P)@5", "nDCG(a='b)@5")),
        *((theirs, theirs) for theirs in ("map_5", "gm_map.5", "Rndcg", "G.5")),
        ("ndcg_cut_0", "cutoff"),
        ("P@5 " + "(" * 9999, ""),
        ("P@" + "9" * 5000, ""),
    ],
)
def test_what_is_not_a_measure_is_refused(text: str, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_measures(text)
    assert what in str(caught.value)


def test_one_measure_is_one_and_objects_are_checked_too() -> None:
    for wrong in ("P@5 P@10", P, [5]):
        with pytest.raises(UsageError):
            parse_measure(wrong)


GOLD = (
    "For example, if grass was poisonous, it would be better for its survival, as less animals "
    "would come eat it."
)
RETRIEVED = (
    "For example, we move incredible slowly when compared to the maximum speed allowed in the "
    "universe."
)


def plain(gold, text):
    """The definition, with the textbook table of common subsequences."""
    first, second = (re.findall("[a-z0-9]+", one.lower()) for one in (gold, text))
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            longer = max(table[i][j + 1], table[i + 1][j])
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else longer
    return 2 * table[-1][-1] / (len(first) + len(second)) if table[-1][-1] else 0.0


WORDS = st.lists(st.sampled_from(["a", "b", "C", "dog", "été", "2nd", "-", "…"]), max_size=90)


@given(WORDS, WORDS)
def test_against_the_definition(gold, text):
    gold, text = " ".join(gold), " ".join(text)
    assert rouge_l(gold, text) == pytest.approx(plain(gold, text))


def test_published_figures_and_stems():
    # Lin (2004), section 3.1: "police killed the gunman" against these has F = .75 and .5.
    assert rouge_l("police killed the gunman", "police kill the gunman") == 0.75
    assert rouge_l("police killed the gunman", "the gunman kill police") == 0.5
    assert round(rouge_l(GOLD, RETRIEVED), 3) == 0.111  # as EGRET's Table 5 prints
    assert rouge_l("running dogs", "run dog") == 0
    assert rouge_l("running dogs", "run dog", stems_of) == 1
    assert rouge_l("gas", "ga", stems_of) == 0  # three letters are kept as they are
    assert rouge_l("café", "caf") == 1  # as rouge_score has it


def test_best_and_mean_of_the_top():
    texts = {"q": "a b c d", "r": "a", "s": "a", "x": "a x", "z": "z"}
    spans = [MaskedSpan(name, "g", (), (text,), ()) for name, text in texts.items()]
    run = Run.of({"q": {"x": 3, "q": 2, "z": 1}, "r": {"z": 1}, "t": {"r": 1}}, tag="s")
    asked, others = spans[:3], spans[3:]
    scores = rouge_of_run("s", run, asked, others, depth=2)
    assert [*scores.measures] == ["ROUGE-L", "max ROUGE-L@2", "mean ROUGE-L@2"]
    third = 1 / 3
    mean = pytest.approx((third + 1) / 2)
    assert table_of(scores).tolist() == [[third, 1, mean], [0] * 3, [0] * 3]
    (known,) = scores.evaluations
    assert (known.missing, known.extra) == (("s",), ("t",))
    found = rouge_of_run("s", run, asked, others, depth=2, without_gold=True)
    assert table_of(found)[0].tolist() == [third, third, pytest.approx(third / 2)]
    with pytest.raises(InputError):
        rouge_of_run("s", run, asked)
