"""A command is a recipe, whose fields are its options, and a function that takes one.

    class Fuse(Recipe):
        runs: Runs
        output: RunOutput
        method: Annotated[str, FUSION] = option("How to fuse.", default="rrf")
        depth: int = option("Documents per topic.", default=1000, ge=1)


    def fuse(settings: Fuse) -> None:
        "Fuse several runs into one."

Everything comes from the recipe: names, help, defaults, bounds, choices, and which option has no
effect without which (:func:`adducir.core.recipe.needs`). The field ``docno_field`` is the option
``--docno-field``. What is rarely needed (``rare``) is given by ``--set key=value``. The function is
called only when everything that was typed is right and all that it writes may be written; its
docstring is the help, and ends with examples.
"""

import glob
import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from pydantic import Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from typer.core import TyperCommand
from typer.main import get_command

from adducir.cli.console import PlainHelp
from adducir.core.errors import InputError, UsageError
from adducir.core.recipe import Recipe, errors_of
from adducir.core.registry import Family
from adducir.core.texts import nearest

_PLACEHOLDERS = {int: "N", float: "NUMBER", str: "TEXT", Path: "FILE", bool: None}
_NO_RUN = re.compile(
    r"\.(bz2|csv|docx?|html|jsonl?|md|od[st]|parquet|pdf|png|svg|tex|tsv|xlsx?|xml|xz|ya?ml|zip|zst)",
    re.IGNORECASE,
)
"""Endings of formats that no run has; for the rest runs are called as people like."""


@dataclass(frozen=True)
class Writes:
    """What a field names to be written."""

    what: Literal["run", "table", "file", "folder"]  # a folder's writer looks after it
    endings: tuple[str, ...] = ()  # that a file's name may have, ``.gz`` apart; none: any
    # The files that are written in its name, given it and the recipe.
    paths: Callable[[Path, Any], Sequence[Path]] = lambda path, _: [path]


@dataclass(frozen=True)
class Given:
    """How a field is given on the command line; see :func:`option`."""

    flags: tuple[str, ...] = ()
    metavar: str | None = None
    shown: str = ""
    panel: str | None = None
    argument: bool = False
    rare: bool = False
    reads: bool = False
    writes: Writes | None = None


def option(
    meaning: str,
    *flags: str,
    default: Any = PydanticUndefined,
    metavar: str | None = None,
    shown: str = "",
    panel: str | None = None,
    argument: bool = False,
    rare: bool = False,
    reads: bool = False,
    writes: Writes | None = None,
    **bounds: Any,
) -> Any:
    """A field of a command's recipe: its default, or part of its annotation.

    Args:
        flags: Further names, such as ``-o``; one with two dashes replaces the field's own.
        shown: The default in words, where the value says too little.
        rare: It is given as ``--set name=value``, and not in the help.
        reads: The text names a file that is read; that a path does is known.
        bounds: As of pydantic's ``Field``: ``ge=1``.
    """
    how = Given(flags, metavar, shown, panel, argument, rare, reads, writes)
    return Field(default, description=meaning, json_schema_extra={"given": how}, **bounds)  # type: ignore[dict-item]


def fields_of(recipe: type[Recipe]) -> dict[str, tuple[FieldInfo, Given]]:
    """A recipe's fields with how they are given: its own first, then those of its bases.

    A base may name the ``panel`` of its fields; a field that is none of a command's own may say in
    its ``json_schema_extra`` that it is ``rare``.
    """
    found: dict[str, tuple[FieldInfo, Given]] = {}
    for base in recipe.__mro__:
        for name in vars(base).get("__annotations__", ()):
            if name in recipe.model_fields and name not in found:
                field = recipe.model_fields[name]
                found[name] = field, _given(field, vars(base).get("panel"))
    return found


def _given(field: FieldInfo, panel: str | None) -> Given:
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    how: Any = extra.get("given") or Given(rare=bool(extra.get("rare")))
    given: Given = replace(how, panel=how.panel or panel)
    return given


