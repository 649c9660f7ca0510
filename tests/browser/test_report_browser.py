"""The report in a real browser: offline, by keyboard, for every reader and every size."""

import csv
import io
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from report_pages import evidence_sets, known_item, made_up

from adducir.evaluation.reproduction import rank_biased_overlap
from adducir.tables.formats import render
from adducir.tables.report.export import figures as figures_of
from adducir.tables.report.export import svg_text
from adducir.tables.table import ResultTable

BUDGET = 1_500_000
"""Bytes of a page of 28 systems, 50 topics and 20 hits with 5,000 snippets."""


def figures(page: Any, column: int) -> list[str]:
    """The texts of a column of the table, from the top."""
    cells = page.locator(f"table.results tbody tr td:nth-child({column + 2})")
    return [re.match(r"[−\d.]+", text)[0] for text in cells.all_inner_texts()]  # type: ignore[index]


def test_nothing_but_the_file_is_asked_for_and_nothing_complains(opened, table) -> None:
    one = opened(table)
    page = one.go()
    page.locator("#topics-map").click()
    page.select_option("#system-b", "1")
    assert one.requests == [one.address]
    assert one.complaints == []
    policy = page.locator("meta[http-equiv]").get_attribute("content")
    assert policy.startswith("default-src 'none'")


def test_what_breaks_into_the_page_is_not_run(opened, table) -> None:
    page = opened(table).go()
    page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.broken = 1';"
        " document.body.append(s); }"
    )
    assert page.evaluate("window.broken") is None


def test_every_figure_of_the_table_is_that_of_the_csv(opened, table: ResultTable) -> None:
    page = opened(table).go()
    means: dict[tuple[str, str], float] = {}
    for line in csv.DictReader(io.StringIO(render(table, "csv"))):
        means[line["system"], line["measure"]] = float(line["mean"])
    page.select_option("#decimals", "6")
    for place, column in enumerate(table.columns):
        shown = figures(page, place)
        wanted = [f"{means[row.system, column.measure]:.6f}" for row in table.rows]
        assert shown == wanted
    page.locator("[data-copy=csv]").click()
    # Waiting on an expression would evaluate a string, which the page's policy forbids.
    page.locator("#copied", has_text=re.compile("^CSV copied$")).wait_for()


def test_the_differences_of_the_forest_plot_are_those_of_the_csv(opened, table) -> None:
    page = opened(table).go()
    text = page.locator("#differences-0").text_content().replace("−", "-")
    first = table.columns[0].measure
    for line in csv.DictReader(io.StringIO(render(table, "csv"))):
        if line["measure"] == first and line["baseline"]:
            assert f"{float(line['difference']):+.3f}" in text
            assert f"{float(line['ci_low']):+.3f}" in text


def test_sorting_by_keyboard(opened, table) -> None:
    page = opened(table).go()
    head = page.locator("th[data-column='1']")
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    shown = [float(text) for text in figures(page, 1)]
    assert shown == sorted(shown, reverse=True)
    page.keyboard.press("Space")
    assert head.get_attribute("aria-sort") == "ascending"
    assert [float(text) for text in figures(page, 1)] == sorted(shown)
    assert page.locator("th[aria-sort=none]").count() == len(table.columns) - 1


def test_hiding_a_column(opened, table) -> None:
    page = opened(table).go()
    page.locator(".menu summary").click()
    page.locator("#columns input").nth(1).uncheck()
    assert page.locator("th[data-column='1']").is_hidden()
    assert page.locator("table.results tbody tr").first.locator("td:visible").count() == 3


def test_topic_choice_by_keyboard_and_the_address_that_keeps_it(opened, table) -> None:
    one = opened(table)
    page = one.go()
    page.locator("#topic").focus()
    before = page.locator("#query").inner_text()
    page.keyboard.press("ArrowDown")
    after = page.locator("#query").inner_text()
    assert after != before
    place = page.evaluate("location.hash")
    assert "topic=" in place
    page.goto("about:blank")
    page = one.go(place)
    assert page.locator("#query").inner_text() == after


