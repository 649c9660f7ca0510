"""The list of commands, available without importing any of them.

A command is a module of this package with a function of the same name that takes a recipe
(:mod:`adducir.cli.command`); the first line of its docstring is repeated here. A two-word command,
such as ``deepct show``, belongs to a group. Studies and other packages add groups through entry
points ``adducir.commands``::

    [project.entry-points."adducir.commands"]
    literary-evidence = "adducir.studies.literary_evidence.commands"
"""

import re
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.metadata import EntryPoint
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
    """One command: what it does, its help panel, and its module if the name differs."""

    help: str
    panel: str
    module: str = ""


_NAME = re.compile(r"\w[\w-]*")
COMMANDS = {
    "index": Entry("Build an index from a corpus.", CORE),
    "search": Entry("Show the best documents for a query, or write a TREC run for topics.", CORE),
    "show": Entry("Show the hits of a topic, of two runs side by side; or what a model is.", CORE),
    "rerank": Entry(
        "Rerank the top documents of a run with a neural model, or by asking a language model.",
        CORE,
    ),
    "requests": Entry("Write a run's documents with their texts as rank_llm's requests.", CORE),
    "query2doc": Entry("Expand queries by passages that a language model writes.", CORE),
    "fuse": Entry("Fuse several runs into one.", CORE),
    "filter": Entry(
        "Drop what an evaluation must not count from a run, or fold passages to documents.",
        CORE,
    ),
    "evaluate": Entry("Evaluate runs, test their differences and print the table.", CORE),
    "compare": Entry("Test values per topic that any program computed, and print the table.", CORE),
    "reproduce": Entry(
        "Compare a reproduction with the original: order, effectiveness, effect, equivalence.",
        CORE,
    ),
    "check": Entry("Validate run files.", CORE),
    "judge": Entry(
        "Let a language model judge the top documents of runs, or people on a page.", CORE
    ),
    "sample": Entry("Draw documents for people to judge, to correct a model's judgements.", CORE),
    "nuggets create": Entry(
        "Let a language model list the facts (nuggets) that an answer to each topic should "
        "contain.",
        CORE,
        "nuggets",
    ),
    "nuggets assign": Entry(
        "Let a language model say which nuggets generated responses, or retrieved texts, contain.",
        CORE,
        "nuggets",
    ),
    "nuggets responses": Entry(
        "Write generated responses as AutoJudge's reports, of any form that `assign` reads.",
        CORE,
        "nuggets",
    ),
    "nuggets sample": Entry(
        "Draw nuggets of answers for people to judge, so that a model's assignments can be "
        "corrected.",
        CORE,
        "nuggets",
    ),
    "nuggets score": Entry(
        "Score how many nuggets systems' texts contain, per topic.", CORE, "nuggets"
    ),
    "tune": Entry("Tune parameters by cross-validated grid search.", CORE),
    "experiment": Entry(
        "Run an experiment file: build what is missing, evaluate, test and print the table.", CORE
    ),
    "share": Entry("Pack a study for others: recipes, runs, tables, digests.", CORE),
    "verify": Entry("Verify a study's archive, and evaluate its runs again.", CORE, "share"),
    "submit": Entry("Lay out a run for a shared task, with its metadata.", CORE, "share"),
    "train": Entry(
        "Train a model from its recipe: a term weighter, an encoder, a reranker.", MODELS, "models"
    ),
    "encode": Entry("Encode a corpus, or contexts and spans, into vectors.", MODELS, "models"),
    "doc2query": Entry(
        "Add generated queries to the documents of a corpus, or the best of them.", MODELS
    ),
    "deepct evaluate": Entry(
        "Measure how well a term weighter recovers the reference terms of held-out passages.",
        MODELS,
        "deepct",
    ),
    "deepct expand": Entry(
        "Predict every word's weight in a corpus and repeat words accordingly.",
        MODELS,
        "deepct",
    ),
    "deepct show": Entry("Print a text with the weight of each word.", MODELS, "deepct"),
    "known-item retrieve": Entry(
        "Rank the candidates of masked contexts with an encoder or BM25.", CORE, "known_item"
    ),
    "known-item ranks": Entry(
        "Evaluate known-item search from the ranks of the gold items.", CORE, "known_item"
    ),
    "known-item rouge": Entry(
        "Compare top-ranked candidates with the gold text by ROUGE-L.", CORE, "known_item"
    ),
    "annotations agreement": Entry(
        "Inter-annotator agreement, and how raters rate and rank each system.",
        CORE,
        "annotations",
    ),
    "annotations distributions": Entry(
        "Distributions of annotated labels, and lengths of marked texts.", CORE, "annotations"
    ),
    "annotations proxy-make": Entry(
        "Build a multiple-choice task for human judges: the gold item among distractors.",
        CORE,
        "annotations",
    ),
    "annotations proxy-score": Entry(
        "Score the choices of judges and models: accuracy, intervals and agreement.",
        CORE,
        "annotations",
    ),
    "new": Entry("Create the folders of a new study, or a plug-in.", HELP),
    "demo": Entry("Run the bundled experiment, from corpus to table.", HELP, "new"),
    "kinds": Entry("List formats, methods, measures and models with their hyperparameters.", HELP),
    "doctor": Entry("Check the installation, and say how to fix what is missing.", HELP),
}

GROUPS = {
    "deepct": Entry("Expand corpora with DeepCT term weighters.", MODELS),
    "nuggets": Entry("List nuggets of topics, find them in texts, and score these.", CORE),
    "known-item": Entry("Search for the text that was masked in a context.", CORE),
    "annotations": Entry("Agreement and distributions of people's annotations and choices.", CORE),
}
"""Command groups by first word; :data:`STUDY_POINTS` has more."""
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


class Stub(click.Command):
    """A stub with the name and help line of a command or group, until it is called."""

    def __init__(self, whole_name: str, entry: Entry) -> None:
        super().__init__(whole_name.rpartition(" ")[2], help=entry.help)
        self.whole_name, self.panel = whole_name, entry.panel

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
                return args[0], Stub(now, COMMANDS[now]), rest
            guess = nearest(args[0], self.commands) or "."
            raise UsageError(f"no such command: {args[0]}{guess}", hint=see_help(ctx))
        return super().resolve_command(ctx, args)

    def sections(self, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
        sections = super().sections(ctx)
        for name, command in self.commands.items():
            panel = command.panel if ctx.parent is None and isinstance(command, Stub) else ""
            meaning = (command.help or "").partition("\n\n")[0]
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
        for whole, entry in COMMANDS.items():
            if whole.startswith(f"{name} "):
                group.add_command(Stub(whole, entry))
        for function in _functions(name) if name in STUDY_POINTS else ():
            group.add_command(load_command(f"{name} {function}"))
        return group
    from adducir.cli.command import build_command

    if name not in COMMANDS:
        return build_command(second, _functions(first)[second])
    place = name.translate(_WORDS)
    module = import_module(f"adducir.cli.{COMMANDS[name].module or place}")
    return build_command(second or first, getattr(module, place))


def build_group() -> Group:
    """The program, with stubs as commands."""
    options = [click.Option([flag], is_flag=True, help=text) for flag, text in _OPTIONS.items()]
    program = Group(None, params=options, help=adducir.__doc__, epilog=_EPILOG)
    for name, entry in (*COMMANDS.items(), *GROUPS.items()):
        if " " not in name:
            program.add_command(Stub(name, entry))
    return program
