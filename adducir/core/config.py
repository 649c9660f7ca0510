"""Recipe files: their text, the document with the line of every key, and the recipe.

They are read as the core schema of YAML 1.2 or as JSON (docs/recipes.md), because other schemas
change values silently; keys are always text, and tags that create objects are refused. Overrides
from the command line are written ``a.b.0.c=value``: a number selects a list item, a key with a dot
is taken literally if the recipe has it, and one with ``=``, or a new one with a dot, is quoted:
``systems."BM25 k1=1.2".depth=10``.
"""

import copy
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, cast

from pydantic import TypeAdapter, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.composer import MaxDepthExceededError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.resolver import VersionedResolver
from ruamel.yaml.tag import Tag

from adducir.core.errors import AdducirError, InputError, in_files, speaking
from adducir.core.files import read_text
from adducir.core.recipe import ErrorDetail, KeyPath, Recipe, dotted, validated
from adducir.core.texts import listed, shortened, whole_number

R = TypeVar("R", bound=Recipe)

_DEEPEST = 100
_MOST_BYTES = 2 << 20  # a node tree takes a hundred times its text
_MOST_VALUES = 1_000_000
_LARGEST = 10**300  # still fits a float
_TAG = "tag:yaml.org,2002:"
_PLAIN = {
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?(?:0|[1-9][0-9]*|[1-9][0-9]{0,2}(?:_[0-9]{3})+)|0x[0-9a-fA-F]+|0o[0-7]+",
    "float": r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
    "null": r"~|null|Null|NULL|",
    "merge": r"<<",
}
_KINDS = {_TAG + kind: re.compile(pattern) for kind, pattern in _PLAIN.items()}
_SCALARS: dict[str | None, Callable[[str], Any]] = {
    _TAG + "str": str,
    _TAG + "merge": str,
    _TAG + "null": lambda _: None,
    _TAG + "bool": lambda text: {"true": True, "false": False}[text.lower()],
    _TAG + "int": lambda text: int(text, 0),
    _TAG + "float": lambda text: float(re.sub(r"\.(?=inf|nan)", "", text.lower())),
}
_ASSIGNMENT = re.compile(r'((?:"[^"]*"|[^"=])+)=(.*)', re.DOTALL)
_PART = re.compile(r'"([^"]*)"|([^".]+)')


class _Resolver(VersionedResolver):
    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        if kind is ScalarNode and implicit[0]:
            for tag, pattern in _KINDS.items():
                if pattern.fullmatch(value):
                    return Tag(suffix=tag)
        names = {ScalarNode: "str", SequenceNode: "seq", MappingNode: "map"}
        return Tag(suffix=_TAG + names[kind])