def test_an_address_chooses_topic_and_systems(opened, table) -> None:
    page = opened(table).go("#topic=q7&a=system+1&b=system+3")
    assert page.locator("#diff h3").all_inner_texts() == ["system 1", "system 3"]
    assert "q7" in page.locator("#query").inner_text()
    assert page.locator("#topic").input_value() == "7"


def test_lines_join_the_documents_of_both_lists(opened, table: ResultTable) -> None:
    page = opened(table).go("#topic=q3&a=system+0&b=system+2")
    runs = table.material.topics[""].runs
    lists = [
        runs[name].filter(qid="q3")["docno"].to_list()[:20] for name in ("system 0", "system 2")
    ]
    columns = page.locator("#diff ol")
    shown = [columns.nth(at).locator(".docno").all_inner_texts() for at in (0, 1)]
    assert shown == lists
    assert page.locator("#hits-lines line").count() == len(set(lists[0]) & set(lists[1]))
    grades = dict(
        table.material.topics[""].grades.filter(qid="q3").select("docno", "grade").iter_rows()  # type: ignore[union-attr]
    )
    letters = [
        "U" if d not in grades else f"R{grades[d]}" if grades[d] > 0 else "N" for d in lists[0]
    ]
    assert columns.nth(0).locator(".grade").all_inner_texts() == letters
    new = [docno for docno in lists[1] if docno not in lists[0]]
    marked = [text for text in columns.nth(1).locator(".moved").all_inner_texts() if text == "new"]
    assert len(marked) == len(new)


def test_brushing_recomputes_means_and_says_that_nothing_is_tested(opened, table) -> None:
    page = opened(table).go()
    assert page.locator("#brushed").text_content().startswith("All 25 topics")  # type: ignore[union-attr]
    page.locator("#to").focus()
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    text = page.locator("#brushed").inner_text()
    assert "20 of 25 topics" in text
    assert "not tested" in text


def test_a_figure_is_saved_with_its_colours_and_dashes(opened, table, tmp_path) -> None:
    page = opened(table).go()
    figure = page.locator("figure", has=page.locator("#recall-0"))
    with page.expect_download() as waiting:
        figure.locator("figcaption button").click()
    assert waiting.value.suggested_filename == "recall-0.svg"
    waiting.value.save_as(tmp_path / "recall.svg")
    root = ElementTree.parse(tmp_path / "recall.svg").getroot()
    curves = [one for one in root.iter("{http://www.w3.org/2000/svg}path") if "d" in one.attrib]
    assert {one.get("fill") for one in curves} == {"none"}
    assert len({one.get("stroke") for one in curves}) == 4
    assert len({one.get("stroke-dasharray") for one in curves}) == 4


def test_snippets_mark_the_words_of_the_query_and_stay_text(opened, table) -> None:
    page = opened(table).go("#topic=q1&a=system+0&b=system+1")
    assert page.locator("#diff .snippet mark").first.inner_text() == "what"
    assert page.locator("#diff .snippet b").count() == 0


def test_without_script_every_figure_stands(opened, table, browser) -> None:
    one = opened(table, java_script_enabled=False)
    one.page.goto(one.address)
    page = one.page
    for name in (
        "differences-0",
        "pairs-0",
        "topics-map",
        "compare-bars",
        "hits-lines",
    ):
        assert page.locator(f"#{name}").is_visible(), name
    assert page.locator(".tools:visible").count() == 0
    assert page.locator("#diff li").count() == 40


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1920])
def test_axe_finds_nothing_and_the_page_is_no_wider_than_the_window(
    opened, table, scheme: str, width: int
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = opened(table, color_scheme=scheme, viewport={"width": width, "height": 900}).go()
    page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true })")
    found = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_dark_and_forced_colours(opened, table) -> None:
    light, dark = (
        opened(table, color_scheme=scheme)
        .go()
        .evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    )
    assert light == "rgb(255, 255, 255)"
    assert dark != light
    page = opened(table, forced_colors="active").go()
    marks = page.locator("#pairs-0 rect").evaluate_all(
        "all => new Set(all.map(one => getComputedStyle(one).fill)).size"
    )
    assert marks > 2
    strokes = page.locator("#ranks-0 line").evaluate_all(
        "all => [...new Set(all.map(one => getComputedStyle(one).stroke))]"
    )
    assert len(strokes) > 1
    assert "none" not in strokes


