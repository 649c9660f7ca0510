"""The weights of a snippet's words, in lists of systems that search weighted documents."""

from dataclasses import replace

from report_pages import made_up

from adducir.tables.table import ResultTable

# Document d0001 says <b>what</b> q1 is.
WEIGHTS = [100, 0, 30, 0, 55, 0, 0, 1]


def weighted(*systems: str) -> ResultTable:
    """A report of which some systems search weighted documents; by default the second."""
    table = made_up()
    known = dict.fromkeys(table.material.snippets, WEIGHTS)
    return replace(
        table,
        material=replace(table.material, weights=dict.fromkeys(systems or ["system 1"], known)),
    )


def test_words_are_underlined_by_their_weight_in_lists_of_weighted_systems_only(opened) -> None:
    one = opened(weighted())
    page = one.go("#topic=q1&a=system+0&b=system+1")
    plain, found = (page.locator(f"#diff > div:nth-of-type({n}) li") for n in (1, 2))
    assert plain.locator("[class^=w]").count() == 0
    first = found.first
    marks = first.locator(".snippet [title]")
    shown = marks.evaluate_all(
        "all => all.map(m => [m.tagName, m.className, m.title, m.textContent])"
    )
    docno = first.locator(".docno").inner_text()
    assert docno not in [text for *_, text in shown]
    assert shown == [
        ["U", "w4", "1", "Document"],
        ["U", "w2", "0.3", "says"],
        ["MARK", "w3", "0.55", "what"],
        ["U", "w1", "0.01", "is"],
    ]
    thick = marks.evaluate_all("all => all.map(m => getComputedStyle(m).textDecorationThickness)")
    assert thick == ["4px", "2px", "3px", "1px"]
    # A word of the query has the number beside it, for those who cannot point.
    beside = marks.nth(2).evaluate("m => getComputedStyle(m, '::after').content")
    assert "0.55" in beside or "attr(title)" in beside
    # The other way round, the other list has them.
    page.select_option("#system-a", "1")
    page.select_option("#system-b", "2")
    assert page.locator("#diff > div:nth-of-type(1) li [class^=w]").count() == 80
    assert page.locator("#diff > div:nth-of-type(2) li [class^=w]").count() == 0
    assert one.complaints == []


def test_they_stand_without_script_and_in_forced_colours(opened) -> None:
    table = weighted(*(f"system {number}" for number in range(4)))
    one = opened(table, java_script_enabled=False, forced_colors="active")
    one.page.goto(one.address)
    words = one.page.locator("#diff .snippet u")
    assert words.count() > 0
    line = words.first.evaluate("m => getComputedStyle(m).textDecorationLine")
    assert line == "underline"
    assert "underlined by their weight" in one.page.locator("main").text_content()


def test_a_report_without_weights_does_not_speak_of_them(opened) -> None:
    page = opened(made_up()).go()
    assert "underlined" not in page.locator("main").text_content()
    assert page.locator("#diff .snippet u").count() == 0


def test_axe_finds_nothing(opened) -> None:
    from axe_playwright_python.sync_playwright import Axe

    for scheme in ("light", "dark"):
        page = opened(weighted(), color_scheme=scheme).go("#topic=q1&a=system+0&b=system+1")
        found = Axe().run(page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
