"""The list of commands, available without importing any of them.

A command is a module of this package with a function of the same name that takes a recipe
(:mod:`adducir.cli.command`). A two-word command, such as ``deepct show``, belongs to a group.
Studies and other packages add groups through entry points ``adducir.commands``::

    [project.entry-points."adducir.commands"]
    literary-evidence = "adducir.studies.literary_evidence.commands"
"""

import re
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.metadata import EntryPoint
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import adducir
from adducir.cli import console
from adducir.cli.help import Explained, see_help
from adducir.core.errors import MachineError, UsageError
from adducir.core.packages import points_of, unusable
from adducir.core.texts import nearest, visible

if TYPE_CHECKING:
    from adducir.cli.command import Command

CORE = "From a corpus to a table"
MODELS = "Trained models"
HELP = "Setting up"
STUDIES = "The studies"


class Entry(NamedTuple):
    """A command group: what it does, its help panel, and its own commands' names."""

    help: str
    panel: str
    commands: str = ""


_NAME = re.compile(r"\w[\w-]*")
_PANELS = {
    CORE: "index search show rerank requests query2doc fuse filter evaluate compare reproduce "
    "check judge sample tune experiment share verify submit",
    MODELS: "train encode doc2query",
    HELP: "new demo kinds doctor",
}
"""The commands of one word by help panel."""
_MODULES = {
    "check": "runs",
    "deepct": "models",
    "demo": "new",
    "encode": "models",
    "filter": "runs",
    "fuse": "runs",
    "kinds": "doctor",
    "query2doc": "doc2query",
    "reproduce": "compare",
    "requests": "rerank",
    "submit": "share",
    "train": "models",
    "verify": "share",
}
"""Modules whose names are not the first words of their commands."""
GROUPS = {
    "deepct": Entry("Expand corpora with DeepCT term weighters.", MODELS, "evaluate expand show"),
    "nuggets": Entry(
        "List nuggets of topics, find them in texts, and score these.",
        CORE,
        "create assign responses sample score",
    ),
    "known-item": Entry(
        "Search for the text that was masked in a context.", CORE, "retrieve ranks rouge"
    ),
    "annotations": Entry(
        "Agreement and distributions of people's annotations and choices.",
        CORE,
        "agreement distributions proxy-make proxy-score",
    ),
}
"""Command groups by first word; :data:`STUDY_POINTS` has more."""
COMMANDS = [
    *" ".join(_PANELS.values()).split(),
    *(f"{group} {name}" for group, entry in GROUPS.items() for name in entry.commands.split()),
]
STUDY_POINTS: dict[str, EntryPoint] = {}
"""Entry points of packages with a group of commands: a module with a tuple ``COMMANDS``. The first
line of its package's docstring is the group's help."""
UNUSED_POINTS: dict[str, EntryPoint] = {}
"""Entry points with the name of another command, which are not used; ``doctor`` reports them."""
for _point in sorted(points_of("commands")):
    if _point.name in {*COMMANDS, *GROUPS} or not _NAME.fullmatch(_point.name):
        UNUSED_POINTS[_point.name] = _point
        continue
    try:
        _package = import_module(_point.module.rpartition(".")[0] or _point.module)
        _help = visible((_package.__doc__ or "").partition("\n")[0])
    except (Exception, SystemExit) as error:  # noqa: BLE001  (the other commands work)
        _help = f"Cannot be imported: {visible(repr(error))}"
    GROUPS[_point.name] = Entry(_help, STUDIES)
    STUDY_POINTS[_point.name] = _point
_WORDS = str.maketrans(" -", "__")
MOVED = {
    "exemplification agreement": "annotations agreement",
    "exemplification annotations": "annotations distributions",
    "exemplification rouge": "known-item rouge",
    "literary-evidence proxy-make": "annotations proxy-make",
    "literary-evidence proxy-score": "annotations proxy-score",
    "literary-evidence ranks": "known-item ranks",
    "literary-evidence retrieve": "known-item retrieve",
}
"""Former names of commands, which still run."""
MOVED_OPTIONS = {"--relic": ("--contexts", "relic")}
_EPILOG = (
    "Exit codes: 0 done, 1 problems found (check, doctor), 2 wrong command line, 3 wrong input "
    "file, 4 something missing on the machine, 5 an artifact missing or not created by Adducir, 6 "
    "incomplete work, 70 an error in Adducir itself, 130 interrupted, "
    "141 output pipe closed."
)


