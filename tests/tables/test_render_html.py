"""HTML: one page that needs nothing else, well formed, with every name escaped."""

import base64
import gzip
import json
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from sample_tables import nasty, scores_of, small, wide

from adducir.statistics.comparison import compare
from adducir.tables.build import build_table
from adducir.tables.formats import render
from adducir.tables.style import Style
from adducir.tables.table import ResultTable

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

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)


def data_of(source: str) -> dict[str, Any]:
    (block,) = re.findall(r'id="data">([^<]*)<', source)
    found: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(block)))
    return found


@pytest.mark.parametrize(
    "table", [small(), nasty(), wide(), wide(topics=300), small(Style(details=("ci", "wins")))]
)
def test_page_is_well_formed_and_self_contained(table: ResultTable) -> None:
    source = render(table, "html")
    page = Page(source)
    assert page.open == []
    assert source.startswith("<!doctype html>")
    loading = {"src", "href", "srcset", "data", "xlink:href"}
    leaving = [item for item in page.attributes if item[1] in loading]
    assert all(tag == "a" and value.startswith("#") for tag, _, value in leaving)
    assert "url(" not in source
    assert "@import" not in source
    assert not {"link", "img", "iframe", "object"} & set(page.tags)
    assert source == render(table, "html")


def test_names_are_text_and_never_markup() -> None:
    source = render(nasty(), "html")
    page = Page(source)
    assert page.tags.count("script") == 2  # the data and the program
    assert not {"i", "u"} & set(page.tags)
    assert "<script>alert" not in source
    assert page.texts["title"][0] == "Fish & <i>Chips</i> 100%"
    assert not [item for item in page.attributes if item[1].startswith("on")]


def test_the_data_are_the_tests_and_values_of_the_table() -> None:
    table = small()
    data = data_of(render(table, "html"))
    assert data["names"] == [row.title for row in table.rows]
    assert data["means"][0] == [row.cells[0].mean for row in table.rows]
    for at, row in enumerate(table.rows):
        own = [one for one in data["tests"]["0"] if one["row"] == at]
        assert [one["difference"] for one in own] == [one.difference for one in row.cells[0].tests]
        assert [one["p"] for one in own] == [one.p_corrected for one in row.cells[0].tests]
        values = table.values(row, table.columns[0])
        assert data["values"]["0"][at] == pytest.approx(values, rel=1e-5)


def test_rank_intervals_follow_from_the_tests_of_all_pairs() -> None:
    base = np.random.default_rng(7).random(40)
    noise = np.random.default_rng(8).normal(0, 0.01, (3, 40))
    values = {"a": base + noise[0], "b": base + noise[1], "c": base + 0.4 + noise[2]}
    for correction, shown in (("maxt", True), ("bh", False)):
        asked = {"comparisons": "all-pairs", "correction": correction}
        table = build_table(compare(scores_of(values, "AP"), **asked))
        ranks = data_of(render(table, "html"))["ranks"]
        assert (ranks == {}) is not shown
        if shown:
            assert {tuple(one) for one in ranks["0"]} == {(2, 1, 1), (0, 2, 3), (1, 2, 3)}
