"""``adducir figure``."""

from pathlib import Path
from typing import Annotated

from adducir.cli.command import Writes, option
from adducir.core.recipe import Recipe, needs


class Figure(Recipe):
    report: Path = option("A report: its HTML file.", metavar="REPORT", argument=True)
    name: str | None = option(
        "Its name.", metavar="[FIGURE]", argument=True, default=None, shown="list the figures"
    )
    output: Annotated[Path | None, needs("name")] = option(
        "The .svg or .pdf to write.", "-o", default=None, writes=Writes("file", (".svg", ".pdf"))
    )


def figure(settings: Figure) -> None:
    """Export a figure of a report as SVG or PDF.

    Without a figure's name, the names of all figures and what they show are listed. Without
    --output the figure goes to standard output as SVG.

    Examples:
        adducir figure experiments/demo/report.html
        adducir figure experiments/demo/report.html differences-0 -o figures/differences.pdf
    """
    from adducir.cli.console import note, show
    from adducir.core.errors import InputError
    from adducir.core.files import writing_bytes
    from adducir.core.texts import nearest
    from adducir.tables.report.export import described, figures, svg_text, write_pdf

    name, report, output = settings.name, settings.report, settings.output
    found = figures(report)
    if name is None:
        width = max(map(len, found), default=0)
        show("\n".join(f"{one:{width}}  {described(drawn)}" for one, drawn in found.items()))
    elif name not in found:
        what = f"it has no figure {name!r}{nearest(name, found) or '.'}"
        raise InputError(what, path=report, hint=f"It has {', '.join(found)}.")
    elif output is not None and output.suffix.lower() == ".pdf":
        with writing_bytes(output) as out:
            write_pdf(found[name], report, out)
        note(f"wrote {output}")
    else:
        show(svg_text(found[name], report), output)
