"""Measures as people type them."""

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, IPrec, Judged, NumRet, P, R, nDCG

from adducir.core.errors import UsageError
from adducir.evaluation.measures import check_measure, parse_measure, parse_measures
from adducir.evaluation.trec_names import TREC_INEXPRESSIBLE, TREC_NAMES


def test_measures_of_the_papers_line() -> None:
    text = "nDCG(judged_only=True)@5 Bpref Judged@5 R@100"
    expected = [nDCG(judged_only=True) @ 5, ir_measures.Bpref, Judged @ 5, R @ 100]
    assert parse_measures(text) == expected
    assert parse_measures(text.replace(" ", ",")) == expected
    assert parse_measures(text.split()) == expected
    assert parse_measures(expected) == expected


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
def test_equals_ir_measures_own_parser(text: str) -> None:
    measure = parse_measure(text)
    assert measure == ir_measures.parse_measure(text)
    assert measure.params == ir_measures.parse_measure(text).params


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


@pytest.mark.parametrize("name", sorted(TREC_NAMES.keys() - {"P"}))
def test_trec_eval_names_mean_what_ir_measures_takes_them_for(name: str) -> None:
    expected = [check_measure(measure) for measure in ir_measures.parse_trec_measure(name)]
    assert parse_measures(name) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("map ndcg_cut.10 P_5", [AP, nDCG @ 10, P @ 5]),
        ("P.5,10,map", [P @ 5, P @ 10, AP]),
        ("recall_100 success.1", [R @ 100, ir_measures.Success @ 1]),
        ("iprec_at_recall.0,.1", [IPrec @ 0.0, IPrec @ 0.1]),
        ("iprec_at_recall_0.10", [IPrec @ 0.1]),
        ("set_F.2", [ir_measures.SetF(beta=2.0)]),
        ("num_rel_ret num_ret", [NumRet(rel=1), NumRet]),
    ],
)
def test_trec_eval_parameters(text: str, expected: list[ir_measures.Measure]) -> None:
    assert parse_measures(text) == expected


def test_whole_numbers_serve_where_fractions_are_wanted() -> None:
    assert repr(parse_measure("IPrec@1")) == "IPrec@1.0"
    assert repr(parse_measure("SetF(beta=2)")) == "SetF(beta=2.0)"


def test_a_measure_named_twice_counts_once() -> None:
    assert parse_measures("P@5 P_5 Precision@5 P(rel=1)@5") == [P @ 5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "No measure"),
        (" , ", "No measure"),
        ("ndcg@10", "Did you mean nDCG@10?"),
        ("bprf", "Did you mean Bpref?"),
        ("recip_rank@10", "Did you mean RR@10?"),
        ("nDCG(judgedonly=True)@5", "Did you mean judged_only?"),
        ("Bpref@5", "no parameter 'cutoff'"),
        ("P", "needs a cutoff: write P@10"),
        ("IPrec", "write IPrec@0.5"),
        ("P@0", "1 or more"),
        ("P@-5", "1 or more"),
        ("P@ten", "1 or more"),
        ("P@5.0", "1 or more"),
        ("P@True", "1 or more"),
        ("AP(rel=0)", "rel must be a whole number, 1 or more"),
        ("RBP(rel=1,p=1.5)", "from 0 to 1"),
        ("nDCG(judged_only=1)@5", "True or False"),
        ("nDCG(dcg='ln')@5", "'log2', 'exp-log2'"),
        ("nDCG(gains={1:2.5})@5", "mapping of grades to gains"),
        ("P(5)", "parameter=value"),
        ("P(rel=1,rel=2)@5", "rel twice"),
        ("P(cutoff=3)@5", "cutoff twice"),
        ("P@5@6", "cannot be read"),
        ("P@", "cannot be read"),
        ("P(rel=1@5", "bracket open"),
        ("P)@5", "closes a bracket"),
        ("nDCG(dcg='log2)@5", "quotation open"),
        ("P(rel=__import__('os'))@5", "not a number"),
        ("map_5", "takes no parameter"),
        ("ndcg_cut_0", "1 or more"),
        ("gm_map", "geometric mean"),
        ("rbp", "RBP(rel=1,p=0.9)"),
    ],
)
def test_errors_are_reported_with_their_hint(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_measures(text)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", sorted(TREC_INEXPRESSIBLE))
def test_what_trec_eval_has_and_we_have_not_is_said(name: str) -> None:
    with pytest.raises(UsageError, match=f"trec_eval's measure {name} is not available here"):
        parse_measures(name)


def test_one_measure_is_one() -> None:
    with pytest.raises(UsageError, match="names 2 measures"):
        parse_measure("P@5 P@10")


def test_measure_objects_are_checked_too() -> None:
    with pytest.raises(UsageError, match="needs a cutoff"):
        parse_measures([P])
    with pytest.raises(UsageError, match="is not a measure"):
        check_measure(5)


def test_does_not_need_the_nodes_that_python_3_14_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    import ast

    for name in ("Num", "Str", "NameConstant"):
        monkeypatch.delattr(ast, name, raising=False)
    assert parse_measure("nDCG(judged_only=True,gains={1:2})@5").params["cutoff"] == 5
