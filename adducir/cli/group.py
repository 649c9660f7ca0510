"""The list of commands, known without importing any of them.

A command is a module of this package with a function of the same name; the function's parameters
are the command's arguments and options, the first line of its docstring is repeated here. A command
of two words, such as ``deepct show``, is one of a group; its module is ``deepct_show``.
"""

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

import adducir

CORE = "From a corpus to a table"
MODELS = "Models that are trained"
HELP = "Setting up"


class Entry(NamedTuple):
    """One command in the list: what it does, and the panel of the help that shows it."""

    help: str
    panel: str


COMMANDS = {
    "index": Entry("Build an index from a corpus.", CORE),
    "search": Entry("Search an index for every topic and write a TREC run.", CORE),
    "rerank": Entry("Rerank the top documents of a run with a neural model.", CORE),
    "fuse": Entry("Fuse several runs into one.", CORE),
    "evaluate": Entry("Evaluate runs, test their differences and print the table.", CORE),
    "figure": Entry("Export a figure of a report as SVG or PDF.", CORE),
    "compare": Entry("Test values per topic that any program computed, and print the table.", CORE),
    "reproduce": Entry(
        "Compare a reproduction with the original: order, effectiveness, effect, equivalence.",
        CORE,
    ),
    "check": Entry("Validate run files.", CORE),
    "tune": Entry("Tune parameters by cross-validated grid search.", CORE),
    "experiment": Entry(
        "Run an experiment file: build what is missing, evaluate, test and print the table.", CORE
    ),
    "train": Entry("Train a model by its recipe: a term weighter, an encoder, a reranker.", MODELS),
    "encode": Entry("Encode a corpus, or contexts and spans, into vectors.", MODELS),
    "deepct evaluate": Entry(
        "Measure how well a term weighter recovers the reference terms of passages held out.",
        MODELS,
    ),
    "deepct expand": Entry(
        "Predict every word's weight in a corpus and write its words repeated by them.",
        MODELS,
    ),
    "deepct show": Entry(
        "Print a text with the weight of each word, coloured in the terminal.", MODELS
    ),
    "new": Entry("Create the folders of a new study.", HELP),
    "demo": Entry("Run the bundled experiment, from corpus to table.", HELP),
    "kinds": Entry("List formats, methods, measures and models with their hyperparameters.", HELP),
    "doctor": Entry("Check the installation, and say how to fix what is missing.", HELP),
}

GROUPS = {
    "deepct": Entry("Expand corpora with DeepCT term weighters.", MODELS),
}
"""The groups of commands, by their first word."""

_EPILOG = (
    "Exit codes: 0 done, 1 problems found (check, doctor), 2 wrong command line, 3 wrong input "
    "file, 4 something missing on the machine, 5 a missing artifact, or one that Adducir did not "
    "create, 6 a part of the work not done, 70 an error in Adducir itself, 130 interrupted, "
    "141 nobody read the output."
)


class Command(TyperCommand):
    """A command whose help shows no type beside ``--help``."""

    def get_params(self, ctx: Any) -> Any:
        """As typer's own."""
        found = super().get_params(ctx)
        for one in found:
            if one.name == "help" and one.metavar is None:
                one.metavar = ""
        return found


class LazyGroup(TyperGroup):
    """A group whose commands are names and help lines until one of them is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """As typer's own, with the command's module imported now."""
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-") and not _is_completing(ctx):
            near = get_close_matches(args[0], known, 1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            ctx.fail(f"No such command '{args[0]}'.{hint}")
        name, command, rest = super().resolve_command(ctx, args)
        whole = f"{self.name} {name}" if self.name in GROUPS else f"{name}"
        return name, load_command(whole) if whole in COMMANDS else command, rest


def _is_completing(ctx: Any) -> bool:
    return bool(ctx.resilient_parsing)


def load_command(name: str) -> TyperCommand:
    """Import a command's module and make the command of its function."""
    from adducir.cli.examples import epilog

    module = name.replace(" ", "_")
    function = getattr(import_module(f"adducir.cli.{module}"), module)
    return build_command(name.split()[-1], function, epilog(name))


def build_command(name: str, function: Callable[..., Any], epilog: str) -> TyperCommand:
    """The command of a function; its docstring is the help, up to the examples."""
    from adducir.cli.contracts import held

    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    shown = _flowing((function.__doc__ or "").partition("Examples:\n")[0])
    app.command(name, cls=Command, help=shown, epilog=epilog)(held(function))
    command = get_command(app)
    if not isinstance(command, TyperCommand):
        raise TypeError(f"{name} is no single command.")
    return command


def _flowing(text: str) -> str:
    """The paragraphs of a docstring, each as one line, for the terminal to wrap."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def build_group() -> TyperGroup:
    """The program itself, with its commands as stubs."""
    app = typer.Typer(
        cls=LazyGroup,
        add_completion=True,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help=adducir.__doc__, epilog=_EPILOG)(_options)
    group = get_command(app)
    if not isinstance(group, LazyGroup):
        raise TypeError("typer did not make a group.")
    for name, entry in COMMANDS.items():
        first, _, second = name.partition(" ")
        if second and first not in group.commands:
            group.commands[first] = _subgroup(first, GROUPS[first])
        holder = group.commands[first] if second else group
        if not isinstance(holder, LazyGroup):
            raise TypeError(f"{first} is no group of commands.")
        holder.commands[second or name] = TyperCommand(
            name=second or name,
            help=entry.help,
            rich_help_panel=None if second else entry.panel,
            rich_markup_mode="rich",
        )
    return group


def _subgroup(name: str, entry: Entry) -> LazyGroup:
    """A group without its commands."""
    return LazyGroup(
        name=name,
        help=entry.help,
        no_args_is_help=True,
        rich_help_panel=entry.panel,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"adducir {adducir.__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error; works anywhere.")
    ] = False,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Read every file of the indexes and models that are opened, and compare its "
            "digest, though it was read before; works anywhere.",
        ),
    ] = False,
) -> None:
    # None does anything here: --version has ended the program, main() has seen the others.
    del version, debug, verify
