"""What the fields of recipes mean: their docstrings, read from the source when they are shown."""

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain, zip_longest

from pydantic import BaseModel


def meaning(kind: type[BaseModel], field: str) -> str:
    """A field's meaning: the description of its type, or the docstring below it.

    A class that declares a field again without either keeps the meaning that it had.
    """
    for base in kind.__mro__:
        if issubclass(base, BaseModel) and field in vars(base).get("__annotations__", ()):
            text = base.model_fields[field].description
            text = text or docstrings(base.__module__).get(f"{base.__qualname__}.{field}")
            if text:
                return " ".join(text.split()).replace("``", "`")
    return ""


@cache
def docstrings(module: str) -> Mapping[str, str]:
    """The texts below annotated names in a module's classes; none if it is not from a file."""
    try:
        return dict(_below(ast.parse(inspect.getsource(sys.modules[module]))))
    except (KeyError, OSError, SyntaxError, TypeError):
        return {}


def _below(node: ast.AST, owner: str = "") -> Iterator[tuple[str, str]]:
    blocks = (value for _, value in ast.iter_fields(node) if isinstance(value, list))
    for statement, after in chain.from_iterable(zip_longest(some, some[1:]) for some in blocks):
        match statement, after:
            case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                yield owner + name, text
            case ast.ClassDef(name), _:
                yield from _below(statement, f"{owner}{name}.")
            case ((ast.FunctionDef(name) | ast.AsyncFunctionDef(name)), _):
                yield from _below(statement, f"{owner}{name}.<locals>.")
            case ((ast.stmt() | ast.ExceptHandler() | ast.match_case()), _):  # with, try, ...
                yield from _below(statement, owner)
