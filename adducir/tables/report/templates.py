"""The report's templates, in which all text is escaped."""

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def asset(name: str) -> str:
    """A file of the report's assets."""
    return files("adducir.tables.report").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def script() -> str:
    """The page's script without indentation, blank lines and lines of comment.

    No text of it may span lines, and a comment has its lines to itself: a test holds it to that.
    """
    lines = (line.strip() for line in asset("page.js").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(("//", "/*")))


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FunctionLoader

    return Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        loader=FunctionLoader(asset),
    )


def filled(template: str, /, **values: Any) -> str:
    """A template with its values."""
    return _environment().get_template(f"{template}.html.j2").render(**values)
