"""The report in a real browser: offline, by keyboard, for every reader and every size."""

import csv
import io
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest
from report_pages import made_up

from adducir.tables.formats import render
from adducir.tables.table import ResultTable

ODD = (
    "</script><!--<script>\"'>&lt;<img src=x onerror=window.broken=1></svg>\u202eשלום {{7*7}}\u2028"
)
SHOWN_ODD = ODD.replace("\u202e", "⟨U+202E⟩").replace("\u2028", "⟨U+2028⟩")
FIGURES = (
    *("forest", "pairs-map", "topics-map", "pair-bars", "pair-dots", "recall-curves"),
    *("costs-map", "losses-curves"),
)


def means_of(page: Any, column: int) -> list[str]:
    cells = page.locator(f"table.results tbody tr:visible td:nth-child({column + 3})")
    return [re.match(r"[−\d.]+", text)[0] for text in cells.all_inner_texts()]  # type: ignore[index]


def test_nothing_but_the_file_is_asked_for_and_nothing_complains(opened, table) -> None:
    one = opened(table)
    page = one.go()
    page.locator("#topics-map rect").first.click()
    page.locator("[data-choice=b]").first.select_option("1")
    assert one.requests == [one.address]
    assert one.complaints == []
    policy = page.locator("meta[http-equiv]").get_attribute("content")
    assert policy.startswith("default-src 'none'")
    page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.broken = 1';"
        " document.body.append(s); }"
    )
    assert page.evaluate("window.broken") is None


def test_every_figure_is_that_of_the_csv(opened, table: ResultTable) -> None:
    page = opened(table).go()
    lines = list(csv.DictReader(io.StringIO(render(table, "csv"))))
    page.select_option("#decimals", "6")
    for place, column in enumerate(table.columns):
        means = {
            one["system"]: float(one["mean"]) for one in lines if one["measure"] == column.measure
        }
        names = page.locator("table.results tbody th bdi").all_inner_texts()
        assert means_of(page, place) == [f"{means[name]:.6f}" for name in names]
    page.select_option("#forest-measure", "0")
    text = page.locator("#forest").text_content().replace("−", "-")
    tested = [
        one for one in lines if one["baseline"] and one["measure"] == table.columns[0].measure
    ]
    assert tested
    for line in tested:
        low, high = float(line["ci_low"]), float(line["ci_high"])
        assert f"{float(line['difference']):+.3f} [{low:+.3f}, {high:+.3f}]" in text


def test_the_page_opens_with_the_leader_and_the_table_is_ranked(opened, table) -> None:
    page = opened(table).go()
    order = page.locator("table.results tbody th bdi").all_inner_texts()
    assert page.locator(".headline").inner_text().startswith(f"{order[0]} leads on nDCG@5")
    assert page.locator("table.results .rank").all_inner_texts() == ["#", "1", "2", "3", "4"]
    shown = [float(text) for text in means_of(page, 0)]
    assert shown == sorted(shown, reverse=True)


def test_sorting_finding_and_hiding(opened, table) -> None:
    page = opened(table).go()
    head = page.locator("th[data-column='1']")
    head.locator("button").focus()
    for key, order in (("Enter", "descending"), ("Space", "ascending")):
        page.keyboard.press(key)
        assert head.get_attribute("aria-sort") == order
        shown = [float(text) for text in means_of(page, 1)]
        assert shown == sorted(shown, reverse=order == "descending")
    assert page.locator("table.results tbody .rank").all_inner_texts() == ["4", "3", "2", "1"]
    page.fill("#find", "TEM 2")
    assert len(means_of(page, 0)) == 1
    page.fill("#find", "")
    page.locator("main .menu summary").click()
    page.locator("#columns input").nth(1).uncheck()
    assert head.is_hidden()
    assert page.locator("table.results tbody tr").first.locator("td:visible").count() == 4


def test_an_address_chooses_and_keeps_topic_measure_and_systems(opened, table) -> None:
    one = opened(table)
    page = one.go("#topic=q7&a=system+1&b=system+3&measure=AP")
    assert page.locator("#query").inner_text().startswith("Topic q7 ")
    chosen = [
        page.locator(f"[data-choice={name}]").last.input_value() for name in ("a", "b", "place")
    ]
    assert chosen == ["1", "3", "1"]
    page.locator("[data-choice=topic]").focus()
    page.keyboard.press("ArrowDown")
    place, query = page.evaluate("location.hash"), page.locator("#query").inner_text()
    assert "topic=q8" in place
    page.goto("about:blank")
    assert one.go(place).locator("#query").inner_text() == query
    page.goto("about:blank")
    assert "topic q99" in one.go("#topic=q99").locator("#address").inner_text()


def test_hits_of_both_systems_with_grades_lines_and_scores(opened, table: ResultTable) -> None:
    page = opened(table).go("#topic=q3&a=system+0&b=system+2")
    known = table.material.topics[""]
    lists = [
        known.runs[name].filter(qid="q3")["docno"].to_list()[:20]
        for name in ("system 0", "system 2")
    ]
    grades = dict(known.grades.filter(qid="q3").select("docno", "grade").iter_rows())  # type: ignore[union-attr]
    for side, docnos in zip("ab", lists, strict=True):
        letters = [
            "U" if d not in grades else f"R{grades[d]}" if grades[d] > 0 else "N" for d in docnos
        ]
        assert page.locator(f"#hits-{side} .docno").all_inner_texts() == docnos
        assert page.locator(f"#hits-{side} .grade").all_inner_texts() == letters
    assert page.locator("#hits-lines line").count() == len(set(lists[0]) & set(lists[1]))
    values = table.values(table.rows[2], table.columns[0])
    assert page.locator("#score-b").inner_text() == f"nDCG@5 {values[3]:.3f}"  # type: ignore[index]
    assert page.locator("#hits-a .snippet mark").first.inner_text() == "what"
    assert page.locator(".snippet b").count() == 0
    page.select_option("#filter", "unjudged")
    assert page.locator("#hits-a li:not(.hidden)").count() == sum(d not in grades for d in lists[0])


