import ast
import re
from pathlib import Path

import pytest

import adducir

_PACKAGE = Path(adducir.__file__).parent
_POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[*+?]|\{[\d,]+\})\+|\(\?>")


def _patterns_of_re(source: str) -> list[str]:
    """The texts in calls of ``re``, among them the constant parts of formatted ones."""
    calls = (
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
    )
    return [
        part.value
        for call in calls
        for part in ast.walk(call)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]


def test_no_group_is_possessive():
    """Python 3.11.0 to 3.11.4 (Debian 12 has 3.11.2) matches such groups wrongly (gh-106052)."""
    found = [
        (str(path.relative_to(_PACKAGE)), pattern)
        for path in sorted(_PACKAGE.rglob("*.py"))
        for pattern in _patterns_of_re(path.read_text(encoding="utf-8"))
        if _POSSESSIVE_GROUP.search(pattern)
    ]
    assert not found


@pytest.mark.parametrize(
    "source",
    [
        're.compile(r"a(?:b|c)*+d")',
        're.sub(f"(?:{a})?+", "", b)',
        're.search("(?>a)", b)',
        're.match("(?:a){2,3}+", b)',
    ],
)
def test_such_groups_are_seen(source: str):
    assert any(map(_POSSESSIVE_GROUP.search, _patterns_of_re(source)))
    assert not any(map(_POSSESSIVE_GROUP.search, _patterns_of_re(r're.match(r"a\)++[bc]*+", d)')))