class _Values:
    """Plain values of a file's nodes, each built once, and the lines of their parts by id."""

    def __init__(self) -> None:
        self.lines: dict[int, dict[str | int, int]] = {}
        self._made: dict[int, tuple[Any, int] | None] = {}

    def of(self, node: Any) -> tuple[Any, int]:
        converted = self._made.get(id(node))
        if converted is None and id(node) in self._made:
            raise _error(node, "this alias refers to a value that contains it.")
        if converted is None:
            self._made[id(node)] = None
            self._made[id(node)] = converted = self._value(node)
        if converted[1] > _MOST_VALUES:
            raise _error(node, f"aliases expand this to more than {_MOST_VALUES:,} values.")
        return converted

    def _value(self, node: Any) -> tuple[Any, int]:
        if isinstance(node, ScalarNode) and node.tag in _SCALARS:
            try:
                value = _SCALARS[node.tag](node.value)
            except (KeyError, ValueError) as error:
                kind = str(node.tag).removeprefix(_TAG)
                message = f"{shortened(node.value)!r} does not have the type {kind}."
                raise _error(node, message) from error
            if type(value) is int and abs(value) >= _LARGEST:
                raise _error(node, f"the number {shortened(node.value)} is too large.")
            return value, 1
        if isinstance(node, MappingNode) and node.tag == f"{_TAG}map":
            return self._mapping(node)
        if isinstance(node, SequenceNode) and node.tag == f"{_TAG}seq":
            items = [self.of(item) for item in node.value]
            values = [value for value, _ in items]
            self.lines[id(values)] = {n: _line(item) for n, item in enumerate(node.value)}
            return values, 1 + sum(size for _, size in items)
        raise _error(node, f"the tag {str(node.tag).replace(_TAG, '!!')} is not supported.")

    def _mapping(self, node: Any) -> tuple[dict[str, Any], int]:
        stated, merged, total = dict[str, Any](), dict[str, Any](), 1
        lines, merged_lines = dict[str | int, int](), dict[str | int, int]()
        for key, value_node in node.value:
            value, size = self.of(value_node)
            total += size
            if key.tag == f"{_TAG}merge":
                for source in value if isinstance(value, list) else [value]:
                    if not isinstance(source, dict):
                        raise _error(key, "'<<' takes a mapping or a list of them.")
                    merged = {**source, **merged}
                    merged_lines = {**self.lines[id(source)], **merged_lines}
                continue
            if not isinstance(key, ScalarNode) or not str(key.tag).startswith(_TAG):
                raise _error(key, "a list or mapping cannot be a key.")
            if key.value in stated:
                message = f"the key {key.value!r} is repeated here; the first is on line "
                hint = "Remove or rename one of the two."
                raise _error(key, f"{message}{lines[key.value]}.", hint)
            stated[key.value], lines[key.value] = value, _line(key)
        values = {**merged, **stated}
        self.lines[id(values)] = {**merged_lines, **lines}
        return values, total


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1


def _error(node: Any, message: str, hint: str | None = None) -> InputError:
    return InputError(message, line=_line(node), hint=hint)


def _composed(text: str) -> Any:
    yaml = YAML(typ="safe", pure=True)
    yaml.Resolver, yaml.max_depth = _Resolver, _DEEPEST
    yaml.composer.warn_double_anchors = False
    try:
        return yaml.compose(text)
    except MaxDepthExceededError as error:
        message = f"values are nested more than {_DEEPEST} deep."
        raise InputError(message, line=error.problem_mark.line + 1) from error
    except MarkedYAMLError as error:
        mark, context = error.problem_mark or error.context_mark, error.context
        if context and error.context_mark and error.context_mark.line != mark.line:
            context += f" that begins on line {error.context_mark.line + 1}"
        words = ", ".join(" ".join(part.split()) for part in (context, error.problem) if part)
        hint = "Indent with spaces; quote text that contains ': ' or begins with @, ` or %."
        message = f"this is not YAML: {words}."
        raise InputError(message, line=mark.line + 1, hint=hint) from error
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InputError(f"this is not YAML: {error.reason}.", line=line) from error
    except YAMLError as error:
        raise InputError(f"this is not YAML: {shortened(str(error))}.") from error


@dataclass(frozen=True)
class RecipeFile:
    """A YAML file as plain values, and its lines by the ids of their containers."""

    data: dict[str, Any]
    path: Path
    start: int
    lines: Mapping[int, Mapping[str | int, int]]

    def _places(self, keypath: KeyPath) -> list[int]:
        value, lines = cast("Any", self.data), list[int]()
        for part in keypath:
            key = str(part) if isinstance(value, dict) else part
            if (line := self.lines.get(id(value), {}).get(key)) is None:
                break
            lines.append(line)
            value = value[key]
        return lines

    def holds(self, keypath: KeyPath) -> bool:
        return len(self._places(keypath)) == len(keypath)

    def line_of(self, keypath: KeyPath) -> int:
        return [self.start, *self._places(keypath)][-1]


