"""Published figures on real collections."""

from pathlib import Path

import pytest

from adducir.corpora.qrels import load_qrels
from adducir.evaluation.evaluator import evaluate
from adducir.runs.read import read_run

CONDENSED = "nDCG(judged_only=True)@5"
TOUCHE_2020 = "touche2020-task1-relevance-args-me-corpus-version-2020-04-01-corrected.qrels"
TOUCHE_2021 = "touche-task1-51-100-relevance.qrels"


def _figures(collections: Path, year: str, name: str, qrels: str, negative: str) -> dict[str, str]:
    run = read_run(collections / f"touche/runs/{year}/{name}Run.txt.gz")
    text = f"nDCG@5 {CONDENSED} Bpref Judged@5"
    judged = load_qrels(collections / "touche/qrels" / qrels)
    scores = evaluate(run, judged, text, negative=negative)  # type: ignore[arg-type]
    assert scores.missing == {}
    assert scores.evaluations[0].negatives == {"2020": 751, "2021": 351}[year]
    return {name: f"{scores.mean(name):.4f}" for name in text.split()}


@pytest.mark.parametrize(
    ("year", "name", "qrels", "negative", "figures"),
    [
        ("2021", "ElrondOpenNlp", TOUCHE_2021, "zero", ".6745 .6745 .6898 .9960"),
        ("2021", "ElrondSimple", TOUCHE_2021, "zero", ".6742 .6742 .6689 .9960"),
        ("2021", "ElrondOpenNlp", TOUCHE_2021, "trec_eval", ".6745 .6783 .6980 .9960"),
        ("2021", "ElrondSimple", TOUCHE_2021, "trec_eval", ".6742 .7327 .7319 .9960"),
        ("2020", "ElrondOpenNlp", TOUCHE_2020, "zero", ".6197 .8658 .7205 .6286"),
        ("2020", "ElrondSimple", TOUCHE_2020, "zero", ".3966 .7301 .7136 .4735"),
        ("2020", "ElrondOpenNlp", TOUCHE_2020, "trec_eval", ".6197 .8716 .7285 .6286"),
        ("2020", "ElrondSimple", TOUCHE_2020, "trec_eval", ".3966 .8374 .7693 .4735"),
    ],
)
def test_touche_in_both_treatments_of_spam(
    collections: Path, year: str, name: str, qrels: str, negative: str, figures: str
) -> None:
    """nDCG@5 is published; the others hold what evaluate's text says of spam."""
    found = _figures(collections, year, name, qrels, negative)
    assert [value.removeprefix("0") for value in found.values()] == figures.split()