# They do nothing when parsed: main() has handled them.
_OPTIONS = {
    "--version": "Show the version and exit.",
    "--debug": "Show the traceback of an error; works anywhere.",
    "--verify": "Verify the digest of every file of opened indexes and models, even if verified "
    "before; works anywhere.",
}


def module_of(name: str) -> str:
    """The module of this package with a command, such as ``share`` for ``verify``."""
    first = name.partition(" ")[0]
    return _MODULES.get(first, first.replace("-", "_"))


def summary_of(name: str) -> str:
    """What a command or group does: the beginning of its docstring, whose module stays unread."""
    if name in GROUPS:
        return GROUPS[name].help
    source = files("adducir.cli").joinpath(f"{module_of(name)}.py").read_text(encoding="utf-8")
    start = rf'^def {name.translate(_WORDS)}\([^"]*"""(.*?)(?:\n\n|""")'
    match = re.search(start, source, re.DOTALL | re.MULTILINE)
    return " ".join(match[1].split()) if match else ""


class Stub(click.Command):
    """A stub with the name of a command or group, until it is called."""

    def __init__(self, whole_name: str, panel: str = "") -> None:
        super().__init__(whole_name.rpartition(" ")[2])
        self.whole_name, self.panel = whole_name, panel

    def get_short_help_str(self, limit: int = 0) -> str:
        return summary_of(self.whole_name)

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        return load_command(self.whole_name).make_context(*arguments, **options)


def _now(argument: str) -> tuple[str, ...]:
    """An argument of a command under its former name, as it is now."""
    name, _, value = argument.partition("=")
    now = MOVED_OPTIONS.get(name)
    return (argument,) if now is None else (*now, value) if value else now


class Group(Explained, click.Group):
    """The program or a command group."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # not sorted

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not {*args} - {"--"} and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            raise UsageError("a command is missing.", hint=see_help(ctx))
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and not ctx.resilient_parsing:
            if (now := MOVED.get(f"{ctx.info_name} {args[0]}")) is not None:
                console.note(f"adducir: `{ctx.info_name} {args[0]}` is now `{now}`.")
                rest = [word for arg in args[1:] for word in _now(arg)]
                return args[0], Stub(now), rest
            guess = nearest(args[0], self.commands) or "."
            raise UsageError(f"no such command: {args[0]}{guess}", hint=see_help(ctx))
        return super().resolve_command(ctx, args)

    def sections(self, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
        sections = super().sections(ctx)
        for name, command in self.commands.items():
            panel = command.panel if isinstance(command, Stub) else ""
            meaning = (command.help or command.get_short_help_str()).partition("\n\n")[0]
            sections.setdefault(panel or "Commands", []).append((name, meaning))
        return sections


def _functions(study: str) -> dict[str, Callable[..., Any]]:
    """A study's command functions by name, such as ``proxy-make``."""
    point = STUDY_POINTS[study]
    try:
        commands = point.load().COMMANDS
        return {function.__name__.replace("_", "-"): function for function in commands}
    except (Exception, SystemExit) as error:
        raise unusable(point, f"the commands {study!r}", error) from error


def all_commands() -> list[str]:
    """Every command that can be loaded."""
    names = [*COMMANDS]
    for study in STUDY_POINTS:
        with suppress(MachineError):
            names += [f"{study} {name}" for name in _functions(study)]
    return names


def load_command(name: str) -> "Command | Group":
    """Import a command's module and build its command, or a group of commands."""
    first, _, second = name.partition(" ")
    if name in GROUPS:
        group = Group(name, help=GROUPS[name].help)
        for command in GROUPS[name].commands.split():
            group.add_command(Stub(f"{name} {command}"))
        for function in _functions(name) if name in STUDY_POINTS else ():
            group.add_command(load_command(f"{name} {function}"))
        return group
    from adducir.cli.command import build_command

    if name not in COMMANDS:
        return build_command(second, _functions(first)[second])
    module = import_module(f"adducir.cli.{module_of(name)}")
    return build_command(second or first, getattr(module, name.translate(_WORDS)))


def build_group() -> Group:
    """The program, with stubs as commands."""
    options = [click.Option([flag], is_flag=True, help=text) for flag, text in _OPTIONS.items()]
    program = Group(None, params=options, help=adducir.__doc__, epilog=_EPILOG)
    for panel, names in _PANELS.items():
        for name in names.split():
            program.add_command(Stub(name, panel))
    for name, entry in GROUPS.items():
        program.add_command(Stub(name, entry.panel))
    return program
