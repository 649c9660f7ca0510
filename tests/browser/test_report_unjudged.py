"""Bounds from unjudged documents, drawn for each measure that has them."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from report_pages import made_up

from adducir.cli.app import main

MEASURES = "nDCG@5 AP@10 P@5"
PLOTS = ("unjudged-0", "unjudged-1")


@pytest.fixture
def written(tmp_path: Path) -> dict[str, Path]:
    """A page with bounds, and the table with them as JSON.

    Of three systems the first finds what is relevant, the second what is not, both judged; the
    third finds what nobody judged.
    """
    draw, qids = np.random.default_rng(7), [f"t{n}" for n in range(6)]
    judged = [f"{q} 0 d{n} {1 + n % 2 if n < 10 else 0}" for q in qids for n in range(20)]
    (tmp_path / "q.txt").write_text("\n".join(judged) + "\n")
    for name, first in {"good": 0, "poor": 10, "new": 20}.items():
        lines = [
            f"{q} Q0 d{first + d} {rank} {-rank} {name}"
            for q in qids
            for rank, d in enumerate(draw.permutation(10)[:10], 1)
        ]
        (tmp_path / f"{name}.trec").write_text("\n".join(lines) + "\n")
    runs = [str(tmp_path / f"{name}.trec") for name in ("poor", "new", "good")]
    command = ["evaluate", *runs, "-q", str(tmp_path / "q.txt"), "-m", MEASURES]
    files = {name: tmp_path / name for name in ("asked.html", "asked.json")}
    for file in files.values():
        assert main([*command, "--set", "unjudged=true", "--output", str(file)]) == 0
    return files


def shown(page, plot: str) -> dict[str, list[float]]:
    """The mean, the least and the greatest of each system, as a figure's marks tell them."""
    tips = page.locator(f"#{plot} rect title").evaluate_all("all => all.map(o => o.textContent)")
    return {
        tip.split(": ")[0]: [float(one) for one in re.findall(r"\d\.\d+", tip.split(": ")[1])]
        for tip in tips
    }


def test_the_figures_are_those_of_the_table_and_of_the_footer(opened, written) -> None:
    one = opened(written["asked.html"])
    page = one.go()
    table = json.loads(written["asked.json"].read_text())
    for plot, measure in zip(PLOTS, ("nDCG@5", "AP@10"), strict=True):
        found = shown(page, plot)
        place = next(n for n, c in enumerate(table["columns"]) if c["measure"] == measure)
        for row in table["rows"]:
            assert found[row["system"]][0] == pytest.approx(row["cells"][place]["mean"], abs=5e-4)
        (said,) = (text for text in table["footer"] if text.startswith(f"Bounds of {measure} "))
        for system, (_, low, high) in found.items():
            assert f"{system} {low:.3f} to {high:.3f}" in said
        assert found["new"][0] == 0 < found["new"][2]
        sure = said.removesuffix(".").split("whatever these grades are: ")[1].split(", ")
        assert "good above poor" in sure
        tips = {
            role: page.locator(f"#{plot} circle.{role} title").evaluate_all(
                "all => all.map(o => o.textContent).filter(o => o.includes(' above '))"
            )
            for role in ("better", "none")
        }
        # Filled where the footer says so; there are three pairs.
        assert sorted(tips["better"]) == sorted(f"{pair}: sure" for pair in sure)
        assert 0 < len(tips["none"]) == 3 - len(sure)
    assert one.complaints == []
    assert one.requests == [one.address]


def test_they_stand_without_script_on_paper_and_as_files(opened, written, tmp_path) -> None:
    one = opened(written["asked.html"], java_script_enabled=False)
    one.page.goto(one.address)
    assert one.page.locator("#unjudged-0").is_visible()
    page = opened(written["asked.html"]).go()
    page.emulate_media(media="print")
    assert page.locator("#unjudged-0").is_visible()
    for ending in ("svg", "pdf"):
        file = tmp_path / f"bounds.{ending}"
        assert main(["figure", str(written["asked.html"]), "unjudged-1", "-o", str(file)]) == 0
    drawn = (tmp_path / "bounds.svg").read_text()
    assert "Bounds of AP@10 from unjudged documents: 3 systems" in drawn
    assert (tmp_path / "bounds.pdf").read_bytes()[:5] == b"%PDF-"


def test_filled_and_open_marks_differ_in_forced_colours_and_in_the_dark(opened, written) -> None:
    for window in ({"forced_colors": "active"}, {"color_scheme": "dark"}):
        page = opened(written["asked.html"], **window).go()
        fills = [
            page.locator(f"#unjudged-0 circle.{role}").first.evaluate(
                "one => getComputedStyle(one).fill"
            )
            for role in ("better", "none")
        ]
        assert fills[0] != fills[1]


def test_many_systems_are_counted_and_one_has_no_order(opened) -> None:
    page = opened(made_up(40, 6, measures="nDCG@5")).go()
    texts = page.locator("#unjudged-0 text").evaluate_all("all => all.map(o => o.textContent)")
    above = [re.search(r"above (\d+)$", text) for text in texts]
    assert sum(one is not None for one in above) == 40
    ends = shown(page, "unjudged-0")
    sure = sum(one[1] > two[2] for one in ends.values() for two in ends.values())
    assert sum(int(one[1]) for one in above if one) == sure
    alone = opened(made_up(1, 6, measures="nDCG@5")).go()
    assert alone.locator("#unjudged-0 circle").count() == 1
    assert "keeps its place" not in alone.locator("#unjudged .lead").text_content()
