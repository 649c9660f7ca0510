"""HTML: one page that needs nothing else, well formed, with every name escaped."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from sample_tables import NASTY, nasty, small, versus, wide

from adducir.tables.formats.html import render
from adducir.tables.formats.svg import MOST_BARS, difference_chart, reach
from adducir.tables.table import Column, ResultTable, Row, Style, TableCell

VOID = {"meta", "wbr", "line"}


class Page(HTMLParser):
    """Tags, attributes and text of a page; fails where a tag is closed out of turn."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)


@pytest.mark.parametrize(
    "table", [small(), nasty(), wide(), wide(topics=300), small(Style(details=("ci", "wtl")))]
)
def test_page_is_well_formed_and_self_contained(table: ResultTable) -> None:
    source = render(table)
    page = Page(source)
    assert page.open == []
    assert source.startswith("<!doctype html>")
    loading = {"src", "href", "srcset", "data", "xlink:href"}
    assert not [item for item in page.attributes if item[1] in loading]
    assert "url(" not in source
    assert "@import" not in source
    assert not {"link", "img", "iframe", "object"} & set(page.tags)


def test_names_are_text_and_never_markup() -> None:
    page = Page(render(nasty()))
    assert page.tags.count("script") == 1
    assert "i" not in page.tags
    assert "u" not in page.tags
    assert any(NASTY in text for text in page.texts["th"])
    assert page.texts["title"][:2] == ["Fish & <i>Chips</i> 100%", "<1>: 0.5 − 0.5 = +0"]
    assert not [item for item in page.attributes if item[1].startswith("on")]


def test_table_has_figures_marks_and_exact_values_to_sort_by() -> None:
    source = render(small())
    assert '<td data-value="0.61249">0.612</td>' in source
    assert '<b>0.700</b><sup class="better" title="significantly better">↑</sup>' in source
    assert '<sup class="worse"' in source
    assert "<td>–</td>" in source


def test_groups_and_sections_span() -> None:
    source = render(wide())
    assert '<th class="group" scope="colgroup" colspan="4">Touché 2020</th>' in source
    assert '<th scope="rowgroup" colspan="9">DeepCT, topic and conclusion</th>' in source
    assert "BM25 <sup>b</sup>" in source


def test_footer_provenance_and_facts_are_on_the_page() -> None:
    source = render(replace(wide(), facts={"topic_sets": [{"name": "2020", "alpha": 0.05}]}))
    assert "Paired t-test against BM25" in source
    assert '<th scope="row">runs · BM25</th><td>ab</td>' in source
    assert "adducir experiment experiments/wide.yaml" in source
    assert '<th scope="row">2020 · alpha</th><td>0.05</td>' in source


def test_one_chart_a_system_and_measure_but_none_for_descriptive_columns() -> None:
    source = render(wide())
    assert source.count("<svg") == 11 * 6
    assert "Topic by topic: difference to DirichletLM" in source
    assert "wins" in source


def test_no_charts_without_values() -> None:
    table = ResultTable((Column("AP"),), (Row("a", (TableCell(0.5),)),))
    assert "<svg" not in render(table)
    assert "<svg" not in render(ResultTable((Column("AP"),), ()))


def test_bars_are_sorted_and_tell_topic_and_values() -> None:
    chart = difference_chart(["1", "2", "3"], [0.1, 0.9, 0.5], [0.5, 0.5, 0.5], 0.5, "x <y>")
    tips = re.findall(r"<title>(.*?)</title>", chart)
    assert tips == ["2: 0.9 − 0.5 = +0.4", "3: 0.5 − 0.5 = +0", "1: 0.1 − 0.5 = -0.4"]
    assert re.findall(r'<rect class="(\w+)"', chart) == ["up", "axis", "down"]
    assert 'aria-label="x &lt;y&gt;"' in chart


def test_bars_are_as_high_as_the_difference() -> None:
    chart = difference_chart(["1", "2"], [1.0, 0.75], [0.5, 0.5], 0.5, "")
    full, half = (float(h) for h in re.findall(r'<rect.*?height="([\d.]+)"', chart))
    assert full == pytest.approx(2 * half)


def test_many_topics_become_an_outline() -> None:
    count = MOST_BARS + 1
    qids = [str(n) for n in range(count)]
    chart = difference_chart(qids, [0.6] * count, [0.5] * count, 0.1, "")
    assert chart.count("<polygon") == 2
    assert "<rect" not in chart


def test_less_is_better_turns_the_colours() -> None:
    args = (["1"], [0.6], [0.5], 0.1, "")
    assert '<svg class="turned"' in difference_chart(*args, higher_is_better=False)
    assert "turned" not in difference_chart(*args)


@pytest.mark.parametrize(
    ("differences", "expected"),
    [([[0.0]], 0.1), ([[0.31, -0.2]], 0.4), ([[-0.3]], 0.3), ([[1.0]], 1.0), ([[37.0]], 40.0)],
)
def test_common_scale(differences: list[list[float]], expected: float) -> None:
    assert reach(differences) == pytest.approx(expected)


def test_details_carry_true_minus_signs() -> None:
    cells = (TableCell(0.5, versus=(versus("BM25", -0.1),)),)
    table = ResultTable(
        (Column("AP"),), (Row("x", cells),), ("BM25",), style=Style(details=("difference",))
    )
    assert '<span class="detail">−0.100</span>' in render(table)
