"""Recipes' YAML, safely loaded, with the line of every key.

What is read is the core of YAML 1.2 and JSON, not YAML 1.1 as PyYAML reads it
by default, because the old rules change values silently:

- Only ``true`` and ``false`` are booleans: ``no``, ``off`` and ``y`` are text.
- ``1e-5`` is a number; ``010``, ``12:30`` and ``2020-04-01`` are text.
- Integers may be written ``100_000``, grouped by three.
- Keys are always text, so that ``no:`` or ``1:`` stay what was written.
- A key that stands twice in one mapping is refused.
- Anchors, aliases and ``<<`` work; tags that would make objects are refused.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, SequenceNode

from adducir.core.errors import InputError
from adducir.core.files import read_text
from adducir.core.yaml_values import MERGE, TAG, Values, named

KeyPath = tuple[str | int, ...]

_DEEPEST = 100
# A node tree takes a hundred times its text.
_MOST_BYTES = 2 << 20
_INT = r"[-+]?(?:0|[1-9][0-9]*|[1-9][0-9]{0,2}(?:_[0-9]{3})+)|0x[0-9a-fA-F]+|0o[0-7]+"
_FLOAT = (
    r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)


def _loader_on(base: Any) -> Any:
    """A safe loader whose plain scalars are resolved as YAML 1.2's core says."""
    loader: Any = type("RecipeLoader", (base,), {"yaml_implicit_resolvers": {}})
    for kind, pattern, first in (
        ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
        ("int", _INT, "-+0123456789"),
        ("float", _FLOAT, "-+.0123456789"),
        ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
        ("merge", r"<<", "<"),
    ):
        loader.add_implicit_resolver(TAG + kind, re.compile(f"(?:{pattern})$"), list(first))
    return loader


# libyaml is ten times faster, where PyYAML was built with it.
_Loader = _loader_on(getattr(yaml, "CSafeLoader", yaml.SafeLoader))


@dataclass(frozen=True)
class Document:
    """A YAML file as plain values that still knows its lines.

    Attributes:
        data: The file's mapping: text, numbers, booleans, None, lists, dicts
            whose keys are text. Values that the file shares by an alias are
            shared here: copy before changing.
        path: The file.
        root: The file's node tree.
    """

    data: dict[str, Any]
    path: Path
    root: MappingNode

    def line_of(self, keypath: KeyPath) -> int:
        """The 1-based line of the key or item at ``keypath``.

        Where the path leads further than the file does, the line is that of
        its last part that the file holds; for the empty path, of the start.
        """
        node: Node | None = self.root
        line: int = self.root.start_mark.line + 1
        for part in keypath:
            found = _entry(node, part)
            if found is None:
                return line
            mark, node = found
            line = mark.start_mark.line + 1
        return line


def load(path: Path) -> Document:
    """Read a YAML file whose top level is a mapping.

    Raises:
        InputError: The file cannot be read as text or as YAML, holds a key
            twice, a tag or a kind of key that is not read here, or is not one
            mapping; with the line.
    """
    try:
        text = read_text(path, _MOST_BYTES)
    except InputError as error:
        error.absent = False  # a recipe is part of the study: a wrong name is a mistake
        raise
    return parse(text, path)


def parse(text: str, path: Path) -> Document:
    """The document in a file's text; see :func:`load`.

    Raises:
        InputError: As :func:`load`.
    """
    try:
        root = _mapping(text)
        return Document(Values().of(root), path, root)
    except InputError as error:
        raise InputError(error.what, path=path, line=error.line, hint=error.hint) from error


def _mapping(text: str) -> MappingNode:
    root = _composed(text)
    if root is None:
        raise InputError("the file is empty: it should hold 'key: value' lines.")
    if not isinstance(root, MappingNode):
        what = f"the file holds {named(root)}, where 'key: value' lines are needed."
        raise InputError(what, line=root.start_mark.line + 1)
    return root


def parse_value(text: str) -> Any:
    """Read one value as a recipe would: ``5``, ``1e-5``, ``true``, ``[a, b]``, plain text.

    Raises:
        InputError: The text is not YAML.
    """
    root = _composed(text)
    return None if root is None else Values().of(root)


def _composed(text: str) -> Node | None:
    """The node tree of ``text``."""
    try:
        _refuse_depth(text)
        loader = _Loader(text)
        try:
            node: Node | None = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        raise _error_of(error, text) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InputError(f"this is not YAML: {error.reason}.", line=line) from error
    return node


def _refuse_depth(text: str) -> None:
    """Refuse deep nesting before nodes are made, where libyaml's binding would crash."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            what = f"values are nested more than {_DEEPEST} deep."
            line = event.start_mark.line + 1 if event.start_mark else None
            raise InputError(what, line=line)


def _error_of(error: yaml.MarkedYAMLError, text: str) -> InputError:
    """PyYAML's complaint, with our place and, where the cause is plain, the hint."""
    mark = error.problem_mark or error.context_mark
    line = None if mark is None else mark.line + 1
    context = error.context
    if context and error.context_mark and error.context_mark.line + 1 != line:
        context += f" that begins on line {error.context_mark.line + 1}"
    words = ", ".join(part for part in (context, error.problem) if part)
    source = text.split("\n")[line - 1] if line and line <= text.count("\n") + 1 else ""
    hint = None
    if "\t" in source[: len(source) - len(source.lstrip())]:
        hint = "Indent with spaces, not with tabs."
    elif (opened := re.search(r"[{,]", source)) and "${" in source[opened.end() :]:
        hint = "Put a text that holds ${...} in quotes where it stands in { }."
    elif "mapping values are not allowed" in words:
        hint = "Put a text that holds ': ' in quotes, or check the indentation."
    elif "cannot start any token" in words:
        hint = "Put a text that begins with one of @ ` % in quotes."
    return InputError(f"this is not YAML: {words}.", line=line, hint=hint)


def _entry(node: Node | None, part: str | int) -> tuple[Node, Node] | None:
    """The node that stands for ``part`` inside ``node``, and its value's node."""
    if isinstance(node, SequenceNode):
        if isinstance(part, int) and 0 <= part < len(node.value):
            return node.value[part], node.value[part]
        return None
    if not isinstance(node, MappingNode):
        return None
    merged: list[Node] = []
    for key, value in node.value:
        if key.tag == MERGE:
            merged += value.value if isinstance(value, SequenceNode) else [value]
        elif key.value == str(part):
            return key, value
    for other in merged:
        found = _entry(other, part)
        if found is not None:
            return found
    return None
