"""YAML nodes made into plain values."""

from typing import Any

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from adducir.core.errors import InputError
from adducir.core.texts import shortened

TAG = "tag:yaml.org,2002:"
MERGE = f"{TAG}merge"
_MOST_VALUES = 1_000_000
_LARGEST = 10**300


def named(node: Node) -> str:
    """What kind of value a node is, in words."""
    if isinstance(node, SequenceNode):
        return "a list"
    return "a mapping" if isinstance(node, MappingNode) else "a single value"


class Values:
    """Makes plain values of one file's nodes, each node once."""

    def __init__(self) -> None:
        self.made: dict[Node, tuple[Any, int]] = {}
        self.open: set[Node] = set()

    def of(self, node: Node) -> Any:
        """The value of a node and all below it."""
        return self._made(node)[0]

    def _made(self, node: Node) -> tuple[Any, int]:
        """The value of a node, and how many values it holds if written out."""
        if node not in self.made:
            if node in self.open:
                raise self._error(node, "this alias stands inside what it names.")
            self.open.add(node)
            self.made[node] = self._make(node)
            self.open.discard(node)
        value, size = self.made[node]
        if size > _MOST_VALUES:
            raise self._error(node, f"aliases make more than {_MOST_VALUES:,} values of this.")
        return value, size

    def _make(self, node: Node) -> tuple[Any, int]:
        if isinstance(node, ScalarNode):
            return self._scalar(node), 1
        if isinstance(node, SequenceNode) and node.tag == f"{TAG}seq":
            items = [self._made(item) for item in node.value]
            return [value for value, _ in items], 1 + sum(size for _, size in items)
        if isinstance(node, MappingNode) and node.tag == f"{TAG}map":
            return self._mapping(node)
        raise self._error(node, f"the tag {_short(node.tag)} is not read here.")

    def _mapping(self, node: MappingNode) -> tuple[dict[str, Any], int]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        lines: dict[str, int] = {}
        size = 1
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            value, inner = self._made(value_node)
            size += inner
            if key_node.tag == MERGE:
                for other in value if isinstance(value, list) else [value]:
                    if not isinstance(other, dict):
                        raise self._error(key_node, "'<<' takes a mapping or a list of them.")
                    merged = {**other, **merged}
                continue
            key = self._key(key_node)
            if key in lines:
                raise InputError(
                    f"the key {key!r} stands here for the second time; the first is on line "
                    f"{lines[key]}.",
                    line=line,
                    hint="Remove or rename one of the two.",
                )
            lines[key] = line
            own[key] = value
        return {**merged, **own}, size

    def _key(self, node: Node) -> str:
        if isinstance(node, ScalarNode) and node.tag.startswith(TAG):
            return str(node.value)
        raise self._error(node, f"{named(node)} cannot be a key.")

    def _scalar(self, node: ScalarNode) -> Any:
        text: str = node.value
        kind = node.tag.removeprefix(TAG)
        try:
            if kind in ("str", "merge"):
                return text
            if kind == "null":
                return None
            if kind == "bool":
                return {"true": True, "false": False}[text.lower()]
            if kind == "int":
                return self._whole(node, text)
            if kind == "float":
                return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        except (KeyError, ValueError) as error:
            raise self._error(node, f"{shortened(text)!r} is no {kind}.") from error
        raise self._error(node, f"the tag {_short(node.tag)} is not read here.")

    def _whole(self, node: ScalarNode, text: str) -> int:
        """A whole number that a float can hold as well, as recipes may want it to be one."""
        value = int(text, 0)
        if abs(value) >= _LARGEST:
            raise self._error(node, f"the number {shortened(text)} is too large.")
        return value

    def _error(self, node: Node, what: str) -> InputError:
        return InputError(what, line=node.start_mark.line + 1)


def _short(tag: str) -> str:
    return f"!!{tag.removeprefix(TAG)}" if tag.startswith(TAG) else tag
