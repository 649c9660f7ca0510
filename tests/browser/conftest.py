"""A browser for the tests of pages: Debian's chromium, driven by playwright; made-up reports."""

import importlib.util
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from report_pages import made_up

from adducir.tables.formats import render
from adducir.tables.table import ResultTable

CHROMIUM = shutil.which("chromium")
LACKS = [
    reason
    for lacking, reason in (
        (CHROMIUM is None, "chromium is not installed"),
        (importlib.util.find_spec("playwright") is None, "the extra `browser` is not installed"),
    )
    if lacking
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if LACKS:
                item.add_marker(pytest.mark.skip(reason=f"no browser: {' and '.join(LACKS)}"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Of a module, because its event loop would be in the way of other tests'."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Chromium refuses its sandbox to root, as whom containers run.
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


class Opened:
    """A page in the browser, with all that it asked for and complained of."""

    def __init__(self, page: Any, file: Path) -> None:
        self.page, self.complaints, self.requests = page, [], []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        self.address = file.as_uri()

    def go(self, place: str = "") -> Any:
        self.page.goto(self.address + place)
        self.page.wait_for_selector("html[data-ready]", state="attached")
        return self.page


@pytest.fixture
def open_file(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Opens a page in a context of its own, so that what it keeps stays there."""
    with ExitStack() as contexts:

        def opener(file: Path, **window: Any) -> Opened:
            context = contexts.enter_context(browser.new_context(**window))
            return Opened(context.new_page(), file)

        yield opener


@pytest.fixture
def opened(open_file: Callable[..., Opened], tmp_path: Path) -> Callable[..., Opened]:
    def open_table(table: ResultTable, **window: Any) -> Opened:
        file = tmp_path / f"report-{len([*tmp_path.iterdir()])}.html"
        file.write_text(render(table, "html"), encoding="utf-8")
        window.setdefault("viewport", {"width": 1280, "height": 900})
        return open_file(file, **window)

    return open_table


@pytest.fixture(scope="session")
def table() -> ResultTable:
    return made_up()
