"""Measures as people type them."""

import ast

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, IPrec, Judged, NumRet, P, R, nDCG

from adducir.core.errors import UsageError
from adducir.evaluation.measures import parse_measure, parse_measures


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
        *(("ndcg@10", "nDCG"), ("bprf", "Bpref"), ("recip_rank@10", "RR")),
        ("nDCG(judgedonly=True)@5", "judged_only"),
        *((lacking, "cutoff") for lacking in ("Bpref@5", "P", "P(cutoff=3)@5", "ERR@0")),
        *((f"P@{wrong}", "cutoff") for wrong in ("0", "-5", "ten", "True", "1.5")),
        ("IPrec", "recall"),
        *((wrong, "rel") for wrong in ("AP(rel=0)", "P(rel=1,rel=2)@5", "P(rel=f('os'))@5")),
        ("RBP(rel=1,p=1.5)", "p"),
        *(("nDCG(dcg='ln')@5", "exp-log2"), ("nDCG(gains={1:2.5})@5", "gains")),
        *((broken, "") for broken in ("P(5)", "P@5@6", "P@", "P(rel=1@5", "P)@5", "nDCG(a='b)@5")),
        *((theirs, theirs) for theirs in ("map_5", "gm_map", "11pt_avg", "relative_P", "G.5")),
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