def rare_fields(recipe: type[Recipe]) -> dict[str, FieldInfo]:
    return {name: field for name, (field, how) in fields_of(recipe).items() if how.rare}


class Command(PlainHelp, TyperCommand):
    """A command of a recipe."""

    recipe: type[Recipe]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = {one for param in self.params for one in (*param.opts, *param.secondary_opts)}
        known |= set(ctx.help_option_names)
        takes_any = any(  # keys that kinds name, such as a model's mu
            "--set" in how.flags and get_origin(field.annotation) is dict
            for field, how in fields_of(self.recipe).values()
        )
        for word in args[: args.index("--") if "--" in args else None]:
            option = word.partition("=")[0]
            key = option.removeprefix("--").replace("-", "_")
            if not option.startswith("--") or not key.isidentifier() or option in known:
                continue
            is_rare = key in rare_fields(self.recipe)
            if is_rare or takes_any:
                what = "." if is_rare else nearest(option, known) or "."
                hint = f"Keys and hyperparameters are given as --set {key}=..."
                raise UsageError(f"no such option: {option}{what}", hint=hint)
        rest: list[str] = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            sources = {key: ctx.get_parameter_source(key) for key in ctx.params if key != "force"}
            typed = [key for key, one in sources.items() if one and one.name != "DEFAULT"]
            given = {key: ctx.params[key] for key in typed}
            ctx.obj = _validated(self.recipe, given, ctx.command_path)
        return rest


def build_command(name: str, function: Callable[[Any], Any]) -> Command:
    recipe: type[Recipe] = next(iter(get_type_hints(function).values()))
    fields, rare = fields_of(recipe), ", ".join(sorted(rare_fields(recipe)))
    parameters = [_keyword("invocation", typer.Context)]
    for key, (field, how) in fields.items():
        if not how.rare:
            more = f" Further keys: {rare}." if rare and "--set" in how.flags else ""
            parameters.append(_parameter(key, field, how, f"{field.description}{more}"))
    if rare and not any("--set" in how.flags for _, how in fields.values()):
        text = f"What is rarely needed, one of {rare}; can be repeated."
        taken = typer.Option("--set", help=text, metavar="KEY=VALUE")
        parameters.append(_keyword("set", Annotated[list[str], taken], []))
    if any(how.writes for _, how in fields.values()):
        taken = typer.Option("--force", help="Replace what stands there, whoever made it.")
        parameters.append(_keyword("force", Annotated[bool, taken], False))

    def run(invocation: typer.Context, force: bool = False, **_: Any) -> Any:
        with ExitStack() as claims:
            _claim(invocation.obj, force, claims)
            return function(invocation.obj)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    shown, _, examples = inspect.cleandoc(function.__doc__ or "").partition("Examples:\n")
    paragraphs = [" ".join(one.split()) for one in shown.split("\n\n")]
    lines = ["Examples:", *(one.strip() for one in examples.splitlines() if one.strip())]
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    app.command(name, cls=Command, help="\n\n".join(paragraphs), epilog="\n\n".join(lines))(run)
    command = get_command(app)
    if not isinstance(command, Command):
        raise TypeError(f"{name} is not a single command.")
    command.recipe = recipe
    return command


