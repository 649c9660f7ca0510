"""Commands made of recipes: options, what is refused before the work, what may be written."""

import re
import shlex
from pathlib import Path
from typing import Annotated, Literal

import pytest
from every_command import COMMANDS, load_command

from adducir.cli import common
from adducir.cli.app import main
from adducir.cli.command import Writes, build_command, option, options_of, rare_fields, wording_of
from adducir.cli.common import Computing
from adducir.core.errors import ArtifactError, InputError, UsageError, in_files, speaking, worded
from adducir.core.recipe import Recipe, needs, without
from adducir.runs.fusion import FUSION


class Toy(Computing):
    source: Path = option("What is read.", metavar="SOURCE", argument=True)
    output: Path | None = option(
        "What is written.", "-o", default=None, writes=Writes("file", (".txt", ".tsv"))
    )
    more: Path | None = option("A folder.", default=None, writes=common.FOLDER)
    topics: str = option("A text that names a file.", "-t", default="", reads=True)
    method: Annotated[str, FUSION] = option("How.", default="rrf")
    mode: Literal["fast", "slow"] | None = option("How well.", default=None, shown="fast")
    names: common.Names = option("With commas or repeated.", default=())
    depth: common.Depth = 1000
    level: Annotated[float | None, needs("names", mode="slow")] = option(
        "A level.", default=None, gt=0, lt=1
    )
    quick: Annotated[bool, without("names")] = option("No waiting.", default=False)
    size: Annotated[int, needs("names")] = option("A size.", default=5, rare=True)
    is_kept: bool = option("Whether it stays.", default=True, rare=True)
    turn: Literal["left", "right"] | None = option("A turn.", default=None, rare=True, flag=True)
    sheets: tuple[Path, ...] = option("Sheets.", default=(), rare=True)
    kept: tuple[str, Path] | None = option("A kind and its file.", default=None)
    corners: tuple[int, int] | None = option("Two corners.", default=None)


class Changing(Recipe):
    changes: common.Changes = ()
    others: int = option("A number.", default=1, rare=True)


def run(function, *words):
    """Call a command; what its function got."""
    command = build_command("toy", function)
    with command.make_context("toy", [str(word) for word in words]) as context:
        return command.invoke(context)


def toy(settings: Toy) -> Toy:
    """Do nothing."""
    return settings


def changing(settings: Changing) -> Changing:
    """Do nothing."""
    return settings


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("x")


def test_what_is_typed_becomes_the_recipe():
    assert run(toy, "in.txt") == Toy(source=Path("in.txt"))
    words = ["in.txt", "-o", "new/out.txt", "--names", "a, b", "--names", "c", "--depth", "all"]
    words += ["--level", ".5", "--method", "combsum", "--mode", "slow", "--workers", 2]
    words += ["--set", "size=7", "--set", "is-kept=false", "--turn", "left", "--corners", 1, 2]
    found = run(toy, *words)
    assert found.names == ("a", "b", "c")
    assert (found.output, found.depth, found.level) == (Path("new/out.txt"), None, 0.5)
    assert (found.method, found.mode, found.workers) == ("combsum", "slow", 2)
    assert (found.size, found.is_kept, found.quick) == (7, False, False)
    assert (found.turn, found.corners) == ("left", (1, 2))
    assert run(toy, "in.txt", "--set", "turn=left", "--turn=right").turn == "left"
    assert found.execution().workers == 2
    words = ["-t", "-", "--names", "-", "-o", "/dev/stdout", "--kept", "x", "-"]
    piped, place = run(toy, "-", *words, "--set", "sheets=-"), Path("/dev/stdin")
    assert (piped.source, piped.topics, piped.names) == (place, str(place), ("-",))
    assert (piped.sheets, piped.kept) == ((place,), ("x", place))