def load(path: Path) -> RecipeFile:
    if path.is_file() and path.stat().st_size > _MOST_BYTES:
        hint = "Is this the right file?"
        raise InputError(f"a recipe may have at most {_MOST_BYTES:,} bytes.", path=path, hint=hint)
    if path.is_dir():
        files = [Path(f"{path}.yaml"), *sorted(path.glob("*.yaml")), *sorted(path.glob("*/*.yaml"))]
        names = listed([str(path_) for path_ in files if path_.is_file()])
        message = "this is a folder, but a recipe is needed."
        raise InputError(message, path=path, hint=f"Name one of: {names}." if names else None)
    try:
        text = read_text(path)
    except InputError as error:
        error.absent = False  # a recipe belongs to the study: a wrong name is a mistake
        raise
    return parse(text, path)


def parse(text: str, path: Path) -> RecipeFile:
    values = _Values()
    try:
        root = _composed(text)
        if not isinstance(root, MappingNode):
            line = None if root is None else _line(root)
            raise InputError("a recipe consists of 'key: value' lines.", line=line)  # noqa: TRY301
        return RecipeFile(values.of(root)[0], path, _line(root), values.lines)
    except InputError as error:
        raise InputError(error.what, path=path, line=error.line, hint=error.hint) from error


def parse_value(text: str) -> Any:
    root = _composed(text)
    return None if root is None else _Values().of(root)[0]


class OverrideError(ValueError):
    """An override that cannot be applied; its text says why."""


class Override(NamedTuple):
    text: str
    path: KeyPath


def apply(data: dict[str, Any], text: str) -> tuple[dict[str, Any], Override]:
    """``data`` with one override; values shared through an alias do not change elsewhere."""
    match = _ASSIGNMENT.fullmatch(text)
    parts = list(_PART.finditer(match[1])) if match else []
    if match is None or ".".join(part[0] for part in parts) != match[1]:
        raise OverrideError("an override is written key=value, with dots between keys")
    try:
        value = parse_value(match[2])
    except InputError as error:
        raise OverrideError(f"{error.what.rstrip('.')}; put the value in quotes") from error
    names = [part[2] if part[1] is None else part[1] for part in parts]
    changed, path = _changed(data, names, value, ())
    return changed, Override(text, path)


def _changed(node: Any, parts: Sequence[str], value: Any, done: KeyPath) -> tuple[Any, KeyPath]:
    if not parts:
        return value, done
    if isinstance(node, list):
        index = whole_number(parts[0])
        if index is None or index >= len(node):
            last = f"up to {len(node) - 1}" if node else "but it is empty"
            message = f"`{dotted(done)}` is a list: its items are numbered from 0 {last}"
            raise OverrideError(message)
        inner, path = _changed(node[index], parts[1:], value, (*done, index))
        return [*node[:index], inner, *node[index + 1 :]], path
    node = {} if node is None else node
    if not isinstance(node, dict):
        raise OverrideError(f"`{dotted(done)}` is {node!r}, which has no keys")
    lengths = range(len(parts), 1, -1)  # the longest existing key
    count = next((length for length in lengths if ".".join(parts[:length]) in node), 1)
    key = ".".join(parts[:count])
    inner, path = _changed(node.get(key), parts[count:], value, (*done, key))
    return {**node, key: inner}, path