def test_it_prints(opened, table) -> None:
    page = opened(table).go()
    paper = page.pdf(format="A4")
    assert paper[:5] == b"%PDF-"
    page.emulate_media(media="print")
    assert page.locator("nav").is_hidden()
    assert page.locator("#pairs-0").is_visible()


@pytest.mark.parametrize(
    ("systems", "topics", "testing"),
    [(1, 8, {}), (2, 8, {"comparisons": "all-pairs"}), (3, 1, {}), (5, 12, {"best": "set"})],
)
def test_few_systems_one_topic_and_no_baseline(opened, systems, topics, testing) -> None:
    one = opened(made_up(systems, topics, **testing))
    page = one.go()
    assert one.complaints == []
    assert page.locator("table.results tbody tr").count() == systems


def test_hits_of_the_only_system(opened) -> None:
    table = made_up(1, 8)
    one = opened(table)
    page = one.go()
    column, (row,) = table.columns[0], table.rows
    hardest = column.topics[int(np.argmin(row.cells[0].values))]
    assert f"Topic {hardest} " in page.locator("#query").inner_text()
    page.locator("#topic").focus()
    page.keyboard.press("Home")
    page.locator("#next").click()
    hits = table.material.topics[""]
    docnos = hits.runs["system 0"].filter(qid="q1")["docno"].to_list()[:20]
    grades = dict(hits.grades.filter(qid="q1").select("docno", "grade").iter_rows())  # type: ignore[union-attr]
    letters = [
        "U" if d not in grades else f"R{grades[d]}" if grades[d] > 0 else "N" for d in docnos
    ]
    assert {"U", "N"} < set(letters)
    shown = page.locator("#diff li")
    assert shown.locator(".docno").all_inner_texts() == docnos
    assert shown.locator(".grade").all_inner_texts() == letters
    assert page.locator("#diff h3").all_inner_texts() == ["system 0"]
    assert shown.locator(".snippet mark").first.inner_text() == "what"
    assert "repeating" in page.locator("#diff .unjudged .grade").first.evaluate(
        "one => getComputedStyle(one).backgroundImage"
    )
    assert "".join(page.locator("#diff .moved").all_text_contents()) == ""
    options = page.locator("#filter option").evaluate_all("all => all.map(o => o.value)")
    assert options == ["all", "relevant", "unjudged"]
    page.select_option("#filter", "unjudged")
    assert page.locator("#diff li:not(.hidden)").count() == letters.count("U")
    place = page.evaluate("location.hash")
    assert place == "#topic=q1&a=system+0&measure=nDCG%405"
    assert one.complaints == []
    page.goto("about:blank")
    assert "Topic q1 " in one.go(place).locator("#query").inner_text()


