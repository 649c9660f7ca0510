"""``adducir figure``: single figures of a report as files for papers."""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from adducir.cli.app import main
from adducir.tables.formats import render
from adducir.tables.report.palette import colours
from adducir.tables.style import Style

sys.path.insert(0, str(Path(__file__).parents[1] / "tables"))

from sample_tables import small


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "report.html"
    table = small(Style(critical_difference="tests"))
    path.write_text(render(table, "html"), encoding="utf-8")
    return path


def test_without_a_name_all_are_listed(report: Path, capsys) -> None:
    assert main(["figure", str(report)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("differences-0 ") and "Forest plot" in line for line in lines)
    assert any(line.startswith("topics-map ") for line in lines)
    assert any("Critical-difference diagram of 3 systems" in line for line in lines)


def test_every_figure_stands_by_itself(report: Path, tmp_path: Path, capsys) -> None:
    assert main(["figure", str(report)]) == 0
    known = {light for light, _ in colours().values()} | {"none"}
    for line in capsys.readouterr().out.splitlines():
        name = line.split()[0]
        for ending in ("svg", "pdf"):
            assert (
                main(["figure", str(report), name, "-o", str(tmp_path / f"{name}.{ending}")]) == 0
            )
        root = ElementTree.parse(tmp_path / f"{name}.svg").getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert not [mark for mark in root.iter() if "class" in mark.attrib]
        drawn = {mark.get(key, "none") for mark in root.iter() for key in ("fill", "stroke")}
        assert drawn <= known
        assert (tmp_path / f"{name}.pdf").read_bytes().startswith(b"%PDF-")


def test_a_pdf_embeds_its_fonts_and_is_the_same_each_time(report: Path, tmp_path: Path) -> None:
    for name in ("a.pdf", "b.pdf"):
        assert main(["figure", str(report), "differences-0", "-o", str(tmp_path / name)]) == 0
    first = (tmp_path / "a.pdf").read_bytes()
    assert first == (tmp_path / "b.pdf").read_bytes()
    assert b"/FontFile2" in first
    assert not re.search(rb"/Subtype */Type3", first)


def test_an_unknown_figure_and_a_file_without_any(report: Path, tmp_path: Path, capsys) -> None:
    assert main(["figure", str(report), "difference-0"]) == 3
    assert "did you mean `differences-0`?" in capsys.readouterr().err
    other = tmp_path / "other.html"
    other.write_text("<p>nothing</p>")
    assert main(["figure", str(other)]) == 3
    assert "no figure of a report" in capsys.readouterr().err
    assert main(["figure", str(report), "topics-map", "-o", "x.png"]) == 2
