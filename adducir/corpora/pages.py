"""Texts of HTML pages and PDF files, by the packages of the extra ``files``.

selectolax parses even broken pages as browsers do (libxml2, used by lxml and BeautifulSoup, drops
everything after ``</html>``); all text is used except scripts and styles.
"""

import io
import logging
import re
from contextlib import suppress
from pathlib import Path

from adducir.core.errors import InputError
from adducir.core.files import blocks, suffix_of

PACKAGES = {".html": "selectolax", ".htm": "selectolax", ".pdf": "pypdf"}
"""The reader of files with these suffixes."""
_HIDDEN = ["script", "style", "noscript", "template", "svg"]
_BLOCKS = """
    address, article, aside, blockquote, button, caption, dd, details, div, dl, dt, fieldset,
    figcaption, figure, footer, form, h1, h2, h3, h4, h5, h6, header, hr, legend, li, main, nav,
    ol, option, p, pre, section, select, summary, table, td, textarea, th, tr, ul
"""
_EDGE = "\ue000"  # for private use: not in any text
_DEEPEST = 512  # as in Chromium
_TAG = re.compile(r"<(?P<closes>/?)(?P<name>[a-zA-Z][^\s/<>]*+)[^<>]*+>")
_UNNESTED = """
    area, base, br, col, embed, hr, img, input, link, meta, param, source, track, wbr, p, li, dt,
    dd, option, optgroup, tr, td, th, thead, tbody, tfoot, colgroup, rp, rt, body, html, head
"""  # empty, or ended by their like: often left open
_CHARSET = re.compile(rb"""(?:charset|<\?xml[^>]*?encoding)\s*=\s*["']?([\w:.-]+)""", re.IGNORECASE)
_HYPHEN = re.compile(r"(?<=[a-z])-\n(?=[a-z])")


def read_page(path: Path) -> dict[str, str]:
    """The text of a page, paragraphs between blank lines, and its title; of a PDF the text."""
    data = b"".join(blocks(path))
    return {"text": _pdf_text(data, path)} if suffix_of(path) == ".pdf" else _html_fields(data)


def _html_fields(data: bytes) -> dict[str, str]:
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(_flattened(_decoded(data)))
    tree.strip_tags(_HIDDEN)
    title = tree.css_first("title")
    fields = {"title": " ".join(title.text().split()) if title else ""}
    tree.strip_tags(["head"])
    for block in tree.css(_BLOCKS):
        block.insert_before(_EDGE)
        block.insert_after(_EDGE)
    for line_break in tree.css("br"):
        line_break.insert_before(" ")
    parts = (" ".join(part.split()) for part in tree.text().split(_EDGE))
    return fields | {"text": "\n\n".join(filter(None, parts))}


def _flattened(page: str) -> str:
    """The page without tags deeper than browsers nest them: parsing takes depth squared."""
    depth, is_deep, pieces, end = 0, False, list[str](), 0
    block_names, unnested = ({*re.findall(r"\w+", names)} for names in (_BLOCKS, _UNNESTED))
    for tag in _TAG.finditer(page):
        name = tag["name"].lower()
        if name in unnested or tag[0].endswith("/>"):
            continue
        depth = max(0, depth - 1) if tag["closes"] else depth + 1
        if depth + bool(tag["closes"]) > _DEEPEST and name not in _HIDDEN:
            is_deep = True
            pieces += [page[end : tag.start()], _EDGE if name in block_names else ""]
            end = tag.end()
    return "".join([*pieces, page[end:]]) if is_deep else page


def _decoded(data: bytes) -> str:
    """A page's text: UTF-8, or as it declares, or as browsers guess."""
    declared = _CHARSET.search(data, 0, 4096)
    is_utf_16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    for encoding in ("utf-16" if is_utf_16 else "utf-8-sig", declared and declared[1].decode()):
        with suppress(UnicodeDecodeError, LookupError):
            return data.decode(encoding or "ascii")
    return data.decode("windows-1252", "replace")


def _pdf_text(data: bytes, path: Path) -> str:
    import pypdf

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        is_locked = reader.is_encrypted and not reader.decrypt("")
        text = "" if is_locked else "\n".join(page.extract_text() for page in reader.pages)
    except Exception as error:  # a broken file raises anything
        message = f"this PDF cannot be read: {' '.join(str(error).split()) or repr(error)}."
        raise InputError(message, path=path, hint="Repair or remove it.") from error
    if is_locked:
        message = "this PDF is encrypted and needs a password."
        raise InputError(message, path=path, hint="Save a copy without one.")
    return _HYPHEN.sub("", text.encode("utf-8", "ignore").decode())
