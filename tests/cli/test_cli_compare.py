"""``adducir compare``: from values per topic to a table, whoever computed them."""

import base64
import gzip
import json
import re
from pathlib import Path

import pytest

from adducir.cli.app import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, *lines: object, head: str = "system,qid,measure,value") -> str:
    Path(name).write_text("\n".join((head, *map(str, lines))) + "\n")
    return name


def test_the_scatter_draws_a_sample_of_many_topics_and_says_so() -> None:
    # The second system gains on the first 3,700 topics and loses on 1,300.
    values = [(n, 0.5, 0.6 if n < 3700 else 0.3) for n in range(5000)]
    lines = [f"{name},q{n},AP,{v}" for n, *both in values for name, v in zip("ab", both, strict=1)]
    assert main(["compare", write("v.csv", *lines), "-b", "a", "-o", "v.html"]) == 0
    page = Path("v.html").read_text()
    drawn = page[page.index('id="compare-dots"') :].split("</svg>")[0]
    worse = drawn.count('class="worse"')
    assert drawn.count("<circle") == 2000
    assert abs(worse - 520) < 100
    assert "2000 of 5000" in drawn
    block = re.search(r'id="data"[^>]*>([^<]+)<', page)
    assert block
    data = json.loads(gzip.decompress(base64.b64decode(block[1])))
    (dots,) = data["dots"].values()
    assert len(dots) == 2000
    assert sum(n >= 3700 for n in dots) == worse