def test_changes_of_a_file_stand_beside_rare_options():
    found = run(changing, "--set", "a.b=1", "--set", "others=3", "--set", "c=[1, 2]")
    assert (found.changes, found.others) == (("a.b=1", "c=[1, 2]"), 3)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--depth 0", "--depth: should be at least 1"),
        ("--level 1 --names a", "--level: should be less than 1"),
        ("--level .5", "--level has no effect without --names or --mode slow"),
        ("--quick --names a", "--quick has no effect with --names"),
        ("--set size=3", "--set size has no effect without --names"),
        ("--set siez=3", "did you mean `size`"),
        ("--set size", "--set takes KEY=VALUE"),
        ("--size 3", "--set size="),
        ("--mod fast", "no such option: --mod; did you mean `--mode`?"),
        ("--depth", "option '--depth' requires an argument"),
        ("b.txt", "extra argument (b.txt)"),
        ("--method rfr", "did you mean `rrf`"),
        ("--mode `depth`", "not '`depth`'"),  # what is typed is not a key
        ("--mode sl", "did you mean `slow`"),
        ("-o a.txt --more a.txt", "are the same file"),
        ("-o a.doc", ".txt, .tsv"),
        ("--more -", "--more is a folder"),
        ("-o in.txt", "--output is in.txt, which this command reads"),
        ("-t other.tsv -o other.tsv", "which this command reads"),
    ],
)
def test_what_makes_no_sense_is_refused_before_the_work(words, told):
    Path("other.tsv").write_text("x")
    called = []

    def never(settings: Toy) -> None:
        """Do nothing."""
        called.append(settings)

    with pytest.raises(UsageError) as caught:
        run(never, "in.txt", *words.split(" "))
    assert told in str(caught.value)
    assert not called


def test_what_stands_at_an_output_is_replaced_by_force_only():
    Path("old.txt").write_text("mine")
    Path("folder").mkdir()
    with pytest.raises(ArtifactError, match="--force"):
        run(toy, "in.txt", "-o", "old.txt")
    assert run(toy, "in.txt", "-o", "old.txt", "--force").output == Path("old.txt")
    with pytest.raises(InputError):
        run(toy, "in.txt", "-o", "folder", "--force")
    Path("empty.txt").touch()
    assert run(toy, "in.txt", "-o", "empty.txt")
    assert run(toy, "in.txt", "-o", "-").output == Path("-")


def test_settings_are_worded_as_each_door_writes_them():
    """What a file cannot state is worded as whoever called for it writes it."""
    assert worded("allow_code", "true").startswith("`allow_code=True`")
    with speaking(in_files):
        assert "replacing_anything" in worded("force", "true")
    with speaking(wording_of(Toy)), speaking(in_files):
        assert (worded("force", "true"), worded("workers")) == ("--force", "--workers")
    with speaking(wording_of(Toy)):
        assert worded("size", "7, or 8") == "--set size='7, or 8'"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_is_whole(name, capsys, monkeypatch):
    """It fits 80 columns, explains its options, 15 of its own at most, ends with examples."""
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*name.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    command = load_command(name)
    params = command.params
    _, *examples = command.epilog.split("\n\n")
    assert examples
    for example in examples:
        program, *typed = shlex.split(example)
        assert "  " not in example
        assert [program, *typed[: len(name.split())]] == ["adducir", *name.split()]
        command.make_context(name, typed[len(name.split()) :])
    *lines, end = shown.split("Examples:\n")
    assert end.splitlines() == [f"  {example}" for example in examples]  # to copy, however long
    assert [line for line in "".join(lines).splitlines() if "…" in line or len(line) > 80] == []
    words = set(re.split(r"[\s,.]+", shown))
    choices = {
        choice
        for option in options_of(command.recipe).values()
        for choice in option.choices
        if not option.is_rare and option.metavar is None
    }
    assert choices <= words  # none is cut at a line's end
    assert [param.name for param in params if not param.help] == []
    rare = " ".join(param.help for param in params if "--set" in param.opts)
    assert [key for key in rare_fields(command.recipe) if key not in rare] == []
    options = {param.name for param in params}
    assert ("force" in options) == ("output" in options or name == "demo")
    own = {param.name for param in params if param.param_type_name == "option" and not param.hidden}
    assert len(own - {"set", "force"}) <= 16