@dataclass(frozen=True)
class RecipeReading(Generic[R]):
    document: RecipeFile
    model: type[R]
    data: dict[str, Any]  # after the overrides, not validated
    recipe: R | None  # None if it has errors
    errors: tuple[ErrorDetail, ...]
    overrides: tuple[Override, ...]  # those that were applied
    refused: tuple[tuple[str, str], ...]  # those that were not, each with the reason

    def in_part(self) -> tuple[R, list[ErrorDetail]]:
        """The recipe without its wrong keys, and further errors found on the way."""
        recipe, news, problems = self.recipe, self.errors, list[ErrorDetail]()
        data = copy.deepcopy(self.data) if news else {}
        while recipe is None and sum(_removed(data, problem.path) for problem in news):
            recipe, more = validated(self.model, data)
            news = tuple(more)
            problems += news
        if recipe is None:
            sections: dict[str, Any] = {}
            for name, field in self.model.model_fields.items():
                sections |= {name: {}} if field.is_required() else {}
                with suppress(KeyError, ValidationError):
                    section: Any = TypeAdapter(cast("Any", field.annotation))
                    sections[name] = section.validate_python(data[field.alias or name])
            recipe = self.model.model_construct(**sections)
        return recipe, problems

    def error(
        self, more: Iterable[ErrorDetail] = (), kind: type[AdducirError] = InputError
    ) -> AdducirError | None:
        """One error for all; ``more`` near one of the recipe's own errors may only follow it."""
        paths = [problem.path for problem in self.errors]
        news = [p for p in more if not any(_begins(p.path, o) or _begins(o, p.path) for o in paths)]
        after = len(self.overrides)
        placed: list[tuple[int | None, int, str]] = [
            (None, after + number, f"in the override `{text}`: {why}")
            for number, (text, why) in enumerate(self.refused)
        ]
        placed += [self._placed(problem) for problem in (*self.errors, *news)]
        if not placed:
            return None
        placed.sort(key=lambda item: (item[0] is None, item[0] or item[1]))  # overrides come last
        path = self.document.path
        if len(placed) == 1:
            ((line, _, message),) = placed
            message = message if message.endswith((".", "?")) else f"{message}."
            return kind(message, path=path, line=line)
        lines = [
            message if line is None else f"{path}:{line}: {message}" for line, _, message in placed
        ]
        return kind("\n  ".join([f"{len(placed)} errors in this recipe:", *lines]), path=path)

    def _as_stated(self, problem: ErrorDetail) -> ErrorDetail:
        """The error with the former names of keys that the file has instead of today's."""
        model, data, path = cast("Any", self.recipe), cast("Any", self.data), list[str | int]()
        with suppress(TypeError, LookupError, AttributeError):  # a path may go beyond the file
            for part in problem.path:
                field = getattr(type(model), "model_fields", {}).get(part)
                names = getattr(field and field.validation_alias, "choices", [part])
                path.append(next((name for name in names if name in data), part))
                model, data = getattr(model, str(part)) if field else model[part], data[path[-1]]
        return problem._replace(path=(*path, *problem.path[len(path) :]))

    def _placed(self, problem: ErrorDetail) -> tuple[int | None, int, str]:
        problem = self._as_stated(problem)
        for number, override in reversed(list(enumerate(self.overrides))):
            is_set = _begins(override.path, problem.path) and not self.document.holds(problem.path)
            if is_set or _begins(problem.path, override.path):
                return None, number, f"in the override `{override.text}`: {problem}"
        below = [o.text for o in self.overrides if _begins(o.path, problem.path)]
        note = f" (with the override `{'`, `'.join(below)}`)" if below else ""
        return self.document.line_of(problem.path), 0, f"{problem}{note}"


def read(document: RecipeFile, model: type[R], overrides: Sequence[str] = ()) -> RecipeReading[R]:
    data, done, refused = document.data, list[Override](), list[tuple[str, str]]()
    for text in overrides:
        try:
            data, override = apply(data, text)
        except OverrideError as error:
            refused.append((text, f"{error}"))
        else:
            done.append(override)
    with speaking(in_files):
        recipe, errors = validated(model, data)
    recipe = None if refused else recipe
    return RecipeReading(document, model, data, recipe, tuple(errors), tuple(done), tuple(refused))


def validate(document: RecipeFile, model: type[R], overrides: Sequence[str] = ()) -> R:
    reading = read(document, model, overrides)
    error = reading.error()
    if error is not None:
        raise error
    return cast("R", reading.recipe)  # no error, hence a recipe


def _removed(data: Any, path: KeyPath) -> bool:
    """Remove the value at a path, or else its parent; False if neither exists."""
    for length in range(len(path), 0, -1):
        holder = data
        for part in path[: length - 1]:
            holder = holder.get(part) if isinstance(holder, dict) else None
        if isinstance(holder, dict) and holder.pop(path[length - 1], holder) is not holder:
            return True
    return False


def _begins(path: KeyPath, start: KeyPath) -> bool:
    return path[: len(start)] == start
