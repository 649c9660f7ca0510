"""The page on which people rate, in a real browser: by keyboard alone, and what it saves."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from conftest import Opened

from adducir.judges.by_hand import page_for
from adducir.judges.sheets import read_ratings

ODD = "</script><img src=x onerror=window.broken=1>\u202e&amp; 'q' \"q\" שלום"
DOCUMENTS = 200


@pytest.fixture
def rating(open_file, tmp_path):
    """Opens the page of a sheet."""

    def open_sheet(rows, **window) -> Opened:
        sheet = tmp_path / "people.csv"
        with sheet.open("w", newline="") as file:
            csv.writer(file).writerows(rows)
        page_for(sheet, None, None, "people").write(tmp_path / "people.html")
        return open_file(tmp_path / "people.html", accept_downloads=True, **window)

    return open_sheet


def sheet_rows(count):
    rows = [["qid", "query", "narrative", "docno", "text", "grade"]]
    for number in range(count):
        qid = f"q{number % 7}"
        text = f"Text {number}, {ODD}\nline two\n\n" + "word " * (number % 300)
        rows.append([qid, f"Query {qid} {ODD}", f"All about {qid}", f"d{number}", text, ""])
    return rows


def save(page, form) -> str:
    page.locator("summary", has_text="Save").evaluate("one => { one.parentNode.open = true }")
    with page.expect_download() as download:
        page.locator(f"[data-save={form}]").press("Enter")
    name = download.value.suggested_filename
    return name, Path(download.value.path()).read_text(encoding="utf-8")


def test_200_documents_by_keyboard_with_a_reload_in_the_middle(rating) -> None:
    opened = rating(sheet_rows(DOCUMENTS))
    page = opened.go()
    while page.evaluate("document.activeElement.id") != "judge":
        page.keyboard.press("Tab")
    page.keyboard.type("Ann B.")
    page.keyboard.press("Enter")  # the next keys are grades
    assert page.locator("#heading").inner_text().startswith("Query q0 </script>")
    assert "⟨U+202E⟩" in page.locator("#text").inner_text()
    pressed = {}
    for number in range(DOCUMENTS):
        if number == 90:
            page = opened.go()
            assert page.locator("#judge").input_value() == "Ann B."
            assert page.locator("#count").inner_text() == f"89 of {DOCUMENTS}"
        assert page.locator("#text").inner_text().startswith(f"Text {number},")
        if number % 50 == 49:  # leave it out for now
            page.keyboard.press("ArrowRight")
            continue
        pressed[number] = number * 7 % 4
        page.keyboard.press(str(pressed[number]))
    for number in (49, 99, 149):
        page.keyboard.press("u")
        assert page.locator("#text").inner_text().startswith(f"Text {number},")
        pressed[number] = 3
        page.keyboard.press("3")
    page.keyboard.press("u")
    page.keyboard.press("9")  # is not a grade
    page.keyboard.press("0")
    pressed[199] = 0
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("2")  # changes 197
    pressed[197] = 2
    assert page.locator("#count").inner_text() == f"{DOCUMENTS} of {DOCUMENTS}"
    assert "save them" in page.locator("#address").inner_text()
    name, qrels = save(page, "qrels")
    assert name == "people.Ann-B-.qrels"
    expected = [f"q{n % 7} 0 d{n} {pressed[n]}" for n in range(DOCUMENTS)]
    assert qrels.splitlines() == expected
    name, text = save(page, "json")
    ratings = json.loads(text)["ratings"]
    assert [one["grade"] for one in ratings] == [pressed[n] for n in range(DOCUMENTS)]
    assert opened.complaints == []
    assert {url for url in opened.requests if not url.startswith("blob:")} == {opened.address}
    assert page.evaluate("window.broken") is None


def test_judges_are_apart_and_what_one_saved_can_be_loaded(rating, tmp_path) -> None:
    from playwright.sync_api import expect

    page = rating(sheet_rows(5)).go()
    page.keyboard.press("1")
    page.fill("#judge", "ann")
    page.keyboard.press("Tab")
    assert page.locator("#count").inner_text() == "1 of 5"  # begun without a name
    page.keyboard.press("2")
    page.fill("#judge", "ben")
    page.locator("#judge").blur()
    assert page.locator("#count").inner_text() == "0 of 5"
    page.keyboard.press("0")
    page.keyboard.press("Delete")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Delete")
    assert page.locator("#count").inner_text() == "0 of 5"
    page.fill("#judge", "ann")
    page.locator("#judge").blur()
    assert page.locator("#count").inner_text() == "2 of 5"
    _, text = save(page, "json")
    saved = tmp_path / "people.ann.json"
    saved.write_text(text)
    person, rows = read_ratings(saved)
    assert (person, [row[:3] for row in rows]) == ("ann", [("q0", "d0", 1), ("q1", "d1", 2)])
    assert rows[0][3] > 30
    page.evaluate("localStorage.clear()")
    page.reload()
    page.wait_for_selector("html[data-ready]", state="attached")
    assert page.locator("#count").inner_text() == "0 of 5"
    page.set_input_files("#load", saved)
    expect(page.locator("#count")).to_have_text("2 of 5")
    assert page.locator("#judge").input_value() == "ann"
    saved.write_text('{"page": "other"}')
    page.set_input_files("#load", saved)
    expect(page.locator("#address")).to_contain_text("does not hold")


def test_keys_can_be_switched_off_and_buttons_do_the_same(rating) -> None:
    page = rating(sheet_rows(3)).go()
    page.locator("summary", has_text="Keys").press("Enter")
    page.locator("#shortcuts").press("Space")
    page.keyboard.press("1")
    assert page.locator("#count").inner_text() == "0 of 3"
    page.locator("#buttons button").nth(2).press("Enter")
    assert page.locator("#count").inner_text() == "1 of 3"
    page.locator("#back").press("Enter")
    assert page.locator("#buttons [aria-pressed=true]").inner_text().startswith("2")


def test_the_studies_sheets_are_saved_as_their_commands_read_them(rating) -> None:
    rows = [["item", "context", "candidate_1", "candidate_2", "choice", "task"]]
    rows += [
        ["i1", "before [masked] after", "=one", "two", "", "t"],
        ["i2", "x", "y", "z", "", "t"],
    ]
    page = rating(rows).go()
    page.fill("#judge", "ann")
    page.locator("#judge").blur()
    page.keyboard.press("2")
    page.keyboard.press("1")
    assert page.locator("[data-save=qrels]").count() == 0
    _, text = save(page, "csv")
    lines = list(csv.DictReader(io.StringIO(text)))
    assert lines == [
        {"item": "i1", "task": "t", "rater": "ann", "choice": "2"},
        {"item": "i2", "task": "t", "rater": "ann", "choice": "1"},
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1280])
def test_axe_finds_nothing(rating, scheme, width) -> None:
    from axe_playwright_python.sync_playwright import Axe

    rows = sheet_rows(3)
    rows[1][1] += "-" + "very-long_name" * 12
    window = {"color_scheme": scheme, "viewport": {"width": width, "height": 700}}
    page = rating(rows, **window).go()
    page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true })")
    page.keyboard.press("1")
    page.keyboard.press("ArrowLeft")
    violations = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in violations] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert re.search("1 of 3", page.locator("#address").inner_text())