def test_sliders_recompute_means_and_say_that_nothing_is_tested(opened, table) -> None:
    page = opened(table).go()
    assert page.locator("#brushed").text_content().startswith("All 25 topics")  # type: ignore[union-attr]
    page.locator("#to").focus()
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    assert (
        "20 of 25 topics, chosen after looking and not tested"
        in page.locator("#brushed").inner_text()
    )


def test_the_menu_saves_figures_with_their_colours_and_copies_the_table(
    opened, table, tmp_path
) -> None:
    page = opened(table).go()
    page.locator("nav .menu summary").click()
    assert page.locator(".figure-item").count() == len(FIGURES)
    item = page.locator(".figure-item", has_text="Interpolated precision")
    with page.expect_download() as waiting:
        item.get_by_text("SVG").click()
    waiting.value.save_as(tmp_path / "recall.svg")
    root = ElementTree.parse(tmp_path / "recall.svg").getroot()
    curves = [one for one in root.iter("{http://www.w3.org/2000/svg}path") if "d" in one.attrib]
    assert {one.get("fill") for one in curves} == {"none"}
    assert len({one.get("stroke") for one in curves}) == 4
    page.get_by_text("Copy the table as CSV").click()
    # Waiting on an expression would evaluate a string, which the page's policy forbids.
    page.locator("#saved", has_text=re.compile("^CSV copied$")).wait_for()


def test_without_script_the_table_stands(opened, table) -> None:
    one = opened(table, java_script_enabled=False)
    one.page.goto(one.address)
    assert one.page.locator("table.results tbody tr").count() == 4
    assert one.page.locator(".tools:visible").count() == 0
    assert "script" in one.page.locator("noscript").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1920])
def test_axe_finds_nothing_and_the_page_is_no_wider_than_the_window(
    opened, scheme: str, width: int
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    table = made_up(odd="-" + "very-long_name" * 12)
    window = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
    page = opened(table, **window).go()
    page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true })")
    found = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_it_prints_what_is_folded(opened, table) -> None:
    page = opened(table).go()
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert page.locator("main details:not(.menu):not([open])").count() == 0
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    assert page.locator("main details:not(.menu):not([open])").count() == 2
    assert page.pdf(format="A4")[:5] == b"%PDF-"


@pytest.mark.parametrize(
    ("systems", "topics", "testing"),
    [(1, 8, {}), (2, 8, {"comparisons": "all-pairs"}), (3, 1, {}), (5, 12, {"best": "set"})],
)
def test_few_systems_one_topic_and_no_baseline(opened, systems, topics, testing) -> None:
    one = opened(made_up(systems, topics, **testing))
    page = one.go()
    assert one.complaints == []
    assert page.locator("table.results tbody tr").count() == systems
    assert page.locator("#hits li").count() == 20 * min(2, systems)


@pytest.mark.parametrize(("systems", "topics"), [(200, 12), (2, 10_000), (28, 50)])
def test_many_systems_and_many_topics(opened, systems, topics) -> None:
    table = made_up(systems, topics, documents=30, depth=5, measures="nDCG@5")
    assert len(render(table, "html").encode()) < 1_500_000
    one = opened(table)
    page = one.go()
    assert one.complaints == []
    assert page.locator("#topics-map text").count() < 1000


def test_whatever_names_and_texts_hold_stays_text(opened) -> None:
    one = opened(made_up(odd=ODD))
    page = one.go()
    page.locator("[data-choice=b]").first.select_option("2")
    page.locator("#next").click()
    page.locator("#topics-map rect").first.hover()
    assert one.complaints == []
    assert one.requests == [one.address]
    assert page.evaluate("window.broken") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert page.locator("h1").text_content() == f"Made-up <runs> & figures{SHOWN_ODD}"
    docno = page.locator("#hits-a .docno").first
    assert docno.get_attribute("title") == docno.text_content()
    assert docno.text_content().endswith(SHOWN_ODD)  # type: ignore[union-attr]


_OVERLAPS = """() => [...document.querySelectorAll("svg")].flatMap(svg => {
  const boxes = [...svg.querySelectorAll("text:not([transform])")]
    .filter(one => one.textContent.trim())
    .map(one => [one.textContent, one.getBoundingClientRect()]);
  return boxes.flatMap(([name, a], at) => boxes.slice(at + 1)
    .filter(([_, b]) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5)
    .filter(([_, b]) => Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2)
    .map(([other]) => [svg.id, name, other]));
})"""


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize(
    ("systems", "asked"),
    [
        (4, {}),
        (12, {"baseline": "system 0"}),
        (6, {"measures": "nDCG@5 AP R@20 Judged@5 P@5 RR P@10 nDCG@10"}),
        (30, {"comparisons": "all-pairs"}),
    ],
)
def test_labels_do_not_collide_and_the_table_is_whole(opened, systems, asked, width) -> None:
    page = opened(made_up(systems, **asked), viewport={"width": width, "height": 900}).go()
    assert page.evaluate(_OVERLAPS) == []
    room, needed = page.locator(".scroll.table").evaluate("it => [it.clientWidth, it.scrollWidth]")
    assert needed <= room


def test_a_page_without_a_caption_has_a_heading(opened) -> None:
    page = opened(replace(made_up(), title="")).go()
    assert page.locator("h1").inner_text() == "Result table"
    assert "(not corrected), is" in page.locator(".headline").inner_text()
