"""A command is a recipe, whose fields are its options, and a function of it.

Everything comes from the recipe: names, help, defaults, bounds, choices, and which options need
others (:func:`adducir.core.recipe.needs`). The field ``docno_field`` is the option
``--docno-field``. Rarely needed fields (``rare``) are set by ``--set key=value``. The function is
called only if the command line is valid and all its outputs may be written; its docstring is the
help and ends with examples.
"""

import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache, partial
from pathlib import Path
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import click
from click.core import ParameterSource
from pydantic import AliasChoices, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from adducir.cli.console import leaving_stdout_to_data, open_progress
from adducir.cli.help import Explained, see_help
from adducir.core.errors import (
    OF_A_CALL,
    InputError,
    ReplacedError,
    UsageError,
    Wording,
    in_files,
    speaking,
)
from adducir.core.meanings import meaning
from adducir.core.recipe import Recipe, told
from adducir.core.registry import Family
from adducir.core.texts import nearest, sentence

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_PLACEHOLDERS = {int: "N", float: "NUMBER", str: "TEXT", Path: "FILE", bool: ""}
_METAVARS = {"index": "FOLDER", "model": "MODEL", "llm": "FILE"}
_SHORT = frozenset({"baseline", "index", "llm", "measures", "output", "topics"})
"""Options that are called by their first letters as well."""
_ATTEMPTS = 5
_NO_RUN = re.compile(
    r"\.(bz2|csv|docx?|html|jsonl?|md|od[st]|parquet|pdf|png|svg|tex|tsv|xlsx?|xml|xz|ya?ml|zip|zst)",
    re.IGNORECASE,
)
"""Suffixes of other formats, which runs must not have; any other name will do."""


class Writes(NamedTuple):
    """An output that a field names."""

    what: Literal["run", "table", "file", "folder"]  # a folder is checked by its writer
    endings: tuple[str, ...] = ()  # allowed suffixes, without ``.gz``; none: any
    # The files written for it, given it and the recipe; by default only itself.
    paths: Callable[[Path, Any], Sequence[Path]] | None = None


def option(
    meaning: str,
    *flags: str,
    default: Any = PydanticUndefined,
    metavar: str | None = None,
    shown: str = "",
    panel: str | None = None,
    argument: bool = False,
    rare: bool = False,
    flag: bool = False,
    reads: bool = False,
    writes: Writes | None = None,
    **bounds: Any,
) -> Any:
    """A field of a command's recipe: its default, or part of its annotation.

    Args:
        flags: Other names, such as ``-o``; one with two dashes replaces the field's own.
        shown: The default in words, if the value says too little.
        rare: It is set by ``--set name=value`` and named in the help, but not explained there.
        flag: A rare option that ``--name value`` sets as well.
        reads: The text names a file to read; paths always do.
        bounds: As in pydantic's ``Field``: ``ge=1``.
    """
    extra: Any = {"flags": flags, "metavar": metavar, "shown": shown, "panel": panel}
    extra |= {"argument": argument, "rare": rare, "reads": reads, "writes": writes, "flag": flag}
    return Field(default, description=meaning, json_schema_extra=extra, **bounds)


optional = partial(option, default=None)
"""An option that may be left out: its type takes None."""
repeatable = partial(option, default=())
"""An option that may be left out or repeated: its type is a tuple."""


