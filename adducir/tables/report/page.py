"""The page: its parts in order, its style, its script, its data, and the policy that seals it."""

import base64
import hashlib
from html import escape

from adducir.tables.report.hits import hit_lists
from adducir.tables.report.palette import style_sheet
from adducir.tables.report.payload import data_block
from adducir.tables.report.sections import (
    agreement,
    boxes,
    compare,
    contrast,
    costs,
    curves,
    diff,
    forest,
    pairs,
    provenance,
    ranks,
    recall,
    results,
    topics,
    unjudged,
)
from adducir.tables.report.sections.headline import headline
from adducir.tables.report.templates import asset, filled, script
from adducir.tables.report.view import View
from adducir.tables.table import ResultTable


def render(table: ResultTable) -> str:
    """The whole page."""
    view = View(table)
    hits = hit_lists(view)
    parts = [
        results.section(view),
        forest.section(view),
        pairs.section(view),
        ranks.section(view),
        topics.section(view),
        compare.section(view),
        diff.section(view, hits),
        contrast.section(view, hits),
        boxes.section(view),
        recall.section(view),
        unjudged.section(view),
        agreement.section(view),
        costs.section(view),
        curves.section(view),
        provenance.section(view),
    ]
    style = style_sheet() + asset("page.css")
    return filled(
        "page",
        title=table.title or "Results",
        headline=headline(table),
        sections=[part for part in parts if part is not None],
        style=style,
        script=script(),
        policy=_policy(style, script()),
        data=data_block(view, hits) if view.with_values else "",
    )


def fragment(table: ResultTable) -> str:
    """The table with its title and notes, to stand in another page: a notebook's."""
    title = f"<p><b>{escape(table.title)}</b></p>" if table.title else ""
    shown = "".join(results.table_lines(table))
    return (
        f'<div class="adducir">{title}{shown}<small>{"".join(results.notes(table))}</small></div>'
    )


def _policy(style: str, code: str) -> str:
    """Nothing may be loaded; this style and this script may be used, and no other."""
    style_hash, script_hash = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, code)
    )
    return (
        f"default-src 'none'; style-src 'sha256-{style_hash}'; script-src 'sha256-{script_hash}'; "
        "base-uri 'none'; form-action 'none'"
    )
