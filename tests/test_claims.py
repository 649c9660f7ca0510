"""Sentences of the documents, from the tables beside them or from exact computations."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

ROOT = Path(__file__).parents[1]
STUDIES = [path.parent.name for path in ROOT.glob("adducir/studies/*/commands.py")]


def text_of(name: str) -> str:
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def rows_of(name: str, place: int = 0) -> dict[str, list[float]]:
    """The figures of a document's rows by their first cell; of several rows, one by place."""
    rows: dict[str, list[list[float]]] = {}
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        cells = re.split(r" \| |  +", line.strip("| "))
        figures = [re.fullmatch(r"•?(-?\d?\.\d+)[↑↓≈]?", cell) for cell in cells[1:]]
        if len(figures) > 1 and all(figures[:2]):
            rows.setdefault(cells[0], []).append([float(match[1]) for match in figures if match])
    return {label: found[min(place, len(found) - 1)] for label, found in rows.items()}


def test_weighted_text_is_mostly_judged_less() -> None:
    rows = rows_of("docs/studies/touche.md")
    models = ("BM25", "BM25+RM3", "DLM", "DLM+RM3")
    gaps = {
        f"{weighting} {model}": rows[f"{weighting} {model}"][2] - rows[model][2]
        for weighting in ("C", "TC", "C-pools", "C-sqrt", "C-added")
        for model in models
    }
    higher = [name for name, gap in gaps.items() if gap > 0]
    assert (len(gaps), len(higher)) == (20, 4)
    assert all(name.endswith("+RM3") for name in higher)
    assert "of its 20 systems 16 have a lower Judged@5" in text_of("docs/studies/touche.md")


def test_the_null_control_of_hindsight() -> None:
    rows = rows_of("docs/studies/hindsight.md", place=1)
    start = np.array(rows["MiniLM, untrained"][:5])
    k2, k32 = (np.array(rows[f"Marginalised loss, k = {k}"][:5]) for k in (2, 32))
    bound = {k: np.array(rows[f"Evidence lower bound, k = {k}"][:5]) for k in (2, 32)}
    assert start[0] == 0.161, "the row of the null control"
    assert (k2 < start).all() and (k32 < start).all()
    assert (k32 < k2).tolist() == [True] * 4 + [False]
    assert (bound[2] > start).all()
    assert (bound[32] < start).tolist() == [True] * 4 + [False]
    assert (bound[2] - k2 >= bound[32] - k32).all()


def test_what_is_not_significant_is_not_called_equal() -> None:
    evidence = rows_of("docs/studies/complementary-evidence.md")
    gap = evidence["Complementary model"][1] - evidence["Relevance-only ranker"][1]
    assert f"F1 differs by +{gap:.3f} [−.042, +.044]".replace("+0.", "+.") in text_of(
        "docs/studies/complementary-evidence.md"
    )
    assert "do not differ from" not in text_of("docs/studies/cacm.md")


@pytest.mark.parametrize(("topics", "place"), [(20, 0), (50, 1), (100, 2)])
def test_the_sign_test_of_skewed_scores(topics: int, place: int) -> None:
    """Its exact power: the probability that one of the scores exceeds the other, by quadrature."""
    above = stats.beta(0.6, 2.4).expect(stats.beta(0.2, 0.8).sf)
    wins = np.arange(topics + 1)
    p = np.minimum(1, 2 * stats.binom.cdf(np.minimum(wins, topics - wins), topics, 0.5))
    power = stats.binom.pmf(wins[p <= 0.05], topics, above).sum()
    quoted = re.search(
        r"the sign test in (\.\d+), (\.\d+) and (\.\d+)", text_of("docs/statistics.md")
    )
    assert quoted and float(quoted[place + 1]) == pytest.approx(power, abs=0.015)


def messages_of(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module with their lines, but for docstrings; {} for what is put in."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    others = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            others |= {id(part) for part in node.values}
            parts = (getattr(part, "value", "") for part in node.values)
            yield node.lineno, "".join(part if isinstance(part, str) else "{}" for part in parts)
        elif isinstance(value := getattr(node, "value", None), str) and id(node) not in others:
            yield node.lineno, value


def test_the_engine_words_no_option_by_hand() -> None:
    """Python's users and files have no options: `worded` and `Keyed` say what each door has."""
    whole_commands = re.compile(r"(adducir|ir_measures|trec_eval|ray) [^'`\n]*")
    shell = ("cli/", "studies/options.py", *(f"studies/{name}/commands.py" for name in STUDIES))
    by_hand = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sorted(ROOT.glob("adducir/**/*.py"))
        if not path.relative_to(ROOT / "adducir").as_posix().startswith(shell)
        for line, text in messages_of(path)
        if re.search(r"[\s(`]--[a-z]", whole_commands.sub("", f" {text}"))
        and not re.fullmatch(r"--\S+", text)  # a word of a command line that is recorded
    ]
    assert by_hand == []