def _keyword(
    name: str, annotation: Any, default: Any = inspect.Parameter.empty
) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def _parameter(name: str, field: FieldInfo, how: Given, meaning: str) -> inspect.Parameter:
    """The parameter that typer reads a field from: texts, which pydantic converts."""
    shape = _Shape.of(field)
    typed: Any = list[str] if shape.several or "--set" in how.flags else str
    if shape.count:
        typed = tuple[(str,) * shape.count]  # type: ignore[misc]
    default: Any = inspect.Parameter.empty if field.is_required() else None
    shown: str | bool = how.shown or False
    if isinstance(field.default, str | int | float | Path) and str(field.default) and not how.shown:
        default, shown = str(field.default), True
    if shape.kind is bool:
        typed, default, shown = bool, False, False
    metavar = how.metavar or _PLACEHOLDERS.get(shape.kind, "TEXT")
    if shape.choices and not how.metavar:
        metavar = f"[{'|'.join(shape.choices)}]"
    if how.writes and not how.metavar:
        metavar = "FOLDER" if how.writes.what == "folder" else "FILE"
    details: dict[str, Any] = {"help": meaning, "metavar": metavar, "show_default": shown}
    if shape.choices:
        details["autocompletion"] = lambda incomplete: [
            one for one in shape.choices if one.startswith(incomplete)
        ]
    if how.argument:
        return _keyword(name, Annotated[typed, typer.Argument(**details)], default)
    flags = list(how.flags)
    if not any(one.startswith("--") for one in flags):
        flags.insert(0, f"--{name.replace('_', '-')}")
    taken = typer.Option(*flags, rich_help_panel=how.panel, **details)
    return _keyword(name, Annotated[typed, taken], default)


@dataclass(frozen=True)
class _Shape:
    """What values a field takes: of a type or one of some choices, one or several."""

    kind: Any
    several: bool
    count: int  # of a tuple with a fixed number of values
    choices: tuple[str, ...]

    @classmethod
    def of(cls, field: FieldInfo) -> "_Shape":
        marks, kind = list(field.metadata), field.annotation
        inner = [one for one in get_args(kind) if one is not NoneType]
        if len(inner) == 1 and NoneType in get_args(kind):
            kind = inner[0]
        if get_origin(kind) is Annotated:
            kind, *more = get_args(kind)
            marks += more
        several, count = get_origin(kind) in (list, tuple), 0
        if several:
            inner = [one for one in get_args(kind) if one is not Ellipsis]
            count = len(inner) if len(inner) > 1 else 0
            kind = inner[0]
        choices = tuple(map(str, get_args(kind))) if get_origin(kind) is Literal else ()
        families = [tuple(one) for one in marks if isinstance(one, Family)]
        return cls(kind, several, count, choices or next(iter(families), ()))


def _validated(recipe: type[Recipe], given: dict[str, Any], command: str) -> Recipe:
    fields, hint = fields_of(recipe), f"See '{command} --help'."
    rare = rare_fields(recipe)
    rest = next((key for key, (_, how) in fields.items() if "--set" in how.flags), None)
    texts = given.pop(rest or "set", [])
    for text in texts:
        key, equals, value = text.partition("=")
        name = key.strip().replace("-", "_")
        if not equals:
            raise UsageError(f"--set takes KEY=VALUE, not {text!r}.", hint=hint)
        if name in rare and _Shape.of(rare[name]).several:
            given.setdefault(name, []).append(value)
        elif name in rare:
            given[name] = value
        elif rest is None:
            guess = nearest(key, rare) or f"; the keys are {', '.join(sorted(rare))}."
            raise UsageError(f"--set {key}: there is no such key here{guess}", hint=hint)
        elif get_origin(recipe.model_fields[rest].annotation) is dict:
            given.setdefault(rest, {})[name] = value
        else:
            given.setdefault(rest, []).append(text)
    try:
        return recipe.model_validate(given)
    except ValidationError as error:
        wrong = [(_called(one.path, fields), one.what) for one in errors_of(error)]
    told = "; ".join(
        f"{name}{' ' if what.startswith('has ') else ': '}{what}" if name else what
        for name, what in wrong
    )
    told = re.sub(r"`(\w+)`", lambda found: _called((found[1],), fields), told)
    raise UsageError(f"{told.rstrip('.')}.", hint=hint)


def _called(path: Sequence[str | int], fields: Mapping[str, tuple[FieldInfo, Given]]) -> str:
    """How a user writes a field: ``--depth``, ``--set fb_terms``, ``RUN``."""
    if not path:
        return ""
    name = str(path[0])
    if name not in fields:
        return f"`{name}`"
    _, how = fields[name]
    if how.argument:
        return how.metavar or name.upper()
    if how.rare:
        return f"--set {name}"
    flag = next((one for one in how.flags if one.startswith("--")), f"--{name.replace('_', '-')}")
    return f"{flag} {path[1]}" if flag == "--set" and len(path) > 1 else flag


