"""How long a report takes to write, and how large it is; opened in chromium where there is one.

28 systems, 50 topics and 1,000 hits, with the first 20 hits of each topic and 5,000 snippets; 200
systems; 10,000 topics. No other toolkit writes such a report, so there is no peer: what is held is
the budget of the first shape, 5 s to write and .5 s to open.

    python benchmarks/report.py [--cpu]

With --cpu in processor time (opened: that of the page's own process), for a machine that others use
as well.
"""

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "browser"))

from report_pages import made_up

from adducir.tables.formats import render
from adducir.tables.table import ResultTable

ROUNDS = 3
SHAPES = {
    "28 systems, 50 topics, 1,000 hits": {
        "systems": 28,
        "topics": 50,
        "documents": 5000,
        "depth": 1000,
    },
    "200 systems, 50 topics": {"systems": 200, "topics": 50, "documents": 200},
    "4 systems, 10,000 topics": {"systems": 4, "topics": 10_000, "documents": 20, "depth": 10},
}


def median_of(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    times = []
    for _ in range(ROUNDS):
        started = clock()
        work()
        times.append(clock() - started)
    return statistics.median(times)


def opened(page: Path, *, cpu: bool) -> float | None:
    """Seconds from the address to a page that answers, without the browser's own start."""
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if chromium is None:
        return None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page()
        tools = tab.context.new_cdp_session(tab)
        tools.send("Performance.enable")

        def used() -> float:
            found = tools.send("Performance.getMetrics")["metrics"]
            return next(one["value"] for one in found if one["name"] == "ProcessTime")

        def go() -> None:
            tab.reload()
            tab.wait_for_selector("html[data-ready]", state="attached")

        tab.goto(page.as_uri())
        go()
        seconds = median_of(go, used if cpu else time.perf_counter)
        browser.close()
    return seconds


def main() -> None:
    clock = time.process_time if "--cpu" in sys.argv else time.perf_counter
    for name, shape in SHAPES.items():
        table: ResultTable = made_up(**shape)  # type: ignore[arg-type]
        written = median_of(lambda table=table: render(table, "html"), clock)
        text = render(table, "html")
        latex = median_of(lambda table=table: render(table, "latex"), clock)
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "report.html"
            page.write_text(text, encoding="utf-8")
            seconds = opened(page, cpu="--cpu" in sys.argv)
        shown = "no browser" if seconds is None else f"opened in {seconds:.2f} s"
        size = len(text.encode()) / 1e6
        print(f"{name}: written in {written:.2f} s, {size:.2f} MB, {shown}; LaTeX {latex:.3f} s")


if __name__ == "__main__":
    main()