def test_hits_of_the_only_system_for_everyone(opened) -> None:
    from axe_playwright_python.sync_playwright import Axe

    table = made_up(1, 8)
    one = opened(table, java_script_enabled=False)
    one.page.goto(one.address)
    still = one.page.locator("#diff li").all_text_contents()
    assert len(still) == 20
    for scheme, width in (("light", 380), ("dark", 1920)):
        window = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
        page = opened(table, **window).go()
        drawn = page.locator("#diff li").all_text_contents()
        assert ["".join(text.split()) for text in drawn] == ["".join(t.split()) for t in still]
        assert page.locator("#diff .snippet").first.is_visible()
        found = Axe().run(page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("made", [known_item, evidence_sets])
def test_the_other_tasks_have_their_report(opened, made) -> None:
    table = made()
    one = opened(table)
    page = one.go()
    assert one.complaints == []
    assert page.locator("table.results tbody tr").count() == len(table.rows)
    assert page.locator("#differences-0").is_visible()
    assert page.locator("#topics-map").is_visible()
    assert page.locator("#compare-bars").is_visible()
    assert page.locator("#hits").count() == 0


def test_contrasts_of_other_systems_are_those_of_python(opened, table: ResultTable) -> None:
    page = opened(table).go("#topic=q3&a=system+1&b=system+2")
    shown = page.locator("#contrasts tbody tr").first.inner_text().split("\t")
    runs = table.material.topics[""].runs
    lists = {
        qid: [runs[name].filter(qid=qid)["docno"].to_list() for name in ("system 1", "system 2")]
        for qid in table.columns[0].topics
    }
    least = min(rank_biased_overlap(*pair, p=0.9, depth=20) for pair in lists.values())
    assert shown[2] == f"{least:.2f}"
    qid = shown[0].split()[0]
    assert shown[3] == str(len(set(lists[qid][0]) & set(lists[qid][1])))


def test_a_page_of_the_size_of_a_study_keeps_its_budget(opened) -> None:
    table = made_up(28, 50, documents=5000, depth=30)
    source = render(table, "html")
    assert len(source.encode()) < BUDGET
    one = opened(table)
    one.go()
    assert one.complaints == []


@pytest.mark.parametrize(("systems", "topics"), [(200, 12), (2, 10_000)])
def test_many_systems_and_many_topics(opened, systems, topics) -> None:
    one = opened(made_up(systems, topics, documents=12, depth=5, measures="nDCG@5"))
    page = one.go()
    assert one.complaints == []
    page.locator("#topics-map").scroll_into_view_if_needed()
    assert page.locator("#topics-map text").count() < 400


def test_numbers_of_a_column_end_below_each_other_whatever_their_marks(opened) -> None:
    one = opened(made_up(6, 25, correction="none", equivalence=0.05, baseline="system 0"))
    page = one.go()
    ends = page.evaluate("""() => [...document.querySelectorAll('.results tbody tr')].map(row =>
      [...row.cells].slice(1).map(cell => {
        const text = cell.firstChild.firstChild || cell.firstChild, range = document.createRange();
        range.selectNode(text);
        return Math.round(range.getBoundingClientRect().right);
      }))""")
    marked = page.locator(".results sup:not([data-room])").count()
    assert marked > 0
    assert [len(set(column)) for column in zip(*ends, strict=True)] == [1] * len(ends[0])


ODD = (
    "</script><!--<script>\"'>&lt;<img src=x onerror=window.broken=1></svg>\u202eשלום {{7*7}}\u2028"
)


def test_whatever_names_and_texts_hold_stays_text(opened, tmp_path) -> None:
    table = made_up(odd=ODD)
    one = opened(table)
    page = one.go()
    page.select_option("#system-b", "2")
    page.locator("#next").click()
    page.locator("#topics-map").hover()
    assert one.complaints == []
    assert one.requests == [one.address]
    assert page.evaluate("window.broken") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert page.locator("h1").text_content() == f"Made-up <runs> & figures{ODD}"
    assert page.locator("#query").text_content().startswith("Topic q")  # type: ignore[union-attr]
    assert page.locator("#diff h3").nth(1).text_content() == f"system 2{ODD}"
    docno = page.locator("#diff .docno").first
    assert docno.get_attribute("title") == docno.text_content()
    assert docno.text_content().endswith(ODD)  # type: ignore[union-attr]
    file = tmp_path / "odd.html"
    file.write_text(render(table, "html"), encoding="utf-8")
    for drawn in figures_of(file).values():
        assert svg_text(drawn, file)