class Option:
    """A recipe's field as a command-line option; see :func:`option`."""

    def __init__(self, name: str, recipe: type[Recipe], panel: str | None) -> None:
        self.name, self.recipe = name, recipe
        self.field = field = recipe.model_fields[name]
        extra = field.json_schema_extra
        details: Mapping[str, Any] = extra if isinstance(extra, Mapping) else {}
        self.flags: list[str] = [*details.get("flags", ())]
        self.metavar: str | None = details.get("metavar")
        self.shown: str = details.get("shown", "")
        self.panel: str | None = details.get("panel") or panel
        self.is_argument = bool(details.get("argument"))
        self.is_rare = bool(details.get("rare"))
        self.has_flag = bool(details.get("flag")) or not self.is_rare
        self.reads = bool(details.get("reads"))
        self.writes: Writes | None = details.get("writes")
        self.is_set = "--set" in self.flags
        if "--" not in " ".join(self.flags):
            self.flags.insert(0, f"--{name.replace('_', '-')}")
        if name in _SHORT and f"-{name[0]}" not in self.flags:
            self.flags.append(f"-{name[0]}")
        alias = field.validation_alias
        known = alias.choices if isinstance(alias, AliasChoices) else ()
        self.former = [str(former) for former in known if former != name]
        # Its values: a type or choices; one, several, or a fixed number.
        marks, kind = list(field.metadata), field.annotation
        if NoneType in get_args(kind):
            (kind, *_) = get_args(kind)
        if get_origin(kind) is Annotated:
            kind, *more = get_args(kind)
            marks += more
        self.is_mapping = get_origin(kind) is dict
        self.is_several = get_origin(kind) in (list, tuple)
        kind, *others = get_args(kind) if self.is_several else (kind,)
        self.count = 1 + len(others) if others and Ellipsis not in others else 0
        self.takes_file = self.writes is None and (self.reads or Path in (kind, *others))
        self.kind: Any = kind
        self.is_flag = kind is bool and self.has_flag
        names: Any = get_args(kind) if get_origin(kind) is Literal else ()
        names = next((mark for mark in marks if isinstance(mark, Family)), names)
        self.choices = tuple(map(str, names))

    def __str__(self) -> str:
        """How users write it: ``--depth``, ``--set fb_terms``, ``RUN``."""
        if self.is_argument:
            return self.metavar or self.name.upper()
        if not self.has_flag:
            return f"--set {self.name}"
        return next(flag for flag in self.flags if flag.startswith("--"))

    def typed(self, text: str) -> str:
        return "/dev/stdin" if text == "-" and self.takes_file else text

    def parameter(self, keys: str = "") -> click.Parameter:
        """The parameter of click: text, which pydantic converts; ``keys``: those of a --set."""
        text, value, metavar = meaning(self.recipe, self.name), self.field.default, self.metavar
        text += f" Other keys: {keys}." if keys else ""
        if metavar is None and self.choices:
            text += f" One of {', '.join(self.choices)}."
        metavar = metavar or self._placeholder()
        is_long = self.is_several and not self.count
        details: dict[str, Any] = {"type": self.typed, "required": self.field.is_required()}
        details |= {"nargs": self.count or 1, "shell_complete": self._completions}
        if self.is_argument:
            details |= {"nargs": -1} if is_long else {}
            dots = "..." if is_long and "..." not in metavar else ""
            argument = click.Argument([self.name], metavar=metavar + dots, **details)
            argument.help = text  # click before 8.5 does not take it
            return argument
        if self.is_flag:
            details |= {"is_flag": True, "type": None}
        elif isinstance(value, str | int | float | Path) and str(value) and not self.shown:
            details |= {"default": str(value)}
        details |= {"multiple": is_long or self.is_set, "hidden": self.is_rare, "metavar": metavar}
        details |= {"show_default": self.shown or "default" in details}
        return click.Option([self.name, *self.flags], help=text, **details)

    def _placeholder(self) -> str:
        if self.writes:
            return "FOLDER" if self.writes.what == "folder" else "FILE"
        if self.is_set:
            return "KEY=VALUE"
        if self.choices or self.is_argument:
            return self.name.upper()
        return _METAVARS.get(self.name) or _PLACEHOLDERS.get(self.kind, "TEXT")

    def _completions(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem] | list[str]":
        if self.choices:
            return [choice for choice in self.choices if choice.startswith(incomplete)]
        from click.shell_completion import CompletionItem

        return [] if self.kind in (int, float) else [CompletionItem(incomplete, type="file")]


_MEANT = {
    "relic": "--contexts",
    **dict.fromkeys(("hits", "top", "top_k", "topk", "limit"), "--depth"),
    "title": "--caption",
}
"""Options by what other programs call them."""


@cache
def options_of(recipe: type[Recipe]) -> dict[str, Option]:
    """A recipe's options by field: its own first, then those of its bases.

    A base may set the ``panel`` of its fields; a field that is not an option of a command may set
    ``rare`` in its ``json_schema_extra``, and ``flag`` if ``--key value`` sets it, too.
    """
    options: dict[str, Option] = {}
    for base in recipe.__mro__:
        for name in vars(base).get("__annotations__", ()):
            if name in recipe.model_fields and name not in options:
                options[name] = Option(name, recipe, vars(base).get("panel"))
    return options


def rare_fields(recipe: type[Recipe]) -> dict[str, FieldInfo]:
    return {name: option.field for name, option in options_of(recipe).items() if option.is_rare}


