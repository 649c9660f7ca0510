"""ROUGE-L against its definition."""

import re

import pytest
from evaluation_cases import table_of
from hypothesis import given
from hypothesis import strategies as st

from adducir.core.errors import InputError
from adducir.corpora.spans import MaskedSpan
from adducir.evaluation.rouge import rouge_l, stems_of
from adducir.runs.run import Run
from adducir.studies.exemplification.rouge import rouge_of_run

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
