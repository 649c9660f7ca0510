"""The data that the page's script reads: one block, compressed, that the browser unpacks itself."""

import base64
import gzip
import json
from typing import Any

from adducir.tables.formats import render
from adducir.tables.report.hits import HitLists
from adducir.tables.report.sections.compare import MOST_DOTS, drawn_dots
from adducir.tables.report.view import View

MOST_VALUES = 1_000_000
"""Values per topic that are held; of more, the figures of the page are all there is."""


def data_block(view: View, hits: HitLists | None) -> str:
    """Gzip in base64; the same table gives the same text."""
    text = json.dumps(_data(view, hits), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def _data(view: View, hits: HitLists | None) -> dict[str, Any]:
    table = view.table
    groups = {
        column.group: table.topics(column) for column in table.columns if table.topics(column)
    }
    known = view.material.topics
    queries = {
        name: [known[name].queries.get(qid, "") for qid in qids] if name in known else []
        for name, qids in groups.items()
    }
    snippets = view.material.snippets
    return {
        "names": view.names,
        "first": view.first,
        "columns": [
            {
                "title": view.title(place),
                "group": column.group,
                "higher": column.higher_is_better,
            }
            for place, column in enumerate(table.columns)
        ],
        "decimals": table.style.decimals,
        "topics": {name: list(qids) for name, qids in groups.items()},
        "dots": {
            name: drawn_dots(len(qids)) for name, qids in groups.items() if len(qids) > MOST_DOTS
        },
        "queries": queries,
        "values": _values(view),
        "hits": hits.as_data() if hits else None,
        **_weights(view, hits),
        "snippets": [snippets.get(docno, "") for docno in hits.docnos] if hits and snippets else [],
        "copies": {
            "latex": render(table, "latex"),
            "markdown": render(table, "markdown"),
            "csv": render(table, "csv"),
        },
    }


def _weights(view: View, hits: HitLists | None) -> dict[str, Any]:
    """Weights of the words of snippets, by set and document, and the set of each row; -1 for none.

    Systems that search one index have one set.
    """
    each = [view.material.weights.get(row.system) for row in view.table.rows]
    sets = list({id(one): one for one in each if one}.values()) if hits else []
    known = [
        {number: list(one[docno]) for number, docno in enumerate(hits.docnos) if docno in one}
        for one in sets
        if hits
    ]
    order = {id(one): at for at, one in enumerate(sets)}
    return {"weights": known, "weighted": [order.get(id(one), -1) for one in each] if sets else []}


def _values(view: View) -> dict[str, list[list[float] | None]]:
    """By the place of a column, for each row the values per topic with six digits."""
    found: dict[str, list[list[float] | None]] = {}
    left = MOST_VALUES
    for place in view.with_values:
        values = view.values(place)
        left -= sum(len(one) for one in values.values())
        if left < 0:
            break
        found[str(place)] = [
            [float(f"{value:.6g}") for value in values[at]] if at in values else None
            for at in range(len(view.table.rows))
        ]
    return found