class Command(Explained):
    """A command with a recipe, which its function takes."""

    recipe: type[Recipe]
    function: Callable[[Any], Any]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            given = {
                key: value
                for key, value in ctx.params.items()
                if key != "force" and ctx.get_parameter_source(key) is ParameterSource.COMMANDLINE
            }
            ctx.obj = _validated(self.recipe, given, see_help(ctx))
        return rest

    def unknown(self, option: str, ctx: click.Context) -> UsageError:
        key, options = option.removeprefix("--").replace("-", "_"), options_of(self.recipe)
        is_rare = key in options and options[key].is_rare
        flags = [flag for param in self.params for flag in param.opts]
        if _MEANT.get(key) in flags:
            return UsageError(f"no such option: {option}; did you mean `{_MEANT[key]}`?")
        # Keys of kinds, such as a model's mu.
        takes_any = any(option.is_set and option.is_mapping for option in options.values())
        if is_rare or (takes_any and option.startswith("--") and key.isidentifier()):
            guess = "." if is_rare else self.guess(option, ctx)
            hint = f"Set keys and hyperparameters with --set {key}=..."
            return UsageError(f"no such option: {option}{guess}", hint=hint)
        return super().unknown(option, ctx)

    def sections(self, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
        options = options_of(self.recipe)
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            title, record = "Arguments", param.get_help_record(ctx)
            if isinstance(param, click.Argument):
                note = " [required]" if param.required else ""
                record = str(param.metavar), f"{param.help}{note}"
            else:
                title = (param.name in options and options[param.name].panel) or "Options"
            if record:
                sections.setdefault(title, []).append(record)
        return sections

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        title, *lines = (self.epilog or "").split("\n\n")
        if lines:
            with formatter.section(title.rstrip(":")):
                for line in lines:  # whole, so that they can be copied
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")

    def invoke(self, ctx: click.Context) -> Any:
        from adducir.core.artifacts import remember

        with ExitStack() as claims:
            claims.enter_context(speaking(wording_of(self.recipe)))
            outputs = _claim(ctx.obj, bool(ctx.params.get("force")), claims)
            claims.enter_context(open_progress())
            if getattr(ctx.obj, "allow_code", False):
                from adducir.core.planning import allowing_code

                claims.enter_context(allowing_code())
            for _attempt in range(_ATTEMPTS - 1):
                with suppress(ReplacedError):  # by another process: again, with what is there now
                    code = self.function(ctx.obj)
                    break
            else:
                code = self.function(ctx.obj)
            remember(outputs)
            return code


def build_command(name: str, function: Callable[[Any], Any]) -> Command:
    (recipe, *_) = get_type_hints(function).values()
    options = [*options_of(recipe).values()]
    options.sort(key=lambda option: not option.field.is_required())
    keys = ", ".join(sorted(option.name for option in options if option.is_rare))
    params = [
        option.parameter(keys if option.is_set else "") for option in options if option.has_flag
    ]
    if keys and not any(option.is_set for option in options):
        text = f"A less common setting, one of {keys}; can be repeated."
        params.append(click.Option(["--set"], multiple=True, metavar="KEY=VALUE", help=text))
    if any(option.writes for option in options):
        text = "Overwrite existing output."
        params.append(click.Option(["--force"], is_flag=True, help=text))
    shown, _, examples = inspect.cleandoc(function.__doc__ or "").partition("Examples:\n")
    lines = (" ".join(line.split()) for line in examples.strip().splitlines())
    epilog = "\n\n".join(["Examples:", *lines])
    now = {key: option.name.replace("_", "-") for option in options for key in option.former}

    def renamed(flag: str) -> str:
        return now.get(flag.replace("-", "_"), flag)

    command = Command(name, renamed, params=params, help=shown.strip(), epilog=epilog)
    command.recipe, command.function = recipe, function
    return command


def _validated(recipe: type[Recipe], values: dict[str, Any], hint: str) -> Recipe:
    options = options_of(recipe)
    catch_all = next((option for option in options.values() if option.is_set), None)
    for text in values.pop(catch_all.name if catch_all else "set", ()):
        key, equals, value = text.partition("=")
        name = key.strip().replace("-", "_")
        if not equals:
            raise UsageError(f"--set takes KEY=VALUE, not {text!r}.", hint=hint)
        if name in options and options[name].is_rare:
            value = options[name].typed(value)
            values[name] = [*values.get(name, ()), value] if options[name].is_several else value
        elif catch_all is None:
            rare = rare_fields(recipe)
            guess = nearest(key, rare) or f"; the keys are {', '.join(sorted(rare))}."
            raise UsageError(f"--set {key}: unknown key{guess}", hint=hint)
        elif catch_all.is_mapping:
            values.setdefault(catch_all.name, {})[name] = value
        else:
            values.setdefault(catch_all.name, []).append(text)
    with speaking(wording_of(recipe)):
        try:
            return recipe.model_validate(values)
        except ValidationError as error:
            raise UsageError(sentence(told(error)), hint=hint) from error


def wording_of(recipe: type[Recipe]) -> Wording:
    """How a command's users write its settings; what is not an option is a key of a file."""
    options = options_of(recipe)
    takes_any = any(option.is_set and option.is_mapping for option in options.values())

    def typed(key: str, value: str = "") -> str:
        if key not in options and key in OF_A_CALL:  # such as --force
            flag = f"--{key.replace('_', '-')}"
            return flag if value in ("", "true") else f"{flag} {value}"
        if key not in options and not (takes_any and key.isidentifier()):
            return in_files(key, value)
        name = str(options.get(key, f"--set {key}"))  # --key, or --set key
        value = f"'{value}'" if " " in value else value
        if value == "true" and key in options and options[key].is_flag:
            return name
        return name if not value else f"{name}{'=' if ' ' in name else ' '}{value}"

    return typed


def _claim(settings: Recipe, force: bool, claims: ExitStack) -> list[Path]:
    """Refuse what may not be written before anything is done; name the files without metadata."""
    from adducir.core.artifacts import replacing_anything
    from adducir.core.files import is_standard_output, keeping_pipes

    claims.enter_context(keeping_pipes())
    claims.enter_context(replacing_anything(force))
    read, written, outputs = list[Path](), dict[Path, Option](), list[Path]()
    for key, option in options_of(type(settings)).items():
        value = getattr(settings, key)
        if option.writes is None:
            sources = value if isinstance(value, list | tuple) else [value]
            read += [Path(s) for s in sources if isinstance(s, Path) or (option.reads and s)]
        elif value is not None and is_standard_output(value):
            if option.writes.what == "folder":
                raise UsageError(f"{option} is a folder here, so it cannot be standard output.")
            if option.writes.what != "table":
                claims.enter_context(leaving_stdout_to_data())
        elif value is not None:
            place = Path(os.path.realpath(value))
            if not place.name:
                raise UsageError(f"{option} is the root of the file system; name a folder in it.")
            first = written.setdefault(place, option)
            if first is not option:
                raise UsageError(f"{first} and {option} are the same file.", hint="Name two files.")
    for option in written.values():
        writes, path = cast("Writes", option.writes), getattr(settings, option.name)
        for part in writes.paths(path, settings) if writes.paths else [path]:
            for source in read if part.exists() else ():
                if source.exists() and source.samefile(part):
                    message = f"{option} is {part}, which this command reads."
                    raise UsageError(message, hint="Name another file.")
            if writes.what != "folder":
                named = writes if part == path else writes._replace(endings=())
                _check_file(option, part, named, settings)
            if writes.what in ("table", "file"):
                outputs.append(part)
    return outputs


def _check_file(option: Option, path: Path, writes: Writes, settings: Recipe) -> None:
    """Refuse a name with another format's suffix, and files that Adducir did not write."""
    from adducir.core.artifacts import is_remembered, refuse_other
    from adducir.core.files import refuse_unwritable

    if path.is_dir():
        raise InputError("this is a folder, but a file would be written here.", path=path)
    ending = Path(path.name.removesuffix(".gz")).suffix
    endings = writes.endings
    if writes.what == "table":
        from adducir.tables.formats import TABLES

        endings = tuple(kind.ending for kind in TABLES.kinds().values())
        endings = () if getattr(settings, "format", None) else endings
    is_run = writes.what == "run"
    is_known = _NO_RUN.fullmatch(ending) is None if is_run else ending.lower() in endings
    if not is_known and re.fullmatch(r"\.[A-Za-z]\w*", ending) and (endings or is_run):
        hint = f"Its name must end in one of {', '.join(endings or ('.trec', '.trec.gz'))}."
        raise UsageError(
            f"{option} {path}: the name of a {writes.what} cannot end in {ending}.", hint=hint
        )
    if path.exists() and not path.is_file():
        return
    refuse_unwritable(path)
    if writes.what == "run":
        from adducir.runs.write import refuse_other_run

        refuse_other_run(path)
    elif path.exists() and path.stat().st_size and not is_remembered(path):
        refuse_other(path, f"Adducir did not write this {writes.what}, or it was changed since")
