"""``adducir figure``."""

from pathlib import Path
from typing import Annotated

from adducir.cli.effects import with_any
from adducir.cli.outputs import SOURCE, Writes
from adducir.cli.parameters import argument, option


def figure(
    report: Annotated[Path, argument("A report: its HTML file.", "REPORT"), SOURCE],
    name: Annotated[str | None, argument("Its name.", "[FIGURE]", shown="list the figures")] = None,
    output: Annotated[
        Path | None,
        option("The .svg or .pdf to write.", "-o"),
        Writes("file", (".svg", ".pdf")),
        with_any("name"),
    ] = None,
) -> None:
    """Export a figure of a report as SVG or PDF.

    Without a figure's name, the names of all figures and what they show are listed. Without
    --output the figure goes to standard output as SVG.
    """
    from adducir.cli.console import note, show
    from adducir.core.errors import InputError
    from adducir.core.files import writing_bytes
    from adducir.core.texts import nearest
    from adducir.tables.report.export import described, figures, svg_text, write_pdf

    found = figures(report)
    if name is None:
        width = max(map(len, found), default=0)
        show("\n".join(f"{one:{width}}  {described(drawn)}" for one, drawn in found.items()))
        return
    if name not in found:
        what = f"it has no figure {name!r}{nearest(name, found) or '.'}"
        raise InputError(what, path=report, hint=f"It has {', '.join(found)}.")
    if output is not None and output.suffix.lower() == ".pdf":
        with writing_bytes(output) as out:
            write_pdf(found[name], report, out)
        note(f"wrote {output}")
        return
    show(svg_text(found[name], report), output)
