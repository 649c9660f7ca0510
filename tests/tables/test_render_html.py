"""HTML: one page that needs nothing else, well formed, with every name escaped."""

from dataclasses import replace
from html.parser import HTMLParser

import pytest
from sample_tables import NASTY, nasty, small, wide

from adducir.tables.build import figure_table
from adducir.tables.report.page import render
from adducir.tables.style import Style
from adducir.tables.table import Column, ResultTable

VOID = {"meta", "wbr", "line", "input"}


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
    "table", [small(), nasty(), wide(), wide(topics=300), small(Style(details=("ci", "wins")))]
)
def test_page_is_well_formed_and_self_contained(table: ResultTable) -> None:
    source = render(table)
    page = Page(source)
    assert page.open == []
    assert source.startswith("<!doctype html>")
    loading = {"src", "href", "srcset", "data", "xlink:href"}
    leaving = [item for item in page.attributes if item[1] in loading]
    assert all(tag == "a" and value.startswith("#") for tag, _, value in leaving)
    assert "url(" not in source
    assert "@import" not in source
    assert not {"link", "img", "iframe", "object"} & set(page.tags)


def test_names_are_text_and_never_markup() -> None:
    page = Page(render(nasty()))
    assert page.tags.count("script") == 2  # the data and the program
    assert "i" not in page.tags
    assert "<script>alert" not in render(nasty())
    assert "u" not in page.tags
    assert any(NASTY in text for text in page.texts["th"])
    assert page.texts["title"][0] == "Fish & <i>Chips</i> 100%"
    assert "<1>: 0.5 − 0.5 = +0" in page.texts["title"]
    assert not [item for item in page.attributes if item[1].startswith("on")]


def test_table_has_figures_marks_and_exact_values_to_sort_by() -> None:
    source = render(small())
    cell = small().rows[0].cells[0]
    assert f'<td data-value="{cell.mean}">{cell.text}<' in source
    top = small().rows[1].cells[0].text
    assert f'<b>{top}</b><sup class="better" title="significantly better">↑</sup>' in source
    assert '<sup class="worse"' in source
    assert "<td>–<" in render(figure_table([Column("AP")], {"a": [None]}))


def test_groups_and_sections_span() -> None:
    source = render(wide())
    assert '<th class="group" scope="colgroup" colspan="4">Touché 2020</th>' in source
    assert '<th scope="rowgroup" colspan="9">DeepCT, topic and conclusion</th>' in source
    assert "BM25 <sup>b</sup>" in source


def test_footer_provenance_and_facts_are_on_the_page() -> None:
    source = render(replace(wide(), facts={"topic_sets": [{"name": "2020", "alpha": 0.05}]}))
    assert "Paired t-test, two-sided, against DirichletLM, BM25" in source
    assert '<th scope="row">runs · BM25</th><td>ab</td>' in source
    assert "adducir experiment experiments/wide.yaml" in source
    assert '<th scope="row">2020 · alpha</th><td>0.05</td>' in source


def test_no_topics_without_values() -> None:
    assert 'id="topics"' not in render(figure_table([Column("AP")], {"a": [0.5]}))
    assert "<svg" not in render(figure_table([Column("AP")], {}))


def test_details_carry_true_minus_signs() -> None:
    table = small(Style(details=("difference",)))
    difference = f"{table.rows[2].cells[0].tests[0].difference:.3f}".replace("-", "−")
    assert f'<span class="detail">{difference}</span>' in render(table)