def _claim(settings: Recipe, force: bool, claims: ExitStack) -> None:
    from adducir.cli.console import leaving_stdout_to_data
    from adducir.core.artifacts import replacing_anything
    from adducir.core.files import is_standard_output
    from adducir.core.streams import keeping_pipes

    fields = fields_of(type(settings))
    values = {key: getattr(settings, key) for key in fields}
    writes = {
        key: how.writes
        for key, (_, how) in fields.items()
        if how.writes and values[key] is not None
    }
    read = [
        Path(one)
        for key, (_, how) in fields.items()
        for one in (values[key] if isinstance(values[key], list | tuple) else [values[key]])
        if key not in writes and (isinstance(one, Path) or (how.reads and one))
    ]
    claims.enter_context(keeping_pipes())
    claims.enter_context(replacing_anything(force))
    written: dict[Path, str] = {}
    for key, own in writes.items():
        name, path = _called((key,), fields), values[key]
        if is_standard_output(path):
            if own.what == "folder":
                raise UsageError(f"{name} is a folder here: it cannot be standard output.")
            if own.what != "table":
                claims.enter_context(leaving_stdout_to_data())
            continue
        place = Path(os.path.realpath(path))
        if not place.name:
            raise UsageError(f"{name} is the root of the file system: name a folder in it.")
        other = written.setdefault(place, name)
        if other != name:
            raise UsageError(f"{other} and {name} are one file.", hint="Name two.")
        for part in own.paths(path, settings):
            if any(part.exists() and one.exists() and one.samefile(part) for one in read):
                raise UsageError(
                    f"{name} is {part}, which this command reads.", hint="Name another file."
                )
            if own.what != "folder":
                _check_file(name, part, own, settings)


def _check_file(name: str, path: Path, writes: Writes, settings: Recipe) -> None:
    """Refuse a name that says another format, and a file that Adducir did not write."""
    from adducir.core.artifacts import refuse_other
    from adducir.core.files import refuse_unwritable

    if path.is_dir():
        raise InputError("this is a folder, where a file is to be written.", path=path)
    ending = Path(path.name.removesuffix(".gz")).suffix
    endings = writes.endings
    if writes.what == "table":
        from adducir.tables.formats import TABLES

        endings = tuple(one.ending for one in TABLES.kinds().values())
        endings = () if getattr(settings, "format", None) else endings
    is_known = (
        _NO_RUN.fullmatch(ending) is None if writes.what == "run" else ending.lower() in endings
    )
    if (
        not is_known
        and re.fullmatch(r"\.[A-Za-z]\w*", ending)
        and (endings or writes.what == "run")
    ):
        hint = f"Let it end in one of {', '.join(endings or ('.trec', '.trec.gz'))}."
        raise UsageError(f"{name} {path}: no {writes.what} ends in {ending}.", hint=hint)
    if path.exists() and not path.is_file():
        return
    refuse_unwritable(path)
    if path.exists() and path.stat().st_size and not _is_own(path, writes.what):
        refuse_other(path, f"the {writes.what} that stands here does not say that Adducir made it")


def _is_own(path: Path, what: str) -> bool:
    """Whether a file says that Adducir made it: a run by its metadata, some tables themselves."""
    if what == "table":
        return re.search(rb'"adducir": "|>adducir</th>', path.read_bytes()) is not None
    if what != "run":
        return False
    from adducir.core.files import file_digest
    from adducir.runs.metadata import metadata_for

    # A killed writer may have left the metadata hidden.
    place, digest = metadata_for(path), file_digest(path)
    places = [place, *place.parent.glob(f".{glob.escape(place.name)}.*.tmp")]
    texts = (one.read_text(encoding="utf-8", errors="replace") for one in places if one.is_file())
    return any(f"sha256: {digest}" in text for text in texts)
