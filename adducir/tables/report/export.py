"""Single figures of a report, as SVG and PDF files for papers and slides.

The page's figures take their colours from its style sheet. A file by itself has none: each mark
gets the light colours of its class as attributes, which every program reads.
"""

import re
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from xml.etree import ElementTree

from adducir.core.errors import InputError
from adducir.core.files import read_text
from adducir.tables.report.palette import light

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAMESPACE = "http://www.w3.org/2000/svg"
_FIGURE = re.compile(r'<svg class="fig" id="([^"<>]+)".*?</svg>', re.DOTALL)
_FONT = "system-ui, Helvetica, Arial, sans-serif"
_POINTS = 0.75
"""Of a pixel of CSS."""


def figures(page: Path) -> dict[str, str]:
    """The figures of a report by name, as they stand in the page.

    Raises:
        InputError: The file cannot be read, or has no figure of a report.
    """
    found = {one[1]: one[0] for one in _FIGURE.finditer(read_text(page))}
    if not found:
        raise InputError(
            "there is no figure of a report in it.",
            path=page,
            hint="Reports are written by `adducir experiment` and `adducir evaluate -o X.html`.",
        )
    return found


def described(drawn: str) -> str:
    """What a figure shows, in its own words."""
    found = re.search(r'aria-label="([^"]*)"', drawn)
    return unescape(found[1]) if found else ""


def svg_text(drawn: str, page: Path) -> str:
    """A figure as a file of its own.

    Args:
        drawn: The ``svg`` element as it stands in the page.
        page: The report, for errors.

    Raises:
        InputError: The element is no well-formed XML: the page was edited.
    """
    root = _parsed(drawn, page)
    root.set("xmlns", _NAMESPACE)
    root.set("font-family", _FONT)
    for mark in root.iter():
        role = mark.attrib.pop("class", "")
        for name, value in _look(role).items():
            mark.set(name, value)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _look(role: str) -> Mapping[str, str]:
    """The attributes of one or several classes."""
    found: dict[str, str] = {}
    for one in role.split():
        found |= light(one)
    return found


def _parsed(drawn: str, page: Path) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(drawn)  # noqa: S314 - no document type, hence no entities
    except ElementTree.ParseError as error:
        raise InputError(f"a figure is no well-formed XML: {error}.", path=page) from error


def write_pdf(drawn: str, page: Path, out: BinaryIO) -> None:
    """A figure as a PDF of one page of its size, with its fonts embedded.

    Args:
        drawn: The ``svg`` element as it stands in the page.
        page: The report, for errors.
        out: Where to; its bytes depend on the figure alone.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    root = _parsed(drawn, page)
    width, height = float(root.get("width", "1")), float(root.get("height", "1"))
    with mpl.rc_context({"pdf.fonttype": 42}):
        sheet = Figure(figsize=(width * _POINTS / 72, height * _POINTS / 72))
        sheet.patch.set_visible(False)
        for mark in root:
            _draw(sheet, mark, width, height)
        sheet.savefig(out, format="pdf", metadata={"CreationDate": None, "Producer": None})


def _draw(sheet: "Figure", mark: ElementTree.Element, width: float, height: float) -> None:
    """One mark, with pixels from the top left."""
    from matplotlib.patches import Circle, PathPatch, Rectangle
    from matplotlib.transforms import Affine2D

    look = _look(mark.get("class", ""))
    pixels = Affine2D().scale(1 / width, -1 / height).translate(0, 1) + sheet.transFigure
    wide, dashes = float(look.get("stroke-width", "0")), look.get("stroke-dasharray", "")
    style: dict[str, Any] = {
        "facecolor": look.get("fill", "none"),
        "edgecolor": look.get("stroke", "none"),
        "linewidth": wide * _POINTS,
        "linestyle": (0, [float(one) / wide for one in dashes.split()]) if dashes else "-",
        "transform": pixels,
    }

    def at(name: str) -> float:
        return float(mark.get(name, "0"))

    if mark.tag == "text":
        _write(sheet, mark, look, pixels)
    elif mark.tag == "rect":
        sheet.add_artist(Rectangle((at("x"), at("y")), at("width"), at("height"), **style))
    elif mark.tag == "circle":
        sheet.add_artist(Circle((at("cx"), at("cy")), at("r"), **style))
    elif mark.tag in ("line", "path"):
        sheet.add_artist(PathPatch(_path(mark), **style))


def _path(mark: ElementTree.Element) -> Any:
    """The lines of a ``line`` or ``path``: the steps M, L, h, v and Z, which is all we write."""
    from matplotlib.path import Path as Lines

    if mark.tag == "line":
        ends = [(float(mark.get(f"x{n}", "0")), float(mark.get(f"y{n}", "0"))) for n in (1, 2)]
        return Lines(ends, [Lines.MOVETO, Lines.LINETO])
    points: list[tuple[float, float]] = []
    codes: list[Any] = []
    for step, numbers in re.findall(r"([MLhvzZ])([-\d. ]*)", mark.get("d", "")):
        values = [float(one) for one in numbers.split()]
        x, y = points[-1] if points else (0.0, 0.0)
        if step in "zZ":
            points.append((x, y))
            codes.append(Lines.CLOSEPOLY)
            continue
        new = {"h": (x + values[0], y), "v": (x, y + values[0])}.get(step)
        points.append(new or (values[0], values[1]))
        codes.append(Lines.MOVETO if step == "M" else Lines.LINETO)
    return Lines(points, codes)


def _write(
    sheet: "Figure", mark: ElementTree.Element, look: Mapping[str, str], pixels: Any
) -> None:
    turned = re.search(r"rotate\((-?[\d.]+)", mark.get("transform", ""))
    sheet.text(
        float(mark.get("x", "0")),
        float(mark.get("y", "0")),
        (mark.text or "").replace("$", r"\$"),
        transform=pixels,
        color=look.get("fill", "#000000"),
        fontsize=float(look.get("font-size", "12")) * _POINTS * 0.92,
        ha={"middle": "center", "end": "right"}.get(mark.get("text-anchor", ""), "left"),
        va="center",
        rotation=-float(turned[1]) if turned else 0,
        rotation_mode="anchor",
    )
