"""The forest plot over collections, as ``adducir compare --meta`` writes it, in a browser."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from adducir.cli.app import main

SETS = {"robust03": 30, "a collection with a long name": 20, "cacm": 25}
SYSTEMS = {"BM25": 0.0, "a & <b>b</b>": 0.05, "DirichletLM+RM3 with a name that takes room": -0.02}
MEASURES = ("AP", "nDCG@10")
PLOTS = ("collections-0", "collections-1")


def per_topic(file: Path) -> Path:
    """Values per topic of three systems on three collections, in Adducir's own CSV."""
    draw = np.random.default_rng(5)
    with file.open("w", newline="") as handle:
        lines = csv.writer(handle)
        lines.writerow(["system", "section", "group", "qid", "measure", "value"])
        for name, topics in SETS.items():
            easy = draw.uniform(0.2, 0.6, (topics, len(MEASURES)))
            for system, gain in SYSTEMS.items():
                values = easy + gain + draw.normal(0, 0.08, easy.shape)
                for place, own in enumerate(values):
                    for measure, value in zip(MEASURES, own, strict=True):
                        lines.writerow([system, "", name, f"{name}-{place}", measure, value])
    return file


@pytest.fixture
def written(tmp_path: Path) -> dict[str, Path]:
    """The same table as a page and as JSON."""
    scores = per_topic(tmp_path / "per-topic.csv")
    files = {ending: tmp_path / f"table.{ending}" for ending in ("html", "json")}
    for file in files.values():
        arguments = ["compare", str(scores), "--baseline", "BM25", "--meta"]
        assert main([*arguments, "--output", str(file)]) == 0
    return files


def test_its_figures_are_those_of_the_table_and_of_the_footer(opened, written) -> None:
    one = opened(written["html"])
    page = one.go()
    table = json.loads(written["json"].read_text())
    groups = [column["group"] for column in table["columns"]]
    assert list(dict.fromkeys(groups)) == list(SETS)
    for measure, plot in zip(MEASURES, PLOTS, strict=True):
        page.locator(f"#{plot}").evaluate("one => one.closest('details')?.setAttribute('open', '')")
        assert page.locator(f"#{plot}").is_visible()
        text = page.locator(f"#{plot}").text_content().replace("−", "-")
        places = [at for at, c in enumerate(table["columns"]) if c["measure"] == measure]
        for row in table["rows"][1:]:
            for place in places:
                (versus,) = row["cells"][place]["versus"]
                assert f"{versus['difference']:+.3f} [" in text
            start = f"{row['system']} against BM25 on {measure} over 3 topic sets: "
            (said,) = (one for one in table["footer"] if one.startswith(start))
            assert re.match(r"[^\]]+\]", said.removeprefix(start))[0] in text
        # Names are cut so that system and collection are both seen.
        for name in ("a & <b>b</b>", "Dirichlet"):
            for part in ("robust03", "a collection", "cacm", "together"):
                assert re.search(f"{re.escape(name)}[^·]*· {part}", text)
        # Of each of two systems a square on each collection, and a diamond; all have their place.
        assert page.locator(f"#{plot} rect.point").count() == 6
        boxes = page.locator(f"#{plot} rect.point").evaluate_all(
            "all => all.map(one => [one.getBoundingClientRect().y, one.querySelector('title')"
            ".textContent])"
        )
        assert len({round(y) for y, _ in boxes}) == 6
        weights = [int(re.search(r"(\d+)%", text)[1]) for _, text in boxes]
        assert sum(weights[:3]) == pytest.approx(100, abs=1)
        assert sum(weights[3:]) == pytest.approx(100, abs=1)
    assert one.requests == [one.address]
    assert one.complaints == []


def test_it_is_reached_by_an_address_and_saved_as_a_figure(opened, written, tmp_path) -> None:
    page = opened(written["html"]).go("#collections")
    assert page.locator("nav a[href='#collections']").count() == 1
    top = page.locator("#collections").evaluate("one => one.getBoundingClientRect().top")
    assert top < 900
    figure = page.locator("figure", has=page.locator(f"#{PLOTS[0]}"))
    with page.expect_download() as saved:
        figure.locator("figcaption button").click()
    saved.value.save_as(tmp_path / "saved.svg")
    drawn = (tmp_path / "saved.svg").read_text()
    assert "a &amp; &lt;b&gt;b&lt;/b&gt;" in drawn
    exported = tmp_path / "exported.svg"
    assert main(["figure", str(written["html"]), PLOTS[0], "--output", str(exported)]) == 0
    assert "together" in exported.read_text()


def test_it_stands_without_script_and_on_paper(opened, written) -> None:
    one = opened(written["html"], java_script_enabled=False)
    one.page.goto(one.address)
    assert one.page.locator(f"#{PLOTS[0]}").is_visible()
    page = opened(written["html"]).go()
    page.emulate_media(media="print")
    assert page.locator(f"#{PLOTS[0]}").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1920])
def test_axe_finds_nothing_and_the_page_is_no_wider_than_the_window(
    opened, written, scheme: str, width: int
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    window = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
    page = opened(written["html"], **window).go()
    page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true })")
    found = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_forced_colours_leave_squares_diamonds_and_lines(opened, written) -> None:
    page = opened(written["html"], forced_colors="active").go()
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    for marks, paint in (("rect.point", "fill"), ("path", "stroke"), ("line.whisker", "stroke")):
        shown = page.locator(f"#{PLOTS[0]} {marks}").evaluate_all(
            f"all => [...new Set(all.map(one => getComputedStyle(one).{paint}))]"
        )
        assert shown, marks
        assert not {"none", background} & set(shown), marks
